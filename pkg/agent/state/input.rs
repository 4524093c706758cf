//! The inputs of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Failure,
    inbox::Said,
    marks::{Fitted, Outgrown, Summed},
    verdict::Decided,
};
use crate::{
    agent::run::SpentBelow,
    llm::Cost,
    types::{
        AgentError, AgentEvent, ErrorCode, FinishReason, Message, Part, Text, TextOrigin, ToolCall,
        UsageInfo,
    },
};

/// A time in milliseconds since the Unix epoch, as the driver read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    /// Returns the time since an earlier one.
    pub(super) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// The id of an answer: its turn, and the attempt at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerId {
    pub(crate) turn: u32,
    pub(crate) attempt: u32,
}

/// The id of a call: the answer that made it, and its place among the calls of that answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallId {
    pub(crate) answer: AnswerId,
    pub(crate) place: usize,
}

/// One thing that happened to a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepInput {
    /// The system prompt is made, and it is known what the run may use.
    Prepared(Prompt),
    /// The run cannot begin: a part of the prompt failed.
    Unprepared(AgentError),
    /// A part of the conversation is left out of the request for this answer, which was not sent yet.
    Fitted(AnswerId, Box<Fitted>),
    /// The conversation has passed the size at which its beginning is summed up; no request was sent yet.
    Outgrown(AnswerId, Outgrown),
    /// The summary before this answer is there, or has failed.
    Summed(AnswerId, Box<Summed>),
    /// A call has ended while its answer goes on.
    Called(AnswerId, Box<Sealed>),
    /// An answer has ended: whole, cut, refused or failed.
    Answered(AnswerId, Box<Answer>),
    /// A call has ended.
    Ran(CallId, Box<ToolEnd>),
    /// A request for approval was answered.
    Decided(CallId, Box<Decided>),
    /// A call at the client has ended, or is not waited for any more.
    Returned(CallId, Box<Returned>),
    /// The user has said something.
    Said(Said),
    /// The run goes on after it was put away: nothing of it runs any more.
    Resumed,
    /// The run is to end. What runs has been told, and ends soon.
    Cancelled(CancelReason),
}

/// The beginning of a run's requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Prompt {
    /// The system prompt, without the tools.
    pub(crate) text: String,
    /// The names of the agent's tools that the run may not use.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) withheld: Box<[Text]>,
    /// The answer that a part of the prompt gives in place of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Box<str>>,
    /// `true` when a part has text from outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_outside: bool,
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// An answer of the model, or as much of it as arrived.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The message to keep; `None` when the answer says nothing.
    pub(crate) message: Option<Message>,
    /// The text to show.
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    /// The bytes of each call that arrived, by its index.
    pub(crate) body_bytes: Vec<usize>,
    pub(crate) fenced_calls: u32,
    pub(crate) usage: Option<UsageInfo>,
    /// The estimate for its request before any scale; 0 where none is made.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) estimated: u64,
    /// The cost by the catalog's prices, if these are known.
    pub(crate) cost: Option<Cost>,
    pub(crate) finish_reason: Option<FinishReason>,
    pub(crate) error: Option<AgentError>,
    /// `true` when the events of the run have an error already.
    pub(crate) told: bool,
}

/// A call that has ended while its answer goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) call: ToolCall,
    /// The bytes of it that arrived.
    pub(crate) body_bytes: usize,
    /// The answer from the call before this one on, this one included.
    pub(crate) message: Option<Message>,
    /// The events that would end what is open of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ends: Vec<AgentEvent>,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolEnd {
    /// The result, or the kind of failure and the text that the model reads.
    pub(crate) result: Result<String, (Failure, String)>,
    /// Pictures and documents behind the text of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
    pub(crate) duration_ms: u64,
    /// The place that the text comes from.
    #[serde(default, skip_serializing_if = "TextOrigin::is_own")]
    pub(crate) origin: TextOrigin,
    /// The use that agents below made of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below: Option<Box<SpentBelow>>,
    /// The names of the tools that a search has found.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) found: Box<[Text]>,
}

impl ToolEnd {
    /// Returns the end of a call that did not run.
    pub(crate) fn refused(why: (Failure, String)) -> Self {
        Self::at_once(Err(why))
    }

    /// Returns the end of a call that took no time.
    pub(crate) fn at_once(result: Result<String, (Failure, String)>) -> Self {
        let (parts, origin, found) = (Vec::new(), TextOrigin::Own, Box::default());
        Self { result, parts, duration_ms: 0, origin, below: None, found }
    }
}

/// The end of the call that the client was asked for with this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Returned {
    pub(crate) client_call_id: Text,
    pub(crate) end: ToolEnd,
    /// `true` when the client may still run the call, and need not any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_withdrawn: bool,
}

/// The reason for which a run was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CancelReason {
    /// The user, or the reader that went away.
    User,
    /// The limit of time that the run passed.
    Timeout(Duration),
    /// The deadline of the run's input.
    Deadline,
}

impl CancelReason {
    /// Returns the error of a run that ended for this reason.
    pub(crate) fn error(self) -> AgentError {
        match self {
            Self::User => {
                let message = "the run was cancelled; what had arrived is kept";
                AgentError::new(ErrorCode::Cancelled, message)
            }
            Self::Deadline => {
                let message = "the deadline of the run passed; what had arrived is kept";
                AgentError::new(ErrorCode::Timeout, message)
            }
            Self::Timeout(limit) => {
                let message =
                    format!("the run took longer than {limit:?}; what had arrived is kept");
                AgentError::new(ErrorCode::Timeout, message)
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}
