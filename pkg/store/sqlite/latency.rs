//! The latency record store of [`SqliteStore`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use sqlx::SqliteConnection;

use super::{
    SqliteStore, errors,
    owned_rows::OwnedRows,
    rows::{int, number},
    within,
    writer::work,
};
use crate::{EraseMode, LatencyRecord, LatencyStore, StoreError, latency::MAX_RECORDS};

async fn total(connection: &mut SqliteConnection, scope: &str) -> Result<u64, StoreError> {
    let last: Option<i64> = sqlx::query_scalar("SELECT max(number) FROM latency WHERE scope = ?")
        .bind(scope)
        .fetch_one(connection)
        .await
        .map_err(errors::of)?;
    Ok(last.map_or(0, |last| number(last) + 1))
}

async fn add(
    connection: &mut SqliteConnection,
    scope: &str,
    at_ms: u64,
    json: &str,
) -> Result<(), StoreError> {
    let place = int(total(connection, scope).await?);
    sqlx::query("INSERT INTO latency (scope, number, at_ms, record) VALUES (?, ?, ?, ?)")
        .bind(scope)
        .bind(place)
        .bind(int(at_ms))
        .bind(json)
        .execute(&mut *connection)
        .await
        .map_err(errors::of)?;
    sqlx::query("DELETE FROM latency WHERE scope = ? AND number <= ?")
        .bind(scope)
        .bind(place - int(MAX_RECORDS as u64))
        .execute(connection)
        .await
        .map(drop)
        .map_err(errors::of)
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
    delete: concat!(
        "UPDATE latency SET record = '{}'",
        theirs!(),
        " AND number = (SELECT max(number) FROM latency WHERE scope = ?1); DELETE FROM latency",
        theirs!()
    ),
    bury: concat!(
        "UPDATE latency SET record = json_set(record, '$.owner', '', '$.conversation', '')",
        theirs!()
    ),
};

impl LatencyStore for SqliteStore {
    fn add<'a>(
        &'a self,
        scope: &'a str,
        record: LatencyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let json = serde_json::to_string(&record)
                .map_err(|error| StoreError::Corrupt { reason: error.to_string() })?;
            let bytes = json.len();
            let shared = Arc::new((scope.to_owned(), json));
            let write = work(move |connection| {
                let shared = Arc::clone(&shared);
                let at_ms = record.at_ms;
                Box::pin(async move { add(connection, &shared.0, at_ms, &shared.1).await })
            });
            self.0.writer.write(bytes, write, None).await
        })
    }

    fn since<'a>(
        &'a self,
        scope: &'a str,
        since_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<LatencyRecord>, StoreError>> {
        Box::pin(within(async move {
            let rows: Vec<String> = sqlx::query_scalar(
                "SELECT record FROM latency WHERE scope = ? AND at_ms >= ? ORDER BY at_ms, id",
            )
            .bind(scope)
            .bind(int(since_ms))
            .fetch_all(&self.0.readers)
            .await
            .map_err(errors::of)?;
            let read = |json: &String| {
                serde_json::from_str(json)
                    .map_err(|error| StoreError::Corrupt { reason: error.to_string() })
            };
            rows.iter().map(read).collect()
        }))
    }

    fn total<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            total(&mut reader, scope).await
        }))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.erase_rows(&OWNED, scope, owner, mode)
    }
}
