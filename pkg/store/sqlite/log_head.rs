//! The row of a log.

use rusqlite::{Connection, params};

use super::statements::{number, row};
use crate::{LogKey, StoreError};

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

/// Returns a log whose records are available.
pub(super) fn readable(connection: &Connection, key: &LogKey) -> Result<LogHead, StoreError> {
    match head(connection, key)? {
        None => Err(StoreError::no_log(key)),
        Some(head) if head.state == RETIRED => Err(StoreError::log_retired(key)),
        Some(head) => Ok(head),
    }
}
