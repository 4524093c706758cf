//! The check of a writer against the epoch of its run.

use rusqlite::Connection;

use super::statements::{number, row};
use crate::{RunWriter, StoreError};

/// The condition under which a writer, with the scope as `?1` and the id as `?2`, may write its run: it has the epoch of the run, if the file has the run.
/// The index has all that this reads.
macro_rules! is_written_by {
    ($epoch:literal) => {
        concat!(
            "(",
            $epoch,
            " IS NULL OR ",
            $epoch,
            " > 0 AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_by_writer ",
            "WHERE run.scope = ?1 AND run.name = ?2 AND run.epoch <> ",
            $epoch,
            "))"
        )
    };
}
pub(super) use is_written_by;

/// Checks that a writer, if there is one, owns its run. A run that the file does not have has no owner to compare.
pub(super) fn check_writer(
    connection: &Connection,
    writer: Option<&RunWriter>,
) -> Result<(), StoreError> {
    let Some(writer) = writer else { return Ok(()) };
    let sql = "SELECT epoch FROM run INDEXED BY run_by_writer WHERE scope = ? AND name = ?";
    let key = [writer.run.scope.as_str(), writer.run.name.as_str()];
    let epoch: Option<(i64,)> = row(connection, sql, key)?;
    epoch.map_or(Ok(()), |(epoch,)| writer.check(number(epoch)))
}
