//! The start of a server, which is neither delayed nor abandoned by those who wait for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, future::Shared};
use tokio::task::AbortHandle;

use super::{
    McpError, McpOptions, McpServer,
    process::{Attempt, Place},
    session::{Session, failed},
};
use crate::types::Text;

/// The session with a server: absent, being started, or ready.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    None,
    Starting(Starting),
    Ready(Arc<Session>),
}

type Started = Shared<BoxFuture<'static, Result<Arc<Session>, McpError>>>;

/// A start in progress, as a separate task: it continues when those that wait for it are dropped, and ends with this value.
#[derive(Debug)]
struct Starting {
    started: Started,
    task: AbortHandle,
    place: Arc<Place>,
    attempt: Attempt,
    is_over: bool,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.is_over {
            self.task.abort();
            // Stopped immediately: the program may exit before its runtime drops the task.
            self.place.stop(self.attempt);
        }
    }
}

impl Sessions {
    /// Returns the session, or a new one when there is none or it has ended.
    ///
    /// # Cancel safety
    ///
    /// A start continues when its future is dropped, and the next call waits for it.
    pub(super) async fn get(
        &self,
        server: &McpServer,
        options: &McpOptions,
        place: &Arc<Place>,
    ) -> Result<Arc<Session>, McpError> {
        let started = {
            let mut state = self.state();
            match &*state {
                State::Ready(session) if !session.has_ended() => return Ok(Arc::clone(session)),
                // A task that has ended and is still stored here has panicked.
                State::Starting(starting) if !starting.task.is_finished() => {
                    starting.started.clone()
                }
                State::None | State::Starting(_) | State::Ready(_) => {
                    // The old process ends before the new one starts: both may need the same files.
                    *state = State::None;
                    let starting = self.start(server, options, place);
                    let started = starting.started.clone();
                    *state = State::Starting(starting);
                    started
                }
            }
        };
        started.await
    }

    fn start(&self, server: &McpServer, options: &McpOptions, place: &Arc<Place>) -> Starting {
        let attempt = place.begin();
        let (name, sessions) = (server.name.clone(), Arc::downgrade(&self.0));
        let (server, options, place) = (server.clone(), options.clone(), Arc::clone(place));
        let of_task = Arc::clone(&place);
        let task = tokio::spawn(async move {
            let started = Session::start(&server, &options, &of_task, attempt).await.map(Arc::new);
            settle(&sessions, attempt, started.as_ref().ok());
            started
        });
        let (abort, started) = (task.abort_handle(), ended(name, task).boxed().shared());
        Starting { started, task: abort, place, attempt, is_over: false }
    }

    /// Returns `true` when a session exists that has not ended.
    pub(super) fn is_ready(&self) -> bool {
        matches!(&*self.state(), State::Ready(session) if !session.has_ended())
    }

    /// Takes the session out, and abandons a start.
    pub(super) fn take(&self) -> Option<Arc<Session>> {
        let taken = std::mem::take(&mut *self.state());
        if let State::Ready(session) = taken { Some(session) } else { None }
    }

    /// Drops this session, unless another one has replaced it.
    pub(super) fn forget(&self, session: &Arc<Session>) {
        let mut state = self.state();
        if matches!(&*state, State::Ready(kept) if Arc::ptr_eq(kept, session)) {
            *state = State::None;
        }
    }

    /// Returns the state with a ready session.
    #[cfg(test)]
    pub(super) fn ready(session: Session) -> Self {
        Self(Arc::new(Mutex::new(State::Ready(Arc::new(session)))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

/// Stores the result of a start, unless another one has begun.
fn settle(sessions: &Weak<Mutex<State>>, attempt: Attempt, session: Option<&Arc<Session>>) {
    let Some(sessions) = sessions.upgrade() else { return };
    let mut state = lock(&sessions);
    if let State::Starting(starting) = &mut *state
        && starting.attempt == attempt
    {
        starting.is_over = true;
        *state = session.map_or(State::None, |session| State::Ready(Arc::clone(session)));
    }
}

/// Waits for the task of a start.
async fn ended(
    server: Text,
    task: tokio::task::JoinHandle<Result<Arc<Session>, McpError>>,
) -> Result<Arc<Session>, McpError> {
    task.await.unwrap_or_else(|error| {
        let problem =
            if error.is_panic() { "its start panicked" } else { "its start was given up" };
        Err(failed(&server, problem))
    })
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
