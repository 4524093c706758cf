//! The storage that streams take, in each scope and in total.
//!
//! Runs have storage of their own, so that a scope that fills the log with streams does not keep others from starting runs.
//!
//! In a store that nodes share, a node learns of the streams of the others when it sweeps: between two sweeps, a minute apart, its sums are approximate,
//! and all nodes together can exceed a limit by what each of them admits in that time.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::http::StatusCode;
use tokio::sync::OnceCell;

use super::config::StreamLifetime;
use crate::{Limits, Problem};
use forgeline_store::{EventLog, LogInfo, LogKey, LogRecord, StoreError, private::now_ms};
use forgeline_types::Text;

/// Maximum number of streams of a scope.
const MAX_STREAMS_PER_SCOPE: usize = 1_000;

/// Bytes that count for a stream in addition to its records.
const STREAM_BYTES: u64 = 1 << 10;

/// Bytes of a record in addition to its kind and its data.
const RECORD_BYTES: u64 = size_of::<LogRecord>() as u64;

/// Number of logs listed at a time.
const PAGE: usize = 1_000;

/// Maximum lag of the recorded last use of a stream, in milliseconds: the time between two sweeps.
const NOTED_LATE: u64 = 60_000;

/// The storage of streams.
#[derive(Debug)]
pub(crate) struct ByteQuota {
    scope_bytes: u64,
    all_bytes: u64,
    /// `true` if other nodes have streams in the store, too.
    is_shared: bool,
    inside: Mutex<QuotaEntries>,
    /// Set once the streams of the store have been read.
    is_read: OnceCell<()>,
}

#[derive(Debug, Default)]
struct QuotaEntries {
    scopes: HashMap<Text, ScopeBytes>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct ScopeBytes {
    streams: BTreeMap<Text, StreamBytes>,
    bytes: u64,
}

/// The storage of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamBytes {
    bytes: u64,
    /// The last use known to the store, in milliseconds since 1970.
    pub(crate) used_ms: u64,
    /// The lifetime of the stream; `None` until it is read.
    pub(crate) life: Option<StreamLifetime>,
}

impl ByteQuota {
    pub(crate) fn new(limits: &Limits, is_shared: bool) -> Self {
        let [scope_bytes, all_bytes] =
            [limits.scope_stream_bytes, limits.stream_bytes].map(|bytes| bytes as u64);
        let (inside, is_read) = (Mutex::default(), OnceCell::new());
        Self { scope_bytes, all_bytes, is_shared, inside, is_read }
    }

    fn lock(&self) -> MutexGuard<'_, QuotaEntries> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the streams of the store, once.
    pub(crate) async fn load_sizes(
        &self,
        log: &dyn EventLog,
        prefix: &str,
    ) -> Result<(), StoreError> {
        let read = || async { self.read(log, prefix).await.map(drop) };
        self.is_read.get_or_try_init(read).await.map(drop)
    }

    /// Reads the streams of a shared store again, of which other nodes create and delete some; those of other stores are read once.
    pub(crate) async fn reload_sizes(
        &self,
        log: &dyn EventLog,
        prefix: &str,
    ) -> Result<(), StoreError> {
        if !self.is_shared || !self.is_read.initialized() {
            return self.load_sizes(log, prefix).await;
        }
        // A stream that is created while the store is read stays.
        let before = self.all(None);
        let listed = self.read(log, prefix).await?;
        for (key, _) in before.into_iter().filter(|(key, _)| !listed.contains(key)) {
            self.give_back(&key);
        }
        Ok(())
    }

    /// Reads the streams of the store; returns their keys.
    async fn read(&self, log: &dyn EventLog, prefix: &str) -> Result<HashSet<LogKey>, StoreError> {
        let (mut after, mut listed) = (None::<LogKey>, HashSet::new());
        loop {
            let page = log.list(prefix, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(listed) };
            after = Some(last.key.clone());
            for info in page {
                let entry = self.entry(&info);
                self.lock().put(&info.key, entry);
                listed.insert(info.key);
            }
        }
    }

    fn entry(&self, info: &LogInfo) -> StreamBytes {
        let bytes = info.bytes.saturating_add(STREAM_BYTES);
        if !self.is_shared {
            // A use before the process ended may not be recorded.
            let used_ms = info.used_ms.saturating_add(NOTED_LATE);
            return StreamBytes { bytes, used_ms, life: None };
        }
        // The store does not count what a record takes in memory.
        let records = info.end.saturating_mul(RECORD_BYTES);
        let life = self.get(&info.key).and_then(|known| known.life);
        StreamBytes { bytes: bytes.saturating_add(records), used_ms: info.used_ms, life }
    }

