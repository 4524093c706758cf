//! The event log of [`SqliteStore`].

use std::sync::Arc;

use futures_core::{future::BoxFuture, stream::BoxStream};
use sqlx::SqliteConnection;
use tokio::task::coop::consume_budget;

use super::{
    SqliteStore,
    append::Append,
    errors, log_facts,
    log_head::{CLOSED, Head, RETIRED, head, readable},
    packed,
    rows::{int, number},
    within,
    writer::{After, work},
};
use crate::{
    EventLog, LogError, LogInfo, LogKey, LogPage, LogRecord, Retention, StoreError, ids::now_ms,
};

/// Reads records of the log with this id.
async fn read(
    connection: &mut SqliteConnection,
    id: i64,
    from: u64,
    most: usize,
) -> Result<Vec<LogRecord>, StoreError> {
    let (mut records, mut at) = (Vec::new(), from);
    while records.len() < most {
        // The chunk that contains the record, if any.
        let row: Option<(i64, i64, Vec<u8>)> = sqlx::query_as(
            "SELECT begins, is_packed, data FROM chunk \
             WHERE log = ? AND begins <= ? ORDER BY begins DESC LIMIT 1",
        )
        .bind(id)
        .bind(int(at))
        .fetch_optional(&mut *connection)
        .await
        .map_err(errors::of)?;
        let Some((begins, is_packed, data)) = row else { break };
        let chunk = packed::read(data, is_packed != 0)?;
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

/// Sets the state of a log; retiring it drops its records.
async fn set_state(
    connection: &mut SqliteConnection,
    key: &LogKey,
    state: i64,
) -> Result<Result<(), LogError>, StoreError> {
    let found = head(connection, key).await?;
    let head = match readable(key, found) {
        Err(LogError::Retired { .. }) if state == RETIRED => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
        Ok(head) => head,
    };
    if head.state != state {
        change(connection, head.id, state).await?;
    }
    Ok(Ok(()))
}

/// Removes a log and its name.
async fn remove(
    connection: &mut SqliteConnection,
    key: &LogKey,
) -> Result<Result<(), LogError>, StoreError> {
    let Some(Head { id, .. }) = head(connection, key).await? else {
        return Ok(Err(LogError::NotFound { name: key.name.clone() }));
    };
    change(connection, id, RETIRED).await?;
    sqlx::query("DELETE FROM log WHERE id = ?")
        .bind(id)
        .execute(connection)
        .await
        .map_err(errors::of)?;
    Ok(Ok(()))
}

pub(super) async fn change(
    connection: &mut SqliteConnection,
    id: i64,
    state: i64,
) -> Result<(), StoreError> {
    if state == RETIRED {
        sqlx::query("DELETE FROM chunk WHERE log = ?")
            .bind(id)
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
        sqlx::query("UPDATE log SET bytes = 0 WHERE id = ?")
            .bind(id)
            .execute(&mut *connection)
            .await
            .map_err(errors::of)?;
    }
    sqlx::query("UPDATE log SET state = ?, changed_ms = ? WHERE id = ?")
        .bind(state)
        .bind(int(now_ms()))
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
        .map_err(errors::of)
}

impl SqliteStore {
    async fn log_state(&self, key: &LogKey, state: i64) -> Result<(), LogError> {
        let (log, tails) = (Arc::new(key.clone()), Arc::clone(&self.0.tails));
        let ended = Arc::clone(&log);
        let after: After<_> = Box::new(move |_| tails.end(&ended));
        let write = work(move |connection| {
            let log = Arc::clone(&log);
            Box::pin(async move { set_state(connection, &log, state).await })
        });
        self.0.writer.write(0, write, Some(after)).await?
    }
}

impl EventLog for SqliteStore {
    fn create(&self, key: LogKey) -> BoxFuture<'_, Result<(), LogError>> {
        let key = Arc::new(key);
        let name = key.name.clone();
        let write = work(move |connection| {
            let key = Arc::clone(&key);
            Box::pin(async move {
                let sql = "INSERT INTO log (scope, name, changed_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
                let inserted = sqlx::query(sql)
                    .bind(key.scope.as_str())
                    .bind(key.name.as_str())
                    .bind(int(now_ms()))
                    .execute(connection)
                    .await
                    .map_err(errors::of)?;
                Ok(inserted.rows_affected() > 0)
            })
        });
        Box::pin(async move {
            let is_new = self.0.writer.write(0, write, None).await?;
            if is_new { Ok(()) } else { Err(LogError::Exists { name }) }
        })
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
    ) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(async move {
            let (data, count) = (packed::write(&records), records.len());
            if data.len() > packed::MAX_CHUNK_BYTES {
                let reason = format!(
                    "an append of {} bytes exceeds the limit of {}",
                    data.len(),
                    packed::MAX_CHUNK_BYTES
                );
                return Err(LogError::Unavailable { reason });
            }
            let append = Append { key: key.clone(), at, count, data };
            // Repeated appends let other tasks of this thread run.
            consume_budget().await;
            let add = || self.0.tails.add(key, at, &records);
            if self.0.writer.append_at_once(&append, add) {
                return Ok(());
            }
            let (tails, grown, bytes) = (Arc::clone(&self.0.tails), key.clone(), append.data.len());
            let after: After<Result<(), LogError>> = Box::new(move |appended| {
                if appended.is_ok() {
                    tails.add(&grown, at, &records);
                }
            });
            self.0.writer.write(bytes, append, Some(after)).await?
        })
    }

    fn close<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(self.log_state(key, CLOSED))
    }

    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<LogPage, LogError>> {
        Box::pin(async move {
            if let Some(page) = self.0.tails.read(key, from, most) {
                return Ok(page);
            }
            within(async {
                // A snapshot of the file, in which the head and the records are consistent.
                let mut at = self.0.readers.begin().await.map_err(errors::of)?;
                let head = match readable(key, head(&mut at, key).await?) {
                    Ok(head) => head,
                    Err(error) => return Ok(Err(error)),
                };
                if from > head.ends {
                    let (name, end) = (key.name.clone(), head.ends);
                    return Ok(Err(LogError::Behind { name, at: from, end }));
                }
                let records = read(&mut at, head.id, from, most).await?;
                let next = from + records.len() as u64;
                if records.is_empty() && most > 0 && from < head.ends {
                    let first = log_facts::first(&mut at, &head).await?;
                    if from < first {
                        return Ok(Err(LogError::Dropped { name: key.name.clone(), first }));
                    }
                    let reason = format!("record {from} of a log is missing");
                    return Err(StoreError::Corrupt { reason });
                }
                let is_end = head.state == CLOSED && next == head.ends;
                Ok(Ok(LogPage::new(records, next, is_end)))
            })
            .await?
        })
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(async move {
            let mut waiting = self.0.tails.subscribe(key);
            self.wait_with(&mut waiting, key, from).await
        })
    }

    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), LogError>> {
        self.followed(key, from)
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(async move {
            let done = self.log_state(key, RETIRED).await;
            self.deleted();
            done
        })
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(async move {
            let (log, tails) = (Arc::new(key.clone()), Arc::clone(&self.0.tails));
            let ended = Arc::clone(&log);
            let after: After<_> = Box::new(move |_| tails.end(&ended));
            let write = work(move |connection| {
                let log = Arc::clone(&log);
                Box::pin(async move { remove(connection, &log).await })
            });
            let done = self.0.writer.write(0, write, Some(after)).await?;
            self.deleted();
            done
        })
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> BoxFuture<'a, Result<(), LogError>> {
        let (log, tails) = (Arc::new(key.clone()), Arc::clone(&self.0.tails));
        let trimmed = Arc::clone(&log);
        // Dropped records must not be read from memory, either.
        let after: After<_> = Box::new(move |_| tails.end(&trimmed));
        let write = work(move |connection| {
            let log = Arc::clone(&log);
            Box::pin(async move { log_facts::trim(connection, &log, before).await })
        });
        Box::pin(async move { self.0.writer.write(0, write, Some(after)).await? })
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>> {
        let log = Arc::new(key.clone());
        let write = work(move |connection| {
            let log = Arc::clone(&log);
            Box::pin(async move { log_facts::touch(connection, &log).await })
        });
        Box::pin(async move { self.0.writer.write(0, write, None).await? })
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<LogInfo>, LogError>> {
        Box::pin(async move {
            let found = within(async {
                let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
                log_facts::list(&mut reader, prefix, after, most).await
            });
            Ok(found.await?)
        })
    }

    fn sweep(&self, keep: Retention) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            let retired = self.retire_all(keep).await?;
            self.pack_all().await?;
            self.purge().await;
            Ok(retired)
        })
    }
}
