//! Retention of logs: retires closed ones that are not to be kept, packs the others, and forgets old names.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    PostgresStore,
    log_changes::now_ms,
    log_read::record,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{LogKey, LogRecord, Retention, StoreError, chunk_codec, integers::int};

/// Retires some of the oldest closed logs that are too old, or that are too much together with all newer ones. Another node may do the same.
const RETIRE: &str = concat!(
    "WITH old AS (
        SELECT no FROM forgeline.log WHERE state = 1 AND (changed_ms < $1 OR no IN (
            SELECT no FROM (SELECT no, sum(bytes) OVER (ORDER BY changed_ms DESC, no DESC) AS total
            FROM forgeline.log WHERE state = 1 AND $2::bigint IS NOT NULL) AS sizes WHERE total > $2))
        ORDER BY changed_ms, no LIMIT 64 FOR UPDATE SKIP LOCKED)
    UPDATE forgeline.log SET state = 2, to_sweep = bytes > 0, changed_ms = ",
    now_ms!(),
    " FROM old WHERE log.no = old.no RETURNING log.no, log.scope, log.name"
);

/// Drops the records of some retired logs.
const CLEAR: &str = "
WITH old AS (SELECT no FROM forgeline.log WHERE state = 2 AND to_sweep LIMIT 64 FOR UPDATE SKIP LOCKED),
events AS (DELETE FROM forgeline.event USING old WHERE event.log = old.no),
packs AS (DELETE FROM forgeline.event_pack USING old WHERE event_pack.log = old.no)
UPDATE forgeline.log SET bytes = 0, to_sweep = false FROM old WHERE log.no = old.no RETURNING log.no";

/// Forgets the oldest names of retired logs beyond a number.
const FORGET: &str = "DELETE FROM forgeline.log WHERE no IN (SELECT no FROM forgeline.log \
     WHERE state = 2 AND bytes = 0 ORDER BY changed_ms DESC, no DESC OFFSET $1)";

/// Returns a closed log that is not packed to its end, and where to go on.
const UNPACKED: &str = "SELECT no, greatest(packed, first), head FROM forgeline.log \
     WHERE state = 1 AND to_sweep AND no > $1 ORDER BY no LIMIT 1";

const RECORDS: &str = "SELECT kind, data FROM (SELECT seq, kind, data, sum(octet_length(data)) OVER (ORDER BY seq) AS total \
     FROM (SELECT * FROM forgeline.event WHERE log = $1 AND seq >= $2 ORDER BY seq LIMIT $3) AS part) AS summed \
     WHERE total <= $4 OR seq = $2 ORDER BY seq";

/// Replaces records by a pack, if nothing has changed the log meanwhile.
const PACK: &str = "
WITH packed AS (
    SELECT no FROM forgeline.log WHERE no = $1 AND state = 1 AND packed <= $2 FOR UPDATE),
events AS (
    DELETE FROM forgeline.event USING packed
    WHERE event.log = packed.no AND event.seq >= $2 AND event.seq < $2 + $3
    RETURNING octet_length(event.kind) + octet_length(event.data) AS bytes),
pack AS (
    INSERT INTO forgeline.event_pack (log, begins, count, data) SELECT no, $2, $3, $4 FROM packed)
UPDATE forgeline.log SET packed = $2 + $3, to_sweep = $2 + $3 < head, bytes = greatest(0, log.bytes
    - (SELECT coalesce(sum(bytes), 0) FROM events) + octet_length($4))
FROM packed WHERE log.no = packed.no RETURNING 1";

/// Maximum number of records of a pack.
const MAX_PACKED: i64 = 1_024;

/// Maximum size of the records of a pack before they are packed, in bytes, unless a single one is larger.
const PACKED_BYTES: i64 = 1 << 20;

/// Maximum time that a sweep spends packing; the next one continues.
const PACKING: Duration = Duration::from_secs(10);

impl PostgresStore {
    pub(super) async fn sweep_logs(&self, keep: Retention) -> Result<u64, StoreError> {
        let retired = self.retire_old(keep).await?;
        while !self.0.pool.rows(RepeatRule::Safe, CLEAR, values![]).await?.is_empty() {}
        let most = int(keep.max_retired);
        self.0.pool.rows(RepeatRule::Safe, FORGET, values![most]).await?;
        self.pack_logs().await?;
        Ok(retired)
    }

    async fn retire_old(&self, keep: Retention) -> Result<u64, StoreError> {
        let before = keep.closed_before_ms.map_or(0, int);
        let bytes = keep.max_bytes.map(int);
        let mut retired = 0;
        loop {
            let rows = self.0.pool.rows(RepeatRule::Safe, RETIRE, values![before, bytes]).await?;
            if rows.is_empty() {
                return Ok(retired);
            }
            retired += rows.len() as u64;
            for row in &rows {
                let key = LogKey::new(column::<&str>(row, 1)?, column::<&str>(row, 2)?);
                self.0.hub.changed(column(row, 0)?, &key);
            }
        }
    }

    async fn pack_logs(&self) -> Result<(), StoreError> {
        let (began, mut after) = (Instant::now(), i64::MIN);
        while began.elapsed() < PACKING {
            let row = self.0.pool.row(RepeatRule::Safe, UNPACKED, values![after]).await?;
            let Some(row) = row else { break };
            let (no, from) = (column::<i64>(&row, 0)?, count(&row, 1)?);
            if from >= count(&row, 2)? || !self.pack_some(no, from).await? {
                // Trimmed to its end, or changed by another: the next one.
                after = no;
            }
        }
        Ok(())
    }

    /// Packs some records of a log; returns `false` if that was not possible.
    async fn pack_some(&self, no: i64, from: u64) -> Result<bool, StoreError> {
        let begins = int(from);
        let place = values![no, begins, MAX_PACKED, PACKED_BYTES];
        let rows = self.0.pool.rows(RepeatRule::Safe, RECORDS, place).await?;
        let records: Vec<LogRecord> =
            rows.iter().map(|row| record(row, 0)).collect::<Result<_, _>>()?;
        let number = int(records.len() as u64);
        let packed =
            tokio::task::spawn_blocking(move || chunk_codec::pack(&chunk_codec::write(&records)));
        let Some(packed) = packed.await.ok().flatten().filter(|_| number > 0) else {
            return Ok(false);
        };
        let packed = packed.as_slice();
        let values = values![no, begins, number, packed];
        let done = self.0.pool.row(RepeatRule::Safe, PACK, values).await?;
        Ok(done.is_some())
    }
}
