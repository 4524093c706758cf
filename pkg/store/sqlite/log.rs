//! The event log of [`SqliteStore`].

use std::sync::Arc;

use futures_core::stream::BoxStream;
use rusqlite::{Connection, params};
use tokio::task::coop::consume_budget;

use super::{
    SqliteStore,
    errors::store_error,
    log_append::LogAppend,
    log_facts,
    log_head::{CLOSED, LogHead, RETIRED, head, readable},
    run_epochs::check_writer,
    statements::{execute, int, number, row},
};
use crate::{
    EventLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError, StoreFuture,
    chunk_codec, ids::now_ms,
};

/// Reads records of the log with this id.
fn read(
    connection: &Connection,
    id: i64,
    from: u64,
    most: usize,
) -> Result<Vec<LogRecord>, StoreError> {
    let (mut records, mut at) = (Vec::new(), from);
    while records.len() < most {
        // The chunk that contains the record, if any.
        let sql = "SELECT begins, is_packed, data FROM chunk \
                   WHERE log = ? AND begins <= ? ORDER BY begins DESC LIMIT 1";
        let row: Option<(i64, bool, Vec<u8>)> = row(connection, sql, [id, int(at)])?;
        let Some((begins, is_packed, data)) = row else { break };
        let chunk = chunk_codec::read(data, is_packed)?;
        let skipped = usize::try_from(at - number(begins)).unwrap_or(usize::MAX);
        let before = records.len();
        records.extend(chunk.into_iter().skip(skipped).take(most - before));
        if records.len() == before {
            break;
        }
        at = from + records.len() as u64;
    }
    Ok(records)
}

/// Reads a page of a log.
fn page(
    connection: &Connection,
    key: &LogKey,
    from: u64,
    most: usize,
) -> Result<LogPage, StoreError> {
    // A snapshot of the file, in which the head and the records are consistent.
    let at = connection.unchecked_transaction().map_err(store_error)?;
    let head = readable(&at, key)?;
    if from > head.ends {
        return Err(StoreError::log_behind(key, from, head.ends));
    }
    let records = read(&at, head.id, from, most)?;
    let next = from + records.len() as u64;
    if records.is_empty() && most > 0 && from < head.ends {
        let first = log_facts::first(&at, &head)?;
        if from < first {
            return Err(StoreError::log_dropped(key, first));
        }
        let reason = format!("record {from} of a log is missing");
        return Err(StoreError::Corrupt { reason });
    }
    let is_end = head.state == CLOSED && next == head.ends;
    Ok(LogPage::new(records, next, is_end))
}

/// Sets the state of a log; retiring it drops its records.
fn set_state(connection: &Connection, key: &LogKey, state: i64) -> Result<(), StoreError> {
    let head = match readable(connection, key) {
        Err(StoreError::Retired { .. }) if state == RETIRED => return Ok(()),
        head => head?,
    };
    if head.state == state { Ok(()) } else { change(connection, head.id, state) }
}

/// Closes a log, if its writer owns the run.
fn close(
    connection: &Connection,
    key: &LogKey,
    writer: Option<&RunWriter>,
) -> Result<(), StoreError> {
    readable(connection, key)?;
    writer.map_or(Ok(()), |writer| writer.check_log(key))?;
    check_writer(connection, writer)?;
    set_state(connection, key, CLOSED)
}

/// Removes a log and its name.
fn remove(connection: &Connection, key: &LogKey) -> Result<(), StoreError> {
    let LogHead { id, .. } = head(connection, key)?.ok_or_else(|| StoreError::no_log(key))?;
    change(connection, id, RETIRED)?;
    execute(connection, "DELETE FROM log WHERE id = ?", [id]).map(drop)
}

pub(super) fn change(connection: &Connection, id: i64, state: i64) -> Result<(), StoreError> {
    if state == RETIRED {
        execute(connection, "DELETE FROM chunk WHERE log = ?", [id])?;
    }
    let sql =
        "UPDATE log SET state = ?1, changed_ms = ?2, bytes = iif(?1 = 2, 0, bytes) WHERE id = ?3";
    execute(connection, sql, [state, int(now_ms()), id]).map(drop)
}

impl SqliteStore {
    /// Changes a log, and then forgets its records in memory and wakes its readers.
    async fn change_log(
        &self,
        key: &LogKey,
        work: impl Fn(&Connection, &LogKey) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (log, ended, tails) = (key.clone(), key.clone(), Arc::clone(&self.0.tails));
        let work = move |connection: &Connection| work(connection, &log);
        self.0.writer.write_then(0, work, move |()| tails.end(&ended)).await
    }
}

impl EventLog for SqliteStore {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        let write = move |connection: &Connection| {
            let sql =
                "INSERT INTO log (scope, name, changed_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
            let values = params![key.scope.as_str(), key.name.as_str(), int(now_ms())];
            let is_new = execute(connection, sql, values)? > 0;
            is_new.then_some(()).ok_or_else(|| StoreError::log_exists(&key))
        };
        Box::pin(self.0.writer.write(0, write))
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            writer.map_or(Ok(()), |writer| writer.check_log(key))?;
            let (data, count) = (chunk_codec::write(&records), records.len());
            let (size, most) = (data.len(), chunk_codec::MAX_CHUNK_BYTES);
            if size > most {
                let reason = format!("an append of {size} bytes exceeds the limit of {most}");
                return Err(StoreError::Unavailable { reason });
            }
            let append = LogAppend { key: key.clone(), at, count, data, writer: writer.cloned() };
            // Repeated appends let other tasks of this thread run.
            consume_budget().await;
            let add = || self.0.tails.add(key, at, &records);
            if self.0.writer.append_directly(&append, add) {
                return Ok(());
            }
            let (tails, grown) = (Arc::clone(&self.0.tails), key.clone());
            let after = move |(): &()| tails.add(&grown, at, &records);
            let write = move |connection: &Connection| append.run(connection);
            self.0.writer.write_then(size, write, after).await
        })
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        let writer = writer.cloned();
        Box::pin(
            self.change_log(key, move |connection, key| close(connection, key, writer.as_ref())),
        )
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        Box::pin(async move {
            if let Some(page) = self.0.tails.read(key, from, most) {
                return Ok(page);
            }
            let key = key.clone();
            self.query(move |connection| page(connection, &key, from, most)).await
        })
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut waiting = self.0.tails.subscribe(key);
            self.wait_with(&mut waiting, key, from).await
        })
    }

    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        self.followed(key, from)
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let retire =
                |connection: &Connection, key: &LogKey| set_state(connection, key, RETIRED);
            let done = self.change_log(key, retire).await;
            self.deleted();
            done
        })
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let done = self.change_log(key, remove).await;
            self.deleted();
            done
        })
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        // Dropped records must not be read from memory, either.
        Box::pin(
            self.change_log(key, move |connection, key| log_facts::trim(connection, key, before)),
        )
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        let log = key.clone();
        Box::pin(self.0.writer.write(0, move |connection| log_facts::touch(connection, &log)))
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        let (prefix, after) = (prefix.to_owned(), after.cloned());
        Box::pin(
            self.query(move |connection| {
                log_facts::list(connection, &prefix, after.as_ref(), most)
            }),
        )
    }

    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let retired = self.retire_all(keep).await?;
            self.pack_all().await?;
            self.purge().await;
            Ok(retired)
        })
    }
}
