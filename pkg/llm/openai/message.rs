//! One message in the words of Chat Completions.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::reasoning::{REASONING, REASONING_CONTENT};
use crate::{
    llm::{Protocol, ProviderError, http::write_json, tool_names},
    types::{ItemKind, Message, MessageRole, Part, Text, ToolCall, ToolResult},
};

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// Reasoning goes back in the member that it came in, if the server `takes_reasoning`. What came in
/// none, as between tags in the text or from another protocol, is not sent.
pub(super) fn encode(
    message: &Message,
    takes_reasoning: bool,
    mut has_before: bool,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let mut write = |value: &Value| {
        if has_before {
            out.push(b',');
        }
        has_before = true;
        write_json(out, value);
    };
    for result in message.tool_results() {
        write(&tool_result(result));
    }
    let calls: Vec<_> = message.tool_calls().map(tool_call).collect();
    let has_result = message.tool_results().next().is_some();
    let content = content(message)?;
    let reasoning = if takes_reasoning { reasoning(message) } else { Map::new() };
    if !calls.is_empty() || !reasoning.is_empty() {
        let mut said = Map::from_iter([
            ("role".to_owned(), json!("assistant")),
            ("content".to_owned(), content),
        ]);
        said.extend(reasoning);
        if !calls.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        write(&Value::Object(said));
    } else if !has_result || content != json!("") {
        write(&json!({ "role": role(message.role), "content": content }));
    }
    Ok(())
}

/// Details of reasoning, as they came.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    reasoning_details: Vec<&'a RawValue>,
}

/// The members that hold the message's reasoning. Where there are details, they say it all.
fn reasoning(message: &Message) -> Map<String, Value> {
    let protocol = Protocol::OpenAiChat.name();
    let (mut members, mut details) = (Map::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Thinking { text, signature: Some(signature) } if !text.is_empty() => {
                let member = signature.for_protocol(protocol).map(Text::as_str);
                let Some(member @ (REASONING_CONTENT | REASONING)) = member else { continue };
                let known = members.entry(member).or_insert_with(|| json!(""));
                if let Value::String(known) = known {
                    known.push_str(text);
                }
            }
            Part::ProviderItem(item)
                if item.kind == ItemKind::Reasoning && item.protocol == protocol =>
            {
                let of: Details<'_> = serde_json::from_str(item.raw.as_str()).unwrap_or_default();
                let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get());
                details.extend(of.reasoning_details.into_iter().filter_map(|raw| value(raw).ok()));
            }
            // Reasoning without its member came in none.
            Part::Thinking { .. }
            | Part::Text { .. }
            | Part::ToolCall(_)
            | Part::ProviderItem(_)
            | Part::ToolResult(_)
            | Part::Image { .. }
            | Part::Document { .. } => {}
        }
    }
    if details.is_empty() {
        return members;
    }
    Map::from_iter([("reasoning_details".to_owned(), Value::Array(details))])
}

fn role(role: MessageRole) -> &'static str {
    match role {
        MessageRole::System => "system",
        // Text beside tool results is the user's.
        MessageRole::User | MessageRole::Tool => "user",
        MessageRole::Assistant => "assistant",
    }
}

/// A text, or a list of parts when there are pictures or documents.
fn content(message: &Message) -> Result<Value, ProviderError> {
    let is_rich = |part: &Part| matches!(part, Part::Image { .. } | Part::Document { .. });
    if !message.parts.iter().any(is_rich) {
        return Ok(Value::String(message.text()));
    }
    let parts = message.parts.iter().filter_map(|part| rich(part).transpose());
    parts.collect::<Result<_, _>>().map(Value::Array)
}

fn rich(part: &Part) -> Result<Option<Value>, ProviderError> {
    Ok(match part {
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image { media_type, data } => {
            let url = if is_url(data) { data.clone() } else { data_url(media_type, data) };
            Some(json!({ "type": "image_url", "image_url": { "url": url } }))
        }
        Part::Document { data, .. } if is_url(data) => {
            return Err(ProviderError::Unsupported {
                provider: Text::from("openai"),
                feature: Text::from("documents by URL; send the bytes in base64"),
            });
        }
        Part::Document { media_type, data, name } => Some(json!({
            "type": "file",
            "file": {
                "filename": name.as_deref().unwrap_or("document"),
                "file_data": data_url(media_type, data),
            },
        })),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) | Part::ProviderItem(_) => {
            None
        }
    })
}

fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// A call; arguments that could not be read are sent as none, for servers parse them.
fn tool_call(call: &ToolCall) -> Value {
    let arguments = call.arguments.as_ref().map_or("{}", |arguments| arguments.as_str());
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": tool_names::encode(&call.name), "arguments": arguments },
    })
}

fn tool_result(result: &ToolResult) -> Value {
    json!({ "role": "tool", "tool_call_id": result.call_id, "content": result.content })
}
