//! The start of a server, which is neither delayed nor abandoned by those who wait for it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, future::Shared};
use tokio::{task::AbortHandle, time::Instant};

use crate::{
    config::mcp_server::McpServer,
    requests::mcp_options::McpOptions,
    session::{
        mcp_error::McpError,
        server_process::{ProcessSlot, StartNumber},
        server_session::{ServerSession, failed},
    },
};
use forgeline_types::Text;

/// The session with a server: absent, being started, or ready.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionSlot(Arc<Mutex<SessionState>>);

#[derive(Debug, Default)]
enum SessionState {
    #[default]
    None,
    Starting(SessionStart),
    Ready(Arc<ServerSession>),
}

type SharedStart = Shared<BoxFuture<'static, Result<Arc<ServerSession>, McpError>>>;

/// A start in progress, as a separate task: it continues when those that wait for it are dropped, and ends with this value.
#[derive(Debug)]
struct SessionStart {
    started: SharedStart,
    task: AbortHandle,
    place: Arc<ProcessSlot>,
    attempt: StartNumber,
    began: Instant,
    is_over: bool,
}

impl Drop for SessionStart {
    fn drop(&mut self) {
        if !self.is_over {
            self.task.abort();
            // Stopped immediately: the program may exit before its runtime drops the task.
            self.place.stop(self.attempt);
        }
    }
}

impl SessionSlot {
    /// Returns the session, or a new one when there is none or it has ended.
    ///
    /// # Cancel safety
    ///
    /// A start continues when its future is dropped, and the next call waits for it.
    pub(crate) async fn get(
        &self,
        server: &McpServer,
        options: &McpOptions,
        place: &Arc<ProcessSlot>,
    ) -> Result<Arc<ServerSession>, McpError> {
        let started = {
            let mut state = self.state();
            match &*state {
                SessionState::Ready(session) if !session.has_ended() => {
                    return Ok(Arc::clone(session));
                }
                // A task that has ended and is still stored here has panicked.
                SessionState::Starting(starting) if !starting.task.is_finished() => {
                    starting.started.clone()
                }
                SessionState::None | SessionState::Starting(_) | SessionState::Ready(_) => {
                    // The old process ends before the new one starts: both may need the same files.
                    *state = SessionState::None;
                    let starting = self.start(server, options, place);
                    let started = starting.started.clone();
                    *state = SessionState::Starting(starting);
                    started
                }
            }
        };
        started.await
    }

    fn start(
        &self,
        server: &McpServer,
        options: &McpOptions,
        place: &Arc<ProcessSlot>,
    ) -> SessionStart {
        let attempt = place.begin();
        let (name, sessions) = (server.name.clone(), Arc::downgrade(&self.0));
        let (server, options, place) = (server.clone(), options.clone(), Arc::clone(place));
        let of_task = Arc::clone(&place);
        let task = tokio::spawn(async move {
            let started =
                ServerSession::start(&server, &options, &of_task, attempt).await.map(Arc::new);
            settle(&sessions, attempt, started.as_ref().ok());
            started
        });
        let (abort, started) = (task.abort_handle(), await_start(name, task).boxed().shared());
        SessionStart { started, task: abort, place, attempt, began: Instant::now(), is_over: false }
    }

    /// Returns the session, if there is one that has not ended.
    pub(crate) fn running(&self) -> Option<Arc<ServerSession>> {
        match &*self.state() {
            SessionState::Ready(session) if !session.has_ended() => Some(Arc::clone(session)),
            SessionState::None | SessionState::Starting(_) | SessionState::Ready(_) => None,
        }
    }

    /// Returns the time for which the start in progress has lasted; zero if there is none.
    pub(crate) fn waited(&self) -> Duration {
        match &*self.state() {
            SessionState::Starting(starting) => starting.began.elapsed(),
            SessionState::None | SessionState::Ready(_) => Duration::ZERO,
        }
    }

    /// Returns `true` when a session exists that has not ended.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(&*self.state(), SessionState::Ready(session) if !session.has_ended())
    }

    /// Takes the session out, and abandons a start.
    pub(crate) fn take(&self) -> Option<Arc<ServerSession>> {
        let taken = std::mem::take(&mut *self.state());
        if let SessionState::Ready(session) = taken { Some(session) } else { None }
    }

    /// Drops this session, unless another one has replaced it.
    pub(crate) fn forget(&self, session: &Arc<ServerSession>) {
        let mut state = self.state();
        if matches!(&*state, SessionState::Ready(kept) if Arc::ptr_eq(kept, session)) {
            *state = SessionState::None;
        }
    }

    /// Returns the state with a ready session.
    #[cfg(test)]
    pub(crate) fn ready(session: ServerSession) -> Self {
        Self(Arc::new(Mutex::new(SessionState::Ready(Arc::new(session)))))
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.0)
    }
}

/// Stores the result of a start, unless another one has begun.
fn settle(
    sessions: &Weak<Mutex<SessionState>>,
    attempt: StartNumber,
    session: Option<&Arc<ServerSession>>,
) {
    let Some(sessions) = sessions.upgrade() else { return };
    let mut state = lock(&sessions);
    if let SessionState::Starting(starting) = &mut *state
        && starting.attempt == attempt
    {
        starting.is_over = true;
        *state =
            session.map_or(SessionState::None, |session| SessionState::Ready(Arc::clone(session)));
    }
}

/// Waits for the task of a start.
async fn await_start(
    server: Text,
    task: tokio::task::JoinHandle<Result<Arc<ServerSession>, McpError>>,
) -> Result<Arc<ServerSession>, McpError> {
    task.await.unwrap_or_else(|error| {
        let problem =
            if error.is_panic() { "its start panicked" } else { "its start was abandoned" };
        Err(failed(&server, problem))
    })
}

fn lock(state: &Mutex<SessionState>) -> MutexGuard<'_, SessionState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
