//! The effects of a step, for a driver to perform in order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{AnswerId, CallId, Failure, denial::Denial, verdict::Grant};
use crate::{
    agent::Limit,
    types::{AgentEvent, Text},
};

/// One thing for the driver to do.
#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum Effect {
    /// A barrier, and the first effect of each input that was taken: the input, and the messages of the
    /// run with these places, are kept before anything after it is done.
    Commit(Range<usize>),
    /// Makes the system prompt.
    Prepare,
    /// Asks the model.
    Ask(AnswerId, AskKind),
    /// Has the beginning of the conversation summed up before this answer.
    Summarize(AnswerId),
    /// Cuts the answer under way, which comes back as far as it came.
    Cut,
    /// Runs a call; its checks are passed.
    Run(CallId),
    /// Asks a person about a call, whose checks are passed.
    Propose(CallId),
    /// Sends a call to the client, whose checks are passed.
    Send(CallId),
    /// Withdraws the request of this id.
    Withdraw(Text),
    /// Keeps what a person has allowed for the runs to come.
    Grant(Grant),
    /// Has a record kept of a call that was refused.
    Audit(Box<Denial>),
    /// Tells the calls that run to stop.
    Stop,
    /// Sends an event. In a box: a list of effects is as large as its largest.
    Emit(Box<AgentEvent>),
    /// Notes why the call failed whose end is told next.
    Failed(Failure),
    /// Ends the run: the outcome is there, and the events that close a run follow.
    Finished,
    /// Drops an input that changed nothing.
    Refused(Refusal),
}

/// The kind of an answer that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AskKind {
    /// The next answer; it may call tools.
    Turn,
    /// The rest of an answer that the limit of length cut.
    Continue,
    /// The next answer once more, after an empty one.
    Again,
    /// The one that is bound to the schema of the run's input; it calls no tool.
    Typed,
    /// The last one, at a limit; no tool runs after it.
    LastAnswer(Limit),
}

/// The reason for which an input was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The run is over.
    Over,
    /// The input does not belong to the phase of the run.
    OutOfPhase,
    /// The answer, or the call's, is another attempt's.
    OtherAnswer,
    /// The call does not run: it has ended, has not begun, or never was.
    NotRunning,
    /// There is no such request: it was answered, withdrawn, or never was.
    NotAsked,
    /// The client was not asked for the call with this id, or it has ended.
    NotAtClient,
    /// The run is cancelled already.
    Twice,
}
