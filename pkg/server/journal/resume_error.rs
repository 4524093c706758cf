//! The error of a run that is not resumed.

use super::run_fence::is_outage;
use forgeline_store::StoreError;
use forgeline_types::{AgentError, ErrorCode};

/// The reason for which a run is not resumed.
#[derive(Debug)]
pub(crate) enum ResumeError {
    /// The run cannot be resumed.
    Unfit(AgentError),
    /// This process does not have the agent of the run; another one may.
    NoAgent(AgentError),
    /// The store cannot be used now; the run may be resumed later.
    Outage(StoreError),
}

impl ResumeError {
    /// Returns the error with which a run ends that is not tried again.
    pub(crate) fn into_error(self) -> AgentError {
        match self {
            Self::Unfit(error) | Self::NoAgent(error) => error,
            Self::Outage(error) => AgentError::new(ErrorCode::Journal, error.to_string()),
        }
    }
}

impl From<AgentError> for ResumeError {
    fn from(error: AgentError) -> Self {
        Self::Unfit(error)
    }
}

impl From<StoreError> for ResumeError {
    fn from(error: StoreError) -> Self {
        if is_outage(&error) {
            return Self::Outage(error);
        }
        Self::Unfit(AgentError::new(ErrorCode::Journal, error.to_string()))
    }
}
