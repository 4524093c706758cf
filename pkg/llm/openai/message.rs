//! One message in the words of Chat Completions.

use serde_json::{Map, Value, json};

use super::{
    PROTOCOL,
    wire::{REASONING, REASONING_CONTENT},
};
use crate::{
    llm::{
        ProviderError,
        decode::{
            Entries,
            lax_json::{list, value},
        },
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
    let content = chat::content(message, rich)?;
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

/// Returns the members that hold the message's reasoning. Where there are details, they say it all.
fn reasoning(message: &Message) -> Map<String, Value> {
    let (mut members, mut details) = (Map::new(), Vec::new());
    for part in &message.parts {
        if let Part::Thinking { text, signature: Some(signature) } = part {
            let member = signature.for_protocol(PROTOCOL).map(Text::as_str);
            // Reasoning without its member came in none.
            if let Some(member @ (REASONING_CONTENT | REASONING)) =
                member.filter(|_| !text.is_empty())
                && let Value::String(known) = members.entry(member).or_insert_with(|| json!(""))
            {
                known.push_str(text);
            }
        }
        let own = part.as_provider_item().filter(|item| item.protocol == PROTOCOL);
        if let Some(item) = own.filter(|item| item.kind == ItemKind::Reasoning) {
            let list = list(Entries::read(item.raw.as_str()).get("reasoning_details"));
            details.extend(list.into_iter().map(value::<Value>));
        }
    }
    if details.is_empty() {
        return members;
    }
    Map::from_iter([("reasoning_details".to_owned(), Value::Array(details))])
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
