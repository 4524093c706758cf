//! Packing of closed logs: many small rows become a few large ones.
//!
//! A log is packed in parts. A part is read beside the writer and packed on a thread of its own; only the replacement of its rows is a write, interleaved
//! with those of active runs.

use std::time::{Duration, Instant};

use sqlx::SqliteConnection;

use super::{
    SqliteStore, errors, packed,
    rows::{int, number},
    within,
    writer::work,
};
use crate::{LogRecord, StoreError};

/// Maximum number of records of a packed chunk, which the last append may exceed.
const MAX_PACKED: usize = 1_024;

/// Maximum size of the records packed into a chunk, in bytes, unless a single append is larger.
const PACKED_BYTES: usize = 1 << 20;

/// Maximum time that a sweep spends packing; the next one continues.
const PACKING: Duration = Duration::from_secs(10);

/// A closed log that is not packed, as it was when it was found.
#[derive(Debug, Clone, Copy)]
struct Closed {
    id: i64,
    changed_ms: i64,
    ends: i64,
}

/// Rows that are merged into one.
#[derive(Debug)]
struct Part {
    begins: u64,
    next: u64,
    /// The size of the rows, in bytes.
    size: usize,
    /// The new row, and whether it is packed; `None` if the rows stay unchanged.
    row: Option<(Vec<u8>, bool)>,
}

/// Consecutive rows of a log.
struct Rows {
    records: Vec<LogRecord>,
    size: usize,
    /// `true` for a row that is already packed.
    is_packed: bool,
}

impl SqliteStore {
    /// Packs the closed logs that are not packed yet.
    pub(super) async fn pack_all(&self) -> Result<(), StoreError> {
        let (begun, mut last) = (Instant::now(), i64::MIN);
        while let Some(closed) = self.unpacked(last).await? {
            last = closed.id;
            match self.pack(closed, begun).await {
                Ok(()) => {}
                // The other logs are packed anyway.
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::warn!(%error, "a log cannot be packed");
                }
                Err(error) => return Err(error),
            }
            if begun.elapsed() >= PACKING {
                break;
            }
        }
        Ok(())
    }

    async fn unpacked(&self, last: i64) -> Result<Option<Closed>, StoreError> {
        let sql = "SELECT id, changed_ms, ends FROM log \
                   WHERE state = 1 AND is_packed = 0 AND id > ? ORDER BY id LIMIT 1";
        within(async {
            let row: Option<(i64, i64, i64)> = sqlx::query_as(sql)
                .bind(last)
                .fetch_optional(&self.0.readers)
                .await
                .map_err(errors::of)?;
            Ok(row.map(|(id, changed_ms, ends)| Closed { id, changed_ms, ends }))
        })
        .await
    }

    /// Packs a log; one that changes in the meantime is left to the next sweep.
    async fn pack(&self, closed: Closed, begun: Instant) -> Result<(), StoreError> {
        let (mut at, ends) = (self.begin(closed).await?, number(closed.ends));
        while at < ends {
            let Some(rows) = self.rows(closed, at).await? else { return Ok(()) };
            let part = tokio::task::spawn_blocking(move || part(at, &rows));
            let gone =
                |_| StoreError::Unavailable { reason: "the process is shutting down".to_owned() };
            let part = part.await.map_err(gone)?;
            at = part.next;
            if part.row.is_some() {
                let (bytes, part) = (part.size, std::sync::Arc::new(part));
                let write = work(move |connection| {
                    let part = std::sync::Arc::clone(&part);
                    Box::pin(async move { put(connection, closed, &part).await })
                });
                if !self.0.writer.write(bytes, write, None).await? {
                    return Ok(());
                }
            }
            if begun.elapsed() >= PACKING && at < ends {
                return Ok(());
            }
        }
        let write = work(move |connection| Box::pin(mark(connection, closed)));
        self.0.writer.write(0, write, None).await
    }

    /// Returns the number of the first record of a log.
    async fn begin(&self, closed: Closed) -> Result<u64, StoreError> {
        within(async {
            let first: Option<i64> =
                sqlx::query_scalar("SELECT min(begins) FROM chunk WHERE log = ?")
                    .bind(closed.id)
                    .fetch_one(&self.0.readers)
                    .await
                    .map_err(errors::of)?;
            Ok(number(first.unwrap_or(closed.ends)))
        })
        .await
    }

    /// Reads rows from the one that begins at `begins`, until they are enough for a packed one; `None` if the log has changed.
    async fn rows(&self, closed: Closed, begins: u64) -> Result<Option<Rows>, StoreError> {
        within(async {
            // A snapshot of the file, in which the log and its rows are consistent.
            let mut at = self.0.readers.begin().await.map_err(errors::of)?;
            if !is_same(&mut at, closed).await? {
                return Ok(None);
            }
            let mut rows = Rows { records: Vec::new(), size: 0, is_packed: false };
            while rows.records.len() < MAX_PACKED && rows.size < PACKED_BYTES {
                let sql = "SELECT is_packed, data FROM chunk WHERE log = ? AND begins = ?";
                let row: Option<(i64, Vec<u8>)> = sqlx::query_as(sql)
                    .bind(closed.id)
                    .bind(int(begins + rows.records.len() as u64))
                    .fetch_optional(&mut *at)
                    .await
                    .map_err(errors::of)?;
                let Some((is_packed, data)) = row else { break };
                // A row that is already packed or large stays alone, so that it can be unpacked.
                let is_alone = is_packed != 0 || rows.size + data.len() > PACKED_BYTES;
                if is_alone && !rows.records.is_empty() {
                    break;
                }
                rows.size += data.len();
                rows.records.extend(packed::read(data, is_packed != 0)?);
                rows.is_packed = is_packed != 0;
                if rows.is_packed {
                    break;
                }
            }
            if rows.records.is_empty() {
                let reason = format!("record {begins} of a log is missing");
                return Err(StoreError::Corrupt { reason });
            }
            Ok(Some(rows))
        })
        .await
    }
}

