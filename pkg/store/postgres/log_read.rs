//! Reading of logs.

use tokio_postgres::Row;

use super::{
    PostgresStore,
    followed_logs::LogSubscription,
    log_head::{CLOSED, RETIRED},
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{LogKey, LogPage, LogRecord, StoreError, chunk_codec, integers::int};

/// Reads the head of a log and records that are not packed, as of one moment.
const PAGE: &str = "
SELECT log.no, log.head, log.state, log.first, log.packed, event.seq, event.kind, event.data
FROM forgeline.log LEFT JOIN LATERAL (
    SELECT seq, kind, data FROM forgeline.event WHERE event.log = log.no AND event.seq >= $3
    AND log.state < 2 AND $3 >= log.packed ORDER BY seq LIMIT $4) AS event ON true
WHERE log.scope = $1 AND log.name = $2 ORDER BY event.seq";

const PACKS: &str = "SELECT begins, data FROM forgeline.event_pack WHERE log = $1 AND begins <= $2 ORDER BY begins DESC LIMIT 1";

/// Maximum number of reads of a log that is packed or retired meanwhile.
const MAX_TRIES: usize = 4;

/// A log as of one read.
struct LogSnapshot {
    no: i64,
    head: u64,
    state: i16,
    first: u64,
    packed: u64,
    records: Vec<LogRecord>,
}

impl PostgresStore {
    /// Reads a page of a log, and records it for a subscription.
    pub(super) async fn page(
        &self,
        key: &LogKey,
        from: u64,
        most: usize,
        subscription: Option<&LogSubscription>,
    ) -> Result<LogPage, StoreError> {
        for _ in 0..MAX_TRIES {
            let mut log = self.snapshot(key, from, most).await?;
            if let Some(subscription) = subscription {
                subscription.read(log.no, log.head);
            }
            if log.state == RETIRED {
                return Err(StoreError::log_retired(key));
            }
            if from > log.head {
                return Err(StoreError::log_behind(key, from, log.head));
            }
            if from < log.first && most > 0 {
                return Err(StoreError::log_dropped(key, log.first));
            }
            if from < log.packed {
                log.records = self.unpacked(log.no, from, most).await?;
            }
            if log.records.is_empty() && most > 0 && from < log.head {
                continue;
            }
            let next = from + log.records.len() as u64;
            return Ok(LogPage::new(log.records, next, log.state == CLOSED && next == log.head));
        }
        Err(StoreError::corrupt(format!("record {from} of a log is missing")))
    }

    async fn snapshot(
        &self,
        key: &LogKey,
        from: u64,
        most: usize,
    ) -> Result<LogSnapshot, StoreError> {
        let (scope, name, from_int) = (key.scope.as_str(), key.name.as_str(), int(from));
        let most = int(most as u64);
        let rows =
            self.0.pool.rows(RepeatRule::Safe, PAGE, values![scope, name, from_int, most]).await?;
        let row = rows.first().ok_or_else(|| StoreError::no_log(key))?;
        let mut log = LogSnapshot {
            no: column(row, 0)?,
            head: count(row, 1)?,
            state: column(row, 2)?,
            first: count(row, 3)?,
            packed: count(row, 4)?,
            records: Vec::with_capacity(rows.len()),
        };
        for (row, behind) in rows.iter().zip(0..) {
            // A log without such records has one row without a record. A reader that asks for its end reads from the largest number on.
            let at = from.saturating_add(behind);
            if column::<Option<i64>>(row, 5)? == Some(int(at)) {
                log.records.push(record(row, 6)?);
            }
        }
        Ok(log)
    }

    /// Reads records of the pack that contains the first of them; none if it is gone.
    async fn unpacked(
        &self,
        no: i64,
        from: u64,
        most: usize,
    ) -> Result<Vec<LogRecord>, StoreError> {
        let at = int(from);
        let row = self.0.pool.row(RepeatRule::Safe, PACKS, values![no, at]).await?;
        let Some(row) = row else { return Ok(Vec::new()) };
        let (begins, data) = (count(&row, 0)?, column::<Vec<u8>>(&row, 1)?);
        let records = chunk_codec::read(data, true)?;
        let skipped = usize::try_from(from - begins).unwrap_or(usize::MAX);
        Ok(records.into_iter().skip(skipped).take(most).collect())
    }
}

/// Returns the record in two columns of a row.
pub(super) fn record(row: &Row, at: usize) -> Result<LogRecord, StoreError> {
    Ok(LogRecord::new(column::<&str>(row, at)?, column::<Vec<u8>>(row, at + 1)?))
}
