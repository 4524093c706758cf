//! The errors of `SQLite` in the words of the stores.

use crate::store::StoreError;

/// Returns the error of a store for one of the database.
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
    // The low byte is the kind, the others tell more.
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

/// Returns `true` for an error of what was asked for, after which the database is as it was before.
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
