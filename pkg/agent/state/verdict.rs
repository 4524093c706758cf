//! The answers of people, and what they allow.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::types::{Json, Text};

/// The way on of a call whose checks are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Run,
    /// A person is asked first.
    Ask,
}

/// The permission of a person for the session: calls of a tool for which its pattern is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) tool: Text,
    pub(crate) pattern: Option<String>,
}

/// The answer to the request of this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decided {
    pub(crate) approval_id: Text,
    pub(crate) verdict: Verdict,
}

/// The answer to a request for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Granted {
        always: bool,
        /// The arguments in place of the model's.
        arguments: Option<Json>,
    },
    Rejected {
        reason: String,
    },
    /// No answer came in this time.
    TimedOut(Duration),
    /// The run has no one to ask.
    Unasked,
    /// The call could not be shown.
    NotShown(String),
}
