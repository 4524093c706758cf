//! Changes of logs besides appends. Each is one statement, or several of which each leaves the log readable or retired.

use std::time::Duration;

use super::{
    PostgresStore,
    log_head::{CLOSED, LogRow},
    pool::RepeatRule,
    run_fence::{fenced, is_written},
    values::{column, count, values},
};
use crate::{LogInfo, LogKey, RunWriter, StoreError, integers::int};

/// The time of the database, in milliseconds since the Unix epoch.
macro_rules! now_ms {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(super) use now_ms;

const CREATE: &str = concat!(
    "INSERT INTO forgeline.log (scope, name, changed_ms) VALUES ($1, $2, ",
    now_ms!(),
    ") ON CONFLICT DO NOTHING RETURNING no"
);

/// Closes a log that is open, unless another claim of its run is newer.
const CLOSE: &str = concat!(
    "WITH fenced AS (",
    fenced!("$1", "$2", "$3"),
    ") UPDATE forgeline.log SET state = 1, to_sweep = packed < head, changed_ms = ",
    now_ms!(),
    " WHERE scope = $1 AND name = $2 AND state = 0 AND ",
    is_written!("$1", "$2", "$3"),
    " RETURNING no"
);

const RETIRE: &str = concat!(
    "UPDATE forgeline.log SET state = 2, to_sweep = bytes > 0, changed_ms = ",
    now_ms!(),
    " WHERE scope = $1 AND name = $2 AND state < 2 RETURNING no"
);

/// Removes a log that was not used for n milliseconds, whole: an interrupted caller leaves none that is retired for good.
const REMOVE_UNUSED: &str = concat!(
    "WITH gone AS (
        DELETE FROM forgeline.log WHERE no = $1 AND state < 2 AND changed_ms <= ",
    now_ms!(),
    " - $2::bigint RETURNING no),
    events AS (DELETE FROM forgeline.event USING gone WHERE event.log = gone.no),
    packs AS (DELETE FROM forgeline.event_pack USING gone WHERE event_pack.log = gone.no)
    SELECT no FROM gone"
);

/// Drops the records of a retired log, to which nothing can be added any more.
const CLEAR: &str = "
WITH events AS (DELETE FROM forgeline.event WHERE log = $1),
packs AS (DELETE FROM forgeline.event_pack WHERE log = $1)
UPDATE forgeline.log SET bytes = 0, to_sweep = false WHERE no = $1 AND state = 2";

const REMOVE: &str = "DELETE FROM forgeline.log WHERE no = $1 AND state = 2";

/// Drops the records before a number; of packed ones, those that are packed together with none that is kept.
const TRIM: &str = "
WITH kept AS (
    SELECT no, first FROM forgeline.log
    WHERE scope = $1 AND name = $2 AND state < 2 AND head >= $3 FOR UPDATE),
events AS (
    DELETE FROM forgeline.event USING kept WHERE event.log = kept.no AND event.seq < $3
    RETURNING octet_length(event.kind) + octet_length(event.data) AS bytes),
packs AS (
    DELETE FROM forgeline.event_pack USING kept
    WHERE event_pack.log = kept.no AND event_pack.begins + event_pack.count <= $3
    RETURNING octet_length(event_pack.data) AS bytes)
UPDATE forgeline.log SET first = greatest(kept.first, $3), bytes = greatest(0, log.bytes
    - (SELECT coalesce(sum(bytes), 0) FROM events) - (SELECT coalesce(sum(bytes), 0) FROM packs))
FROM kept WHERE log.no = kept.no RETURNING log.no";

const TOUCH: &str = concat!(
    "UPDATE forgeline.log SET changed_ms = ",
    now_ms!(),
    " WHERE scope = $1 AND name = $2 AND state < 2 RETURNING no"
);

const LIST: &str = "SELECT scope, name, head, bytes, changed_ms FROM forgeline.log \
     WHERE (scope, name) > ($1, $2) AND starts_with(name, $3) AND state < 2 ORDER BY scope, name LIMIT $4";

impl PostgresStore {
    pub(super) async fn create_log(&self, key: &LogKey) -> Result<(), StoreError> {
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let made = self.0.pool.row(RepeatRule::Unsafe, CREATE, values![scope, name]).await?;
        made.map(drop).ok_or_else(|| StoreError::log_exists(key))
    }

    pub(super) async fn close_log(
        &self,
        key: &LogKey,
        writer: Option<&RunWriter>,
    ) -> Result<(), StoreError> {
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let foreign = writer.map_or(Ok(()), |writer| writer.check_log(key));
        let epoch = writer.map(|writer| int(writer.epoch));
        if foreign.is_err() {
            self.0.heads.readable(key).await?;
            return foreign;
        }
        let row = self.0.pool.row(RepeatRule::Safe, CLOSE, values![scope, name, epoch]).await?;
        if let Some(row) = row {
            self.0.hub.changed(column(&row, 0)?, key);
            return Ok(());
        }
        let head = self.0.heads.readable(key).await?;
        head.fence(writer)?;
        if head.state == CLOSED { Ok(()) } else { Err(StoreError::log_closed(key)) }
    }

    pub(super) async fn retire_log(&self, key: &LogKey) -> Result<(), StoreError> {
        let LogRow { no, .. } = self.set_retired(key).await?;
        self.0.pool.rows(RepeatRule::Safe, CLEAR, values![no]).await.map(drop)
    }

    pub(super) async fn remove_log(&self, key: &LogKey) -> Result<(), StoreError> {
        let LogRow { no, .. } = self.set_retired(key).await?;
        self.remove_retired(no, key).await
    }

    pub(super) async fn remove_unused_log(
        &self,
        key: &LogKey,
        unused: Duration,
    ) -> Result<bool, StoreError> {
        let unused = i64::try_from(unused.as_millis()).unwrap_or(i64::MAX);
        let no = self.0.heads.readable(key).await?.no;
        let values = values![no, unused];
        if self.0.pool.row(RepeatRule::Safe, REMOVE_UNUSED, values).await?.is_none() {
            match self.0.heads.find(key).await? {
                Some(head) if head.no == no => {
                    return self.0.heads.readable(key).await.map(|_| false);
                }
                // It was removed meanwhile, perhaps by this statement, whose answer was lost.
                Some(_) | None => {}
            }
        }
        // An append at the same time may have added records that the statement did not see.
        self.0.pool.rows(RepeatRule::Safe, CLEAR, values![no]).await?;
        self.0.hub.changed(no, key);
        Ok(true)
    }

    async fn remove_retired(&self, no: i64, key: &LogKey) -> Result<(), StoreError> {
        self.0.pool.rows(RepeatRule::Safe, CLEAR, values![no]).await?;
        self.0.pool.rows(RepeatRule::Safe, REMOVE, values![no]).await?;
        self.0.hub.changed(no, key);
        Ok(())
    }

    /// Lets nothing be appended to a log or read from it. Its records are dropped later: an append at the same time may add some that this
    /// statement does not see.
    async fn set_retired(&self, key: &LogKey) -> Result<LogRow, StoreError> {
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        self.0.pool.rows(RepeatRule::Safe, RETIRE, values![scope, name]).await?;
        let head = self.0.heads.find(key).await?.ok_or_else(|| StoreError::no_log(key))?;
        self.0.hub.changed(head.no, key);
        Ok(head)
    }

    pub(super) async fn trim_log(&self, key: &LogKey, before: u64) -> Result<(), StoreError> {
        let (scope, name, at) = (key.scope.as_str(), key.name.as_str(), int(before));
        let row = self.0.pool.row(RepeatRule::Safe, TRIM, values![scope, name, at]).await?;
        if let Some(row) = row {
            // Dropped records must not be read from memory, either.
            self.0.hub.changed(column(&row, 0)?, key);
            return Ok(());
        }
        let head = self.0.heads.readable(key).await?;
        Err(StoreError::log_behind(key, before, head.head))
    }

    pub(super) async fn touch_log(&self, key: &LogKey) -> Result<(), StoreError> {
        let (scope, name) = (key.scope.as_str(), key.name.as_str());
        let touched = self.0.pool.row(RepeatRule::Safe, TOUCH, values![scope, name]).await?;
        if touched.is_some() { Ok(()) } else { self.0.heads.readable(key).await.map(drop) }
    }

    pub(super) async fn list_logs(
        &self,
        prefix: &str,
        after: Option<&LogKey>,
        most: usize,
    ) -> Result<Vec<LogInfo>, StoreError> {
        // The empty key precedes all others.
        let (scope, name) =
            after.map_or(("", ""), |after| (after.scope.as_str(), after.name.as_str()));
        let most = int(most as u64);
        let rows =
            self.0.pool.rows(RepeatRule::Safe, LIST, values![scope, name, prefix, most]).await?;
        let info = |row: &tokio_postgres::Row| {
            let key = LogKey::new(column::<&str>(row, 0)?, column::<&str>(row, 1)?);
            Ok(LogInfo::new(key, count(row, 2)?, count(row, 3)?, count(row, 4)?))
        };
        rows.iter().map(info).collect()
    }
}

impl LogRow {
    /// Refuses a writer whose claim of the run is not the newest. A run that the database does not have has no claim to compare.
    pub(super) fn fence(&self, writer: Option<&RunWriter>) -> Result<(), StoreError> {
        let Some(writer) = writer else { return Ok(()) };
        match self.epoch {
            Some(epoch) => writer.check(epoch),
            None if writer.epoch == 0 => Err(writer.fenced()),
            None => Ok(()),
        }
    }
}
