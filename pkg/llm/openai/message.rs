//! One message in the words of Chat Completions.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    PROTOCOL,
    reasoning::{REASONING, REASONING_CONTENT},
};
use crate::{
    llm::{
        ProviderError,
        http::{JsonItems, chat},
    },
    types::{ItemKind, Message, Part, Text},
};

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// Reasoning goes back in the member that it came in, if the server `takes_reasoning`. Reasoning that
/// came in none, as between tags in the text or from another protocol, is not sent.
pub(super) fn encode(
    message: &Message,
    takes_reasoning: bool,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    message.tool_results().for_each(|result| items.push(&chat::tool_result(result)));
    let calls: Vec<_> = message.tool_calls().map(chat::tool_call).collect();
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
        items.push(&said);
    } else if !has_result || content != json!("") {
        items.push(&json!({ "role": chat::role(message.role), "content": content }));
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

/// Returns the members that hold the message's reasoning. Where there are details, they say it all.
fn reasoning(message: &Message) -> Map<String, Value> {
    let (mut members, mut details) = (Map::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Thinking { text, signature: Some(signature) } if !text.is_empty() => {
                let member = signature.for_protocol(PROTOCOL).map(Text::as_str);
                let Some(member @ (REASONING_CONTENT | REASONING)) = member else { continue };
                let known = members.entry(member).or_insert_with(|| json!(""));
                if let Value::String(known) = known {
                    known.push_str(text);
                }
            }
            Part::ProviderItem(item)
                if item.kind == ItemKind::Reasoning && item.protocol == PROTOCOL =>
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

/// Returns a text, or a list of parts when there are images or documents.
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
        Part::Image { media_type, data } => Some(chat::image(media_type, data)),
        Part::Document { data, .. } if chat::is_url(data) => {
            let feature = "documents by URL; send the bytes in base64";
            return Err(ProviderError::unsupported("openai", feature));
        }
        Part::Document { media_type, data, name } => Some(json!({
            "type": "file",
            "file": {
                "filename": name.as_deref().unwrap_or("document"),
                "file_data": chat::url(media_type, data),
            },
        })),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) | Part::ProviderItem(_) => {
            None
        }
    })
}
