//! The event log of [`PostgresStore`].

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_core::stream::BoxStream;

use super::PostgresStore;
use crate::{
    EventLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError, StoreFuture,
    chunk_codec,
};

impl EventLog for PostgresStore {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.create_log(&key).await })
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
            check(&records)?;
            let epoch = writer.map(|writer| writer.epoch);
            self.0.writer.append(key, at, records, epoch).await
        })
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        Box::pin(self.close_log(key, writer))
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        Box::pin(self.page(key, from, most, None))
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut waiting = self.0.hub.logs.subscribe(key);
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
        Box::pin(self.retire_log(key))
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        Box::pin(self.remove_log(key))
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        Box::pin(self.trim_log(key, before))
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        Box::pin(self.touch_log(key))
    }

    fn remove_unused<'a>(&'a self, key: &'a LogKey, unused: Duration) -> StoreFuture<'a, bool> {
        Box::pin(self.remove_unused_log(key, unused))
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        Box::pin(self.list_logs(prefix, after, most))
    }

    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        Box::pin(self.sweep_logs(keep))
    }

    fn late_records(&self) -> u64 {
        self.0.hub.late.load(Ordering::Relaxed)
    }
}

/// Refuses records that would make the statement fail for others, too.
fn check(records: &[LogRecord]) -> Result<(), StoreError> {
    let most = chunk_codec::MAX_CHUNK_BYTES;
    let size: usize = records.iter().map(|record| record.kind.len() + record.data.len()).sum();
    if size > most {
        let reason = format!("an append of {size} bytes exceeds the limit of {most}");
        return Err(StoreError::Unavailable { reason });
    }
    if records.iter().any(|record| record.kind.contains('\0')) {
        let reason = "PostgreSQL stores no kind of a record with the character U+0000".to_owned();
        return Err(StoreError::Unavailable { reason });
    }
    Ok(())
}
