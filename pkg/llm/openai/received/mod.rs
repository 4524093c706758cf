//! Reading of Chat Completions requests, for a server whose clients speak that protocol.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::{
    PROTOCOL,
    chunk_writer::ChunkWriter,
    reasoning::{BLOCKS, DETAILS},
    wire::{REASONING, REASONING_CONTENT, REASONING_TEXT},
};
use crate::{
    Request, ResponseFormat, ToolChoice,
    gateway::{
        CallNames, ClientRequest, RequestProblem, arguments, client_protocol, flag, function_tool,
        items, leave_out, media, number, object, only_function, option, required_text, root, text,
        texts, tools, unlike,
    },
};
use forgeline_types::{
    ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, Text, ToolCall,
    ToolResult, Transcript,
};

/// Reads the body of a Chat Completions request.
///
/// An instruction at the beginning becomes [`Request::system`]; results of tools get the names of their calls; `data:` URLs
/// become images and documents. What the protocol has and a [`Request`] has not is an error where the answer would be
/// another one (audio, tools other than functions), and else kept in [`Request::extra`] or named in
/// [`left_out`](ClientRequest::left_out). The caller bounds the length of the body.
///
/// # Errors
///
/// Returns the first place that is not as the protocol has it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::openai::read_request;
///
/// let body = r#"{"model":"small","stream":true,"n":1,"messages":[
///     {"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"}]}"#;
/// let received = read_request(body.as_bytes())?;
/// assert_eq!((received.model.as_str(), received.stream), ("small", true));
/// assert_eq!(received.request.system.as_deref(), Some("Be brief."));
/// assert_eq!(received.request.messages.len(), 1);
///
/// let error = read_request(br#"{"model":"small","messages":[{"role":"user","content":7}]}"#);
/// let words = "messages[0].content: expected a text or a list of parts, found a number";
/// assert_eq!(error.unwrap_err().to_string(), words);
/// # Ok::<(), forgeline::llm::gateway::RequestProblem>(())
/// ```
pub fn read_request(body: &[u8]) -> Result<ClientRequest, RequestProblem> {
    let (mut members, model) = root(body)?;
    let mut reader = RequestReader::default();
    let messages = members.remove("messages").unwrap_or_default();
    let mut request = Request::default();
    reader.messages(messages, &mut request)?;
    request.tools = tools(&mut members, |mut tool, place| {
        only_function(&tool, place)?;
        let function = tool.get_mut("function").map(Value::take).unwrap_or_default();
        let place = format!("{place}.function");
        function_tool(object(function, &place)?, &place, &mut reader.left_out)
    })?;
    request.tool_choice =
        members.remove("tool_choice").as_ref().map(tool_choice).transpose()?.flatten();
    request.response_format =
        members.remove("response_format").as_ref().map(response_format).transpose()?.flatten();
    request.parallel_tool_calls = flag(&mut members, "parallel_tool_calls")?;
    let old = number(&mut members, "max_tokens")?;
    request.max_tokens = number(&mut members, "max_completion_tokens")?.or(old);
    request.top_k = number(&mut members, "top_k")?;
    request.seed = number(&mut members, "seed")?;
    request.stop = texts(&mut members, "stop")?;
    request.reasoning_effort = text(&mut members, "reasoning_effort")?.map(Text::from);
    let mut options = option(&mut members, "stream_options")?;
    let include_usage = flag(&mut options, "include_usage")?.unwrap_or_default();
    let received = ClientRequest::with_members(model, members, request, reader.left_out)?;
    Ok(ClientRequest { include_usage, ..received })
}

client_protocol!(ChunkWriter);

/// The reader of a request, and what it found so far.
#[derive(Debug, Default)]
struct RequestReader {
    /// The ids and names of the calls so far.
    calls: CallNames,
    left_out: Vec<String>,
}

