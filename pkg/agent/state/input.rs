//! The inputs of a run.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    CallFailure, CallResult, ContentRefusal,
    window_state::{SummaryEnd, SummaryRange, WindowCut},
};
use crate::{
    approval::ApprovalAnswer,
    run::{OutsideSources, SpentBelow},
    steering::UserMessage,
};
use forgeline_llm::Cost;
use forgeline_types::{
    AgentError, AgentEvent, ErrorCode, FinishReason, Message, Part, Text, TextOrigin, ToolCall,
    UsageInfo,
};

/// A time in milliseconds since the Unix epoch, as the driver read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UnixMillis(pub(crate) u64);

impl UnixMillis {
    /// Returns the duration since an earlier time.
    pub(super) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// The id of an answer: its turn and its attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerId {
    pub(crate) turn: u32,
    pub(crate) attempt: u32,
}

/// The id of a call: its answer, and its place among the calls of that answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallId {
    pub(crate) answer: AnswerId,
    pub(crate) place: usize,
}

/// An event in the life of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepInput {
    /// The system prompt is built, and the tools that the run may use are known.
    Prepared(RunPrompt),
    /// The run cannot start: a part of the prompt failed.
    Unprepared(AgentError),
    /// A part of the conversation is left out of the request for this answer, which has not been sent yet.
    Fitted(AnswerId, Box<WindowCut>),
    /// The conversation exceeds the size at which its beginning is summarized; no request has been sent yet.
    Outgrown(AnswerId, SummaryRange),
    /// The summary before this answer is complete, or has failed.
    Summed(AnswerId, Box<SummaryEnd>),
    /// A call is complete while its answer is still in progress.
    Called(AnswerId, Box<CompleteCall>),
    /// An answer has ended: complete, truncated, refused or failed.
    Answered(AnswerId, Box<ModelAnswer>),
    /// The provider refused a part of the conversation, and sent nothing of the answer.
    ContentRefused(AnswerId, Box<ContentRefusal>),
    /// A call has ended.
    Ran(CallId, Box<ToolEnd>),
    /// A request for approval was answered.
    Decided(CallId, Box<ApprovalAnswer>),
    /// A call at the client has ended, or is not awaited any more.
    Returned(CallId, Box<ReturnedCall>),
    /// The user has sent a message.
    Said(UserMessage),
    /// The run resumes after it was suspended: nothing of it is running.
    Resumed,
    /// The run must end. Running work has been asked to stop, and ends soon.
    Cancelled(CancelReason),
}

/// The constant beginning of a run's requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RunPrompt {
    /// The system prompt, without the tools.
    pub(crate) text: String,
    /// The names of the agent's tools that the run may not use.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) withheld: Box<[Text]>,
    /// The answer that a prompt part gives in place of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Box<str>>,
    /// The sources of the text from outside in its parts.
    #[serde(rename = "is_outside", default, skip_serializing_if = "OutsideSources::is_none")]
    pub(crate) outside: OutsideSources,
}

impl From<&str> for RunPrompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// An answer of the model, or as much of it as has arrived.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ModelAnswer {
    /// The message to keep; `None` when the answer is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Arc<Message>>,
    /// The text to show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<ToolCall>,
    /// The number of bytes of each call that arrived, by its index.
    pub(crate) body_bytes: Vec<usize>,
    pub(crate) fenced_calls: u32,
    pub(crate) usage: Option<UsageInfo>,
    /// The unscaled estimate for the answer's request; 0 where none was made.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) estimated: u64,
    /// The cost by the catalog's prices, if they are known.
    pub(crate) cost: Option<Cost>,
    pub(crate) finish_reason: Option<FinishReason>,
    pub(crate) error: Option<AgentError>,
    /// `true` when the run's events already include the error.
    pub(crate) told: bool,
}

/// A call that is complete while its answer is still in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CompleteCall {
    pub(crate) call: ToolCall,
    /// The number of bytes of the call that arrived.
    pub(crate) body_bytes: usize,
    /// The part of the answer after the previous call, up to and including this one.
    pub(crate) message: Option<Arc<Message>>,
    /// The events that would close what is open of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ends: Vec<AgentEvent>,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolEnd {
    /// The result, or the kind of failure and the text that the model reads.
    pub(crate) result: CallResult,
    /// Images and documents after the text of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
    pub(crate) duration_ms: u64,
    /// The time, since a call last ended, for which each running call has waited for a person.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) waited_ms: u64,
    /// The origin of the text.
    #[serde(default, skip_serializing_if = "TextOrigin::is_own")]
    pub(crate) origin: TextOrigin,
    /// The name of the only source of the text, if it is from outside and has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Text>,
    /// The part of the budget that sub-agents used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below: Option<Box<SpentBelow>>,
    /// The names of the tools that a search found.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) found: Box<[Text]>,
}

impl ToolEnd {
    /// Returns the end of a call that did not run.
    pub(crate) fn refused(why: CallFailure) -> Self {
        Self::at_once(Err(why))
    }

    /// Returns an end with a duration of zero.
    pub(crate) fn at_once(result: CallResult) -> Self {
        let (parts, origin, found) = (Vec::new(), TextOrigin::Own, Box::default());
        let (duration_ms, waited_ms) = (0, 0);
        Self { result, parts, duration_ms, waited_ms, origin, source: None, below: None, found }
    }
}

/// The end of the call that the client was asked to run under this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReturnedCall {
    pub(crate) client_call_id: Text,
    pub(crate) end: ToolEnd,
    /// `true` when the client may still run the call, but need not any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_withdrawn: bool,
}

/// The reason for which a run was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CancelReason {
    /// The user cancelled the run, or its reader was dropped.
    User,
    /// The run exceeded this time limit.
    Timeout(Duration),
    /// The deadline of the run's input passed.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde expects")]
fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}
