//! The marks of the part of the conversation that is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    llm::Cost,
    types::{AgentError, UsageInfo},
};

/// Parts of a thousand of a scale that changes nothing.
const UNSCALED: u64 = 1_000;

/// The scales that reports can lead to. Servers may leave out of a report what they had in their cache, so a scale
/// falls no lower than the estimate may be wrong by.
const SCALES: (u64, u64) = (750, 4_000);

/// Least estimate that a scale is taken from.
const LEAST_CALIBRATED: u64 = 64;

/// The part of the conversation that is sent, by places in it, and the scale of estimates. It depends on the inputs
/// of runs alone, so that a run which goes on in another process sends the same.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a summary may be behind and have failed, or neither"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// The place of the first message that is sent, besides the last of the user.
    pub(crate) first: usize,
    /// The results before this place are left out.
    pub(crate) results: usize,
    /// The place of the user's message that is sent before those, where its turn is not sent whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<usize>,
    /// The summary that is sent before all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Arc<str>>,
    /// The number of messages that the summary is of.
    #[serde(default)]
    pub(crate) summed: usize,
    /// The place that is to be summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due: Option<Outgrown>,
    /// `true` when the last summary was of a part only of what is before the first message that is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_behind: bool,
    /// `true` when the last summary failed, and nothing was left out since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_failed: bool,
    /// The turn of the run before which there was a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The scale of estimates by the last report, in parts of a thousand.
    pub(crate) scale: u64,
}

/// The part of a conversation that is left out of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fitted {
    pub(crate) marks: Marks,
    /// The messages and results that are left out for the first time.
    pub(crate) messages: usize,
    pub(crate) results: usize,
    /// The estimate for the request, and what it was before.
    pub(crate) tokens: u64,
    pub(crate) tokens_before: u64,
}

/// The part of a conversation that is to be summed up: all before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outgrown {
    pub(crate) first: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<usize>,
    /// The estimate for the request.
    pub(crate) tokens: u64,
}

/// The end of the work on a summary.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Summed {
    pub(crate) result: Result<Summary, AgentError>,
    /// The requests that were made for it, and what they took together.
    pub(crate) requests: u32,
    pub(crate) usage: Option<UsageInfo>,
    pub(crate) cost: Option<Cost>,
}

/// A summary of the beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) text: String,
    /// `true` when there is text from outside in what it is of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_outside_text: bool,
    /// The number of messages that it is of and the one before it was not.
    pub(crate) messages: usize,
    /// The estimate for the request with it.
    pub(crate) tokens: u64,
}

impl Default for Marks {
    fn default() -> Self {
        Self::scaled(UNSCALED)
    }
}

impl Marks {
    /// Returns the marks of a conversation of which all is sent.
    pub(crate) fn scaled(scale: u64) -> Self {
        Self {
            first: 0,
            results: 0,
            pinned: None,
            summary: None,
            summed: 0,
            due: None,
            is_behind: false,
            has_failed: false,
            turn: None,
            scale,
        }
    }

    /// Returns the marks with which the next run begins.
    pub(crate) fn of_next_run(&self) -> Self {
        Self { due: None, turn: None, ..self.clone() }
    }

    /// Returns the marks of the conversation before a place; `None` where something from there on was left out or summed up.
    pub(crate) fn before(&self, place: usize) -> Option<Self> {
        // What is summed up and what is pinned are before the first message that is sent.
        let results = self.results.min(place);
        (self.first <= place).then(|| Self { results, ..self.of_next_run() })
    }

    /// Returns what is to be summed up.
    pub(crate) fn due(&self) -> Option<Outgrown> {
        self.due
    }

    /// Returns `true` when there was a summary before this turn.
    pub(crate) fn has_summed_before(&self, turn: u32) -> bool {
        self.turn == Some(turn)
    }

    /// Returns `true` when what a summary has left is to be summed up now: once a run.
    pub(crate) fn is_to_catch_up(&self) -> bool {
        self.is_behind && !self.has_failed && self.turn.is_none()
    }

    /// Returns an estimate in the scale of the last report.
    pub(crate) fn in_scale(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.scale) / UNSCALED
    }

    /// Returns the estimate, without a scale, of what takes `tokens` in that of the last report.
    pub(crate) fn out_of_scale(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(UNSCALED) / self.scale.max(1)
    }

    /// Takes the scale from what a provider reported for a request.
    pub(super) fn calibrate(&mut self, estimated: u64, usage: Option<&UsageInfo>) {
        if let Some(reported) = usage.and_then(|usage| usage.input_tokens)
            && estimated >= LEAST_CALIBRATED
        {
            let scale = reported.saturating_mul(UNSCALED).div_ceil(estimated);
            self.scale = scale.clamp(SCALES.0, SCALES.1);
        }
    }

    /// Takes a summary, or its failure, before this turn.
    pub(super) fn take(&mut self, turn: u32, summed: &Summed) {
        self.turn = Some(turn);
        let (due, Ok(summary)) = (self.due.take(), &summed.result) else {
            self.has_failed = true;
            return;
        };
        let Some(Outgrown { first, pinned, .. }) = due else { return };
        (self.first, self.pinned) = (first, pinned);
        self.summed = self.summed.saturating_add(summary.messages).min(first);
        self.is_behind = self.summed < first;
        self.results = self.results.max(first);
        self.summary = Some(summary.text.as_str().into());
        self.has_failed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_what_was_taken_back_are_dropped() {
        let marks = Marks {
            first: 4,
            results: 9,
            pinned: Some(2),
            summary: Some("So far.".into()),
            summed: 4,
            ..Marks::default()
        };
        let results = |place| marks.before(place).map(|left| left.results);
        assert_eq!([3, 4, 6, 12].map(results), [None, Some(4), Some(6), Some(9)]);
        let left = marks.before(6).unwrap();
        assert_eq!((left.first, left.pinned, left.summary), (4, Some(2), marks.summary.clone()));
    }
}
