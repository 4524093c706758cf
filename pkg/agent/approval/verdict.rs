//! People's verdicts, and the permissions they grant.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use forgeline_types::{Json, Text};

/// The gate for a call whose checks have passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallGate {
    Run,
    /// Asks a person first.
    Ask,
}

/// A person's permission for the session: it covers calls of a tool that have the same pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionGrant {
    pub(crate) tool: Text,
    pub(crate) pattern: Option<String>,
}

/// The answer to the request with this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApprovalAnswer {
    pub(crate) approval_id: Text,
    pub(crate) verdict: ApprovalVerdict,
    /// The permission that the verdict gives for later calls, as a journal has it: the conversation keeps it without its tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<SessionGrant>,
}

impl ApprovalAnswer {
    /// Returns an answer whose permission is not known yet.
    pub(crate) fn new(approval_id: Text, verdict: ApprovalVerdict) -> Self {
        Self { approval_id, verdict, grant: None }
    }
}

/// The answer to a request for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalVerdict {
    Granted {
        always: bool,
        /// The arguments that replace the model's.
        arguments: Option<Json>,
    },
    Rejected {
        reason: String,
    },
    /// The request was not answered within this time.
    TimedOut(Duration),
    /// The request ended without a decision, for this reason.
    Undecided {
        reason: String,
    },
    /// The run cannot ask anyone.
    Unasked,
    /// The call could not be shown.
    NotShown(String),
    /// The effect of the call has changed since another process showed it.
    Changed,
}
