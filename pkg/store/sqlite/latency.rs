//! The latency record store of [`SqliteStore`].

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    owned_rows::OwnedRows,
    statements::{execute, int, maybe_integer, number, rows},
};
use crate::{
    EraseMode, LatencyRecord, LatencyStore, StoreError, StoreFuture, latency::MAX_RECORDS,
};

fn total(connection: &Connection, scope: &str) -> Result<u64, StoreError> {
    let sql = "SELECT max(number) FROM latency WHERE scope = ?";
    let last = maybe_integer(connection, sql, [scope])?;
    Ok(last.map_or(0, |last| number(last) + 1))
}

fn add(connection: &Connection, scope: &str, at_ms: u64, json: &str) -> Result<(), StoreError> {
    let place = int(total(connection, scope)?);
    let sql = "INSERT INTO latency (scope, number, at_ms, record) VALUES (?, ?, ?, ?)";
    execute(connection, sql, params![scope, place, int(at_ms), json])?;
    let sql = "DELETE FROM latency WHERE scope = ? AND number <= ?";
    execute(connection, sql, params![scope, place - int(MAX_RECORDS as u64)]).map(drop)
}

/// The condition of the records of an owner.
macro_rules! theirs {
    () => {
        " WHERE scope = ?1 AND json_extract(record, '$.owner') = ?2"
    };
}

/// The newest record of the scope is kept without content, so that numbering continues.
const OWNED: OwnedRows = OwnedRows {
    count: concat!("SELECT count(*) FROM latency", theirs!()),
    delete: &[
        concat!(
            "UPDATE latency SET record = '{}'",
            theirs!(),
            " AND number = (SELECT max(number) FROM latency WHERE scope = ?1)"
        ),
        concat!("DELETE FROM latency", theirs!()),
    ],
    bury: concat!(
        "UPDATE latency SET record = json_set(record, '$.owner', '', '$.conversation', '')",
        theirs!()
    ),
};

impl LatencyStore for SqliteStore {
    fn add<'a>(&'a self, scope: &'a str, record: LatencyRecord) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let json = serde_json::to_string(&record)
                .map_err(|error| StoreError::Corrupt { reason: error.to_string() })?;
            let (bytes, scope, at_ms) = (json.len(), scope.to_owned(), record.at_ms);
            let write = move |connection: &Connection| add(connection, &scope, at_ms, &json);
            self.0.writer.write(bytes, write).await
        })
    }

    fn since<'a>(&'a self, scope: &'a str, since_ms: u64) -> StoreFuture<'a, Vec<LatencyRecord>> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| {
            let sql =
                "SELECT record FROM latency WHERE scope = ? AND at_ms >= ? ORDER BY at_ms, id";
            let rows: Vec<(String,)> = rows(connection, sql, params![scope, int(since_ms)])?;
            let read = |(json,): &(String,)| {
                serde_json::from_str(json)
                    .map_err(|error| StoreError::Corrupt { reason: error.to_string() })
            };
            rows.iter().map(read).collect()
        }))
    }

    fn total<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| total(connection, &scope)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.erase_rows(&OWNED, scope, owner, mode)
    }
}
