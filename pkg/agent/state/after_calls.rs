//! The step after calls.

use serde::{Deserialize, Serialize};

use crate::prompts::feedback;
use forgeline_types::AgentError;

/// The step after the calls of an answer that did not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AfterCalls {
    /// The next turn.
    Turn,
    /// The end of the run.
    Fail(AgentError),
}

impl AfterCalls {
    /// Returns the text that the model reads for a call that had not started.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Turn => feedback::CUT_BEFORE,
            Self::Fail(_) => feedback::NOT_RUN,
        }
    }
}
