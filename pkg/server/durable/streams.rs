//! The streams of hosts.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::StatusCode;
use bytes::Bytes;

use super::{
    append::{AppendVerdict, StreamAppend},
    body,
    byte_quota::ByteQuota,
    config::{StreamConfig, StreamLifetime},
    saved_encoders::SavedEncoders,
    state::{CLOSED, DATA, StreamState},
};
use crate::{Limits, Problem};
use forgeline_store::{
    EventLog, LogKey, LogRecord, StoreError,
    private::{STREAM_PREFIX, now_ms},
};
use forgeline_types::Text;

/// Maximum number of records read at a time.
const PAGE: usize = 256;

/// Maximum number of streams whose state is kept in memory; others are read again when used.
const MAX_KNOWN: usize = 10_000;

/// Number of locks for writers, each for a part of the names.
const TURNS: usize = 64;

/// Maximum attempts of an append while other processes append to the same stream.
const MAX_ATTEMPTS: usize = 16;

/// The streams of hosts, stored in the event log.
pub(crate) struct HostStreams {
    log: Arc<dyn EventLog>,
    known: Mutex<HashMap<LogKey, KnownStream>>,
    room: ByteQuota,
    past: Arc<SavedEncoders>,
    turns: Vec<tokio::sync::Mutex<()>>,
    /// The creation time of the newest stream, in milliseconds since 1970; unique for each stream.
    created: AtomicU64,
    hasher: RandomState,
}

struct KnownStream {
    state: Arc<StreamState>,
    /// The last read or write, in milliseconds since 1970.
    used_ms: u64,
}

impl HostStreams {
    pub(crate) fn new(log: Arc<dyn EventLog>, limits: &Limits) -> Self {
        let turns = std::iter::repeat_with(tokio::sync::Mutex::default).take(TURNS).collect();
        Self {
            log,
            known: Mutex::default(),
            room: ByteQuota::new(limits),
            past: Arc::default(),
            turns,
            created: AtomicU64::new(0),
            hasher: RandomState::new(),
        }
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

    fn known(&self) -> MutexGuard<'_, HashMap<LogKey, KnownStream>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the exclusive right to write in this process.
    async fn turn(&self, key: &LogKey) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        Some(self.place(key)?.lock().await)
    }

    fn place(&self, key: &LogKey) -> Option<&tokio::sync::Mutex<()>> {
        let place = usize::try_from(self.hasher.hash_one(key) % TURNS as u64).unwrap_or_default();
        self.turns.get(place)
    }

    /// Returns the current state of a stream; `None` if it does not exist or has expired.
    pub(crate) async fn find(&self, key: &LogKey) -> Result<Option<Arc<StreamState>>, Problem> {
        let Some(state) = self.load(key).await? else { return Ok(None) };
        let used_ms = self.known().get(key).map_or_else(now_ms, |known| known.used_ms);
        if state.config.life().is_over(used_ms, now_ms()) {
            self.forget(key).await?;
            return Ok(None);
        }
        Ok(Some(state))
    }

    /// Returns a stream as [`find`](Self::find) does, and records its use.
    pub(crate) async fn open(&self, key: &LogKey) -> Result<Arc<StreamState>, Problem> {
        let state = self.find(key).await?;
        if let Some(known) = self.known().get_mut(key) {
            known.used_ms = now_ms();
        }
        state.ok_or_else(|| Problem::not_found("stream", name(key)))
    }

    /// Reads the records appended since the state was made.
    async fn load(&self, key: &LogKey) -> Result<Option<Arc<StreamState>>, Problem> {
        let mut state = self.known().get(key).map(|known| Arc::clone(&known.state));
        let was_known = state.is_some();
        if !was_known {
            self.room.load_sizes(&*self.log, STREAM_PREFIX).await?;
        }
        loop {
            let at = state.as_ref().map_or(0, |state| state.end);
            let page = match self.log.read(key, at, PAGE).await {
                Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                    self.known().remove(key);
                    self.room.give_back(key);
                    return Ok(None);
                }
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
                break;
            }
        }
        if let Some(state) = &state {
            if state.is_closed && !was_known {
                // The process that closed the stream may have died before closing the log.
                self.log.close(key, None).await?;
            }
            self.keep(key, state);
        }
        Ok(state)
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
        let used_ms = self.room.get(key).map_or_else(now_ms, |taken| taken.used_ms);
        known.insert(key.clone(), KnownStream { state: Arc::clone(state), used_ms });
    }

    async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.known().remove(key);
        match self.log.remove(key).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => {
                self.room.give_back(key);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the expired streams of all scopes, and records in the store the use of the others.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the log cannot be used.
    pub(crate) async fn sweep(&self) -> Result<(), Problem> {
        self.room.load_sizes(&*self.log, STREAM_PREFIX).await?;
        self.sweep_of(None).await
    }

    async fn sweep_of(&self, scope: Option<&Text>) -> Result<(), Problem> {
        for (key, taken) in self.room.all(scope) {
            let known = self.known().get(&key).map(|it| (it.state.config.life(), it.used_ms));
            let (life, used_ms) = match (known, taken.life) {
                (Some(known), _) => known,
                (None, Some(life)) => (life, taken.used_ms),
                (None, None) => {
                    let Some(life) = self.life(&key).await? else { continue };
                    self.room.note(&key, life, None);
                    (life, taken.used_ms)
                }
            };
            if life.is_over(used_ms, now_ms()) {
                self.forget_idle(&key).await?;
            } else if life.idle_ms.is_some() && used_ms > taken.used_ms {
                match self.log.touch(&key).await {
                    Ok(()) => self.room.note(&key, life, Some(used_ms)),
                    Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Removes an expired stream, unless it is in use again or being written.
    async fn forget_idle(&self, key: &LogKey) -> Result<(), Problem> {
        // A writer may be waiting for this sweep.
        let Some(_turn) = self.place(key).and_then(|turn| turn.try_lock().ok()) else {
            return Ok(());
        };
        if self.known().contains_key(key) {
            return self.find(key).await.map(drop);
        }
        let taken = self.room.get(key);
        let life = taken.and_then(|taken| Some((taken.life?, taken.used_ms)));
        if life.is_some_and(|(life, used_ms)| life.is_over(used_ms, now_ms())) {
            self.forget(key).await?;
        }
        Ok(())
    }

    /// Returns the lifetime of a stream that is not in memory, from its first record.
    async fn life(&self, key: &LogKey) -> Result<Option<StreamLifetime>, Problem> {
        match self.log.read(key, 0, 1).await {
            Ok(page) => match page.records.first() {
                Some(first) => Ok(StreamState::begin(first).map(|state| state.config.life())),
                None => self.forget_empty(key).await.map(|()| None),
            },
            // Retention has removed the stream.
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                self.room.give_back(key);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a stream without a first record, whose process died before writing it, unless it is being created.
    async fn forget_empty(&self, key: &LogKey) -> Result<(), Problem> {
        let Some(_turn) = self.place(key).and_then(|turn| turn.try_lock().ok()) else {
            return Ok(());
        };
        let is_empty = self.log.read(key, 0, 1).await.is_ok_and(|page| page.records.is_empty());
        if is_empty { self.forget(key).await } else { Ok(()) }
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
            match self.create_log(key, records).await {
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

    /// Creates the log of a stream with its first records; returns `false` if the caller has to retry.
    async fn create_log(&self, key: &LogKey, records: Vec<LogRecord>) -> Result<bool, StoreError> {
        match self.log.create(key.clone()).await {
            // A log whose process died between the two steps has no records.
            Ok(()) | Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
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
                Err(StoreError::Behind { .. }) => continue,
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
