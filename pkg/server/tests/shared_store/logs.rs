//! The logs of shared stores.

use std::sync::{Arc, atomic::Ordering};

use futures_core::stream::BoxStream;

use super::StoreHandle;
use forgeline_store::{
    EventLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError, StoreFuture,
};

impl EventLog for StoreHandle {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        if self.0.hangs_log.swap(false, Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        self.with(move |stores| stores.log.create(key))
    }
    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.append(key, at, records, writer))
    }
    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.close(key, writer))
    }
    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        self.with(move |stores| stores.log.read(key, from, most))
    }
    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.wait(key, from))
    }
    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Arc::clone(&self.0.inner.log).follow(key, from)
    }
    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.retire(key))
    }
    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.remove(key))
    }
    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.trim(key, before))
    }
    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.touch(key))
    }
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        self.with(move |stores| stores.log.list(prefix, after, most))
    }
    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        self.with(move |stores| stores.log.sweep(keep))
    }
}
