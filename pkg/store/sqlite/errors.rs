//! Conversion of `SQLite` errors into store errors.

use rusqlite::Error;

use crate::StoreError;

/// Returns the store error for a database error.
#[expect(clippy::needless_pass_by_value, reason = "the form of a function for `map_err`")]
pub(super) fn store_error(error: Error) -> StoreError {
    let code = error.sqlite_error().map(|error| error.extended_code);
    let is_of_wrong_type = matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    );
    let reason = if let Error::SqlInputError { msg, .. } = &error {
        // Without the statement.
        msg.clone()
    } else {
        error.to_string()
    };
    // The low byte is the kind; the others are details.
    match code.map(|code| code & 0xff) {
        Some(13) => StoreError::Full {
            reason: format!("{reason}; free disk space, raise `max_bytes`, or keep less"),
        },
        Some(8) => StoreError::ReadOnly {
            reason: format!("{reason}; allow this process to write the file"),
        },
        kind if is_of_wrong_type || matches!(kind, Some(11 | 26)) => {
            StoreError::Corrupt { reason: format!("{reason}; use another copy of the file") }
        }
        _ => StoreError::Unavailable { reason },
    }
}

/// Returns `true` for an error of the request, after which the database is unchanged.
pub(super) fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotFound { .. }
            | StoreError::Exists { .. }
            | StoreError::Ended { .. }
            | StoreError::Fenced { .. }
            | StoreError::Retired { .. }
            | StoreError::Behind { .. }
            | StoreError::Dropped { .. }
            | StoreError::BadCursor { .. }
    )
}
