//! Encoding of events as a Messages response.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{items::PROTOCOL, wire::FACTS};
use crate::gateway::{
    AnswerPiece, AnswerWriter, NamedCalls, PieceWriter, RequestProblem, end_of, frame,
    known_counts, parts_of, to_json,
};
use forgeline_types::{
    AgentError, AgentEvent, Completion, ErrorCode, FinishReason, ItemKind, Json, Part,
    ProviderItem, Signature, Text, UsageInfo,
};

/// A writer of the events of one response as a Messages response, for a server whose clients speak that protocol.
///
/// Pure: no I/O, no clock. Its methods are those of [`AnswerWriter`]. Message text becomes blocks of `text`, reasoning blocks of
/// `thinking` with the signature that [`sign`](AnswerWriter::sign) got for it, a call a block of `tool_use`; a call without a name waits
/// for it. Items of this protocol, such as redacted reasoning and the blocks of the vendor's own tools, are written as they came.
/// Refusals are text; signatures of calls and what other vendors signed are not written.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::{anthropic::MessageWriter, gateway::AnswerWriter},
///     types::{AgentEvent, FinishReason, MessageContentEvent, UsageInfo},
/// };
///
/// let mut writer = MessageWriter::new("msg_1", "my-model");
/// let event = AgentEvent::MessageContent(MessageContentEvent::new("Hi"));
/// assert!(writer.frames(&event).ends_with(concat!(
///     "event: content_block_delta\n",
///     r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
///     "\n\n",
/// )));
/// let usage = UsageInfo::default().input_tokens(7).output_tokens(3);
/// let end = writer.last_frames(&FinishReason::Stop, Some(&usage));
/// assert!(end.contains(r#""stop_reason":"end_turn""#));
/// assert!(end.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct MessageWriter {
    id: Text,
    model: Text,
    has_begun: bool,
    has_calls: bool,
    unnamed: NamedCalls,
    /// The index of the next block.
    next: u32,
    /// The open block of text or reasoning.
    open: Option<(BlockKind, u32)>,
    /// The calls whose blocks are open, with the index of the block.
    calls: Vec<(u32, u32)>,
    /// The signature of the reasoning that ends next.
    proof: Option<Text>,
    facts: MessageFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
}

/// The facts about the whole message that the vendor gave, such as the text that stopped it.
#[derive(Debug, Clone, Default)]
struct MessageFacts(Map<String, Value>);

#[derive(Serialize)]
struct WrittenBlockDelta<'a> {
    r#type: &'static str,
    index: u32,
    delta: BlockPiece<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum BlockPiece<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
    #[serde(rename = "citations_delta")]
    Citation { citation: &'a Json },
}

#[derive(Serialize)]
struct WrittenBlockStart<'a> {
    r#type: &'static str,
    index: u32,
    content_block: &'a WrittenBlock<'a>,
}

/// A block as a whole, or at its beginning.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WrittenBlock<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<&'a Json>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Json,
    },
    #[serde(untagged)]
    Item(&'a Json),
}

#[derive(Serialize)]
struct WrittenMessage<'a> {
    id: &'a str,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<WrittenBlock<'a>>,
    stop_reason: Option<&'a str>,
    #[serde(flatten)]
    facts: Map<String, Value>,
    usage: Value,
}

impl MessageWriter {
    /// Creates a writer for one response with this id, answered by `model`.
    #[must_use]
    pub fn new(id: impl Into<Text>, model: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            model: model.into(),
            has_begun: false,
            has_calls: false,
            unnamed: NamedCalls::default(),
            next: 0,
            open: None,
            calls: Vec::new(),
            proof: None,
            facts: MessageFacts::default(),
        }
    }

    fn message<'a>(
        &'a self,
        content: Vec<WrittenBlock<'a>>,
        stop_reason: Option<&'a str>,
        facts: &MessageFacts,
        usage: Option<&UsageInfo>,
    ) -> WrittenMessage<'a> {
        WrittenMessage {
            id: &self.id,
            r#type: "message",
            role: "assistant",
            model: &self.model,
            content,
            stop_reason,
            facts: facts.members(),
            usage: counts(usage),
        }
    }

    fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let message = self.message(Vec::new(), None, &MessageFacts::default(), None);
            let start = WrittenMessageStart { r#type: "message_start", message };
            frame(out, "message_start", &start);
        }
    }

    fn item(&mut self, item: &ProviderItem, out: &mut String) {
        if self.facts.note(item) {
            return;
        }
        if is_citation(item) {
            if let Some((BlockKind::Text, index)) = self.open {
                delta(out, index, BlockPiece::Citation { citation: &item.raw });
            }
        } else if is_block(item) {
            self.end_text(out);
            let block = self.start(&WrittenBlock::Item(&item.raw), out);
            stop(out, block);
        }
    }

    /// Returns the index of the open block of this kind; begins one if there is none.
    fn continued(&mut self, kind: BlockKind, out: &mut String) -> u32 {
        if let Some((open, index)) = self.open
            && open == kind
        {
            return index;
        }
        self.end_text(out);
        let index = self.start(
            &match kind {
                BlockKind::Text => WrittenBlock::Text { text: "", citations: Vec::new() },
                BlockKind::Thinking => WrittenBlock::Thinking { thinking: "", signature: "" },
            },
            out,
        );
        self.open = Some((kind, index));
        index
    }

    fn start(&mut self, block: &WrittenBlock<'_>, out: &mut String) -> u32 {
        self.begin(out);
        let index = self.next;
        self.next += 1;
        let r#type = "content_block_start";
        frame(out, r#type, &WrittenBlockStart { r#type, index, content_block: block });
        index
    }

    fn end_text(&mut self, out: &mut String) {
        let Some((kind, index)) = self.open.take() else { return };
        if let Some(signature) = self.proof.take().filter(|_| kind == BlockKind::Thinking) {
            delta(out, index, BlockPiece::Signature { signature: &signature });
        }
        stop(out, index);
    }
}

