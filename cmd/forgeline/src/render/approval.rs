//! Requests for approval as text.

use forgeline::types::{
    AgentEvent, Preview, PreviewKind, ToolApprovalEvent, ToolApprovalRejectedEvent,
};
use owo_colors::Style;

/// Returns the lines of a preview, each with its style.
pub(super) fn preview(preview: &Preview) -> impl Iterator<Item = (&str, Style)> {
    let is_diff = preview.kind == PreviewKind::Diff;
    preview.text.lines().map(move |line| {
        let style = match line.as_bytes().first() {
            Some(b'+') if is_diff => Style::new().green(),
            Some(b'-') if is_diff => Style::new().red(),
            _ => Style::new(),
        };
        (line, style)
    })
}

/// Returns the end of a request that was not granted, in words.
pub(super) fn refusal(event: &AgentEvent) -> Option<String> {
    if let AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent {
        tool_name, reason, ..
    }) = event
    {
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Some(format!("{tool_name} is not allowed{why}"))
    } else if let AgentEvent::ToolApprovalTimeout(ToolApprovalEvent { tool_name, .. }) = event {
        Some(format!("{tool_name} is not allowed: no answer in time"))
    } else if let AgentEvent::ToolApprovalCancelled(ToolApprovalEvent { tool_name, .. }) = event {
        Some(format!("the request to run {tool_name} was withdrawn"))
    } else {
        None
    }
}
