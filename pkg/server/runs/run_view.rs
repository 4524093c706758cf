//! A run as callers see it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::encode::{RunEnd, RunStatus};
use forgeline_llm::Cost;
use forgeline_types::UsageInfo;

/// The state of a run, as the service shows it.
#[derive(Debug, Serialize)]
pub(crate) struct RunView<'r> {
    pub(super) run_id: &'r str,
    pub(super) conversation_id: &'r str,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<&'r RawValue>,
    /// The token usage of its requests so far; the cost once it has ended, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<UsageInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<RunEnd>,
}

impl RunView<'_> {
    pub(crate) fn status(&self) -> &'static str {
        self.status
    }
}

/// Returns the name of a status.
pub(super) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}
