//! Text from outside in the conversation, and the approvals it requires.

use super::{RunRules, RunState, answer_calls::CallPolicy};
use crate::approval::CallGate;
use forgeline_types::{ApprovalReason, Message, ToolCall};

impl RunState {
    /// Starts a conversation that contains text from outside, or does not.
    pub(crate) fn begin_with(&mut self, has_outside_text: bool) {
        self.has_outside_text = has_outside_text;
    }

    /// Returns `true` once the conversation contains text from outside.
    pub(crate) fn has_outside_text(&self) -> bool {
        self.has_outside_text
    }

    /// Looks for text from outside in a message that the model has received or is about to receive.
    pub(super) fn look_outside(&mut self, message: Option<&Message>) {
        self.has_outside_text |= message.is_some_and(Message::has_outside_text);
    }

    /// Returns the reason for which a person is asked to approve a call.
    pub(crate) fn approval_reason(&self, rules: &dyn RunRules, call: &ToolCall) -> ApprovalReason {
        if self.has_outside_text && rules.asks_after_outside_text(call) {
            ApprovalReason::OutsideText
        } else if call.hosted {
            ApprovalReason::Provider
        } else {
            ApprovalReason::Policy
        }
    }
}

impl CallPolicy<'_> {
    /// Returns the gate for a call whose checks have passed.
    pub(super) fn gate(&self, call: &ToolCall) -> CallGate {
        // Permissions given earlier do not apply any more.
        if self.has_outside_text && self.rules.asks_after_outside_text(call) {
            return CallGate::Ask;
        }
        self.rules.gate(call, self.grants)
    }
}
