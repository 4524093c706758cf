//! The start of a run.

use std::time::{Duration, SystemTime};

use super::{run_setup::RunSetup, shared_agent::SharedAgent};
use crate::{
    RunInput,
    journal::{Chain, OpenRun},
    run::RunContext,
    state::CancelReason,
    support::clock,
};
use forgeline_types::{AgentError, ModelInfo};

/// The start of a run.
pub(crate) enum RunStart {
    /// A new run with this input.
    Input(Box<RunInput>),
    /// A suspended run, boxed as it is rare, the point where its journal ended, and its setup where that is not the agent's.
    Open(Box<OpenRun>, Chain, Option<RunSetup>),
}

impl RunStart {
    /// Checks that the run can start.
    pub(super) fn check(&self, agent: &SharedAgent) -> Result<(), AgentError> {
        match self {
            Self::Input(input) => {
                let provider = agent.parts.chosen(&input.context)?;
                let provider = provider.unwrap_or(&agent.parts.provider);
                input.check(provider.info(), clock::system_now())?;
                input.check_conversation()?;
                agent.parts.check_price(input.budget, provider.info())
            }
            Self::Open(..) => Ok(()),
        }
    }

    /// Returns the model that answers.
    pub(crate) fn model<'a>(&self, agent: &'a SharedAgent) -> &'a ModelInfo {
        let chosen = agent.parts.chosen(self.context()).ok().flatten();
        chosen.unwrap_or(&agent.parts.provider).info()
    }

    /// Returns the context that the input supplied.
    pub(super) fn context(&self) -> &RunContext {
        match self {
            Self::Input(input) => &input.context,
            Self::Open(run, ..) => run.state.context(),
        }
    }

    /// Returns the time after which the run is stopped, and the reason.
    pub(super) fn limit(&self, run_timeout: Option<Duration>) -> Option<(Duration, CancelReason)> {
        let context = self.context();
        let left = |at: SystemTime| at.duration_since(clock::system_now()).unwrap_or_default();
        let deadline = context.deadline().map(|at| (left(at), CancelReason::Deadline));
        let timeout = run_timeout.map(|limit| (limit, CancelReason::Timeout(limit)));
        deadline.into_iter().chain(timeout).min_by_key(|(limit, _)| *limit)
    }
}
