//! Appends to logs.

use rusqlite::{Connection, params};

use super::{
    log_head::{OPEN, readable},
    run_epochs::{check_writer, is_written_by},
    statements::{execute, int},
};
use crate::{LogKey, RunWriter, StoreError};

/// Appends to a log that is open and ends at the given number, or does nothing. A trigger of the table moves the end of the log.
/// The writer of a run must own it.
const APPEND: &str = concat!(
    "INSERT INTO chunk (log, begins, count, data) SELECT id, ?3, ?4, ?5 FROM log \
     WHERE scope = ?1 AND name = ?2 AND ends = ?3 AND state = 0 AND ?4 > 0 AND ",
    is_written_by!("?6")
);

/// Records to append to a log, in one row.
#[derive(Debug)]
pub(super) struct LogAppend {
    pub(super) key: LogKey,
    pub(super) at: u64,
    /// The number of records.
    pub(super) count: usize,
    pub(super) data: Vec<u8>,
    /// The right to write the run, if the log is that of a run.
    pub(super) writer: Option<RunWriter>,
}

impl LogAppend {
    /// Inserts the row; returns `false` if the log is not open or does not end there, or if the writer does not own the run.
    pub(super) fn insert(&self, connection: &Connection) -> Result<bool, StoreError> {
        let Self { key, at, count, data, writer } = self;
        let epoch = writer.as_ref().map(|writer| int(writer.epoch));
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let values = params![scope, name, int(*at), int(*count as u64), data, epoch];
        execute(connection, APPEND, values).map(|rows| rows > 0)
    }

    /// Appends within a transaction; the error is that of the log if nothing was appended.
    pub(super) fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        if self.insert(connection)? {
            return Ok(());
        }
        let head = readable(connection, &self.key)?;
        check_writer(connection, self.writer.as_ref())?;
        match head.state {
            OPEN if self.count == 0 && self.at == head.ends => Ok(()),
            OPEN => Err(StoreError::log_behind(&self.key, self.at, head.ends)),
            _ => Err(StoreError::log_closed(&self.key)),
        }
    }
}
