//! The streams of hosts.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use axum::http::StatusCode;
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    append::{Append, Verdict},
    body,
    config::Config,
    state::{CLOSED, DATA, State},
};
use crate::{
    server::Problem,
    store::{EventLog, LogError, LogKey, LogRecord, now_ms},
};

/// Most records that are read at a time.
const PAGE: usize = 256;

/// Most streams whose state is in memory; the others are read again when they are used.
const MAX_KNOWN: usize = 10_000;

/// Most streams of a scope that are in use.
const MAX_STREAMS_PER_SCOPE: usize = 1_000;

/// Locks for those who write, each for a part of the names.
const TURNS: usize = 64;

/// Attempts of an append, where other processes append to the same stream.
const MAX_ATTEMPTS: usize = 16;

/// The streams of hosts over the event log.
pub(in crate::server) struct Streams {
    log: Arc<dyn EventLog>,
    known: Mutex<HashMap<LogKey, Known>>,
    turns: Vec<tokio::sync::Mutex<()>>,
    /// The time of the last stream that was created, in milliseconds since 1970; each has one of its own.
    created: AtomicU64,
    hasher: RandomState,
}

struct Known {
    state: Arc<State>,
    /// The last read or write.
    used: Instant,
}

impl Streams {
    pub(in crate::server) fn new(log: Arc<dyn EventLog>) -> Self {
        let turns = std::iter::repeat_with(tokio::sync::Mutex::default).take(TURNS).collect();
        Self {
            log,
            known: Mutex::default(),
            turns,
            created: AtomicU64::new(0),
            hasher: RandomState::new(),
        }
    }

    fn next_created(&self) -> u64 {
        let now = now_ms();
        let next = |last: u64| Some(now.max(last + 1));
        let last = self.created.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        now.max(last.unwrap_or_default() + 1)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<LogKey, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this one writes alone in this process.
    async fn turn(&self, key: &LogKey) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let place = usize::try_from(self.hasher.hash_one(key) % TURNS as u64).unwrap_or_default();
        Some(self.turns.get(place)?.lock().await)
    }

    /// Returns a stream as it is now; `None` when there is none, or its time is over.
    pub(super) async fn find(&self, key: &LogKey) -> Result<Option<Arc<State>>, Problem> {
        let Some(state) = self.load(key).await? else { return Ok(None) };
        let used = self.known().get(key).map_or_else(Instant::now, |known| known.used);
        if state.config.is_over(used.elapsed(), SystemTime::now()) {
            self.forget(key).await?;
            return Ok(None);
        }
        Ok(Some(state))
    }

    /// Returns a stream as [`find`](Self::find) does, and notes that it is used.
    pub(super) async fn open(&self, key: &LogKey) -> Result<Arc<State>, Problem> {
        let state = self.find(key).await?;
        if let Some(known) = self.known().get_mut(key) {
            known.used = Instant::now();
        }
        state.ok_or_else(|| Problem::not_found("stream", name(key)))
    }

