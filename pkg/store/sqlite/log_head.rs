//! The row of a log.

use rusqlite::{Connection, params};

use super::statements::{number, row};
use crate::{LogError, LogKey, StoreError};

pub(super) const OPEN: i64 = 0;
pub(super) const CLOSED: i64 = 1;
pub(super) const RETIRED: i64 = 2;

/// The data of a log, without its records.
pub(super) struct LogHead {
    pub(super) id: i64,
    pub(super) ends: u64,
    pub(super) state: i64,
}

impl LogHead {
    pub(super) fn is_closed(&self) -> bool {
        self.state == CLOSED
    }
}

pub(super) fn head(connection: &Connection, key: &LogKey) -> Result<Option<LogHead>, StoreError> {
    let sql = "SELECT id, ends, state FROM log WHERE scope = ? AND name = ?";
    let row: Option<(i64, i64, i64)> =
        row(connection, sql, params![key.scope.as_str(), key.name.as_str()])?;
    Ok(row.map(|(id, ends, state)| LogHead { id, ends: number(ends), state }))
}

/// Returns the log if its records are available.
pub(super) fn readable(key: &LogKey, head: Option<LogHead>) -> Result<LogHead, LogError> {
    let name = || key.name.clone();
    match head {
        None => Err(LogError::NotFound { name: name() }),
        Some(head) if head.state == RETIRED => Err(LogError::Retired { name: name() }),
        Some(head) => Ok(head),
    }
}
