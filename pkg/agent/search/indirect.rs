//! Calls of found tools through one tool that is offered from the start.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::tools::CALL_FOUND_TOOL;
use forgeline_llm::ToolSpec;
use forgeline_types::{Json, Message, MessageRole, Part, Text, ToolCall};

/// Returns the tool as the model sees it. Calls of it are replaced by calls of the tools that they
/// name before anything else sees them, so the tool is not in a registry.
pub(crate) fn spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "The name of the tool, as `tool_search` returned it." },
            "arguments": {
                "type": "object",
                "description": "The arguments of the tool, as its `parameters` describe them.",
            },
        },
        "required": ["name", "arguments"],
    });
    let about = "Calls a tool that `tool_search` has found.";
    ToolSpec::new(CALL_FOUND_TOOL, about, schema)
}

/// The arguments of a call, as the model writes them.
#[derive(Deserialize)]
struct WrappedCall {
    name: Text,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// Replaces a complete call of `call_found_tool` by a call of the tool that it names; leaves any other call unchanged.
pub(crate) fn unwrap_call(call: &mut ToolCall) {
    if call.name != CALL_FOUND_TOOL || !call.is_complete() {
        return;
    }
    let text = call.arguments.as_ref().map_or("", Json::as_str);
    let Ok(WrappedCall { name, arguments }) = serde_json::from_str(text) else { return };
    let arguments = arguments.as_deref().map_or("{}", RawValue::get);
    let arguments = match serde_json::from_str::<String>(arguments) {
        Ok(text) => Json::parse(&text),
        Err(_) if arguments.starts_with('{') => Json::parse(arguments),
        Err(_) => return,
    };
    let (name, Ok(arguments)) = (name.trim(), arguments) else { return };
    if !name.is_empty() && arguments.as_str().starts_with('{') {
        call.name = name.into();
        arguments.as_str().clone_into(&mut call.arguments_raw);
        (call.arguments, call.indirect) = (Some(arguments), true);
    }
}

/// Returns an answer with its calls as the model made them, or the results of `asked` under the
/// name that was called; `None` when no part was called through `call_found_tool`.
pub(crate) fn as_made(message: &Message, asked: Option<&Message>) -> Option<Message> {
    let is_made = |part: &Part| part.as_tool_call().is_some_and(|call| call.indirect);
    let is_result = |part: &Part| {
        let result = part.as_tool_result();
        result.is_some_and(|it| asked.is_some_and(|asked| is_indirect(asked, &it.call_id)))
    };
    let is_one = |part: &Part| {
        if message.role == MessageRole::Assistant { is_made(part) } else { is_result(part) }
    };
    if !message.parts.iter().any(is_one) {
        return None;
    }
    let parts = message.parts.iter().map(|part| {
        if !is_one(part) {
            return part.clone();
        }
        if let Part::ToolCall(call) = part {
            return Part::ToolCall(wrapped(call));
        }
        let mut part = part.clone();
        if let Part::ToolResult(result) = &mut part {
            result.name = CALL_FOUND_TOOL.into();
        }
        part
    });
    Some(Message::new(message.role, parts.collect()))
}

fn is_indirect(asked: &Message, id: &Text) -> bool {
    asked.tool_calls().any(|call| call.indirect && call.id == *id)
}

/// Returns a call as the model made it, in canonical spelling.
fn wrapped(call: &ToolCall) -> ToolCall {
    let arguments = call.arguments.as_ref().map_or("{}", Json::as_str);
    let text = format!(r#"{{"name":{},"arguments":{arguments}}}"#, json!(call.name));
    let mut made = call.clone();
    made.name = CALL_FOUND_TOOL.into();
    made.arguments = Json::parse(&text).ok();
    made.arguments_raw = text;
    made
}
