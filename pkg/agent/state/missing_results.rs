//! Results for calls that do not run.

use super::{answer_calls::RunCall, run_state::RunState};
use crate::prompts::feedback;
use forgeline_types::{Message, MessageRole, Part, ToolCall, ToolResult};

impl RunState {
    /// Adds results for calls that do not run, so that the history has a result for each call.
    pub(super) fn refuse(&mut self, calls: &[RunCall], why: &str) {
        self.remember_results(calls.iter().map(|call| not_run(call.made(), why)).collect());
    }

    pub(super) fn remember_results(&mut self, results: Vec<ToolResult>) {
        if !results.is_empty() {
            let results = results.into_iter().map(Part::ToolResult).collect();
            self.remember(Message::new(MessageRole::Tool, results));
        }
    }
}

/// Returns results for the calls in a conversation's last message; `None` when it has none.
pub(crate) fn missing_results(last: &Message) -> Option<Message> {
    let results: Vec<_> =
        last.tool_calls().map(|call| Part::ToolResult(not_run(call, feedback::NOT_RUN))).collect();
    (!results.is_empty()).then(|| Message::new(MessageRole::Tool, results))
}

/// Returns the result of a call that does not run.
fn not_run(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult::new(call.id.clone(), call.name.clone(), why).error(true)
}
