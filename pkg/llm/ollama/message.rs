//! One message in Ollama's words.

use serde::Serialize;

use super::PROTOCOL;
use crate::{
    llm::{
        ProviderError,
        http::{Fields, JsonItems, chat},
        tool_names,
    },
    types::{Json, Message, Part, Text, ToolCall, ToolResult},
};

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
/// A message there has one text, so the order of text, thinking and images within it is lost.
/// Other vendors' signatures of reasoning are left out, and so are images that the model made.
pub(super) fn encode(message: &Message, items: &mut JsonItems<'_>) -> Result<(), ProviderError> {
    message.tool_results().for_each(|result| items.object(tool_result(result)));
    let has_result = message.tool_results().next().is_some();
    let unsupported = |feature| Err(ProviderError::unsupported(PROTOCOL, feature));
    let no_arguments = Json::from(serde_json::json!({}));
    let (mut content, mut thinking) = (String::new(), String::new());
    let (mut images, mut calls) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text { text } => content.push_str(text),
            Part::Thinking { text, .. } => thinking.push_str(text),
            Part::ToolCall(call) => calls.push(tool_call(call, &no_arguments)),
            Part::Image { data, .. } if data.starts_with("http") && data.contains("://") => {
                return unsupported("images by URL; send the bytes in base64");
            }
            Part::Image { data, .. } => images.push(data),
            Part::Document { .. } => return unsupported("documents; send their text"),
            Part::ToolResult(_) | Part::ProviderItem(_) => {}
        }
    }
    let is_empty =
        content.is_empty() && thinking.is_empty() && images.is_empty() && calls.is_empty();
    if !is_empty || !has_result {
        let mut fields = Fields::object();
        fields.field("role", chat::role(message.role));
        fields.field("content", &content);
        fields.optional("thinking", Some(&thinking).filter(|it| !it.is_empty()));
        fields.optional("images", Some(&images).filter(|it| !it.is_empty()));
        fields.optional("tool_calls", Some(&calls).filter(|it| !it.is_empty()));
        items.object(fields);
    }
    Ok(())
}

/// Returns a call. Arguments that are not an object are sent as none, for the server takes nothing
/// else.
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

fn tool_result(result: &ToolResult) -> Fields<'static> {
    let mut fields = Fields::object();
    fields.field("role", "tool");
    fields.field("content", &result.content);
    let name = tool_names::encode(&result.name);
    fields.optional("tool_name", Some(&name).filter(|name| !name.is_empty()));
    fields.optional("tool_call_id", Some(&result.call_id).filter(|id| !id.is_empty()));
    fields
}
