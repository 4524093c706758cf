//! Reading of the blocks of a message.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    anthropic::items::{self, PROTOCOL},
    decode::{JsonEntries, JsonMembers, tool_name},
    gateway::{
        CallNames, RequestProblem, flag, leave_out, object, option, required_text, text, unlike,
    },
};
use forgeline_types::{
    AgentEvent, Json, Message, MessageRole, Part, Signature, ToolCall, ToolResult,
};

/// The blocks that a user may send, and those of the result of a tool.
const FROM_USER: &str = "`text`, `image`, `document` or `tool_result`";
const FROM_TOOL: &str = "`text`, `image` or `document`";

/// The reader of blocks, and what it found so far.
#[derive(Debug, Default)]
pub(super) struct BlockReader {
    calls: CallNames,
    pub(super) left_out: Vec<String>,
    /// `true` once a block was marked for the prompt cache.
    pub(super) has_marks: bool,
}

impl BlockReader {
    /// Names the members that are left.
    pub(super) fn leave_out(&mut self, members: &Map<String, Value>, place: &str) {
        leave_out(members, place, &mut self.left_out);
    }

    /// Removes the mark for the prompt cache; how long it is to last has no place in a request.
    pub(super) fn mark(&mut self, members: &mut Map<String, Value>, place: &str) {
        let Some(Value::Object(mut mark)) = members.remove("cache_control") else { return };
        self.has_marks = true;
        mark.remove("type");
        self.leave_out(&mark, &format!("{place}.cache_control"));
    }

    /// Reads the instructions: the first, and messages of the others.
    pub(super) fn system(
        &mut self,
        system: Option<Value>,
    ) -> Result<(Option<Arc<str>>, Vec<Message>), RequestProblem> {
        let blocks = match system {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => return Ok((Some(text.into()), Vec::new())),
            Some(Value::Array(blocks)) => blocks,
            Some(other) => return Err(unlike("system", "a text or a list of blocks", &other)),
        };
        let mut texts = Vec::with_capacity(blocks.len());
        for (at, block) in blocks.into_iter().enumerate() {
            let place = format!("system[{at}]");
            let (kind, mut members) = self.begin(block, &place)?;
            if kind != "text" {
                return Err(unknown(&place, "`text`", &kind));
            }
            texts.push(required_text(&mut members, "text").map_err(|it| it.in_place(&place))?);
            self.leave_out(&members, &place);
        }
        let mut texts = texts.into_iter();
        let first = texts.next().map(Into::into);
        let more = texts.map(|text| Message::new(MessageRole::System, vec![Part::text(text)]));
        Ok((first, more.collect()))
    }

    /// Reads what the user says, and the results of tools.
    pub(super) fn user(
        &mut self,
        content: Value,
        place: &str,
    ) -> Result<Vec<Part>, RequestProblem> {
        let mut parts = Vec::new();
        for (at, block) in blocks(content, place)?.into_iter().enumerate() {
            let place = format!("{place}[{at}]");
            let (kind, mut members) = self.begin(block, &place)?;
            parts.push(if kind == "tool_result" {
                Part::ToolResult(self.result(&mut members, &place)?)
            } else {
                self.media(&kind, &mut members, &place, FROM_USER)?
            });
            self.leave_out(&members, &place);
        }
        Ok(parts)
    }

    /// Reads what the model said; `written` are the same blocks as they came.
    pub(super) fn assistant(
        &mut self,
        content: Value,
        written: &[&RawValue],
        place: &str,
    ) -> Result<Vec<Part>, RequestProblem> {
        let mut parts = Vec::new();
        for (at, block) in blocks(content, place)?.into_iter().enumerate() {
            let place = format!("{place}[{at}]");
            let within = |error: RequestProblem| error.in_place(&place);
            let (kind, mut members) = self.begin(block, &place)?;
            let written = written.get(at).map(|block| block.get()).unwrap_or_default();
            match &*kind {
                "text" => {
                    parts.push(Part::text(required_text(&mut members, "text").map_err(within)?));
                    members.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
                    self.leave_out(&members, &place);
                }
                "thinking" => {
                    let thinking = required_text(&mut members, "thinking").map_err(within)?;
                    let proof = text(&mut members, "signature").map_err(within)?;
                    let proof = proof.filter(|proof| !proof.is_empty());
                    let signature = proof.map(|proof| Signature::new(PROTOCOL, proof));
                    parts.push(Part::thinking(thinking, signature));
                    self.leave_out(&members, &place);
                }
                "tool_use" => {
                    parts.push(Part::ToolCall(self.call(&mut members, written, &place)?));
                }
                _ => {
                    let item = items::block(&JsonMembers::parse(written).without("cache_control"));
                    if let Some(AgentEvent::ProviderItem(item)) = item {
                        parts.push(Part::ProviderItem(item));
                    }
                }
            }
        }
        Ok(parts)
    }

