//! Packing of closed logs: many small rows become a few large ones.
//!
//! A log is packed in parts. A part is read beside the writer and packed on a thread of its own; only the replacement of its rows is a write, interleaved
//! with those of active runs.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    errors::store_error,
    statements::{execute, int, integer, maybe_integer, number, row},
    waits::blocking,
};
use crate::{LogRecord, StoreError, chunk_codec};

/// Maximum number of records of a packed chunk, which the last append may exceed.
const MAX_PACKED: usize = 1_024;

/// Maximum size of the records packed into a chunk, in bytes, unless a single append is larger.
const PACKED_BYTES: usize = 1 << 20;

/// Maximum time that a sweep spends packing; the next one continues.
const PACKING: Duration = Duration::from_secs(10);

/// A closed log that is not packed, as it was when it was found.
#[derive(Debug, Clone, Copy)]
struct ClosedLog {
    id: i64,
    changed_ms: i64,
    ends: i64,
}

/// Rows that are merged into one.
#[derive(Debug)]
struct PackedPart {
    begins: u64,
    next: u64,
    /// The size of the rows, in bytes.
    size: usize,
    /// The new row, and whether it is packed; `None` if the rows stay unchanged.
    row: Option<(Vec<u8>, bool)>,
}

/// Consecutive rows of a log.
struct ChunkRows {
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

    async fn unpacked(&self, last: i64) -> Result<Option<ClosedLog>, StoreError> {
        let sql = "SELECT id, changed_ms, ends FROM log \
                   WHERE state = 1 AND is_packed = 0 AND id > ? ORDER BY id LIMIT 1";
        let row: Option<(i64, i64, i64)> =
            self.query(move |connection| row(connection, sql, [last])).await?;
        Ok(row.map(|(id, changed_ms, ends)| ClosedLog { id, changed_ms, ends }))
    }

    /// Packs a log; one that changes in the meantime is left to the next sweep.
    async fn pack(&self, closed: ClosedLog, begun: Instant) -> Result<(), StoreError> {
        let (mut at, ends) = (self.begin(closed).await?, number(closed.ends));
        while at < ends {
            let rows = self.query(move |connection| read_rows(connection, closed, at)).await?;
            let Some(rows) = rows else { return Ok(()) };
            let part = blocking(move || Ok(part(at, &rows))).await?;
            at = part.next;
            if part.row.is_some() {
                let bytes = part.size;
                let write = move |connection: &Connection| put(connection, closed, &part);
                if !self.0.writer.write(bytes, write).await? {
                    return Ok(());
                }
            }
            if begun.elapsed() >= PACKING && at < ends {
                return Ok(());
            }
        }
        self.0.writer.write(0, move |connection| mark(connection, closed)).await
    }

    /// Returns the number of the first record of a log.
    async fn begin(&self, closed: ClosedLog) -> Result<u64, StoreError> {
        let sql = "SELECT min(begins) FROM chunk WHERE log = ?";
        let first = self.query(move |connection| maybe_integer(connection, sql, [closed.id]));
        Ok(number(first.await?.unwrap_or(closed.ends)))
    }
}

/// Reads rows from the one that begins at `begins`, until they are enough for a packed one; `None` if the log has changed.
fn read_rows(
    connection: &Connection,
    closed: ClosedLog,
    begins: u64,
) -> Result<Option<ChunkRows>, StoreError> {
    // A snapshot of the file, in which the log and its rows are consistent.
    let at = connection.unchecked_transaction().map_err(store_error)?;
    if !is_same(&at, closed)? {
        return Ok(None);
    }
    let mut rows = ChunkRows { records: Vec::new(), size: 0, is_packed: false };
    while rows.records.len() < MAX_PACKED && rows.size < PACKED_BYTES {
        let sql = "SELECT is_packed, data FROM chunk WHERE log = ? AND begins = ?";
        let next = int(begins + rows.records.len() as u64);
        let row: Option<(bool, Vec<u8>)> = row(&at, sql, [closed.id, next])?;
        let Some((is_packed, data)) = row else { break };
        // A row that is already packed or large stays alone, so that it can be unpacked.
        let is_alone = is_packed || rows.size + data.len() > PACKED_BYTES;
        if is_alone && !rows.records.is_empty() {
            break;
        }
        rows.size += data.len();
        rows.records.extend(chunk_codec::read(data, is_packed)?);
        rows.is_packed = is_packed;
        if rows.is_packed {
            break;
        }
    }
    if rows.records.is_empty() {
        let reason = format!("record {begins} of a log is missing");
        return Err(StoreError::Corrupt { reason });
    }
    Ok(Some(rows))
}

/// Packs rows.
fn part(begins: u64, rows: &ChunkRows) -> PackedPart {
    let next = begins + rows.records.len() as u64;
    let row = (!rows.is_packed).then(|| {
        let plain = chunk_codec::write(&rows.records);
        let packed = chunk_codec::pack(&plain).filter(|packed| packed.len() < plain.len());
        packed.map_or((plain, false), |packed| (packed, true))
    });
    PackedPart { begins, next, size: rows.size, row }
}

/// Returns `true` if the log is still the same closed log; its id may have been reused.
fn is_same(connection: &Connection, closed: ClosedLog) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) FROM log WHERE id = ? AND state = 1 AND is_packed = 0 \
               AND changed_ms = ? AND ends = ?";
    let count = integer(connection, sql, [closed.id, closed.changed_ms, closed.ends])?;
    Ok(count == 1)
}

/// Replaces rows by one row; returns `false` if the log has changed.
fn put(connection: &Connection, closed: ClosedLog, part: &PackedPart) -> Result<bool, StoreError> {
    let Some((data, is_packed)) = &part.row else { return Ok(true) };
    if !is_same(connection, closed)? {
        return Ok(false);
    }
    let (begins, next) = (int(part.begins), int(part.next));
    let delete = "DELETE FROM chunk WHERE log = ? AND begins >= ? AND begins < ?";
    execute(connection, delete, [closed.id, begins, next])?;
    let insert = "INSERT INTO chunk (log, begins, count, is_packed, data) VALUES (?, ?, ?, ?, ?)";
    execute(connection, insert, params![closed.id, begins, next - begins, is_packed, data])?;
    let update = "UPDATE log SET bytes = bytes - ? + ? WHERE id = ?";
    let (before, after) = (int(part.size as u64), int(data.len() as u64));
    execute(connection, update, [before, after, closed.id])?;
    Ok(true)
}

/// Marks a log as packed.
fn mark(connection: &Connection, closed: ClosedLog) -> Result<(), StoreError> {
    let sql = "UPDATE log SET is_packed = 1 WHERE id = ? AND state = 1 AND changed_ms = ?";
    execute(connection, sql, [closed.id, closed.changed_ms]).map(drop)
}
