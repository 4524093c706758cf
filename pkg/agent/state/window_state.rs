//! The marks of the part of the conversation that is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ContentRefusal;
use crate::run::OutsideSources;
use forgeline_llm::{Cost, RefusedContent};
use forgeline_types::{AgentError, Text, UsageInfo};

/// The neutral scale, in thousandths.
const UNSCALED: u64 = 1_000;

/// The minimum and maximum scale that reports can lead to. Servers may leave cached tokens out of a
/// report, so the scale does not fall below the possible error of the estimate.
const SCALES: (u64, u64) = (750, 4_000);

/// Minimum estimate that a scale is derived from.
const LEAST_CALIBRATED: u64 = 64;

/// The part of the conversation that is sent, by places in it, and the scale of estimates. The marks depend
/// on the inputs of runs alone, so that a run resumed in another process sends the same.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a summary may be behind and have failed, or neither"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowState {
    /// The place of the first message sent, not counting the pinned one.
    pub(crate) first: usize,
    /// The place before which results are left out.
    pub(crate) results: usize,
    /// The place of the user's message that is sent before those, when its turn is not sent whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<usize>,
    /// The summary that is sent before all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Arc<str>>,
    /// The number of messages that the summary covers.
    #[serde(default)]
    pub(crate) summed: usize,
    /// The part that must be summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due: Option<SummaryRange>,
    /// `true` when the last summary covers only a part of the messages before the first one sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_behind: bool,
    /// `true` when the last summary failed, and nothing has been left out since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_failed: bool,
    /// The turn of the run before which a summary was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The scale of estimates by the last report, in thousandths.
    pub(crate) scale: u64,
    /// The room that a model has, where the model refused a request because of its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) learnt: Option<LearntRoom>,
    /// The maximum tokens of the next request, after the last one was refused because of its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forced: Option<u64>,
    /// The places of messages whose results were left out before the model has read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unread: Vec<usize>,
    /// The places of messages whose images and documents are left out, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<usize>,
    /// The place before which signatures of reasoning are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) proofs: usize,
}

/// The room that a model has for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LearntRoom {
    model: Text,
    tokens: u64,
}

/// The part of a conversation left out of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowCut {
    pub(crate) marks: WindowState,
    /// The number of messages, and of results, left out for the first time.
    pub(crate) messages: usize,
    pub(crate) results: usize,
    /// The estimate for the request, and its value before.
    pub(crate) tokens: u64,
    pub(crate) tokens_before: u64,
    /// `true` after a request was refused because of its length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_forced: bool,
}

/// The part of a conversation to be summarized: everything before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SummaryRange {
    pub(crate) first: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<usize>,
    /// The estimate for the request.
    pub(crate) tokens: u64,
}

/// The end of the work on a summary.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SummaryEnd {
    pub(crate) result: Result<ConversationSummary, AgentError>,
    /// The number of requests made for the summary, and their total usage and cost.
    pub(crate) requests: u32,
    pub(crate) usage: Option<UsageInfo>,
    pub(crate) cost: Option<Cost>,
}

/// A summary of the beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationSummary {
    pub(crate) text: String,
    /// The sources of the text from outside in the summarized messages.
    #[serde(rename = "has_outside_text", default, skip_serializing_if = "OutsideSources::is_none")]
    pub(crate) outside: OutsideSources,
    /// The number of messages that this summary covers and the previous one did not.
    pub(crate) messages: usize,
    /// The estimate for the request with the summary.
    pub(crate) tokens: u64,
}

impl Default for WindowState {
    fn default() -> Self {
        Self::scaled(UNSCALED)
    }
}

