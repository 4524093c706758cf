//! One message in the words of Cohere.

use serde_json::{Map, Value, json};

use super::provider::unsupported;
use crate::{
    llm::{ProviderError, http::write_json, tool_names},
    types::{Message, MessageRole, Part, ToolCall, ToolResult},
};

/// Writes a message; one that answers several calls becomes several messages on the wire, and one that
/// has nothing that Cohere takes is left out.
pub(super) fn encode(
    message: &Message,
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
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(role(message.role)));
    let calls: Vec<_> = message.tool_calls().map(tool_call).collect();
    if !calls.is_empty() {
        let plan = plan(message);
        if !plan.is_empty() {
            fields.insert("tool_plan".to_owned(), json!(plan));
        }
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    if let Some(content) = content(message)? {
        fields.insert("content".to_owned(), content);
    }
    if fields.len() > 1 {
        write(&Value::Object(fields));
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

/// What the model thought before its calls. What carries a signature is another vendor's.
fn plan(message: &Message) -> String {
    let thoughts = message.parts.iter().filter_map(|part| match part {
        Part::Thinking { text, signature: None } => Some(text.as_str()),
        Part::Thinking { .. }
        | Part::Text { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_)
        | Part::Image { .. }
        | Part::Document { .. } => None,
    });
    thoughts.collect()
}

/// A text, or a list of parts when there are pictures; `None` when there is nothing.
fn content(message: &Message) -> Result<Option<Value>, ProviderError> {
    let is_document = |part: &Part| matches!(part, Part::Document { .. });
    if message.parts.iter().any(is_document) {
        return Err(unsupported("documents in messages; put their text there"));
    }
    if !message.parts.iter().any(|part| matches!(part, Part::Image { .. })) {
        return Ok(Some(message.text()).filter(|text| !text.is_empty()).map(Value::String));
    }
    Ok(Some(message.parts.iter().filter_map(rich).collect()))
}

fn rich(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if !text.is_empty() => Some(json!({ "type": "text", "text": text })),
        Part::Image { media_type, data } => {
            let is_url = data.starts_with("http://") || data.starts_with("https://");
            let url =
                if is_url { data.clone() } else { format!("data:{media_type};base64,{data}") };
            Some(json!({ "type": "image_url", "image_url": { "url": url } }))
        }
        Part::Text { .. }
        | Part::Document { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => None,
    }
}

/// A call; arguments that could not be read are sent as none, for the server parses them.
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
