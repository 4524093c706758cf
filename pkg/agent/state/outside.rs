//! Text from outside in the conversation, and the approvals it requires.

use super::{RunRules, RunState, answer_calls::CallPolicy};
use crate::{approval::CallGate, run::OutsideSources};
use forgeline_types::{ApprovalReason, Message, ToolCall};

impl RunState {
    /// Starts a conversation that contains text of these sources.
    pub(crate) fn begin_with(&mut self, outside: OutsideSources) {
        self.outside = outside;
    }

    /// Returns the sources of the text from outside in the conversation.
    pub(crate) fn outside(&self) -> &OutsideSources {
        &self.outside
    }

    /// Looks for text from outside in a message that the model has received or is about to receive.
    pub(super) fn look_outside(&mut self, message: Option<&Message>) {
        if let Some(message) = message {
            self.outside.add(&OutsideSources::of_message(message));
        }
    }

    /// Returns the reason for which a person is asked to approve a call.
    pub(crate) fn approval_reason(&self, rules: &dyn RunRules, call: &ToolCall) -> ApprovalReason {
        if rules.asks_after_outside_text(call, &self.outside) {
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
        if self.rules.asks_after_outside_text(call, self.outside) {
            return CallGate::Ask;
        }
        self.rules.gate(call, self.grants)
    }
}