impl WindowState {
    /// Returns the marks of a conversation that is sent whole.
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
            learnt: None,
            forced: None,
            unread: Vec::new(),
            media: Vec::new(),
            proofs: 0,
        }
    }

    /// Returns the marks with which the next run starts.
    pub(crate) fn of_next_run(&self) -> Self {
        Self { due: None, turn: None, forced: None, ..self.clone() }
    }

    /// Returns the marks of the conversation before a place; `None` where messages from there on were left out or summarized.
    pub(crate) fn before(&self, place: usize) -> Option<Self> {
        // Summarized and pinned messages are before the first message sent.
        let results = self.results.min(place);
        (self.first <= place).then(|| {
            let mut left = Self { results, ..self.of_next_run() };
            left.unread.retain(|at| *at < place);
            left.media.retain(|at| *at < place);
            left.proofs = left.proofs.min(place);
            left
        })
    }

    /// Returns the marks of another conversation: the scale, and what was learnt of the model.
    pub(crate) fn anew(&self) -> Self {
        Self { learnt: self.learnt.clone(), ..Self::scaled(self.scale) }
    }

    /// Returns `true` when nothing is left out, and nothing is known about the model.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::scaled(self.scale)
    }

    /// Returns the room that this model was learnt to have.
    pub(crate) fn room_of(&self, model: &str) -> Option<u64> {
        self.learnt.as_ref().filter(|learnt| *learnt.model == *model).map(|learnt| learnt.tokens)
    }

    /// Leaves out what a provider refused.
    pub(super) fn refuse(&mut self, refusal: &ContentRefusal) {
        match refusal.content {
            RefusedContent::Context { window, tokens, .. } => {
                self.scale_to(refusal.estimated, tokens);
                let now = self.in_scale(refusal.estimated);
                let room = window.unwrap_or(now);
                let room = (room - room / 4).max(1);
                self.forced = Some(room.min(now.saturating_sub(1)).max(1));
                self.learnt = Some(LearntRoom { model: refusal.model.clone(), tokens: room });
            }
            RefusedContent::Media => {
                self.media.extend(&refusal.places);
                self.media.sort_unstable();
                self.media.dedup();
            }
            RefusedContent::Proof => {
                let behind = refusal.places.iter().max().map_or(0, |last| last + 1);
                self.proofs = self.proofs.max(behind);
            }
            _ => {}
        }
    }

    /// Returns the part to be summarized.
    pub(crate) fn due(&self) -> Option<SummaryRange> {
        self.due
    }

    /// Returns `true` when a summary was made before this turn.
    pub(crate) fn has_summed_before(&self, turn: u32) -> bool {
        self.turn == Some(turn)
    }

    /// Returns `true` when the rest that a summary left is to be summarized now: once per run.
    pub(crate) fn is_to_catch_up(&self) -> bool {
        self.is_behind && !self.has_failed && self.turn.is_none()
    }

    /// Returns an estimate in the scale of the last report.
    pub(crate) fn in_scale(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.scale) / UNSCALED
    }

    /// Returns the unscaled estimate of what takes `tokens` in the scale of the last report.
    pub(crate) fn out_of_scale(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(UNSCALED) / self.scale.max(1)
    }

    /// Sets the scale from the tokens that a provider reported for a request.
    pub(super) fn calibrate(&mut self, estimated: u64, usage: Option<&UsageInfo>) {
        self.scale_to(estimated, usage.and_then(|usage| usage.input_tokens));
    }

    fn scale_to(&mut self, estimated: u64, reported: Option<u64>) {
        if let Some(reported) = reported
            && estimated >= LEAST_CALIBRATED
        {
            let scale = reported.saturating_mul(UNSCALED).div_ceil(estimated);
            self.scale = scale.clamp(SCALES.0, SCALES.1);
        }
    }

    /// Takes a summary made before this turn, or its failure.
    pub(super) fn take(&mut self, turn: u32, summed: &SummaryEnd) {
        self.turn = Some(turn);
        let (due, Ok(summary)) = (self.due.take(), &summed.result) else {
            self.has_failed = true;
            return;
        };
        let Some(SummaryRange { first, pinned, .. }) = due else { return };
        (self.first, self.pinned) = (first, pinned);
        self.summed = self.summed.saturating_add(summary.messages).min(first);
        self.is_behind = self.summed < first;
        self.results = self.results.max(first);
        self.summary = Some(summary.text.as_str().into());
        self.has_failed = false;
        self.forced = None;
    }
}

pub(super) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_state_of_rewound_messages_is_dropped() {
        let marks = WindowState {
            first: 4,
            results: 9,
            pinned: Some(2),
            summary: Some("So far.".into()),
            summed: 4,
            unread: vec![4, 5, 6, 7],
            media: vec![5, 6],
            ..WindowState::default()
        };
        let results = |place| marks.before(place).map(|left| left.results);
        assert_eq!([3, 4, 6, 12].map(results), [None, Some(4), Some(6), Some(9)]);
        let left = marks.before(6).unwrap();
        assert_eq!((left.first, left.pinned, left.summary), (4, Some(2), marks.summary.clone()));
        assert_eq!((left.unread, left.media), (vec![4, 5], vec![5]));
    }
}