    /// Reads what was appended since the state was made.
    async fn load(&self, key: &LogKey) -> Result<Option<Arc<State>>, Problem> {
        let mut state = self.known().get(key).map(|known| Arc::clone(&known.state));
        let was_known = state.is_some();
        loop {
            let at = state.as_ref().map_or(0, |state| state.end);
            let page = match self.log.read(key, at, PAGE).await {
                Err(LogError::NotFound { .. } | LogError::Retired { .. }) => {
                    self.known().remove(key);
                    return Ok(None);
                }
                // It was removed and created again elsewhere.
                Err(LogError::Behind { .. }) if at > 0 => {
                    state = None;
                    continue;
                }
                page => page?,
            };
            let count = page.records.len();
            for record in &page.records {
                match &mut state {
                    Some(state) => Arc::make_mut(state).apply(record),
                    None => match State::begin(record) {
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
                // Its process may have died before.
                self.log.close(key).await?;
            }
            self.keep(key, state);
        }
        Ok(state)
    }

    fn keep(&self, key: &LogKey, state: &Arc<State>) {
        let mut known = self.known();
        if let Some(known) = known.get_mut(key) {
            known.state = Arc::clone(state);
            return;
        }
        if known.len() >= MAX_KNOWN
            && let Some(oldest) = known.iter().min_by_key(|(_, it)| it.used).map(|it| it.0.clone())
        {
            known.remove(&oldest);
        }
        known.insert(key.clone(), Known { state: Arc::clone(state), used: Instant::now() });
    }

    async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.known().remove(key);
        match self.log.remove(key).await {
            Err(LogError::NotFound { .. }) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Removes the streams of a scope whose time is over; returns the number of the others.
    async fn sweep(&self, scope: &str) -> Result<usize, Problem> {
        let (mut over, mut count, now) = (Vec::new(), 0, SystemTime::now());
        for (key, Known { state, used }) in &*self.known() {
            if key.scope != scope {
                continue;
            }
            if state.config.is_over(used.elapsed(), now) {
                over.push(key.clone());
            } else {
                count += 1;
            }
        }
        for key in over {
            self.forget(&key).await?;
        }
        Ok(count)
    }

    /// Creates a stream; returns it, and `false` when there was the same one already.
    pub(super) async fn create(
        &self,
        key: &LogKey,
        config: Config,
        data: &Bytes,
        closes: bool,
    ) -> Result<(Arc<State>, bool), Problem> {
        let _turn = self.turn(key).await;
        let data = body::part(&config, data)?;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(state) = self.find(key).await? {
                if state.config.is_same(&config) && state.is_closed == closes {
                    return Ok((state, false));
                }
                let detail = format!("there is another stream `{}` already", name(key));
                return Err(Problem::new(StatusCode::CONFLICT, "other_stream", detail));
            }
            if self.sweep(&key.scope).await? >= MAX_STREAMS_PER_SCOPE {
                let detail =
                    format!("{MAX_STREAMS_PER_SCOPE} streams are in use; delete one before");
                let status = StatusCode::TOO_MANY_REQUESTS;
                return Err(Problem::new(status, "too_many_streams", detail));
            }
            match self.log.create(key.clone()).await {
                // One whose process died between both steps has no record.
                Ok(()) | Err(LogError::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let mut records = vec![State::created(self.next_created(), config.clone())];
            records.extend(data.iter().map(|data| LogRecord::new(DATA, data.clone())));
            if closes {
                records.push(LogRecord::new(CLOSED, Bytes::new()));
            }
            match self.log.append(key, 0, records).await {
                Ok(()) => {}
                Err(LogError::Behind { .. } | LogError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            if let Some(state) = self.load(key).await? {
                return Ok((state, true));
            }
        }
        Err(contended())
    }

    /// Appends to a stream; returns it as it is then.
    pub(super) async fn append(
        &self,
        key: &LogKey,
        append: &Append,
    ) -> Result<(Arc<State>, Verdict), Problem> {
        let _turn = self.turn(key).await;
        for _ in 0..MAX_ATTEMPTS {
            let state = self.open(key).await?;
            let verdict = append.judge(&state);
            let Verdict::Append(records) = &verdict else { return Ok((state, verdict)) };
            match self.log.append(key, state.end, records.clone()).await {
                Ok(()) => {}
                Err(LogError::Behind { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut state = state;
            for record in records {
                Arc::make_mut(&mut state).apply(record);
            }
            if state.is_closed {
                self.log.close(key).await?;
            }
            self.keep(key, &state);
            return Ok((state, verdict));
        }
        Err(contended())
    }

    /// Removes a stream with all that is in it.
    pub(super) async fn remove(&self, key: &LogKey) -> Result<(), Problem> {
        let _turn = self.turn(key).await;
        self.open(key).await?;
        self.forget(key).await
    }
}

/// Returns the log of a stream.
pub(super) fn key(scope: &str, name: &str) -> LogKey {
    LogKey::new(scope, format!("{PREFIX}{name}"))
}

/// Begins the names of logs that are streams of hosts.
const PREFIX: &str = "stream/";

fn name(key: &LogKey) -> &str {
    key.name.strip_prefix(PREFIX).unwrap_or(&key.name)
}

fn contended() -> Problem {
    Problem::busy("others append to this stream all the time; try again", 1)
}
