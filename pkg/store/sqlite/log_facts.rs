//! Information about logs: existing logs, their use, and their first records.

use sqlx::SqliteConnection;

use super::{
    errors,
    log_head::{Head, head, readable},
    rows::{int, number},
};
use crate::{LogError, LogInfo, LogKey, StoreError, ids::now_ms};

/// Returns the number of the first record that is kept; the end of a log without records.
pub(super) async fn first(
    connection: &mut SqliteConnection,
    head: &Head,
) -> Result<u64, StoreError> {
    let first: Option<i64> = sqlx::query_scalar("SELECT min(begins) FROM chunk WHERE log = ?")
        .bind(head.id)
        .fetch_one(connection)
        .await
        .map_err(errors::of)?;
    Ok(first.map_or(head.ends, number))
}

/// Drops the rows whose records are all before this number.
pub(super) async fn trim(
    connection: &mut SqliteConnection,
    key: &LogKey,
    before: u64,
) -> Result<Result<(), LogError>, StoreError> {
    let head = match readable(key, head(connection, key).await?) {
        Ok(head) => head,
        Err(error) => return Ok(Err(error)),
    };
    if before > head.ends {
        let (name, end) = (key.name.clone(), head.ends);
        return Ok(Err(LogError::Behind { name, at: before, end }));
    }
    sqlx::query(
        "UPDATE log SET bytes = bytes - (SELECT coalesce(sum(length(data)), 0) FROM chunk \
         WHERE log = ?1 AND begins < ?2 AND begins + count <= ?2) WHERE id = ?1; \
         DELETE FROM chunk WHERE log = ?1 AND begins < ?2 AND begins + count <= ?2",
    )
    .bind(head.id)
    .bind(int(before))
    .execute(connection)
    .await
    .map_err(errors::of)?;
    Ok(Ok(()))
}

/// Records that a log is in use.
pub(super) async fn touch(
    connection: &mut SqliteConnection,
    key: &LogKey,
) -> Result<Result<(), LogError>, StoreError> {
    let head = match readable(key, head(connection, key).await?) {
        Ok(head) => head,
        Err(error) => return Ok(Err(error)),
    };
    sqlx::query("UPDATE log SET changed_ms = ? WHERE id = ?")
        .bind(int(now_ms()))
        .bind(head.id)
        .execute(connection)
        .await
        .map_err(errors::of)?;
    Ok(Ok(()))
}

/// Returns the logs whose names begin with `prefix`, after a key.
pub(super) async fn list(
    connection: &mut SqliteConnection,
    prefix: &str,
    after: Option<&LogKey>,
    most: usize,
) -> Result<Vec<LogInfo>, StoreError> {
    let rows: Vec<(String, String, i64, i64, i64)> = sqlx::query_as(
        "SELECT scope, name, ends, bytes, changed_ms FROM log \
         WHERE (scope, name) > (?1, ?2) AND substr(name, 1, length(?3)) = ?3 AND state < 2 \
         ORDER BY scope, name LIMIT ?4",
    )
    // The empty key precedes all others.
    .bind(after.map_or("", |after| after.scope.as_str()))
    .bind(after.map_or("", |after| after.name.as_str()))
    .bind(prefix)
    .bind(int(most as u64))
    .fetch_all(connection)
    .await
    .map_err(errors::of)?;
    let info = |(scope, name, end, bytes, used_ms): (String, String, i64, i64, i64)| {
        LogInfo::new(LogKey::new(scope, name), number(end), number(bytes), number(used_ms))
    };
    Ok(rows.into_iter().map(info).collect())
}
