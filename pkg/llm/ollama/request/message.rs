//! The encoding of one message for Ollama.

use crate::{
    ProviderError,
    http::tool_names,
    http::{JsonFields, JsonItems, chat},
    ollama::PROTOCOL,
};
use forgeline_types::{Message, Part, ToolCall, ToolResult};

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// Ollama's messages have a single text, so the order of text, thinking and images within a message is lost.
/// Signatures of reasoning by other vendors are left out, and so are images made by the model.
pub(super) fn encode(message: &Message, items: &mut JsonItems<'_>) -> Result<(), ProviderError> {
    let message = &*chat::with_texts(message);
    message.tool_results().for_each(|result| items.object(tool_result(result)));
    let has_result = message.tool_results().next().is_some();
    let unsupported = |feature| Err(ProviderError::unsupported(PROTOCOL, feature));
    let (mut content, mut thinking) = (String::new(), String::new());
    let (mut images, mut calls) = (Vec::new(), Vec::new());
    let mut list = JsonItems::new(&mut calls, false);
    for part in &message.parts {
        match part {
            Part::Text { text, .. } => content.push_str(text),
            Part::Thinking { text, .. } => thinking.push_str(text),
            Part::ToolCall(call) => list.object(tool_call(call)),
            Part::Image { data, .. } if data.starts_with("http") && data.contains("://") => {
                return unsupported("images by URL; send the bytes in base64");
            }
            Part::Image { data, .. } => images.push(data),
            Part::Document { .. } => return unsupported("documents; send their text"),
            Part::ToolResult(_) | Part::ProviderItem(_) => {}
            Part::Framing { .. } | _ => {}
        }
    }
    let is_empty =
        content.is_empty() && thinking.is_empty() && images.is_empty() && calls.is_empty();
    if !is_empty || !has_result {
        let mut fields = JsonFields::object()
            .with("role", chat::role(message.role))
            .with("content", &content)
            .with_some("thinking", Some(&thinking).filter(|it| !it.is_empty()))
            .with_some("images", Some(&images).filter(|it| !it.is_empty()));
        if !calls.is_empty() {
            fields.raw("tool_calls", &[b"[", &*calls, b"]"].concat());
        }
        items.object(fields);
    }
    Ok(())
}

/// Encodes a call. Arguments that are not an object are sent as an empty object, since the server accepts nothing
/// else.
fn tool_call(call: &ToolCall) -> JsonFields<'static> {
    let arguments = call.arguments.as_ref().filter(|json| json.as_str().starts_with('{'));
    JsonFields::object()
        .with_some("id", Some(&call.id).filter(|id| !id.is_empty()))
        .with("type", "function")
        .nested("function", |function| {
            let function = function.with("name", &tool_names::encode(&call.name));
            match arguments {
                Some(arguments) => function.with("arguments", arguments),
                None => function.nested("arguments", |none| none),
            }
        })
}

fn tool_result(result: &ToolResult) -> JsonFields<'static> {
    let name = tool_names::encode(&result.name);
    JsonFields::object()
        .with("role", "tool")
        .with("content", &result.content)
        .with_some("tool_name", Some(name).filter(|name| !name.is_empty()))
        .with_some("tool_call_id", Some(&result.call_id).filter(|id| !id.is_empty()))
}
