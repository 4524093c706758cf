//! The effects of a step, for a driver to perform in order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{AnswerId, CallId, FailureKind};
use crate::{access::CallDenial, approval::SessionGrant, run::Limit};
use forgeline_types::{AgentEvent, Text};

/// One action for the driver to perform.
#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum RunEffect {
    /// A barrier, and the first effect of each accepted input: the input, and the run's messages in
    /// this range, are stored before anything after the barrier is done.
    Commit(Range<usize>),
    /// Builds the system prompt.
    Prepare,
    /// Asks the model.
    Ask(AnswerId, AskKind),
    /// Summarizes the beginning of the conversation before this answer.
    Summarize(AnswerId),
    /// Interrupts the answer in progress, which then arrives as far as it got.
    Cut,
    /// Runs a call whose checks have passed.
    Run(CallId),
    /// Requests a person's approval of a call whose checks have passed.
    Propose(CallId),
    /// Sends a call whose checks have passed to the client.
    Send(CallId),
    /// Withdraws the request with this id.
    Withdraw(Text),
    /// Stores a person's permission for later runs.
    Grant(SessionGrant),
    /// Writes an audit record of a refused call.
    Audit(Box<CallDenial>),
    /// Tells the running calls to stop.
    Stop,
    /// Emits an event. Boxed, since a list of effects is as large as its largest variant.
    Emit(Box<AgentEvent>),
    /// Records the kind of failure of the call whose end is emitted next.
    Failed(FailureKind),
    /// Ends the run: the outcome is complete, and the closing events of the run follow.
    Finished,
    /// Drops an input that changed nothing.
    Refused(InputRefusal),
}

impl RunEffect {
    /// Emits this event or notice.
    pub(crate) fn emit(event: impl Into<AgentEvent>) -> Self {
        Self::Emit(Box::new(event.into()))
    }
}

/// The kind of a requested answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AskKind {
    /// The next answer; it may call tools.
    Turn,
    /// The rest of an answer that the length limit truncated.
    Continue,
    /// The next answer, requested again after an empty one.
    Again,
    /// The answer bound to the schema of the run's input; it calls no tool.
    Typed,
    /// The last answer, at a limit; no tool runs after it.
    LastAnswer(Limit),
}

/// The reason for which an input was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputRefusal {
    /// The run has ended.
    Over,
    /// The input does not fit the phase of the run.
    OutOfPhase,
    /// The answer, or the answer of the call, is from another attempt.
    OtherAnswer,
    /// The call is not running: it has ended, has not started, or never existed.
    NotRunning,
    /// The request does not exist: it was answered or withdrawn, or never made.
    NotAsked,
    /// The client was not asked to run the call with this id, or that call has ended.
    NotAtClient,
    /// The run is already cancelled.
    Twice,
}
