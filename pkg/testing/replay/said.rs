//! Comparison of a request with a recorded one, independent of the wire format.

use serde_json::Value;

use super::compare::stale;
use crate::record::Exchange;
use forgeline_llm::{Request, private::SecretRedactor};
use forgeline_types::{Part, Text};

/// Fails if a text of `request` is missing from the recorded request.
///
/// The texts of the system prompt, messages and tool results are compared: every protocol sends them in
/// strings. Omissions, settings and tools are not compared.
pub(super) fn compare(exchange: &Exchange, request: &Request) -> Result<(), Text> {
    if exchange.request.cut {
        return Ok(());
    }
    let mut strings = Vec::new();
    collect(&exchange.request.body, &mut strings);
    // Everything that looks like a key was redacted there.
    let redactor = SecretRedactor::default();
    let is_there = |text: &str| {
        let redacted = redactor.same_length(text);
        // A string may itself contain a part encoded as JSON.
        let quoted = Value::String(redacted.clone()).to_string();
        let quoted = quoted.trim_matches('"');
        strings.iter().any(|string| string.contains(redacted.trim()) || string.contains(quoted))
    };
    if request.system.as_deref().is_some_and(|system| !is_there(system)) {
        return Err(stale(exchange.turn, "the system prompt differs", "record it anew"));
    }
    for (message, number) in request.messages.iter().zip(1..) {
        for part in &message.parts {
            let text = match part {
                Part::Text { text, .. } => text,
                Part::ToolResult(result) => &result.content,
                Part::Thinking { .. }
                | Part::Framing { .. }
                | Part::ToolCall(_)
                | Part::ProviderItem(_)
                | Part::Image { .. }
                | Part::Document { .. } => continue,
                _ => continue,
            };
            if !is_there(text) {
                let what = format!("message {number} differs");
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
