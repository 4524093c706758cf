//! The owners of runs in the file: there is one node, and the runs of another one are those of an earlier process.

use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::{
    errors::store_error,
    run_rows::{read, read_notes, refusal},
    statements::{execute, int, number, read_rows, rows},
};
use crate::{LogKey, NodeId, RunWriter, StoreError, StoredRun, ids::now_ms};

/// Maximum number of runs that are reaped at a time.
const MAX_REAPED: i64 = 1_000;

pub(super) fn claim(
    connection: &Connection,
    node: &NodeId,
    most: usize,
    version: u32,
) -> Result<Vec<StoredRun>, StoreError> {
    let sql = "UPDATE run SET node = ?1, epoch = epoch + 1, version = ?3, not_before_ms = NULL \
               WHERE id IN (SELECT id FROM run WHERE ended_ms IS NULL AND node IS NULL AND version <= ?3 \
               AND coalesce(not_before_ms, 0) <= ?4 ORDER BY id LIMIT ?2) RETURNING *";
    let values = params![node.as_str(), int(most as u64), version, int(now_ms())];
    // The rows that an update returns have no order.
    let read = |row: &Row<'_>| {
        let id: i64 = row.get("id").map_err(store_error)?;
        Ok((id, read(row)?))
    };
    let mut claimed = read_rows(connection, sql, values, read)?;
    claimed.sort_by_key(|(id, _)| *id);
    let mut claimed: Vec<_> = claimed.into_iter().map(|(_, run)| run).collect();
    claimed.iter_mut().try_for_each(|run| read_notes(connection, run))?;
    Ok(claimed)
}

pub(super) fn reap(connection: &Connection, node: &NodeId) -> Result<Vec<LogKey>, StoreError> {
    let sql = "UPDATE run SET node = NULL, epoch = epoch + 1, takeovers = takeovers + 1 \
               WHERE id IN (SELECT id FROM run WHERE ended_ms IS NULL AND node <> ? ORDER BY id LIMIT ?) \
               RETURNING scope, name";
    let reaped: Vec<(String, String)> = rows(connection, sql, params![node.as_str(), MAX_REAPED])?;
    Ok(reaped.into_iter().map(|(scope, name)| LogKey::new(scope, name)).collect())
}

pub(super) fn release(
    connection: &Connection,
    writer: &RunWriter,
    wait: Duration,
) -> Result<(), StoreError> {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let not_before_ms = (wait_ms > 0).then(|| int(now_ms().saturating_add(wait_ms)));
    let sql = "UPDATE run SET node = NULL, epoch = epoch + 1, takeovers = 0, not_before_ms = ?4 \
               WHERE scope = ?1 AND name = ?2 AND epoch = ?3 AND epoch > 0 AND ended_ms IS NULL";
    let (scope, name) = (writer.run.scope.as_str(), writer.run.name.as_str());
    let values = params![scope, name, int(writer.epoch), not_before_ms];
    match execute(connection, sql, values)? {
        0 => Err(refusal(connection, writer)),
        _ => Ok(()),
    }
}

pub(super) fn owned(connection: &Connection, node: &NodeId) -> Result<Vec<RunWriter>, StoreError> {
    let sql = "SELECT scope, name, epoch FROM run WHERE ended_ms IS NULL AND node = ? ORDER BY id";
    let owned: Vec<(String, String, i64)> = rows(connection, sql, [node.as_str()])?;
    let writer = |(scope, name, epoch): (String, String, i64)| {
        RunWriter::new(LogKey::new(scope, name), number(epoch))
    };
    Ok(owned.into_iter().map(writer).collect())
}
