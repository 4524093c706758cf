//! Records of runs, turns and calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PrefixChange;
use crate::{
    agent::{state::Failure, tools::ToolPlace},
    llm::Cost,
    types::{ErrorCode, FinishReason, Text, UsageInfo},
};

/// The record of a turn: one answer of the model, and its calls.
///
/// It has numbers, names and ids, and no text of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnRecord {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, where the input of the run named it.
    pub conversation: Option<Text>,
    /// The turn within the run, from 1.
    pub turn: u32,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The number of messages in the request.
    pub messages: usize,
    /// The change of what the request begins with, from the one before it in the conversation; `None` where it begins
    /// with the same, or is the first.
    #[serde(default)]
    pub prefix_change: Option<PrefixChange>,
    /// The number of requests: 2 where the first was refused and sent again in another form. 0 for the rest of a
    /// turn whose answer came before its run was put away.
    pub requests: u32,
    /// The time from the request to the first text, reasoning or call of its answer.
    pub time_to_first_token: Option<Duration>,
    /// The time from the request to the end of the answer.
    pub answer_time: Duration,
    /// The time from the request to the end of the last call; of a person, too.
    pub duration: Duration,
    /// The time from each chunk of the answer to its last event.
    pub emission: Emission,
    /// The calls, in the order in which they ended.
    pub calls: Vec<CallRecord>,
    /// The reason for which the model stopped; `None` when the answer did not come to its end.
    pub stop_reason: Option<FinishReason>,
    /// The tokens, as the provider reported them.
    pub usage: Option<UsageInfo>,
    /// The cost by the prices that the [catalog](crate::llm::ModelCard) has; `None` when one is not known.
    pub cost: Option<Cost>,
    /// The error that ended the answer.
    pub error: Option<ErrorCode>,
}

impl TurnRecord {
    /// Returns the part of the prompt's tokens that came from a cache, from 0 to 1; `None` when it is not known.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn cached_share(&self) -> Option<f64> {
        let usage = self.usage?;
        let (all, cached) = (usage.input_tokens?, usage.cache_read_tokens?);
        (all > 0).then(|| cached as f64 / all as f64)
    }
}

/// The time that chunks of an answer took to become events, a wait for the reader of the events included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Emission {
    /// The number of chunks.
    pub chunks: u32,
    /// The times of all chunks together.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Emission {
    /// Adds the time of a chunk.
    pub(super) fn add(&mut self, time: Duration) {
        self.chunks += 1;
        self.total += time;
        self.longest = self.longest.max(time);
    }

    /// Returns the time of a chunk on average; `None` without one.
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
    /// The place at which it ran.
    pub place: ToolPlace,
    /// The time that the tool took, in whole milliseconds.
    pub duration: Duration,
    /// The bytes of the result that the model reads.
    pub result_bytes: usize,
    /// The result in a word.
    pub end: CallEnd,
    /// `true` when the result was over its [budget](crate::agent::AgentConfig::max_result_chars), and the model reads a note in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elided: bool,
}

/// The end of a call in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallEnd {
    /// The tool gave a result.
    Succeeded,
    /// The answer ended inside the call.
    Cut,
    /// The call could not be read.
    Malformed,
    /// The tool does not exist.
    UnknownTool,
    /// The arguments do not fit the schema.
    InvalidArguments,
    /// The tool reported a failure.
    Failed,
    /// The tool took too long, or a person did to approve it.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The call was not allowed.
    Denied,
    /// The call had just failed and was not repeated.
    Repeated,
    /// The call was not run, or not to its end, for a reason other than the call itself.
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

impl From<Failure> for CallEnd {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cut => Self::Cut,
            Failure::Malformed => Self::Malformed,
            Failure::UnknownTool => Self::UnknownTool,
            Failure::Arguments => Self::InvalidArguments,
            Failure::Failed | Failure::Transient => Self::Failed,
            Failure::TimedOut => Self::TimedOut,
            Failure::Panicked => Self::Panicked,
            Failure::Denied | Failure::Forbidden | Failure::Unauthorized => Self::Denied,
            Failure::Repeated => Self::Repeated,
            Failure::NotRun => Self::NotRun,
        }
    }
}

/// The record of a run, or of its part in this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// The id of the run.
    pub run_id: Text,
    /// The id of the conversation, where the input named it.
    pub conversation: Option<Text>,
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
    /// The time that it took here.
    pub duration: Duration,
    /// The error that ended it.
    pub error: Option<ErrorCode>,
}
