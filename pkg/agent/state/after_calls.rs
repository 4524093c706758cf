//! The step after calls.

use serde::{Deserialize, Serialize};

use crate::prompts::feedback;
use forgeline_types::{AgentError, Ending};

/// The step after the calls of an answer that did not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AfterCalls {
    /// The next turn.
    Turn,
    /// The next turn, after an answer that the provider could not read.
    Reread,
    /// The end of the run.
    Fail(AgentError),
}

impl AfterCalls {
    /// Returns the text that the model reads for a call that had not started.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Turn => feedback::CUT_BEFORE,
            Self::Reread => feedback::MALFORMED_BEFORE,
            Self::Fail(error) => {
                let ending = Ending::from(error.code);
                if matches!(ending, Ending::Refused | Ending::Filtered) {
                    feedback::WITHHELD
                } else if ending == Ending::Malformed {
                    feedback::MALFORMED_BEFORE
                } else {
                    feedback::NOT_RUN
                }
            }
        }
    }

    /// Returns `true` when events tell of each call that did not run.
    pub(super) fn tells_calls(&self) -> bool {
        self.why() == feedback::WITHHELD || self.why() == feedback::MALFORMED_BEFORE
    }
}