/// Packs rows.
fn part(begins: u64, rows: &Rows) -> Part {
    let next = begins + rows.records.len() as u64;
    let row = (!rows.is_packed).then(|| {
        let plain = packed::write(&rows.records);
        let packed = packed::pack(&plain).filter(|packed| packed.len() < plain.len());
        packed.map_or((plain, false), |packed| (packed, true))
    });
    Part { begins, next, size: rows.size, row }
}

/// Returns `true` if the log is still the same closed log; its id may have been reused.
async fn is_same(connection: &mut SqliteConnection, closed: Closed) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) FROM log WHERE id = ? AND state = 1 AND is_packed = 0 \
               AND changed_ms = ? AND ends = ?";
    let count: i64 = sqlx::query_scalar(sql)
        .bind(closed.id)
        .bind(closed.changed_ms)
        .bind(closed.ends)
        .fetch_one(connection)
        .await
        .map_err(errors::of)?;
    Ok(count == 1)
}

/// Replaces rows by one row; returns `false` if the log has changed.
async fn put(
    connection: &mut SqliteConnection,
    closed: Closed,
    part: &Part,
) -> Result<bool, StoreError> {
    let Some((data, is_packed)) = &part.row else { return Ok(true) };
    if !is_same(&mut *connection, closed).await? {
        return Ok(false);
    }
    sqlx::query(
        "DELETE FROM chunk WHERE log = ?1 AND begins >= ?2 AND begins < ?3; \
         INSERT INTO chunk (log, begins, count, is_packed, data) VALUES (?1, ?2, ?3 - ?2, ?4, ?5); \
         UPDATE log SET bytes = bytes - ?6 + length(?5) WHERE id = ?1",
    )
    .bind(closed.id)
    .bind(int(part.begins))
    .bind(int(part.next))
    .bind(i64::from(*is_packed))
    .bind(data.as_slice())
    .bind(int(part.size as u64))
    .execute(connection)
    .await
    .map_err(errors::of)?;
    Ok(true)
}

/// Marks a log as packed.
async fn mark(connection: &mut SqliteConnection, closed: Closed) -> Result<(), StoreError> {
    sqlx::query("UPDATE log SET is_packed = 1 WHERE id = ? AND state = 1 AND changed_ms = ?")
        .bind(closed.id)
        .bind(closed.changed_ms)
        .execute(connection)
        .await
        .map(drop)
        .map_err(errors::of)
}