    fn call(
        &mut self,
        members: &mut Map<String, Value>,
        written: &str,
        place: &str,
    ) -> Result<ToolCall, RequestProblem> {
        let within = |error: RequestProblem| error.in_place(place);
        let id = required_text(members, "id").map_err(within)?;
        let name = required_text(members, "name").map_err(within)?;
        object(members.remove("input").unwrap_or_default(), &format!("{place}.input"))?;
        let written_input = JsonEntries::parse(written).get("input").map(RawValue::get);
        let input = written_input.and_then(|input| Json::parse(input).ok());
        let input = input.unwrap_or_else(|| Json::from(Value::Object(Map::new())));
        // Ids that the vendor would reject are sent to it escaped.
        let mut call = ToolCall::new(tool_name(&id), name, input);
        call.index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        call.signature = items::more_of_call(&JsonMembers::parse(written));
        self.calls.add(&call);
        Ok(call)
    }

    fn result(
        &mut self,
        members: &mut Map<String, Value>,
        place: &str,
    ) -> Result<ToolResult, RequestProblem> {
        let within = |error: RequestProblem| error.in_place(place);
        let id = tool_name(&required_text(members, "tool_use_id").map_err(within)?);
        let name = self.calls.name_of(&id, &format!("{place}.tool_use_id"))?;
        let is_error = flag(members, "is_error").map_err(within)?.unwrap_or_default();
        let content = members.remove("content").unwrap_or_default();
        let place = format!("{place}.content");
        let mut parts = Vec::new();
        for (at, block) in blocks(content, &place)?.into_iter().enumerate() {
            let place = format!("{place}[{at}]");
            let (kind, mut members) = self.begin(block, &place)?;
            parts.push(self.media(&kind, &mut members, &place, FROM_TOOL)?);
            self.leave_out(&members, &place);
        }
        let first = parts.first().and_then(Part::as_text).map(str::to_owned);
        if first.is_some() {
            parts.remove(0);
        }
        Ok(ToolResult::new(id, name, first.unwrap_or_default()).error(is_error).parts(parts))
    }

    /// Reads a text, an image or a document.
    fn media(
        &mut self,
        kind: &str,
        members: &mut Map<String, Value>,
        place: &str,
        expected: &str,
    ) -> Result<Part, RequestProblem> {
        let within = |error: RequestProblem| error.in_place(place);
        if kind == "text" {
            return Ok(Part::text(required_text(members, "text").map_err(within)?));
        }
        if !matches!(kind, "image" | "document") {
            return Err(unknown(place, expected, kind));
        }
        let is_image = kind == "image";
        let mut source = option(members, "source").map_err(within)?;
        let place = format!("{place}.source");
        let within = |error: RequestProblem| error.in_place(&place);
        let kind = required_text(&mut source, "type").map_err(within)?;
        let stated = text(&mut source, "media_type").map_err(within)?;
        let usual = if is_image { "image/png" } else { "application/pdf" };
        let media_type = stated.unwrap_or_else(|| usual.to_owned());
        let data = match &*kind {
            "base64" => required_text(&mut source, "data").map_err(within)?,
            "url" => required_text(&mut source, "url").map_err(within)?,
            "text" if !is_image => {
                BASE64_STANDARD.encode(required_text(&mut source, "data").map_err(within)?)
            }
            other => {
                let expected =
                    if is_image { "`base64` or `url`" } else { "`base64`, `url` or `text`" };
                return Err(unknown(&place, expected, other));
            }
        };
        self.leave_out(&source, &place);
        if is_image {
            return Ok(Part::image(media_type, data));
        }
        let title = text(members, "title").map_err(within)?;
        Ok(Part::document(media_type, data, title))
    }

    /// Returns the kind of a block and its other members, without its mark.
    fn begin(
        &mut self,
        block: Value,
        place: &str,
    ) -> Result<(String, Map<String, Value>), RequestProblem> {
        let mut members = object(block, place)?;
        let kind = required_text(&mut members, "type").map_err(|it| it.in_place(place))?;
        self.mark(&mut members, place);
        Ok((kind, members))
    }
}

/// Returns the blocks of a content; a text is a single block.
fn blocks(content: Value, place: &str) -> Result<Vec<Value>, RequestProblem> {
    match content {
        Value::Array(blocks) => Ok(blocks),
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![serde_json::json!({ "type": "text", "text": text })]),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(unlike(place, "a text or a list of blocks", &other))
        }
    }
}

fn unknown(place: &str, expected: &str, found: &str) -> RequestProblem {
    RequestProblem::new(format!("{place}.type"), format!("expected {expected}, found {found:?}"))
}
