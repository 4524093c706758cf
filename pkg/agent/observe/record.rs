//! Records of runs, turns and calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::prefix::PrefixChange;
use crate::{state::FailureKind, tools::ToolPlace};
use forgeline_llm::Cost;
use forgeline_types::{ErrorCode, FinishReason, Text, UsageInfo};

/// The record of a turn: one answer of the model, and its calls.
///
/// The record contains numbers, names and ids, but no text of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnRecord {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, if the input of the run named it.
    pub conversation: Option<Text>,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The number of messages in the request.
    pub messages: usize,
    /// The change in the beginning of the request since the previous one in the conversation;
    /// `None` if the beginning is the same, or the request is the first.
    #[serde(default)]
    pub prefix_change: Option<PrefixChange>,
    /// The number of requests: 2 if the first was refused and sent again in another form. 0 for the
    /// rest of a turn whose answer arrived before its run was suspended.
    pub requests: u32,
    /// The time from the request to the first text, reasoning or call of the answer.
    pub time_to_first_token: Option<Duration>,
    /// The time from the request to the end of the answer.
    pub answer_time: Duration,
    /// The time from the request to the end of the last call, including the time that people took.
    pub duration: Duration,
    /// The part of [`duration`](Self::duration) in which an approval or the answer to a tool's question was awaited from a person.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub waited: Duration,
    /// The time from each chunk of the answer to the last event of that chunk.
    pub emission: Emission,
    /// The calls, in the order in which they ended.
    pub calls: Vec<CallRecord>,
    /// The reason for which the model stopped; `None` when the answer did not complete.
    pub stop_reason: Option<FinishReason>,
    /// The token usage as the provider reported it.
    pub usage: Option<UsageInfo>,
    /// The cost by the prices in the [catalog](forgeline_llm::ModelCard); `None` when it is not known.
    pub cost: Option<Cost>,
    /// The error that ended the answer.
    pub error: Option<ErrorCode>,
}

impl TurnRecord {
    /// Returns the time that the model and the calls took, without the time that people took.
    #[must_use]
    pub fn working_time(&self) -> Duration {
        self.duration.saturating_sub(self.waited)
    }

    /// Returns the share of the prompt's tokens that came from a cache, from 0 to 1; `None` when it is not known.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn cached_share(&self) -> Option<f64> {
        let usage = self.usage?;
        let (all, cached) = (usage.input_tokens?, usage.cache_read_tokens?);
        (all > 0).then(|| cached as f64 / all as f64)
    }
}

/// The time in which chunks of an answer became events, including waits for the reader of the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Emission {
    /// The number of chunks.
    pub chunks: u32,
    /// The sum of the times of all chunks.
    pub total: Duration,
    /// The longest time of a chunk.
    pub longest: Duration,
}

impl Emission {
    /// Adds the time of a chunk.
    pub(crate) fn add(&mut self, time: Duration) {
        self.chunks += 1;
        self.total += time;
        self.longest = self.longest.max(time);
    }

    /// Returns the mean time of a chunk; `None` without chunks.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.total.checked_div(self.chunks)
    }
}

/// The record of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// The id of the run.
    pub run_id: Text,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The id of the call.
    pub id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The place where the call ran.
    pub place: ToolPlace,
    /// The time that the tool took, in whole milliseconds.
    pub duration: Duration,
    /// The number of bytes of the result that the model reads.
    pub result_bytes: usize,
    /// The end of the call.
    pub end: CallEnd,
    /// `true` when the result exceeded its [budget](crate::config::AgentConfig::max_result_chars), so that the model reads a note in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elided: bool,
}

/// The outcome of a call, as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallEnd {
    /// The tool returned a result.
    Succeeded,
    /// The answer ended inside the call.
    Cut,
    /// The call could not be parsed.
    Malformed,
    /// The tool does not exist.
    UnknownTool,
    /// The arguments do not match the schema.
    InvalidArguments,
    /// The tool reported a failure.
    Failed,
    /// The tool exceeded its time limit, or a person did when approving the call.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The call was not allowed.
    Denied,
    /// The same call had failed before and was not repeated.
    Repeated,
    /// The call was not run, or not to its end, for a reason unrelated to the call itself.
    NotRun,
}

impl CallEnd {
    /// Returns the word, such as `timed_out`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::Denied => "denied",
            Self::Repeated => "repeated",
            Self::NotRun => "not_run",
        }
    }
}

impl From<FailureKind> for CallEnd {
    fn from(failure: FailureKind) -> Self {
        match failure {
            FailureKind::Cut => Self::Cut,
            FailureKind::Malformed => Self::Malformed,
            FailureKind::UnknownTool => Self::UnknownTool,
            FailureKind::Arguments => Self::InvalidArguments,
            FailureKind::Failed | FailureKind::Transient => Self::Failed,
            FailureKind::TimedOut => Self::TimedOut,
            FailureKind::Panicked => Self::Panicked,
            FailureKind::Denied
            | FailureKind::Undecided
            | FailureKind::Forbidden
            | FailureKind::Unauthorized => Self::Denied,
            FailureKind::Repeated => Self::Repeated,
            FailureKind::NotRun => Self::NotRun,
        }
    }
}

/// The record of a run, or of the part of it in this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, if the input named it.
    pub conversation: Option<Text>,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The duration of the run in this process.
    pub duration: Duration,
    /// The error that ended the run.
    pub error: Option<ErrorCode>,
}
