//! The answers to requests of one kind, from outside a run.

use std::{marker::PhantomData, sync::Arc};

use super::{
    session_control::{RunEnd, SessionControl},
    steering_handle::{QueuedKind, Steering},
};
use crate::{run::Caller, tools::ToolError};
use forgeline_types::{AgentError, ErrorCode};

/// A handle that answers the requests of one kind, for a run or a started agent.
#[derive(Clone)]
pub(super) struct Requests<K>(RunEnd, PhantomData<fn() -> K>);

impl<K: QueuedKind> Requests<K> {
    pub(super) fn of_run(steering: Steering) -> Self {
        Self(RunEnd::Run(steering), PhantomData)
    }

    pub(super) fn of_agent(control: Arc<SessionControl>) -> Self {
        Self(RunEnd::Agent(control), PhantomData)
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer does not fit (the request stays open), if no such request is open, or if the
    /// agent has ended.
    pub(super) fn answer(&self, id: &str, answer: K::Answer) -> Result<(), AgentError> {
        let is_answered = match self.0.run()? {
            Some(run) => run.answer::<K>(id, answer).map_err(|problem| unfit::<K>(&problem))?,
            None => false,
        };
        if is_answered {
            return Ok(());
        }
        Err(AgentError::new(ErrorCode::InvalidInput, K::not_open(id)))
    }

    /// Checks that an answer fits an open request, without answering it.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer does not fit, or if the agent has ended.
    pub(super) fn check(&self, id: &str, answer: &K::Answer) -> Result<(), AgentError> {
        let Some(run) = self.0.run()? else { return Ok(()) };
        run.check_answer::<K>(id, answer).map_err(|problem| unfit::<K>(&problem))
    }

    /// Returns `true` unless this caller may not answer the request.
    pub(super) fn may_answer(&self, id: &str, caller: &Caller) -> bool {
        self.0.run().ok().flatten().is_none_or(|run| run.may_answer(id, caller))
    }

    /// Returns the open requests, in the order in which they were made.
    pub(super) fn open(&self) -> Vec<K> {
        let run = self.0.run().ok().flatten();
        run.map(|run| run.open_requests()).unwrap_or_default()
    }
}

fn unfit<K: QueuedKind>(problem: &ToolError) -> AgentError {
    AgentError::new(ErrorCode::InvalidInput, format!("{}: {problem}", K::UNFIT))
}
