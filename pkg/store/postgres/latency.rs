//! The latency record store of [`PostgresStore`].

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{
    EraseMode, LatencyRecord, LatencyStore, StoreError, StoreFuture, integers::int,
    latency::MAX_RECORDS,
};

const ADD: &str = "
WITH next AS (
    INSERT INTO forgeline.scope AS known (scope, latencies) VALUES ($1, 1)
    ON CONFLICT (scope) DO UPDATE SET latencies = known.latencies + 1
    RETURNING latencies - 1 AS number),
added AS (
    INSERT INTO forgeline.latency (scope, number, at_ms, owner, conversation, record)
    SELECT $1, number, $2, $3, $4, $5 FROM next),
old AS (
    DELETE FROM forgeline.latency USING next
    WHERE latency.scope = $1 AND latency.number <= next.number - $6)
SELECT number FROM next";

const SINCE: &str = "SELECT owner, conversation, record FROM forgeline.latency \
     WHERE scope = $1 AND at_ms >= $2 ORDER BY at_ms, number";

fn record(row: &Row) -> Result<LatencyRecord, StoreError> {
    let mut found: LatencyRecord = serde_json::from_str(column::<&str>(row, 2)?)
        .map_err(|error| StoreError::corrupt(error.to_string()))?;
    found.owner = column::<&str>(row, 0)?.into();
    found.conversation = column::<&str>(row, 1)?.into();
    Ok(found)
}

impl LatencyStore for PostgresStore {
    fn add<'a>(&'a self, scope: &'a str, mut record: LatencyRecord) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            // These are erased by themselves.
            let owner = std::mem::take(&mut record.owner);
            let conversation = std::mem::take(&mut record.conversation);
            let json = serde_json::to_string(&record)
                .map_err(|error| StoreError::corrupt(error.to_string()))?;
            let (owner, conversation) = (owner.as_str(), conversation.as_str());
            let (json, at_ms, kept) = (json.as_str(), int(record.at_ms), int(MAX_RECORDS as u64));
            let values = values![scope, at_ms, owner, conversation, json, kept];
            self.0.pool.rows(RepeatRule::Unsafe, ADD, values).await.map(drop)
        })
    }

    fn since<'a>(&'a self, scope: &'a str, since_ms: u64) -> StoreFuture<'a, Vec<LatencyRecord>> {
        Box::pin(async move {
            let since = int(since_ms);
            let rows = self.0.pool.rows(RepeatRule::Safe, SINCE, values![scope, since]).await?;
            rows.iter().map(record).collect()
        })
    }

    fn total<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let sql = "SELECT latencies FROM forgeline.scope WHERE scope = $1";
            let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope]).await?;
            row.map_or(Ok(0), |row| count(&row, 0))
        })
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.erase_owned(
            [
                "SELECT count(*) FROM forgeline.latency WHERE scope = $1 AND owner = $2",
                "WITH gone AS (DELETE FROM forgeline.latency WHERE scope = $1 AND owner = $2 RETURNING 1) \
                 SELECT count(*) FROM gone",
                "WITH left_over AS (UPDATE forgeline.latency SET owner = '', conversation = '' \
                 WHERE scope = $1 AND owner = $2 RETURNING 1) SELECT count(*) FROM left_over",
            ],
            scope,
            owner,
            mode,
        )
    }
}

impl PostgresStore {
    /// Counts, deletes or buries the rows of an owner, by one of three statements; an owner with an empty name has none.
    pub(super) fn erase_owned<'a>(
        &'a self,
        [number, delete, bury]: [&'static str; 3],
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            if owner.is_empty() {
                return Ok(0);
            }
            // Counted first: the answer of a statement that erases may be lost, and the next one finds nothing.
            let row = self.0.pool.row(RepeatRule::Safe, number, values![scope, owner]).await?;
            let found = row.map_or(Ok(0), |row| count(&row, 0))?;
            let sql = match mode {
                EraseMode::Count => return Ok(found),
                EraseMode::Hard => delete,
                EraseMode::Tombstone => bury,
            };
            let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope, owner]).await?;
            row.map_or(Ok(found), |row| Ok(found.max(count(&row, 0)?)))
        })
    }
}
