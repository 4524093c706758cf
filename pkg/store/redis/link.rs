//! The connection for commands, which is made anew when it is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, Value};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

use super::{
    dial::{RedisDialer, RedisSession},
    errors::CommandFailure,
};
use crate::{
    StoreError,
    time_limit::{WAIT, within},
};

/// Maximum wait for a reply, after which the connection is given up: a second attempt is made in the time of the operation.
const REPLY: Duration = Duration::from_secs(4);

/// The wait before the next attempt, doubled each time.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum wait before the next attempt.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The connection for commands.
pub(super) struct RedisLink {
    dialer: Arc<RedisDialer>,
    state: Mutex<LinkState>,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct LinkState {
    session: Option<RedisSession>,
    /// The last failure to connect and the time from which on the next attempt may be made: however many commands wait, one connects at a time.
    failed: Option<(CommandFailure, Instant)>,
    pause: Duration,
}

impl RedisLink {
    pub(super) fn new(dialer: Arc<RedisDialer>) -> Self {
        Self { dialer, state: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    /// Executes a command, and returns its reply within 10 s. A command that may have been executed is repeated: executing it twice must do what
    /// executing it once does.
    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value, StoreError> {
        let (began, mut pause) = (Instant::now(), PAUSE);
        let mut last = None;
        let work = async {
            loop {
                match self.ask_once(command).await {
                    Ok(value) => return Ok(value),
                    Err(CommandFailure::Refused(error)) => return Err(error),
                    Err(failure) => last = Some(failure),
                }
                sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        };
        match within(work).await {
            Err(StoreError::Slow { .. }) if began.elapsed() >= WAIT && last.is_some() => {
                Err(last.map_or(StoreError::slow(WAIT), CommandFailure::into_error))
            }
            done => done,
        }
    }

    async fn ask_once(&self, command: &Cmd) -> Result<Value, CommandFailure> {
        let session = self.session().await?;
        let done = session.ask(command, REPLY).await;
        if let Err(CommandFailure::Reconnect(_)) = &done {
            let mut state = self.state.lock().await;
            state.session.take_if(|held| held.is_same(&session));
        }
        done
    }

    async fn session(&self) -> Result<RedisSession, CommandFailure> {
        let mut state = self.state.lock().await;
        if self.is_closed.load(Ordering::Acquire) {
            state.session = None;
            return Err(CommandFailure::Refused(StoreError::unavailable(
                "the connections to Redis were closed",
            )));
        }
        if let Some(session) = state.session.as_ref().filter(|session| !session.is_closed()) {
            return Ok(session.clone());
        }
        if let Some((failure, next)) = &state.failed
            && Instant::now() < *next
        {
            return Err(failure.clone());
        }
        match self.dialer.dial().await {
            Ok(session) => {
                *state = LinkState { session: Some(session.clone()), ..LinkState::default() };
                Ok(session)
            }
            Err(failure) => {
                state.pause = (state.pause * 2).clamp(PAUSE, MAX_PAUSE);
                state.failed = Some((failure.clone(), Instant::now() + state.pause));
                Err(failure)
            }
        }
    }

    /// Refuses further commands, and closes the connection after those that wait.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Ok(mut state) = self.state.try_lock() {
            state.session = None;
        }
    }
}
