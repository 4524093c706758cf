//! Information about logs: existing logs, their use, and their first records.

use rusqlite::{Connection, params};

use super::{
    log_head::{LogHead, readable},
    statements::{execute, int, maybe_integer, number, rows},
};
use crate::{LogInfo, LogKey, StoreError, ids::now_ms};

/// Returns the number of the first record that is kept; the end of a log without records.
pub(super) fn first(connection: &Connection, head: &LogHead) -> Result<u64, StoreError> {
    let sql = "SELECT min(begins) FROM chunk WHERE log = ?";
    Ok(maybe_integer(connection, sql, [head.id])?.map_or(head.ends, number))
}

/// Drops the rows whose records are all before this number.
pub(super) fn trim(connection: &Connection, key: &LogKey, before: u64) -> Result<(), StoreError> {
    let head = readable(connection, key)?;
    if before > head.ends {
        return Err(StoreError::log_behind(key, before, head.ends));
    }
    for sql in [
        "UPDATE log SET bytes = bytes - (SELECT coalesce(sum(length(data)), 0) FROM chunk \
         WHERE log = ?1 AND begins < ?2 AND begins + count <= ?2) WHERE id = ?1",
        "DELETE FROM chunk WHERE log = ?1 AND begins < ?2 AND begins + count <= ?2",
    ] {
        execute(connection, sql, [head.id, int(before)])?;
    }
    Ok(())
}

/// Records that a log is in use.
pub(super) fn touch(connection: &Connection, key: &LogKey) -> Result<(), StoreError> {
    let head = readable(connection, key)?;
    let sql = "UPDATE log SET changed_ms = ? WHERE id = ?";
    execute(connection, sql, [int(now_ms()), head.id]).map(drop)
}

/// Returns the logs whose names begin with `prefix`, after a key.
pub(super) fn list(
    connection: &Connection,
    prefix: &str,
    after: Option<&LogKey>,
    most: usize,
) -> Result<Vec<LogInfo>, StoreError> {
    let sql = "SELECT scope, name, ends, bytes, changed_ms FROM log \
               WHERE (scope, name) > (?1, ?2) AND substr(name, 1, length(?3)) = ?3 AND state < 2 \
               ORDER BY scope, name LIMIT ?4";
    // The empty key precedes all others.
    let (scope, name) = after.map_or(("", ""), |after| (after.scope.as_str(), after.name.as_str()));
    let rows = rows(connection, sql, params![scope, name, prefix, int(most as u64)])?;
    let info = |(scope, name, end, bytes, used_ms): (String, String, i64, i64, i64)| {
        LogInfo::new(LogKey::new(scope, name), number(end), number(bytes), number(used_ms))
    };
    Ok(rows.into_iter().map(info).collect())
}
