//! Reading of the items of an input.

use serde_json::{Map, Value, value::RawValue};

use super::super::extras;
use crate::{
    decode::JsonEntries,
    gateway::{CallNames, RequestProblem, arguments, media, object, required_text, text, unlike},
};
use forgeline_types::{
    AgentEvent, Message, MessageRole, Part, Text, ToolCall, ToolResult, Transcript,
};

/// The reader of items, and the messages so far.
#[derive(Debug, Default)]
pub(super) struct ItemReader {
    calls: CallNames,
    messages: Vec<Message>,
    left_out: Vec<String>,
}

impl ItemReader {
    /// Returns a reader of items that follow these messages.
    pub(super) fn new(before: &Transcript) -> Self {
        let mut reader = Self::default();
        let calls = before.iter().flat_map(|message| message.tool_calls());
        calls.for_each(|call| reader.calls.add(call));
        reader
    }

    /// Returns the messages, and the places that have no room in a request.
    pub(super) fn finish(self) -> (Vec<Message>, Vec<String>) {
        (self.messages, self.left_out)
    }

    /// Reads the input; `written` are its items as they came.
    pub(super) fn input(
        &mut self,
        input: Value,
        written: &[&RawValue],
    ) -> Result<(), RequestProblem> {
        let items = match input {
            Value::Null => return Ok(()),
            Value::String(text) => {
                self.messages.push(Message::user(text));
                return Ok(());
            }
            Value::Array(items) => items,
            other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                return Err(unlike("input", "a text or a list of items", &other));
            }
        };
        for (at, item) in items.into_iter().enumerate() {
            let place = format!("input[{at}]");
            let within = |error: RequestProblem| error.in_place(&place);
            let mut members = object(item, &place)?;
            let kind = text(&mut members, "type").map_err(within)?;
            let written = written.get(at).copied();
            match kind.as_deref() {
                None | Some("message") => self.message(&mut members, written, &place)?,
                Some("function_call") => self.call(&mut members, written, &place)?,
                Some("function_call_output") => self.result(&mut members, &place)?,
                Some("reasoning") => self.reasoning(&members, written),
                Some("item_reference") => {
                    let problem = "nothing is stored here; send the item itself";
                    return Err(RequestProblem::new(place, problem));
                }
                Some(other) if other.ends_with("_output") || other == extras::CUSTOM => {
                    let expected = "expected `message`, `function_call`, `function_call_output`, `reasoning` or an item of the vendor's tools";
                    let problem = format!("{expected}, found {other:?}");
                    return Err(RequestProblem::new(format!("{place}.type"), problem));
                }
                Some(_) => {
                    let wire = JsonEntries::from_raw(written);
                    let items = written.map(|raw| extras::other(raw, &wire)).unwrap_or_default();
                    // The first is the item, which goes back; any other is what it says of a result.
                    self.said(items.into_iter().take(1).filter_map(part));
                }
            }
        }
        Ok(())
    }

    fn message(
        &mut self,
        members: &mut Map<String, Value>,
        written: Option<&RawValue>,
        place: &str,
    ) -> Result<(), RequestProblem> {
        let role = required_text(members, "role").map_err(|error| error.in_place(place))?;
        let parts = content(members.remove("content").unwrap_or_default(), place, "content")?;
        let known = ["id", "status", extras::PHASE];
        let left = members.iter().filter(|(name, it)| !it.is_null() && !known.contains(&&***name));
        self.left_out.extend(left.map(|(name, _)| format!("{place}.{name}")));
        match &*role {
            "assistant" => {
                let phase = extras::phase(&JsonEntries::from_raw(written)).and_then(part);
                self.said(parts.into_iter().chain(phase));
            }
            "user" => self.messages.push(Message::new(MessageRole::User, parts)),
            "system" | "developer" => {
                self.messages.push(Message::new(MessageRole::System, parts));
            }
            other => {
                let problem = format!(
                    "expected `user`, `assistant`, `system` or `developer`, found {other:?}"
                );
                return Err(RequestProblem::new(format!("{place}.role"), problem));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        members: &mut Map<String, Value>,
        written: Option<&RawValue>,
        place: &str,
    ) -> Result<(), RequestProblem> {
        let within = |error: RequestProblem| error.in_place(place);
        let id = required_text(members, "call_id").map_err(within)?;
        let name = required_text(members, "name").map_err(within)?;
        let mut call = ToolCall::new(id, name, arguments(members, place)?);
        call.index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        call.signature = extras::more_of_call(&JsonEntries::from_raw(written));
        self.calls.add(&call);
        self.said([Part::ToolCall(call)]);
        Ok(())
    }

    fn result(
        &mut self,
        members: &mut Map<String, Value>,
        place: &str,
    ) -> Result<(), RequestProblem> {
        let id = required_text(members, "call_id").map_err(|error| error.in_place(place))?;
        let name = self.calls.name_of(&id, &format!("{place}.call_id"))?;
        let mut parts = content(members.remove("output").unwrap_or_default(), place, "output")?;
        let first = parts.first().and_then(Part::as_text).map(str::to_owned);
        if first.is_some() {
            parts.remove(0);
        }
        let result = ToolResult::new(Text::from(id), name, first.unwrap_or_default()).parts(parts);
        self.add(MessageRole::Tool, [Part::ToolResult(result)]);
        Ok(())
    }

    /// Reads reasoning: its summary for any provider, and the item for the vendor.
    fn reasoning(&mut self, members: &Map<String, Value>, written: Option<&RawValue>) {
        let texts = members.get("summary").and_then(Value::as_array).into_iter().flatten();
        let texts = texts.filter_map(|part| part.get("text").and_then(Value::as_str));
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        let summary = (!texts.is_empty()).then(|| Part::thinking(texts.join("\n\n"), None));
        let item = written.and_then(extras::reasoning).and_then(part);
        self.said(summary.into_iter().chain(item));
    }

    /// Adds to what the model said.
    fn said(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.add(MessageRole::Assistant, parts);
    }

    /// Adds parts to the last message, or a new one if the last is of another role.
    fn add(&mut self, role: MessageRole, parts: impl IntoIterator<Item = Part>) {
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.messages.push(Message::new(role, parts.into_iter().collect())),
        }
    }
}

