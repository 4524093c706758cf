//! Conversion of `SQLite` errors into store errors.

use crate::StoreError;

/// Returns the store error for a database error.
#[expect(clippy::needless_pass_by_value, reason = "the form of a function for `map_err`")]
pub(super) fn of(error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    let reason = match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    };
    if matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) {
        let reason = format!("{reason}; use another copy of the file");
        return StoreError::Corrupt { reason };
    }
    // The low byte is the kind; the others are details.
    match code.map(|code| code & 0xff) {
        Some(13) => StoreError::Full {
            reason: format!("{reason}; free disk space, raise `max_bytes`, or keep less"),
        },
        Some(8) => StoreError::ReadOnly {
            reason: format!("{reason}; allow this process to write the file"),
        },
        Some(11 | 26) => {
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
            | StoreError::Behind { .. }
            | StoreError::Dropped { .. }
            | StoreError::BadCursor { .. }
    )
}
