//! Encoding of events as a Responses response.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    PROTOCOL,
    extras::{CUSTOM, PHASE},
    written::{OpenItem, TextKind, WrittenDelta},
};
use crate::{
    gateway::{
        AnswerPiece, AnswerWriter, NamedCalls, PieceWriter, end_of, frame, known_counts, parts_of,
        to_json,
    },
    openai::failure,
};
use forgeline_types::{
    AgentError, AgentEvent, Completion, FinishReason, ItemKind, Json, Part, ProviderItem, Text,
    UsageInfo,
};

/// A writer of the events of one response as a Responses response, for a server whose clients speak that protocol.
///
/// Pure: no I/O, no clock. Its methods are those of [`AnswerWriter`]. Message text becomes `output_text`, or a `refusal` if the provider
/// marked it as one; reasoning becomes the summary of a `reasoning` item, with what the vendor encrypted if the answer is of this protocol;
/// a call becomes a `function_call`, and one without a name waits for it. Items of this protocol are written as they came. The last frame
/// has the whole output, which is kept until then.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::{gateway::AnswerWriter, responses::ResponseWriter},
///     types::{AgentEvent, FinishReason, MessageContentEvent},
/// };
///
/// let mut writer = ResponseWriter::new("resp_1", "my-model").created(1_700_000_000);
/// let event = AgentEvent::MessageContent(MessageContentEvent::new("Hi"));
/// let frames = writer.frames(&event);
/// assert!(frames.starts_with("event: response.created\ndata: {\"type\":\"response.created\""));
/// assert!(frames.contains("\nevent: response.output_text.delta\n"));
/// let end = writer.last_frames(&FinishReason::Length, None);
/// assert!(end.contains(r#""incomplete_details":{"reason":"max_output_tokens"}"#));
/// ```
#[derive(Debug, Clone)]
pub struct ResponseWriter {
    id: Text,
    model: Text,
    created: u64,
    /// The number of the next frame.
    sequence: u64,
    unnamed: NamedCalls,
    /// The open message or reasoning.
    open: Option<OpenItem>,
    /// The calls whose items are open.
    calls: Vec<OpenCallItem>,
    /// The items in order, each once it has ended.
    output: Vec<Option<Json>>,
}

#[derive(Debug, Clone)]
struct OpenCallItem {
    call: u32,
    output_index: u32,
    id: Text,
    call_id: Text,
    name: Text,
    arguments: String,
}

#[derive(Serialize)]
struct WrittenResponseEvent<'a, T> {
    r#type: &'a str,
    sequence_number: u64,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct ItemOfOutput<'a> {
    output_index: u32,
    item: &'a Json,
}

#[derive(Serialize)]
struct WholeResponse<'a> {
    response: ResponseObject<'a>,
}

#[derive(Serialize)]
struct ResponseObject<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: &'static str,
    error: Option<Value>,
    incomplete_details: Option<Value>,
    model: &'a str,
    output: Vec<&'a Json>,
    usage: Option<Value>,
    /// The settings that every response repeats, at their defaults: the writer does not know the request.
    #[serde(flatten)]
    rest: Value,
}

/// The way in which a response ended, or that it goes on.
#[derive(Default)]
struct ResponseStatus {
    word: &'static str,
    error: Option<Value>,
    incomplete: Option<Value>,
}

impl ResponseStatus {
    const GOES_ON: Self = Self { word: "in_progress", error: None, incomplete: None };

    fn of(reason: &FinishReason) -> Self {
        let reason = match reason {
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Refusal => {
                return Self { word: "completed", ..Self::default() };
            }
            FinishReason::Length | FinishReason::ContextExceeded => "max_output_tokens",
            FinishReason::ContentFilter
            | FinishReason::Malformed
            | FinishReason::Pause
            | FinishReason::Repetition
            | FinishReason::Interrupted
            | FinishReason::Other(_) => reason.as_str(),
            _ => reason.as_str(),
        };
        let incomplete = Some(json!({ "reason": reason }));
        Self { word: "incomplete", error: None, incomplete }
    }
}

