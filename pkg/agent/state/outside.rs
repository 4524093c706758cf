//! Text from outside in the conversation, and what is asked about because of it.

use super::{Gate, Rules, RunState, calls::Around};
use crate::types::{ApprovalReason, Message, ToolCall};

impl RunState {
    /// Begins a conversation in which there is text from outside, or none.
    pub(crate) fn begin_with(&mut self, has_outside_text: bool) {
        self.has_outside_text = has_outside_text;
    }

    /// Returns `true` once text from outside is in the conversation.
    pub(crate) fn has_outside_text(&self) -> bool {
        self.has_outside_text
    }

    /// Looks for text from outside in a message that the model has, or is about to have.
    pub(super) fn look_outside(&mut self, message: Option<&Message>) {
        self.has_outside_text |= message.is_some_and(Message::has_outside_text);
    }

    /// Returns the reason for which a person is asked about a call.
    pub(crate) fn approval_reason(&self, rules: &dyn Rules, call: &ToolCall) -> ApprovalReason {
        if self.has_outside_text && rules.asks_after_outside_text(call) {
            ApprovalReason::OutsideText
        } else if call.hosted {
            ApprovalReason::Provider
        } else {
            ApprovalReason::Policy
        }
    }
}

impl Around<'_> {
    /// Returns what may happen to a call whose checks are passed.
    pub(super) fn gate(&self, call: &ToolCall) -> Gate {
        // Permissions that were given before do not count any more.
        if self.has_outside_text && self.rules.asks_after_outside_text(call) {
            return Gate::Ask;
        }
        self.rules.gate(call, self.grants)
    }
}