    /// Reserves storage for a stream that will have `bytes` bytes.
    pub(crate) fn take(&self, key: &LogKey, bytes: u64) -> Result<(), Problem> {
        let bytes = bytes.saturating_add(STREAM_BYTES);
        let mut inside = self.lock();
        let scope = inside.scopes.get(&key.scope);
        let known = scope.and_then(|scope| scope.streams.get(&key.name).copied());
        let count = scope.map_or(0, |scope| scope.streams.len());
        if known.is_none() && count >= MAX_STREAMS_PER_SCOPE {
            let detail = format!("{MAX_STREAMS_PER_SCOPE} streams are in use; delete one first");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail));
        }
        let more = bytes.saturating_sub(known.map_or(0, |known| known.bytes));
        let of_scope = scope.map_or(0, |scope| scope.bytes).saturating_add(more);
        if more > 0 && of_scope > self.scope_bytes {
            let most = self.scope_bytes;
            let detail = format!(
                "the streams of this scope would have {of_scope} bytes, of at most {most}; delete some first"
            );
            return Err(full(detail));
        }
        // There is storage for any number of scopes: each gets at most as much as it leaves free, unless it may have all.
        let after = inside.bytes.saturating_add(more);
        let is_shared = self.scope_bytes < self.all_bytes;
        let left = self.all_bytes.saturating_sub(after);
        if more > 0 && (after > self.all_bytes || (is_shared && of_scope > left)) {
            tracing::warn!(most = self.all_bytes, "there is no room left for streams");
            let detail = "there is not enough room for streams; delete some, or ask the operator to raise `stream_bytes`";
            return Err(full(detail.to_owned()));
        }
        let (used_ms, life) = known.map_or((now_ms(), None), |known| (known.used_ms, known.life));
        inside.put(key, StreamBytes { bytes, used_ms, life });
        Ok(())
    }

    /// Sets the number of bytes of a stream, and its lifetime.
    pub(crate) fn set(&self, key: &LogKey, bytes: u64, life: StreamLifetime) {
        let mut inside = self.lock();
        let used_ms = inside.get(key).map_or_else(now_ms, |known| known.used_ms);
        let bytes = bytes.saturating_add(STREAM_BYTES);
        inside.put(key, StreamBytes { bytes, used_ms, life: Some(life) });
    }

    /// Records the lifetime of a stream, and a use known to the store.
    pub(crate) fn note(&self, key: &LogKey, life: StreamLifetime, used_ms: Option<u64>) {
        let mut inside = self.lock();
        if let Some(taken) = inside.get_mut(key) {
            taken.life = Some(life);
            taken.used_ms = used_ms.unwrap_or(taken.used_ms);
        }
    }

    /// Releases the storage of a stream.
    pub(crate) fn give_back(&self, key: &LogKey) {
        self.lock().remove(key);
    }

    pub(crate) fn get(&self, key: &LogKey) -> Option<StreamBytes> {
        self.lock().get(key).copied()
    }

    /// Returns the streams of a scope, or of all scopes.
    pub(crate) fn all(&self, scope: Option<&Text>) -> Vec<(LogKey, StreamBytes)> {
        let inside = self.lock();
        let scopes = inside.scopes.iter().filter(|(name, _)| scope.is_none_or(|of| of == *name));
        let streams = scopes.flat_map(|(scope, it)| {
            it.streams.iter().map(|(name, it)| (LogKey::new(scope.clone(), name.clone()), *it))
        });
        streams.collect()
    }
}

impl QuotaEntries {
    fn get(&self, key: &LogKey) -> Option<&StreamBytes> {
        self.scopes.get(&key.scope)?.streams.get(&key.name)
    }

    fn get_mut(&mut self, key: &LogKey) -> Option<&mut StreamBytes> {
        self.scopes.get_mut(&key.scope)?.streams.get_mut(&key.name)
    }

    fn put(&mut self, key: &LogKey, taken: StreamBytes) {
        let scope = self.scopes.entry(key.scope.clone()).or_default();
        let before = scope.streams.insert(key.name.clone(), taken).map_or(0, |it| it.bytes);
        scope.bytes = scope.bytes.saturating_sub(before).saturating_add(taken.bytes);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(taken.bytes);
    }

    fn remove(&mut self, key: &LogKey) {
        let Some(scope) = self.scopes.get_mut(&key.scope) else { return };
        let before = scope.streams.remove(&key.name).map_or(0, |it| it.bytes);
        scope.bytes = scope.bytes.saturating_sub(before);
        self.bytes = self.bytes.saturating_sub(before);
        if scope.streams.is_empty() {
            self.scopes.remove(&key.scope);
        }
    }
}

fn full(detail: String) -> Problem {
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "streams_full", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_scopes_takes_all_room() {
        let limits =
            Limits { scope_stream_bytes: 16 << 20, stream_bytes: 32 << 20, ..Limits::default() };
        let room = ByteQuota::new(&limits, false);
        let mut taken = Vec::new();
        for scope in 0..8 {
            let mut count = 0_u64;
            while count < 1_000
                && room.take(&LogKey::new(format!("{scope}"), format!("{count}")), 63 << 10).is_ok()
            {
                count += 1;
            }
            taken.push(count * 64);
        }
        assert_eq!(taken, [16 << 10, 8 << 10, 4 << 10, 2 << 10, 1 << 10, 512, 256, 128]);
        // One that may have all has all.
        let limits = Limits { scope_stream_bytes: 1 << 20, stream_bytes: 1 << 20, ..limits };
        let room = ByteQuota::new(&limits, false);
        assert!(room.take(&LogKey::new("a", "1"), 1023 << 10).is_ok());
        assert!(room.take(&LogKey::new("b", "1"), 1).is_err());
    }
}
