//! The stored form of an error, with which one node answers for another.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Problem, ProblemInner, UNREACHABLE};

/// An error as it is stored.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct StoredProblem {
    status: u16,
    code: Cow<'static, str>,
    detail: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    more: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

impl StoredProblem {
    /// Returns `true` if the same request may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        self.retry_after.is_some()
    }
}

impl Problem {
    /// Returns the form in which the error is stored.
    pub(crate) fn to_stored(&self) -> StoredProblem {
        let ProblemInner { status, code, detail, more, retry_after } = (*self.0).clone();
        StoredProblem { status: status.as_u16(), code, detail, more, retry_after }
    }

    /// Returns `true` for the error of a store that cannot be reached.
    pub(crate) fn is_of_store(&self) -> bool {
        self.0.detail == UNREACHABLE
    }
}

impl From<StoredProblem> for Problem {
    fn from(stored: StoredProblem) -> Self {
        let StoredProblem { status, code, detail, more, retry_after } = stored;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self(Box::new(ProblemInner { status, code, detail, more, retry_after }))
    }
}