impl RequestReader {
    fn messages(&mut self, messages: Value, request: &mut Request) -> Result<(), RequestProblem> {
        let Value::Array(messages) = messages else {
            return Err(unlike("messages", "a list", &messages));
        };
        let mut read: Vec<Message> = Vec::with_capacity(messages.len());
        for (at, message) in messages.into_iter().enumerate() {
            let place = format!("messages[{at}]");
            let Value::Object(mut members) = message else {
                return Err(unlike(place, "an object", &message));
            };
            let role =
                required_text(&mut members, "role").map_err(|error| error.in_place(&place))?;
            let message = self.message(&role, &mut members, &place)?;
            leave_out(&members, &place, &mut self.left_out);
            match read.last_mut() {
                None if message.role == MessageRole::System && request.system.is_none() => {
                    request.system = Some(message.text().into());
                }
                // Each result is a message of its own in this protocol; here they are those of one answer.
                Some(last)
                    if last.role == MessageRole::Tool && message.role == MessageRole::Tool =>
                {
                    last.parts.extend(message.parts);
                }
                _ => read.push(message),
            }
        }
        request.messages = Transcript::from(read);
        Ok(())
    }

    fn message(
        &mut self,
        role: &str,
        members: &mut Map<String, Value>,
        place: &str,
    ) -> Result<Message, RequestProblem> {
        let content = members.remove("content").unwrap_or_default();
        let content_place = format!("{place}.content");
        let parts = |content| parts(content, &content_place);
        Ok(match role {
            "system" | "developer" => Message::new(MessageRole::System, parts(content)?),
            "user" => Message::new(MessageRole::User, parts(content)?),
            "assistant" => {
                let mut said = reasoning(members);
                said.extend(parts(content)?);
                if let Some(Value::String(text)) = members.remove("refusal") {
                    said.push(Part::text(text));
                }
                let calls = members.remove("tool_calls").unwrap_or_default();
                said.extend(self.calls(calls, &format!("{place}.tool_calls"))?);
                Message::new(MessageRole::Assistant, said)
            }
            "tool" => {
                let id = required_text(members, "tool_call_id").map_err(|it| it.in_place(place))?;
                let name = self.calls.name_of(&id, &format!("{place}.tool_call_id"))?;
                let (mut text, mut rest) = (String::new(), Vec::new());
                for part in parts(content)? {
                    if let Part::Text { text: more, .. } = part {
                        text.push_str(&more);
                    } else {
                        rest.push(part);
                    }
                }
                let mut result = ToolResult::new(id, name, text);
                result.parts = rest;
                Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
            }
            other => {
                let problem = format!(
                    "expected `system`, `developer`, `user`, `assistant` or `tool`, found {other:?}"
                );
                return Err(RequestProblem::new(format!("{place}.role"), problem));
            }
        })
    }

    fn calls(&mut self, calls: Value, place: &str) -> Result<Vec<Part>, RequestProblem> {
        let calls = items(Some(calls), place)?;
        let mut read = Vec::with_capacity(calls.len());
        for (at, mut call) in calls.into_iter().enumerate() {
            let place = format!("{place}[{at}]");
            only_function(&call, &place)?;
            let function = call.get_mut("function").map(Value::take).unwrap_or_default();
            let place = format!("{place}.function");
            let mut function = object(function, &place)?;
            let name = required_text(&mut function, "name").map_err(|it| it.in_place(&place))?;
            let arguments = arguments(&mut function, &place)?;
            let id = call.get("id").and_then(Value::as_str).map(Text::from);
            let id = id.unwrap_or_else(|| Text::from(format!("call_{}", self.calls.len())));
            let mut call = ToolCall::new(id, name, arguments);
            call.index = u32::try_from(at).unwrap_or(u32::MAX);
            self.calls.add(&call);
            read.push(Part::ToolCall(call));
        }
        Ok(read)
    }
}

