//! The format of Chat Completions, which several vendors share.
//!
//! # Examples
//!
//! ```
//! use forgeline::{llm::http::chat, types::MessageRole};
//!
//! assert_eq!(chat::role(MessageRole::Tool), "user");
//! assert_eq!(chat::url("image/png", "AAAA"), "data:image/png;base64,AAAA");
//! assert_eq!(chat::url("image/png", "https://x/y.png"), "https://x/y.png");
//! ```

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{
    ProviderError, Request, ResponseFormat, ToolChoice, ToolSpec, http::tool_names,
    media::document_text,
};
use forgeline_types::{Message, MessageRole, Part, Text, ToolCall, ToolResult};

/// Returns the name of a role; text next to tool results has the user's role.
#[must_use]
pub fn role(role: MessageRole) -> &'static str {
    match role {
        MessageRole::System => "system",
        MessageRole::User | MessageRole::Tool => "user",
        MessageRole::Assistant => "assistant",
        _ => "user",
    }
}

/// Encodes a call. Arguments that could not be read are sent as an empty object, because servers parse them.
#[must_use]
pub fn tool_call(call: &ToolCall) -> Value {
    let arguments = call.arguments.as_ref().map_or("{}", |arguments| arguments.as_str());
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": tool_names::encode(&call.name), "arguments": arguments },
    })
}

/// Encodes the message that answers a call.
#[must_use]
pub fn tool_result(result: &ToolResult) -> Value {
    json!({ "role": "tool", "tool_call_id": result.call_id, "content": result.content })
}

/// Returns the message that accompanies tool results, for protocols in which results are
/// text only: the parts of each result after a line that names its call.
#[must_use]
pub fn beside_results(message: &Message) -> Cow<'_, Message> {
    if message.tool_results().all(|result| result.parts.is_empty()) {
        return Cow::Borrowed(message);
    }
    let mut parts = message.parts.clone();
    for result in message.tool_results().filter(|result| !result.parts.is_empty()) {
        let ToolResult { call_id, name, .. } = result;
        let text = format!("From the result of `{name}`, call {call_id}:");
        parts.push(Part::text(text));
        parts.extend(result.parts.iter().cloned());
    }
    Cow::Owned(Message::new(message.role, parts))
}

/// Returns the message for protocols without documents of text: parts of tool results are [beside](beside_results) them, and text documents are text.
#[must_use]
pub fn with_texts(message: &Message) -> Cow<'_, Message> {
    let mut message = beside_results(message);
    let is_text = |part: &Part| document_text(part).is_some();
    if message.parts.iter().any(is_text) {
        for part in &mut message.to_mut().parts {
            if let Some(text) = document_text(part) {
                *part = Part::text(text);
            }
        }
    }
    message
}

/// Returns the entry for [`dropped_fields`](crate::http::WireFormat::dropped_fields) about a request whose last
/// tool results have parts, which such a protocol sends next to the results.
#[must_use]
pub fn moved_parts(request: &Request) -> Option<Text> {
    let last = request.messages.messages().iter().rev();
    let mut last = last.take_while(|message| message.role != MessageRole::Assistant);
    let has_parts = last.any(|message| message.tool_results().any(|it| !it.parts.is_empty()));
    has_parts
        .then(|| "images and documents in tool results; they are sent after the results".into())
}

/// Returns the content of a message: its text, or, if it has images or documents, a list of the values that
/// `part` returns for its parts.
///
/// # Errors
///
/// The errors of `part`.
pub fn content(
    message: &Message,
    part: impl Fn(&Part) -> Result<Option<Value>, ProviderError>,
) -> Result<Value, ProviderError> {
    let is_rich = |part: &Part| matches!(part, Part::Image { .. } | Part::Document { .. });
    if !message.parts.iter().any(is_rich) {
        return Ok(Value::String(message.text()));
    }
    let parts = message.parts.iter().filter_map(|it| part(it).transpose());
    parts.collect::<Result<_, _>>().map(Value::Array)
}

/// Encodes an image part of a message.
#[must_use]
pub fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url(media_type, data) } })
}

/// Returns `data` if it is the URL of a file, or else a `data:` URL of these bytes in base64.
#[must_use]
pub fn url(media_type: &str, data: &str) -> String {
    if is_url(data) { data.to_owned() } else { format!("data:{media_type};base64,{data}") }
}

/// Returns `true` if the data of an image or document is an HTTP URL, not base64.
#[must_use]
pub fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

/// Encodes a tool. Its name has only the characters that vendors accept; decoders restore the tool's
/// original name.
#[must_use]
pub fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool_names::encode(&tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

/// Returns the value of `tool_choice`.
#[must_use]
pub fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => {
            json!({ "type": "function", "function": { "name": tool_names::encode(name) } })
        }
    }
}

/// Returns the value of `response_format`.
#[must_use]
pub fn response_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { name, schema, strict } => json!({
            "type": "json_schema",
            "json_schema": { "name": name, "schema": schema, "strict": strict },
        }),
    }
}
