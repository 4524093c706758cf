//! Calls of tool servers known to the vendor, which asks for approval and runs them itself.

use serde_json::{Value, json};

use crate::responses::{PROTOCOL, extras::APPROVAL};
use forgeline_types::{Message, MessageRole, ToolCall, ToolResult};

/// Returns the item that asked for a call, as it was received.
pub(super) fn request(call: &ToolCall) -> Value {
    let (server, tool) = call.name.split_once(':').unwrap_or(("", &call.name));
    let mut item = json!({
        "type": APPROVAL,
        "id": call.id,
        "server_label": server,
        "name": tool,
        "arguments": call.arguments_raw,
    });
    let more = call.signature.as_ref().map(|it| it.members(PROTOCOL)).unwrap_or_default();
    more.into_iter().for_each(|(name, value)| item[name] = value);
    item
}

/// Returns `true` for the result of a call that the vendor runs itself; `before` are the preceding messages.
pub(super) fn is_answer(result: &ToolResult, before: &[impl AsRef<Message>]) -> bool {
    let asked = before.iter().map(AsRef::as_ref).rfind(|it| it.role == MessageRole::Assistant);
    asked.is_some_and(|it| it.tool_calls().any(|call| call.hosted && call.id == result.call_id))
}

/// Returns the reply to the vendor's request for approval.
pub(super) fn answer(result: &ToolResult) -> Value {
    let mut item = json!({
        "type": "mcp_approval_response",
        "approval_request_id": result.call_id,
        "approve": !result.is_error,
    });
    if result.is_error {
        item["reason"] = json!(result.content);
    }
    item
}
