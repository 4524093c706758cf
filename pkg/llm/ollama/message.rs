//! One message in Ollama's words.

use serde::Serialize;

use super::request::unsupported;
use crate::{
    llm::{ProviderError, http::write_json, tool_names},
    types::{Json, Message, MessageRole, Part, Text, ToolCall, ToolResult},
};

/// A message on the wire.
#[derive(Debug, Default, Serialize)]
struct Written<'m> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    /// Pictures in base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'m str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WrittenCall<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'m str>,
}

#[derive(Debug, Serialize)]
struct WrittenCall<'m> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'m str,
    r#type: &'static str,
    function: Function<'m>,
}

#[derive(Debug, Serialize)]
struct Function<'m> {
    name: Text,
    arguments: &'m Json,
}

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// A message there has one text, so the order of text, thinking and pictures within it is lost.
/// Other vendors' proofs of reasoning are left out, and so are pictures that the model made.
pub(super) fn encode(
    message: &Message,
    mut has_before: bool,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let mut write = |written: &Written<'_>| {
        if has_before {
            out.push(b',');
        }
        has_before = true;
        write_json(out, written);
    };
    let mut has_result = false;
    for result in message.tool_results() {
        has_result = true;
        write(&tool_result(result));
    }
    let no_arguments = Json::from(serde_json::json!({}));
    let mut written = Written { role: role(message.role), ..Written::default() };
    for part in &message.parts {
        match part {
            Part::Text { text } => written.content.push_str(text),
            Part::Thinking { text, .. } => written.thinking.push_str(text),
            Part::ToolCall(call) => written.tool_calls.push(tool_call(call, &no_arguments)),
            Part::Image { data, .. } if data.starts_with("http") && data.contains("://") => {
                return Err(unsupported("images by URL; send the bytes in base64"));
            }
            Part::Image { data, .. } => written.images.push(data),
            Part::Document { .. } => return Err(unsupported("documents; send their text")),
            Part::ToolResult(_) | Part::ProviderItem(_) => {}
        }
    }
    let says_something = !written.content.is_empty()
        || !written.thinking.is_empty()
        || !written.images.is_empty()
        || !written.tool_calls.is_empty();
    if says_something || !has_result {
        write(&written);
    }
    Ok(())
}

fn role(role: MessageRole) -> &'static str {
    match role {
        MessageRole::System => "system",
        // Text beside tool results is the user's.
        MessageRole::User | MessageRole::Tool => "user",
        MessageRole::Assistant => "assistant",
    }
}

/// A call; arguments that are no object are sent as none, for the server takes nothing else.
fn tool_call<'m>(call: &'m ToolCall, no_arguments: &'m Json) -> WrittenCall<'m> {
    let arguments = call.arguments.as_ref().filter(|json| json.as_str().starts_with('{'));
    WrittenCall {
        id: &call.id,
        r#type: "function",
        function: Function {
            name: tool_names::encode(&call.name),
            arguments: arguments.unwrap_or(no_arguments),
        },
    }
}

fn tool_result(result: &ToolResult) -> Written<'_> {
    Written {
        role: "tool",
        content: result.content.clone(),
        tool_name: Some(tool_names::encode(&result.name)).filter(|name| !name.is_empty()),
        tool_call_id: Some(&*result.call_id).filter(|id| !id.is_empty()),
        ..Written::default()
    }
}
