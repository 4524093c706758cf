//! What can be told of a request without knowing how it is written on the wire.

use serde_json::Value;

use super::compare::stale;
use crate::{
    llm::{
        Request,
        record::{Exchange, Words},
    },
    types::{Part, Text},
};

/// Fails when a text of `request` does not stand in the recorded request.
///
/// Texts of the system prompt, of messages and of tool results count: every protocol sends them in
/// strings. What was left out, settings and tools are not seen.
pub(super) fn compare(exchange: &Exchange, request: &Request) -> Result<(), Text> {
    if exchange.body_cut {
        return Ok(());
    }
    let mut strings = Vec::new();
    collect(&exchange.body, &mut strings);
    // What looks like a key was struck out there.
    let words = Words::default();
    let is_there = |text: &str| {
        let struck = words.strike_text(text);
        // A string may hold a part in JSON once more.
        let quoted = Value::String(struck.clone()).to_string();
        let quoted = quoted.trim_matches('"');
        strings.iter().any(|string| string.contains(struck.trim()) || string.contains(quoted))
    };
    if request.system.as_deref().is_some_and(|system| !is_there(system)) {
        return Err(stale(exchange.turn, "the system prompt is another one", "record it anew"));
    }
    for (message, number) in request.messages.iter().zip(1..) {
        for part in &message.parts {
            let text = match part {
                Part::Text { text } => text,
                Part::ToolResult(result) => &result.content,
                Part::Thinking { .. }
                | Part::ToolCall(_)
                | Part::ProviderItem(_)
                | Part::Image { .. }
                | Part::Document { .. } => continue,
            };
            if !is_there(text) {
                let what = format!("message {number} says something else");
                return Err(stale(exchange.turn, &what, "record it anew"));
            }
        }
    }
    Ok(())
}

fn collect<'v>(value: &'v Value, strings: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, strings)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, strings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
