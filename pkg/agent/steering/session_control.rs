//! The control of a started agent, shared by its channels.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::steering_handle::Steering;
use forgeline_types::{AgentError, ErrorCode};

/// The end of a started agent and of its runs.
pub(crate) struct SessionControl {
    pub(crate) shutdown: CancellationToken,
    /// The active run.
    pub(crate) current: watch::Sender<Option<CurrentRun>>,
    pub(crate) tasks: TaskTracker,
}

/// An active run.
#[derive(Clone)]
pub(crate) struct CurrentRun {
    pub(crate) cancel: CancellationToken,
    pub(crate) steering: Steering,
}

impl SessionControl {
    pub(crate) fn new() -> Arc<Self> {
        let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
        Arc::new(Self { shutdown, current: watch::Sender::new(None), tasks })
    }

    pub(crate) fn cancel(&self) -> Result<(), AgentError> {
        if self.has_ended() {
            return Err(has_ended());
        }
        self.cancel_run();
        Ok(())
    }

    /// Cancels the active run; returns `true` if there was one that had not been cancelled before.
    pub(crate) fn cancel_run(&self) -> bool {
        // The lock is not held while waiters are woken.
        let current = self.current.borrow().clone();
        let run = current.filter(|run| !run.cancel.is_cancelled());
        run.map(|run| run.cancel.cancel()).is_some()
    }

    /// Returns the steering handle of the active run.
    pub(crate) fn run(&self) -> Result<Option<Steering>, AgentError> {
        if self.has_ended() {
            return Err(has_ended());
        }
        Ok(self.current.borrow().as_ref().map(|run| run.steering.clone()))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shutdown.is_cancelled() || self.tasks.is_empty()
    }
}

/// The access to a run, or to the active run of a started agent.
#[derive(Clone)]
pub(crate) enum RunEnd {
    Run(Steering),
    Agent(Arc<SessionControl>),
}

impl RunEnd {
    /// Returns the steering handle of the active run.
    pub(crate) fn run(&self) -> Result<Option<Steering>, AgentError> {
        match self {
            Self::Run(steering) => Ok(Some(steering.clone())),
            Self::Agent(control) => control.run(),
        }
    }
}

/// Returns the error for calls to an agent that has ended.
pub(crate) fn has_ended() -> AgentError {
    AgentError::new(ErrorCode::Shutdown, "the agent has been shut down; start it again to go on")
}