/// Returns the reasoning that an assistant's message has in the members in which servers send it.
fn reasoning(members: &mut Map<String, Value>) -> Vec<Part> {
    let mut parts = Vec::new();
    for name in [DETAILS, BLOCKS, "reasoning_opaque", "extra_content", "provider_specific_fields"] {
        if let Some(raw) = members.remove(name).filter(|raw| !raw.is_null()) {
            let raw = Json::from(json!({ name: raw }));
            let item = ProviderItem::new(PROTOCOL, ItemKind::Reasoning, raw);
            parts.push(Part::ProviderItem(item));
        }
    }
    let read = |name: &'static str| match members.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some((name, text.clone())),
        _ => None,
    };
    let found = [REASONING_CONTENT, REASONING, REASONING_TEXT].into_iter().find_map(read);
    let Some((name, text)) = found else { return parts };
    members.remove(name);
    let signature = Some(Signature::new(PROTOCOL, name));
    parts.push(Part::thinking(text, signature));
    parts
}

/// Reads the content of a message.
fn parts(content: Value, place: &str) -> Result<Vec<Part>, RequestProblem> {
    let list = match content {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) if text.is_empty() => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Part::text(text)]),
        Value::Array(list) => list,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(unlike(place, "a text or a list of parts", &content));
        }
    };
    let read = |(at, part): (usize, Value)| {
        let place = format!("{place}[{at}]");
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let at = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let lacks = |member: &str| RequestProblem::new(format!("{place}.{member}"), "is missing");
        Ok(match kind {
            "text" => Part::text(at("/text").ok_or_else(|| lacks("text"))?),
            "refusal" => Part::text(at("/refusal").ok_or_else(|| lacks("refusal"))?),
            "image_url" => {
                let url = at("/image_url/url").or_else(|| at("/image_url"));
                let (media_type, data) = media(url.ok_or_else(|| lacks("image_url.url"))?);
                Part::image(media_type.unwrap_or_else(|| "image/png".to_owned()), data)
            }
            "file" if at("/file/file_data").is_some() => {
                let (media_type, data) = media(at("/file/file_data").unwrap_or_default());
                let media_type = media_type.unwrap_or_else(|| "application/pdf".to_owned());
                Part::document(media_type, data, at("/file/filename"))
            }
            other => {
                let expected = "expected `text`, `image_url`, or `file` with `file_data`";
                return Err(RequestProblem::new(place, format!("{expected}, found {other:?}")));
            }
        })
    };
    list.into_iter().enumerate().map(read).collect()
}

fn tool_choice(choice: &Value) -> Result<Option<ToolChoice>, RequestProblem> {
    let name = choice.pointer("/function/name").and_then(Value::as_str);
    Ok(Some(match (choice.as_str(), name) {
        (Some("auto"), _) => ToolChoice::Auto,
        (Some("none"), _) => ToolChoice::None,
        (Some("required"), _) => ToolChoice::Required,
        (None, Some(name)) => ToolChoice::Tool(name.into()),
        _ if choice.is_null() => return Ok(None),
        _ => {
            let problem =
                format!("expected `auto`, `none`, `required` or a function, found {choice}");
            return Err(RequestProblem::new("tool_choice", problem));
        }
    }))
}

fn response_format(format: &Value) -> Result<Option<ResponseFormat>, RequestProblem> {
    let at = |pointer: &str| format.pointer(pointer);
    Ok(match at("/type").and_then(Value::as_str) {
        None if format.is_null() => None,
        Some("text") => None,
        Some("json_object") => Some(ResponseFormat::JsonObject),
        Some("json_schema") => {
            let schema = at("/json_schema/schema").cloned();
            let lacks = || RequestProblem::new("response_format.json_schema.schema", "is missing");
            Some(ResponseFormat::JsonSchema {
                name: at("/json_schema/name").and_then(Value::as_str).unwrap_or("answer").into(),
                schema: schema.ok_or_else(lacks)?,
                strict: at("/json_schema/strict").and_then(Value::as_bool).unwrap_or_default(),
            })
        }
        _ => {
            let expected = "expected `text`, `json_object` or `json_schema`";
            return Err(RequestProblem::new(
                "response_format",
                format!("{expected}, found {format}"),
            ));
        }
    })
}
