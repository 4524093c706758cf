//! The outcome of an act on a run, and its form as the answer to a command.

use serde::{Deserialize, Serialize};

use crate::{Problem, input::pending::PendingAnswer, problem::stored_problem::StoredProblem};
use forgeline_store::StoreError;

/// The outcome of an act on a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActOutcome {
    /// The act was done.
    Done,
    /// The act was done, and the reader goes on with the event of this number.
    From(u64),
    /// The run waits for this, and these answers are for open requests.
    Seen(RunWait, Vec<PendingAnswer>),
    /// The user has moved on: the run waits for something else.
    Leaves,
    /// The run does not wait.
    Works,
    /// The act is stored, and the next owner of the run does it.
    Stored,
    /// The run has ended.
    Ended,
}

/// The party that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunWait {
    Nothing,
    /// The results of calls at the client.
    Client,
    /// A decision, or the answer to a question.
    Person,
}

/// The answer to a command.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CommandAnswer {
    /// The digest of the act, since an answered command has no body.
    pub(crate) digest: String,
    given: Result<ActOutcome, StoredProblem>,
}

impl CommandAnswer {
    pub(crate) fn new(digest: String, given: Result<ActOutcome, Problem>) -> Self {
        Self { digest, given: given.map_err(|problem| problem.to_stored()) }
    }

    /// Returns the answer as JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads an answer.
    pub(crate) fn read(json: &str) -> Result<Self, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::corrupt(error.to_string()))
    }

    /// Returns `true` if the act may be tried again.
    pub(crate) fn is_retryable(&self) -> bool {
        self.given.as_ref().is_err_and(StoredProblem::is_retryable)
    }

    /// Returns the outcome that the owner of the run had.
    pub(crate) fn into_outcome(self) -> Result<ActOutcome, Problem> {
        self.given.map_err(Into::into)
    }
}