impl ResponseWriter {
    /// Creates a writer for one response with this id, answered by `model`.
    #[must_use]
    pub fn new(id: impl Into<Text>, model: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            model: model.into(),
            created: 0,
            sequence: 0,
            unnamed: NamedCalls::default(),
            open: None,
            calls: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Sets the time of the response, in seconds since the Unix epoch. Default: 0.
    #[must_use]
    pub fn created(mut self, unix_seconds: u64) -> Self {
        self.created = unix_seconds;
        self
    }

    fn response(&self, status: ResponseStatus, usage: Option<&UsageInfo>) -> ResponseObject<'_> {
        ResponseObject {
            id: &self.id,
            object: "response",
            created_at: self.created,
            status: status.word,
            error: status.error,
            incomplete_details: status.incomplete,
            model: &self.model,
            output: self.output.iter().flatten().collect(),
            usage: usage.map(counts),
            rest: json!({
                "instructions": null,
                "metadata": {},
                "parallel_tool_calls": true,
                "temperature": null,
                "tool_choice": "auto",
                "tools": [],
                "top_p": null,
            }),
        }
    }

    /// Adds a frame.
    fn send(&mut self, out: &mut String, kind: &str, rest: impl Serialize) {
        let sequence_number = self.sequence;
        self.sequence += 1;
        frame(out, kind, &WrittenResponseEvent { r#type: kind, sequence_number, rest });
    }

    /// Adds a frame with the response so far.
    fn send_response(
        &mut self,
        out: &mut String,
        kind: &str,
        status: ResponseStatus,
        usage: Option<&UsageInfo>,
    ) {
        let sequence_number = self.sequence;
        self.sequence += 1;
        let rest = WholeResponse { response: self.response(status, usage) };
        frame(out, kind, &WrittenResponseEvent { r#type: kind, sequence_number, rest });
    }

    fn begin(&mut self, out: &mut String) {
        if self.sequence == 0 {
            self.send_response(out, "response.created", ResponseStatus::GOES_ON, None);
            self.send_response(out, "response.in_progress", ResponseStatus::GOES_ON, None);
        }
    }

    /// Begins an item, and returns its place; `item` gets its id.
    fn add_item(&mut self, out: &mut String, item: impl FnOnce(Text) -> Json) -> (u32, Text) {
        self.begin(out);
        let output_index = u32::try_from(self.output.len()).unwrap_or(u32::MAX);
        let id = Text::from(format!("{}_{output_index}", self.id));
        self.output.push(None);
        let rest = ItemOfOutput { output_index, item: &item(id.clone()) };
        self.send(out, "response.output_item.added", rest);
        (output_index, id)
    }

    fn end_item(&mut self, out: &mut String, output_index: u32, item: Json) {
        let rest = ItemOfOutput { output_index, item: &item };
        self.send(out, "response.output_item.done", rest);
        if let Some(place) = self.output.get_mut(output_index as usize) {
            *place = Some(item);
        }
    }

    fn item(&mut self, item: &ProviderItem, out: &mut String) {
        let raw = &item.raw;
        let is_item = !item.is_unknown_event() && raw.as_str().starts_with('{');
        let is_reasoning = item.kind == ItemKind::Reasoning;
        match &item.kind {
            ItemKind::Citation(_) => {
                if let Some(open) = &mut self.open
                    && let Some(rest) = open.cite(raw)
                {
                    self.send(out, "response.output_text.annotation.added", rest);
                }
            }
            ItemKind::Other { name, .. } if name == PHASE => {
                if let Some(open) = &mut self.open {
                    open.phase = Some(raw.clone());
                }
            }
            // The call itself was written; only its result is said again.
            ItemKind::Other { name, .. } if name == CUSTOM => {}
            ItemKind::ServerToolResult { .. } => {}
            ItemKind::Reasoning
            | ItemKind::ServerToolCall { .. }
            | ItemKind::Media { .. }
            | ItemKind::Other { .. }
            | _ => {
                if !is_item {
                    return;
                }
                if is_reasoning && self.open.as_ref().is_some_and(OpenItem::is_reasoning) {
                    return self.end_text(Some(raw), out);
                }
                self.end_text(None, out);
                let (output_index, _) = self.add_item(out, |_| raw.clone());
                self.end_item(out, output_index, raw.clone());
            }
        }
    }

    /// Continues a text; begins its item and its part if there are none.
    fn text(&mut self, kind: TextKind, text: &str, out: &mut String) {
        if self.open.as_ref().is_some_and(|open| open.is_reasoning() != kind.is_reasoning()) {
            self.end_text(None, out);
        }
        if self.open.is_none() {
            let (output_index, id) = self.add_item(out, |id| kind.new_item(&id));
            self.open = Some(OpenItem::new(kind, output_index, id));
        }
        if self.open.as_ref().is_some_and(|open| open.has_other_part(kind)) {
            self.end_part(out);
        }
        let Some(mut open) = self.open.take() else { return };
        if let Some(part) = open.begin_part(kind) {
            self.send(out, kind.part_added(), part);
        }
        self.send(out, kind.delta(), open.delta(text));
        self.open = Some(open);
    }

    /// Ends the open part.
    fn end_part(&mut self, out: &mut String) {
        if let Some((kind, text, part)) = self.open.as_mut().and_then(OpenItem::end_part) {
            self.send(out, kind.text_done(), text);
            self.send(out, kind.part_done(), part);
        }
    }

    /// Ends the open message or reasoning; `raw` is the vendor's own item for it.
    fn end_text(&mut self, raw: Option<&Json>, out: &mut String) {
        self.end_part(out);
        if let Some(open) = self.open.take() {
            let item = raw.cloned().unwrap_or_else(|| open.item());
            self.end_item(out, open.output_index, item);
        }
    }

    fn end_call(&mut self, open: &OpenCallItem, is_cut: bool, out: &mut String) {
        let OpenCallItem { output_index, id, name, arguments, .. } = open;
        if !is_cut {
            let rest = json!({
                "item_id": id, "output_index": output_index, "name": name, "arguments": arguments,
            });
            self.send(out, "response.function_call_arguments.done", rest);
        }
        let status = if is_cut { "incomplete" } else { "completed" };
        let item = json!({
            "type": "function_call", "id": id, "call_id": open.call_id, "name": name,
            "arguments": arguments, "status": status,
        });
        self.end_item(out, *output_index, Json::from(item));
    }

    fn end_all(&mut self, out: &mut String) {
        self.begin(out);
        self.end_text(None, out);
        for open in std::mem::take(&mut self.calls) {
            self.end_call(&open, true, out);
        }
    }
}

impl PieceWriter for ResponseWriter {
    fn unnamed(&mut self) -> &mut NamedCalls {
        &mut self.unnamed
    }

    fn piece(&mut self, piece: &AnswerPiece<'_>, out: &mut String) {
        match *piece {
            AnswerPiece::Thinking(text) => self.text(TextKind::Summary, text, out),
            AnswerPiece::Text { text, is_refusal: false } => self.text(TextKind::Text, text, out),
            AnswerPiece::Text { text, is_refusal: true } => self.text(TextKind::Refusal, text, out),
            // An item of the vendor may follow, with what it encrypted.
            AnswerPiece::ThinkingEnd => self.end_part(out),
            AnswerPiece::TextEnd => self.end_text(None, out),
            AnswerPiece::CallStart { index, id, name } => {
                self.end_text(None, out);
                let (call_id, name) = (id.clone(), name.cloned().unwrap_or_default());
                let (output_index, id) = self.add_item(out, |id| {
                    Json::from(json!({
                        "type": "function_call", "id": id, "call_id": call_id, "name": name,
                        "arguments": "", "status": "in_progress",
                    }))
                });
                let (call, arguments) = (index, String::new());
                self.calls.push(OpenCallItem { call, output_index, id, call_id, name, arguments });
            }
            AnswerPiece::Arguments { index, json } => {
                let open = self.calls.iter_mut().find(|open| open.call == index);
                if let Some(open) = open.filter(|_| !json.is_empty()) {
                    open.arguments.push_str(json);
                    let (id, output_index) = (open.id.clone(), open.output_index);
                    let kind = "response.function_call_arguments.delta";
                    self.send(out, kind, WrittenDelta::arguments(&id, output_index, json));
                }
            }
            AnswerPiece::CallEnd { index, is_cut, .. } => {
                if let Some(at) = self.calls.iter().position(|open| open.call == index) {
                    let open = self.calls.remove(at);
                    self.end_call(&open, is_cut, out);
                }
            }
            AnswerPiece::Item(item) if item.protocol == PROTOCOL => self.item(item, out),
            AnswerPiece::Failed(error) => {
                self.begin(out);
                let (code, message) = (error.code, &error.message);
                let error = Some(json!({ "code": code, "message": message }));
                let status = ResponseStatus { word: "failed", error, incomplete: None };
                self.send_response(out, "response.failed", status, None);
            }
            AnswerPiece::Item(_) | AnswerPiece::Usage(_) => {}
        }
    }
}

impl AnswerWriter for ResponseWriter {
    fn frames(&mut self, event: &AgentEvent) -> String {
        self.write(event)
    }

    fn last_frames(&mut self, reason: &FinishReason, usage: Option<&UsageInfo>) -> String {
        let mut out = String::new();
        self.end_all(&mut out);
        let status = ResponseStatus::of(reason);
        let kind = ["response.", status.word].concat();
        self.send_response(&mut out, &kind, status, usage);
        out
    }

    fn complete(&self, completion: &Completion) -> String {
        let mut whole = Self::new(self.id.clone(), self.model.clone()).created(self.created);
        let parts = parts_of(completion);
        let out = &mut String::new();
        for part in &*parts {
            match part {
                Part::Text { text, .. } => {
                    let is_refusal = *text == completion.refusal;
                    whole.piece(&AnswerPiece::Text { text, is_refusal }, out);
                }
                Part::Thinking { text, .. } if !text.is_empty() => {
                    whole.piece(&AnswerPiece::Thinking(text), out);
                    whole.piece(&AnswerPiece::ThinkingEnd, out);
                }
                Part::ToolCall(call) => {
                    let (index, name) = (call.index, Some(&call.name));
                    let json = call.arguments.as_ref().map_or(&*call.arguments_raw, Json::as_str);
                    let is_cut = !call.is_complete();
                    whole.piece(&AnswerPiece::CallStart { index, id: &call.id, name }, out);
                    whole.piece(&AnswerPiece::Arguments { index, json }, out);
                    whole.piece(&AnswerPiece::CallEnd { index, name, is_cut }, out);
                }
                Part::ProviderItem(item) => whole.piece(&AnswerPiece::Item(item), out),
                Part::Thinking { .. }
                | Part::ToolResult(_)
                | Part::Image { .. }
                | Part::Document { .. } => {}
                Part::Framing { .. } | _ => {}
            }
            out.clear();
        }
        whole.end_all(out);
        let status = ResponseStatus::of(end_of(completion));
        to_json(&whole.response(status, completion.usage.as_ref()))
    }

    fn failure(error: &AgentError) -> String {
        failure(error)
    }
}

/// Returns the value of `usage`.
fn counts(usage: &UsageInfo) -> Value {
    let input_tokens = usage.input_tokens.unwrap_or_default();
    let output_tokens = usage.output_tokens.unwrap_or_default();
    json!({
        "input_tokens": input_tokens,
        "input_tokens_details": known_counts([
            ("cached_tokens", usage.cache_read_tokens),
            ("cache_write_tokens", usage.cache_write_tokens),
        ]),
        "output_tokens": output_tokens,
        "output_tokens_details": known_counts([("reasoning_tokens", usage.reasoning_tokens)]),
        "total_tokens": input_tokens.saturating_add(output_tokens),
    })
}
