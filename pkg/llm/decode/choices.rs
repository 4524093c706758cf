//! The choices of one answer, of which some servers send several although one was asked for.

use forgeline_types::FinishReason;

/// Maximum index of a choice that is part of an answer.
const MAX_INDEX: u32 = 63;

/// The choices of a response that are read, and the reason of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct AnswerChoices {
    /// `true` if the request asked for one answer, whose parts all choices are.
    pub(crate) merges: bool,
    ended: Option<FinishReason>,
}

impl AnswerChoices {
    /// Returns `true` if the choice at `index` is part of the answer.
    pub(crate) fn reads(&self, index: u32) -> bool {
        index == 0 || self.merges && index <= MAX_INDEX
    }

    /// Records that a choice has ended; returns `true` unless an earlier one ended for a reason that says more.
    pub(crate) fn end(&mut self, reason: &FinishReason) -> bool {
        let counts =
            !self.merges || self.ended.as_ref().is_none_or(|ended| weight(reason) > weight(ended));
        if counts {
            self.ended = Some(reason.clone());
        }
        counts
    }
}

/// Returns how much a reason says about an answer: an answer one part of which is cut is not whole.
fn weight(reason: &FinishReason) -> u8 {
    if *reason == FinishReason::Stop {
        0
    } else if *reason == FinishReason::ToolCalls {
        1
    } else if reason.truncates() {
        3
    } else {
        2
    }
}