#[derive(Serialize)]
struct WrittenMessageStart<'a> {
    r#type: &'static str,
    message: WrittenMessage<'a>,
}

impl PieceWriter for MessageWriter {
    fn unnamed(&mut self) -> &mut NamedCalls {
        &mut self.unnamed
    }

    fn piece(&mut self, piece: &AnswerPiece<'_>, out: &mut String) {
        match *piece {
            AnswerPiece::Thinking(text) => {
                let index = self.continued(BlockKind::Thinking, out);
                delta(out, index, BlockPiece::Thinking { thinking: text });
            }
            AnswerPiece::Text { text, .. } => {
                let index = self.continued(BlockKind::Text, out);
                delta(out, index, BlockPiece::Text { text });
            }
            AnswerPiece::ThinkingEnd | AnswerPiece::TextEnd => self.end_text(out),
            AnswerPiece::CallStart { index, id, name } => {
                self.has_calls = true;
                self.end_text(out);
                let name = name.map_or("", Text::as_str);
                let input = Json::from(json!({}));
                let block = self.start(&WrittenBlock::ToolUse { id, name, input }, out);
                self.calls.push((index, block));
            }
            AnswerPiece::Arguments { index, json } => {
                let block = self.calls.iter().find(|(call, _)| *call == index);
                if let Some((_, block)) = block.filter(|_| !json.is_empty()) {
                    delta(out, *block, BlockPiece::InputJson { partial_json: json });
                }
            }
            AnswerPiece::CallEnd { index, .. } => {
                if let Some(at) = self.calls.iter().position(|(call, _)| *call == index) {
                    let (_, block) = self.calls.remove(at);
                    stop(out, block);
                }
            }
            AnswerPiece::Item(item) => self.item(item, out),
            AnswerPiece::Failed(error) => frame(out, "error", &failure(error)),
            AnswerPiece::Usage(_) => {}
        }
    }
}

impl AnswerWriter for MessageWriter {
    fn frames(&mut self, event: &AgentEvent) -> String {
        self.write(event)
    }

    fn sign(&mut self, signature: Option<&Signature>) {
        self.proof = signature.and_then(|signature| signature.for_protocol(PROTOCOL)).cloned();
    }

    fn last_frames(&mut self, reason: &FinishReason, usage: Option<&UsageInfo>) -> String {
        let mut out = String::new();
        self.begin(&mut out);
        self.end_text(&mut out);
        for (_, block) in std::mem::take(&mut self.calls) {
            stop(&mut out, block);
        }
        let mut facts = self.facts.members();
        let management = facts.remove("context_management");
        facts.insert(
            "stop_reason".to_owned(),
            json!(self.facts.stop_reason(reason, self.has_calls)),
        );
        let mut end = json!({ "type": "message_delta", "delta": facts, "usage": counts(usage) });
        if let Some(management) = management {
            end["context_management"] = management;
        }
        frame(&mut out, "message_delta", &end);
        frame(&mut out, "message_stop", &json!({ "type": "message_stop" }));
        out
    }