fn part(event: AgentEvent) -> Option<Part> {
    if let AgentEvent::ProviderItem(item) = event { Some(Part::ProviderItem(item)) } else { None }
}

/// Reads the content of a message, or the output of a tool.
fn content(content: Value, place: &str, name: &str) -> Result<Vec<Part>, RequestProblem> {
    let list = match content {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Part::text(text)]),
        Value::Array(list) => list,
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(unlike(format!("{place}.{name}"), "a text or a list of parts", &other));
        }
    };
    let read = |(at, value): (usize, Value)| {
        let place = format!("{place}.{name}[{at}]");
        let mut members = object(value, &place)?;
        let within = |error: RequestProblem| error.in_place(&place);
        let kind = required_text(&mut members, "type").map_err(within)?;
        let file = text(&mut members, "file_data").map_err(within)?;
        Ok(match &*kind {
            "input_text" | "output_text" | "text" => {
                Part::text(required_text(&mut members, "text").map_err(within)?)
            }
            "refusal" => Part::text(required_text(&mut members, "refusal").map_err(within)?),
            "input_image" if members.get("image_url").is_some_and(Value::is_string) => {
                let (kind, data) = media(required_text(&mut members, "image_url").map_err(within)?);
                Part::image(kind.unwrap_or_else(|| "image/png".to_owned()), data)
            }
            "input_file" if file.is_some() || members.contains_key("file_url") => {
                let url = text(&mut members, "file_url").map_err(within)?;
                let (kind, data) = media(file.or(url).unwrap_or_default());
                let kind = kind.unwrap_or_else(|| "application/pdf".to_owned());
                Part::document(kind, data, text(&mut members, "filename").map_err(within)?)
            }
            other => {
                let expected = "expected `input_text`, `output_text`, `input_image` with `image_url`, or `input_file` with `file_data` or `file_url`";
                return Err(RequestProblem::new(place, format!("{expected}, found {other:?}")));
            }
        })
    };
    list.into_iter().enumerate().map(read).collect()
}
