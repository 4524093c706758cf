//! The end of a run, as its readers see it.

use serde::{Deserialize, Serialize};

use forgeline_agent::{RunOutcome, run::Spending};
use forgeline_types::{AgentError, Ending, ErrorCode, FinishReason, Text, UsageInfo};

/// The end of a run, sent after its last event.
///
/// # Examples
///
/// ```
/// use forgeline::server::encode::{RunEnd, RunStatus};
///
/// let end = RunEnd::new("run_1", 7, RunStatus::Interrupted);
/// let json = serde_json::to_string(&end)?;
/// assert_eq!(json, r#"{"run_id":"run_1","seq":7,"type":"run_end","status":"interrupted"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunEnd {
    /// The id of the run.
    pub run_id: Text,
    /// The position after the last event.
    pub seq: u64,
    /// The constant `run_end`, in place of the kind of an event.
    #[serde(rename = "type")]
    kind: RunEndTag,
    /// The status with which the run ended.
    pub status: RunStatus,
    /// The way in which the run ended; `None` for one that an older version or a dead process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The cause, if the run failed, was cancelled, or ended without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AgentError>,
    /// The finish reason of the model's last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The token usage of all its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageInfo>,
    /// The part of its budget that the run and its sub-agents used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RunEndTag {
    RunEnd,
}

/// The status with which a run ended.
///
/// # Examples
///
/// ```
/// use forgeline::server::encode::RunStatus;
///
/// assert_eq!(serde_json::to_string(&RunStatus::Cancelled)?, r#""cancelled""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// The run completed.
    Completed,
    /// The run failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The process of the run died, and the run was not resumed.
    Interrupted,
}

impl RunEnd {
    /// Returns the end of a run with `seq` events, about which nothing else is known.
    #[must_use]
    pub fn new(run_id: impl Into<Text>, seq: u64, status: RunStatus) -> Self {
        let (run_id, kind) = (run_id.into(), RunEndTag::RunEnd);
        let (ending, error, finish_reason, usage, spent) = (None, None, None, None, None);
        Self { run_id, seq, kind, status, ending, error, finish_reason, usage, spent }
    }

    /// Returns the end of a run with this outcome and `seq` events.
    #[must_use]
    pub fn of(outcome: &RunOutcome, seq: u64) -> Self {
        let error = outcome.reason.error();
        let status = match error.as_ref().map(|error| error.code) {
            None => RunStatus::Completed,
            Some(ErrorCode::Cancelled) => RunStatus::Cancelled,
            Some(_) => RunStatus::Failed,
        };
        Self {
            ending: Some(outcome.reason.ending()),
            error,
            finish_reason: outcome.finish_reason.clone(),
            usage: outcome.usage,
            spent: Some(outcome.spent),
            ..Self::new(outcome.run_id.clone(), seq, status)
        }
    }
}
