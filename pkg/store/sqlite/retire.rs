//! Retirement of logs that are not to be kept.

use std::sync::Arc;

use rusqlite::Connection;

use super::{
    SqliteStore,
    log::change,
    log_head::RETIRED,
    statements::{execute, int, integer, number, rows},
};
use crate::{LogKey, Retention, StoreError};

/// Maximum number of logs retired in a transaction.
const MAX_RETIRED: i64 = 64;

/// Size of logs after which a transaction ends, in bytes, so that other writes do not wait: the logs are overwritten with zeros.
const RETIRED_BYTES: u64 = 2 << 20;

/// The logs retired by a transaction.
struct RetiredLogs {
    keys: Vec<LogKey>,
    bytes: u64,
    is_more: bool,
}

impl SqliteStore {
    /// Retires the logs that are not to be kept, several at a time, and forgets names; returns the number of retired logs.
    pub(super) async fn retire_all(&self, keep: Retention) -> Result<u64, StoreError> {
        let mut bytes = if keep.max_bytes.is_some() { self.closed_bytes().await? } else { 0 };
        let mut count = 0;
        loop {
            let write = move |connection: &Connection| retire_some(connection, keep, bytes);
            let tails = Arc::clone(&self.0.tails);
            let after = move |retired: &RetiredLogs| {
                for key in &retired.keys {
                    tails.end(key);
                }
            };
            let retired = self.0.writer.write_then(0, write, after).await?;
            count += retired.keys.len() as u64;
            bytes = bytes.saturating_sub(retired.bytes);
            if !retired.is_more {
                break;
            }
        }
        let most = keep.max_retired;
        self.0.writer.write(0, move |connection| forget(connection, most)).await?;
        if count > 0 {
            self.deleted();
        }
        Ok(count)
    }

    /// Returns the size of all closed logs, in bytes.
    async fn closed_bytes(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(bytes), 0) FROM log WHERE state = 1";
        self.query(|connection| integer(connection, sql, []).map(number)).await
    }
}

/// Retires some of the oldest closed logs, if they are too old or all together are too large.
fn retire_some(
    connection: &Connection,
    keep: Retention,
    mut left: u64,
) -> Result<RetiredLogs, StoreError> {
    let sql = "SELECT id, scope, name, changed_ms, bytes FROM log WHERE state = 1 \
               ORDER BY changed_ms, id LIMIT ?";
    let oldest: Vec<(i64, String, String, i64, i64)> = rows(connection, sql, [MAX_RETIRED])?;
    let mut retired = RetiredLogs { keys: Vec::new(), bytes: 0, is_more: false };
    for (id, scope, name, closed_ms, size) in oldest {
        let is_old = keep.closed_before_ms.is_some_and(|before| number(closed_ms) < before);
        if !is_old && keep.max_bytes.is_none_or(|most| left <= most) {
            return Ok(RetiredLogs { is_more: false, ..retired });
        }
        change(connection, id, RETIRED)?;
        let size = number(size);
        (left, retired.bytes) = (left.saturating_sub(size), retired.bytes + size);
        retired.keys.push(LogKey::new(scope, name));
        retired.is_more = true;
        if retired.bytes >= RETIRED_BYTES {
            break;
        }
    }
    Ok(retired)
}

/// Forgets the oldest names of retired logs beyond this number.
fn forget(connection: &Connection, most: u64) -> Result<(), StoreError> {
    let sql = "DELETE FROM log WHERE id IN (SELECT id FROM log WHERE state = 2 \
               ORDER BY changed_ms DESC, id DESC LIMIT -1 OFFSET ?)";
    execute(connection, sql, [int(most)]).map(drop)
}