    fn complete(&self, completion: &Completion) -> String {
        let parts = parts_of(completion);
        let (mut content, mut facts) = (Vec::new(), MessageFacts::default());
        for part in &*parts {
            match part {
                Part::Text { text, .. } => {
                    content.push(WrittenBlock::Text { text, citations: Vec::new() });
                }
                Part::Thinking { text, signature, .. } => {
                    let proof = signature.as_ref().and_then(|it| it.for_protocol(PROTOCOL));
                    let signature = proof.map_or("", Text::as_str);
                    content.push(WrittenBlock::Thinking { thinking: text, signature });
                }
                Part::ToolCall(call) => {
                    let input = call.arguments.clone().unwrap_or_else(|| Json::from(json!({})));
                    content.push(WrittenBlock::ToolUse { id: &call.id, name: &call.name, input });
                }
                Part::ProviderItem(item) if facts.note(item) => {}
                Part::ProviderItem(item) if is_citation(item) => {
                    if let Some(WrittenBlock::Text { citations, .. }) = content.last_mut() {
                        citations.push(&item.raw);
                    }
                }
                Part::ProviderItem(item) if is_block(item) => {
                    content.push(WrittenBlock::Item(&item.raw));
                }
                Part::ProviderItem(_)
                | Part::ToolResult(_)
                | Part::Image { .. }
                | Part::Document { .. } => {}
                Part::Framing { .. } | _ => {}
            }
        }
        let has_calls = content.iter().any(|it| matches!(it, WrittenBlock::ToolUse { .. }));
        let stop_reason = facts.stop_reason(end_of(completion), has_calls);
        to_json(&self.message(content, Some(stop_reason), &facts, completion.usage.as_ref()))
    }

    fn failure(error: &AgentError) -> String {
        to_json(&failure(error))
    }

    fn refusal(problem: &RequestProblem) -> String {
        to_json(&wrong("invalid_request_error", &problem.to_string()))
    }
}

impl MessageFacts {
    /// Keeps an item that says something of the whole message; returns `false` for any other item.
    fn note(&mut self, item: &ProviderItem) -> bool {
        let ItemKind::Other { name, .. } = &item.kind else { return false };
        let is_fact = item.protocol == PROTOCOL && FACTS.contains(&name.as_str());
        if is_fact {
            self.0.insert(name.to_string(), item.raw.to_value());
        }
        is_fact
    }

    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("stop_sequence".to_owned(), Value::Null);
        members.extend(self.0.clone());
        members
    }

    /// Returns the word for the reason of the end. Clients of this protocol run calls only if it is `tool_use`.
    fn stop_reason<'r>(&self, reason: &'r FinishReason, has_calls: bool) -> &'r str {
        match reason {
            FinishReason::Stop if has_calls => "tool_use",
            FinishReason::Stop if self.0.contains_key("stop_sequence") => "stop_sequence",
            FinishReason::Stop => "end_turn",
            FinishReason::ToolCalls => "tool_use",
            FinishReason::Length => "max_tokens",
            FinishReason::ContentFilter | FinishReason::Refusal => "refusal",
            FinishReason::Pause => "pause_turn",
            FinishReason::ContextExceeded => "model_context_window_exceeded",
            FinishReason::Malformed
            | FinishReason::Repetition
            | FinishReason::Interrupted
            | FinishReason::Other(_) => reason.as_str(),
            _ => reason.as_str(),
        }
    }
}

fn is_citation(item: &ProviderItem) -> bool {
    item.protocol == PROTOCOL && matches!(item.kind, ItemKind::Citation(_))
}

/// Returns `true` for an item that is a block of this protocol.
fn is_block(item: &ProviderItem) -> bool {
    let is_delta = matches!(&item.kind, ItemKind::Other { name, .. } if name.ends_with("_delta"));
    item.protocol == PROTOCOL
        && !is_delta
        && !item.is_unknown_event()
        && item.raw.as_str().starts_with('{')
}

fn delta(out: &mut String, index: u32, delta: BlockPiece<'_>) {
    let r#type = "content_block_delta";
    frame(out, r#type, &WrittenBlockDelta { r#type, index, delta });
}

fn stop(out: &mut String, index: u32) {
    let r#type = "content_block_stop";
    frame(out, r#type, &json!({ "type": r#type, "index": index }));
}

/// Returns the value of `usage`, whose input excludes what was read from a cache or written to it.
fn counts(usage: Option<&UsageInfo>) -> Value {
    let usage = usage.copied().unwrap_or_default();
    let cached = [usage.cache_read_tokens, usage.cache_write_tokens].into_iter().flatten();
    let input = usage.input_tokens.unwrap_or_default();
    let mut counts = known_counts([
        ("input_tokens", Some(cached.fold(input, u64::saturating_sub))),
        ("cache_read_input_tokens", usage.cache_read_tokens),
        ("cache_creation_input_tokens", usage.cache_write_tokens),
        ("output_tokens", Some(usage.output_tokens.unwrap_or_default())),
    ]);
    if let Some(tokens) = usage.reasoning_tokens {
        counts.insert("output_tokens_details".to_owned(), json!({ "thinking_tokens": tokens }));
    }
    Value::Object(counts)
}

fn failure(error: &AgentError) -> Value {
    let kind = if error.code == ErrorCode::Overloaded {
        "overloaded_error"
    } else if error.code == ErrorCode::RateLimited {
        "rate_limit_error"
    } else if error.code == ErrorCode::Timeout {
        "timeout_error"
    } else if matches!(error.code, ErrorCode::InvalidRequest | ErrorCode::ContextExceeded) {
        "invalid_request_error"
    } else {
        "api_error"
    };
    wrong(kind, &error.message)
}

fn wrong(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
