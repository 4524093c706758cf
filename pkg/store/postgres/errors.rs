//! Conversion of errors of the client into store errors.

use std::error::Error as _;

use tokio_postgres::{Error, error::SqlState};

use crate::{StoreError, time_limit::WAIT};

/// The meaning of a failure for its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatementFailure {
    /// The connection was lost: the statement may have been executed or not.
    Lost(String),
    /// The statement was not executed, and may be repeated.
    Again(String),
    /// The statement was not executed, and would fail again.
    Refused(StoreError),
}

impl StatementFailure {
    /// Classifies an error of a statement or of a connection.
    pub(super) fn of(error: &Error) -> Self {
        let Some(failed) = error.as_db_error() else { return Self::Lost(described(error)) };
        // Details may quote data.
        let (code, reason) = (failed.code(), failed.message().to_owned());
        if [
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::LOCK_NOT_AVAILABLE,
            // The row of another session, which the statement did not see, is seen the next time.
            SqlState::UNIQUE_VIOLATION,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::CANNOT_CONNECT_NOW,
        ]
        .contains(code)
        {
            return Self::Again(reason);
        }
        if [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::IDLE_SESSION_TIMEOUT]
            .contains(code)
            || code.code().starts_with("08")
        {
            return Self::Lost(reason);
        }
        Self::Refused(match code.code() {
            "57014" => StoreError::Slow { limit: WAIT },
            "53100" => {
                StoreError::Full { reason: format!("{reason}; free disk space, or keep less") }
            }
            "25006" => {
                StoreError::ReadOnly { reason: format!("{reason}; connect to the primary server") }
            }
            "XX001" | "XX002" => StoreError::Corrupt { reason },
            "22021" => StoreError::Unavailable {
                reason: "PostgreSQL stores no text with the character U+0000".to_owned(),
            },
            code => StoreError::Unavailable { reason: format!("PostgreSQL: {reason} ({code})") },
        })
    }

    /// Returns the failure of a statement whose connection was never made.
    pub(super) fn of_connecting(self) -> Self {
        match self {
            Self::Lost(reason) | Self::Again(reason) => Self::Again(reason),
            Self::Refused(error) => Self::Refused(error),
        }
    }

    /// Returns the error for a caller that cannot repeat the statement.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Lost(reason) => StoreError::Unavailable {
                reason: format!(
                    "the connection to PostgreSQL was lost: {reason}; a write may have been made, so read before you \
                     write again"
                ),
            },
            Self::Again(reason) => {
                StoreError::Unavailable { reason: format!("PostgreSQL: {reason}") }
            }
            Self::Refused(error) => error,
        }
    }
}

/// Returns the text of an error and its causes.
fn described(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
