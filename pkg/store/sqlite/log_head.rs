//! The row of a log.

use sqlx::SqliteConnection;

use super::{errors, rows::number};
use crate::{LogError, LogKey, StoreError};

pub(super) const OPEN: i64 = 0;
pub(super) const CLOSED: i64 = 1;
pub(super) const RETIRED: i64 = 2;

/// The data of a log, without its records.
pub(super) struct Head {
    pub(super) id: i64,
    pub(super) ends: u64,
    pub(super) state: i64,
}

impl Head {
    pub(super) fn is_closed(&self) -> bool {
        self.state == CLOSED
    }
}

pub(super) async fn head(
    connection: &mut SqliteConnection,
    key: &LogKey,
) -> Result<Option<Head>, StoreError> {
    let row: Option<(i64, i64, i64)> =
        sqlx::query_as("SELECT id, ends, state FROM log WHERE scope = ? AND name = ?")
            .bind(key.scope.as_str())
            .bind(key.name.as_str())
            .fetch_optional(connection)
            .await
            .map_err(errors::of)?;
    Ok(row.map(|(id, ends, state)| Head { id, ends: number(ends), state }))
}

/// Returns the log if its records are available.
pub(super) fn readable(key: &LogKey, head: Option<Head>) -> Result<Head, LogError> {
    let name = || key.name.clone();
    match head {
        None => Err(LogError::NotFound { name: name() }),
        Some(head) if head.state == RETIRED => Err(LogError::Retired { name: name() }),
        Some(head) => Ok(head),
    }
}
