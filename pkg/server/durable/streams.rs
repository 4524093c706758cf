//! The streams of hosts.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use bytes::Bytes;

use super::{
    append::{AppendVerdict, StreamAppend},
    body,
    byte_quota::ByteQuota,
    config::StreamConfig,
    saved_encoders::SavedEncoders,
    state::{CLOSED, DATA, StreamState},
};
use crate::{Limits, Problem};
use forgeline_store::{
    EventLog, LogKey, LogRecord, StoreError,
    private::{STREAM_PREFIX, listed, now_ms},
};

/// Maximum number of records read at a time.
const PAGE: usize = 256;

/// Maximum number of streams whose state is kept in memory; others are read again when used.
const MAX_KNOWN: usize = 10_000;

/// Number of locks for writers, each for a part of the names.
const TURNS: usize = 64;

/// Part of an idle time by which a shared store learns of a use late, and by which a stream outlives its time.
pub(super) const NOTED_PART: u64 = 16;

/// Minimum time between the creation of a log in a shared store and its first record: a stream of the same name that another node creates later has a later
/// millisecond.
const CREATION: Duration = Duration::from_millis(2);

/// Maximum attempts of an append while other processes append to the same stream.
const MAX_ATTEMPTS: usize = 16;

/// The streams of hosts, stored in the event log.
pub(crate) struct HostStreams {
    pub(super) log: Arc<dyn EventLog>,
    /// `true` if other nodes use the streams of the store, too. Then each use looks at the first record of the stream, which says whether another node has
    /// created it again, and idle times are those of the store.
    pub(super) is_shared: bool,
    known: Mutex<HashMap<LogKey, KnownStream>>,
    pub(super) room: ByteQuota,
    past: Arc<SavedEncoders>,
    turns: Vec<tokio::sync::Mutex<()>>,
    /// The creation time of the newest stream, in milliseconds since 1970; unique for each stream.
    created: AtomicU64,
    hasher: RandomState,
}

pub(super) struct KnownStream {
    pub(super) state: Arc<StreamState>,
    /// The last read or write, in milliseconds since 1970.
    pub(super) used_ms: u64,
    /// The last use that this process recorded in a shared store.
    noted_ms: u64,
}

impl HostStreams {
    pub(crate) fn new(log: Arc<dyn EventLog>, is_shared: bool, limits: &Limits) -> Self {
        let turns = std::iter::repeat_with(tokio::sync::Mutex::default).take(TURNS).collect();
        Self {
            log,
            is_shared,
            known: Mutex::default(),
            room: ByteQuota::new(limits, is_shared),
            past: Arc::default(),
            turns,
            created: AtomicU64::new(0),
            hasher: RandomState::new(),
        }
    }

    /// Returns `true` if other nodes use the streams of the store, too.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the saved encoders of readers that reconnect.
    pub(crate) fn past(&self) -> Arc<SavedEncoders> {
        Arc::clone(&self.past)
    }

    /// Drops the saved encoders of the readers of a run.
    pub(crate) fn forget_run(&self, key: &LogKey) {
        self.past.forget(key);
    }

    fn next_created(&self) -> u64 {
        let now = now_ms();
        let next = |last: u64| Some(now.max(last + 1));
        let last = self.created.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        now.max(last.unwrap_or_default() + 1)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<LogKey, KnownStream>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the exclusive right to write in this process.
    async fn turn(&self, key: &LogKey) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        Some(self.place(key)?.lock().await)
    }

    pub(super) fn place(&self, key: &LogKey) -> Option<&tokio::sync::Mutex<()>> {
        let place = usize::try_from(self.hasher.hash_one(key) % TURNS as u64).unwrap_or_default();
        self.turns.get(place)
    }

    /// Returns the current state of a stream; `None` if it does not exist or has expired.
    pub(crate) async fn find(&self, key: &LogKey) -> Result<Option<Arc<StreamState>>, Problem> {
        let began = Instant::now();
        let Some(state) = self.load(key).await? else { return Ok(None) };
        let used_ms = self.known().get(key).map_or_else(now_ms, |known| known.used_ms);
        let life = state.config.life();
        let is_over = life.is_over(used_ms, now_ms());
        let is_gone = is_over && (self.expire(key, life, began).await? || life.idle_ms.is_none());
        Ok((!is_gone).then_some(state))
    }

    /// Returns a stream as [`find`](Self::find) does, and records its use.
    pub(crate) async fn open(&self, key: &LogKey) -> Result<Arc<StreamState>, Problem> {
        let missing = || Problem::not_found("stream", name(key));
        let state = self.find(key).await?.ok_or_else(missing)?;
        let now = now_ms();
        let noted_ms = self.known().get_mut(key).map_or(0, |known| {
            known.used_ms = now;
            known.noted_ms
        });
        let idle = state.config.life().idle_ms.filter(|_| self.is_shared);
        if idle.is_some_and(|idle| now.saturating_sub(noted_ms) >= idle / NOTED_PART) {
            match self.log.touch(key).await {
                Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                    return Err(missing());
                }
                touched => touched?,
            }
            if let Some(known) = self.known().get_mut(key) {
                known.noted_ms = now;
            }
        }
        Ok(state)
    }

    /// Returns the state of a stream after the last record in the store.
    async fn load(&self, key: &LogKey) -> Result<Option<Arc<StreamState>>, Problem> {
        let mut known = self.known().get(key).map(|known| Arc::clone(&known.state));
        let closed = known.as_ref().filter(|known| known.is_closed).map(|known| known.created);
        if known.is_none() {
            self.room.load_sizes(&*self.log, STREAM_PREFIX).await?;
        }
        for _ in 0..MAX_ATTEMPTS {
            // One page from the beginning is of one stream.
            let is_known = known.is_some();
            let state = match self.read_on(key, known.take()).await {
                Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                    self.known().remove(key);
                    self.room.give_back(key);
                    return Ok(None);
                }
                state => state?,
            };
            let Some(state) = state else { return Ok(None) };
            let is_one = !self.is_shared || (!is_known && state.end < PAGE as u64);
            if !is_one {
                match StreamState::is_in(&*self.log, key, state.created).await {
                    Ok(true) => {}
                    Ok(false) | Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            if state.is_closed && closed != Some(state.created) {
                // The process that closed the stream may have died before closing the log.
                self.log.close(key, None).await?;
            }
            self.keep(key, &state);
            return Ok(Some(state));
        }
        Err(contended())
    }

    /// Reads the records appended since the state was made.
    async fn read_on(
        &self,
        key: &LogKey,
        mut state: Option<Arc<StreamState>>,
    ) -> Result<Option<Arc<StreamState>>, StoreError> {
        loop {
            let at = state.as_ref().map_or(0, |state| state.end);
            let page = match self.log.read(key, at, PAGE).await {
                // The stream was removed and created again elsewhere.
                Err(StoreError::Behind { .. }) if at > 0 => {
                    state = None;
                    continue;
                }
                page => page?,
            };
            let count = page.records.len();
            for record in &page.records {
                match &mut state {
                    Some(state) => Arc::make_mut(state).apply(record),
                    None => match StreamState::begin(record) {
                        Some(first) => state = Some(Arc::new(first)),
                        None => return Ok(None),
                    },
                }
            }
            if count < PAGE {
                return Ok(state);
            }
        }
    }

    fn keep(&self, key: &LogKey, state: &Arc<StreamState>) {
        let mut known = self.known();
        if let Some(known) = known.get_mut(key) {
            known.state = Arc::clone(state);
            return;
        }
        if known.len() >= MAX_KNOWN
            && let Some(oldest) =
                known.iter().min_by_key(|(_, it)| it.used_ms).map(|it| it.0.clone())
            && let Some(oldest_used) = known.remove(&oldest)
        {
            let life = oldest_used.state.config.life();
            self.room.note(&oldest, life, Some(oldest_used.used_ms));
        }
        // For a stream that is read anew, the store knows its last use.
        let used_ms = match self.room.get(key) {
            // Another node may have used it since; the store is asked in case of need.
            _ if self.is_shared => 0,
            taken => taken.map_or_else(now_ms, |taken| taken.used_ms),
        };
        let state = Arc::clone(state);
        known.insert(key.clone(), KnownStream { state, used_ms, noted_ms: 0 });
    }

    pub(super) async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.known().remove(key);
        match self.log.remove(key).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => {
                self.room.give_back(key);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reserves storage for a stream; if there is none, removes expired streams of the scope first.
    async fn take(&self, key: &LogKey, bytes: u64) -> Result<(), Problem> {
        if self.room.take(key, bytes).is_ok() {
            return Ok(());
        }
        self.sweep_of(Some(&key.scope)).await?;
        self.room.take(key, bytes)
    }

    /// Creates a stream of a caller. Returns it, and `false` if an identical one already existed.
    pub(crate) async fn create(
        &self,
        (key, owner): (&LogKey, &str),
        config: StreamConfig,
        data: &Bytes,
        closes: bool,
    ) -> Result<(Arc<StreamState>, bool), Problem> {
        let _turn = self.turn(key).await;
        let data = body::part(&config, data)?;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(state) = self.find(key).await? {
                if state.config.is_same(&config) && state.is_closed == closes {
                    return Ok((state, false));
                }
                let detail = format!("stream `{}` already exists with other settings", name(key));
                return Err(Problem::new(StatusCode::CONFLICT, "other_stream", detail));
            }
            let created = self.next_created();
            let mut records = vec![StreamState::created(created, owner, config.clone())];
            records.extend(data.iter().map(|data| LogRecord::new(DATA, data.clone())));
            if closes {
                records.push(LogRecord::new(CLOSED, Bytes::new()));
            }
            self.take(key, size(&records)).await?;
            let first = |created| StreamState::created(created, owner, config.clone());
            match self.create_log(key, records, first).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    self.room.give_back(key);
                    return Err(error.into());
                }
            }
            if let Some(state) = self.load(key).await? {
                return Ok((state, true));
            }
        }
        Err(contended())
    }

    /// Creates the log of a stream with its first records; returns `false` if the caller has to retry. In a shared store, `first` makes the first record:
    /// by the clock of the store, which nodes have in common.
    async fn create_log(
        &self,
        key: &LogKey,
        mut records: Vec<LogRecord>,
        first: impl Fn(u64) -> LogRecord + Send,
    ) -> Result<bool, StoreError> {
        match self.log.create(key.clone()).await {
            // A log whose process died between the two steps has no records.
            Ok(()) | Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
        if self.is_shared {
            let Some(info) = listed(&*self.log, key).await? else { return Ok(false) };
            tokio::time::sleep(CREATION).await;
            records.splice(..1, [first(info.used_ms)]);
        }
        match self.log.append(key, 0, records, None).await {
            Ok(()) => Ok(true),
            Err(StoreError::Behind { .. } | StoreError::NotFound { .. }) => Ok(false),
            // Retention has removed the stream of this name, so that the name is free again.
            Err(StoreError::Retired { .. }) => match self.log.remove(key).await {
                Ok(()) | Err(StoreError::NotFound { .. }) => Ok(false),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Appends to a stream; returns its state after the append.
    pub(crate) async fn append(
        &self,
        key: &LogKey,
        append: &StreamAppend,
    ) -> Result<(Arc<StreamState>, AppendVerdict), Problem> {
        let _turn = self.turn(key).await;
        for _ in 0..MAX_ATTEMPTS {
            let state = self.open(key).await?;
            let verdict = append.judge(&state);
            let AppendVerdict::Append(records) = &verdict else { return Ok((state, verdict)) };
            let taken = state.size + size(records);
            if append.has_data() {
                self.take(key, taken).await?;
            } else {
                // Closing adds one short record, for which there is always room.
                self.room.set(key, taken, state.config.life());
            }
            match self.log.append(key, state.end, records.clone(), None).await {
                Ok(()) => {}
                // Another node has appended, or closed the stream.
                Err(StoreError::Behind { .. } | StoreError::Ended { .. }) => continue,
                Err(error) => {
                    self.room.set(key, state.size, state.config.life());
                    return Err(error.into());
                }
            }
            let mut state = state;
            for record in records {
                Arc::make_mut(&mut state).apply(record);
            }
            if state.is_closed {
                self.log.close(key, None).await?;
            }
            self.keep(key, &state);
            return Ok((state, verdict));
        }
        Err(contended())
    }

    /// Removes a stream and its data.
    pub(crate) async fn remove(&self, key: &LogKey) -> Result<(), Problem> {
        let _turn = self.turn(key).await;
        self.open(key).await?;
        self.forget(key).await
    }
}

/// Returns the size of records, in bytes.
fn size(records: &[LogRecord]) -> u64 {
    records.iter().map(|record| record.bytes() as u64).sum()
}

/// Returns the key of a stream's log.
pub(crate) fn key(scope: &str, name: &str) -> LogKey {
    LogKey::new(scope, format!("{STREAM_PREFIX}{name}"))
}

fn name(key: &LogKey) -> &str {
    key.name.strip_prefix(STREAM_PREFIX).unwrap_or(&key.name)
}

fn contended() -> Problem {
    Problem::busy("too many concurrent appends to this stream; try again", 1)
}
