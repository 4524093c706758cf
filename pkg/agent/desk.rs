//! Where the calls of an answer ask the user.

use std::{
    fmt,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep},
};

use super::{Approver, Asked, Decision, Steering, panic::text};
use crate::types::Text;

/// Most questions of one call.
pub(super) const MAX_QUESTIONS: u32 = 16;

/// Where the calls of an answer ask the user. The time in which a call waits for a person is not the call's.
pub(crate) struct Desk {
    /// `None` when nobody can answer.
    steering: Option<Steering>,
    approver: Option<Arc<dyn Approver>>,
    /// Longest wait for an answer.
    limit: Duration,
    calls: Mutex<Vec<Asking>>,
    changed: Notify,
}

/// A call that has asked.
#[derive(Debug)]
struct Asking {
    call_id: Text,
    made: u32,
    open: u32,
}

/// A wait for a person, until this is dropped.
pub(crate) struct Wait<'a> {
    desk: &'a Desk,
    call_id: &'a Text,
    /// The number of the wait within its call, from 1.
    pub(crate) number: u32,
}

impl Desk {
    pub(super) fn new(
        steering: Option<Steering>,
        approver: Option<Arc<dyn Approver>>,
        limit: Duration,
    ) -> Self {
        Self { steering, approver, limit, calls: Mutex::default(), changed: Notify::new() }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) fn steering(&self) -> Option<&Steering> {
        self.steering.as_ref()
    }

    /// Waits for a decision about a request, which is told by `shown`; `None` when nobody can decide.
    #[cfg(feature = "mcp")]
    pub(crate) async fn decide(
        &self,
        asked: Asked,
        shown: impl Future<Output = ()>,
    ) -> Option<Decision> {
        if self.steering.is_none() && self.approver.is_none() {
            return None;
        }
        let id = asked.request.approval_id.clone();
        let answer = self.steering.as_ref().map(|steering| steering.ask(asked.request.clone()));
        let _open = self.steering.as_ref().map(|steering| OpenQuestion::new(steering, &id));
        shown.await;
        tokio::select! {
            biased;
            decision = heard(answer) => Some(decision),
            decision = decided(self.approver.clone(), asked) => Some(decision),
        }
    }

    /// Begins a wait of a call; `None` when it has waited too often.
    pub(crate) fn begin<'a>(&'a self, call_id: &'a Text) -> Option<Wait<'a>> {
        let mut calls = self.calls();
        let at = calls.iter().position(|asking| asking.call_id == *call_id).unwrap_or_else(|| {
            calls.push(Asking { call_id: call_id.clone(), made: 0, open: 0 });
            calls.len() - 1
        });
        let asking = calls.get_mut(at).filter(|asking| asking.made < MAX_QUESTIONS)?;
        (asking.made, asking.open) = (asking.made + 1, asking.open + 1);
        let number = asking.made;
        drop(calls);
        self.changed.notify_waiters();
        Some(Wait { desk: self, call_id, number })
    }

    /// Waits until a call has worked for `limit`, without the time of its questions.
    pub(super) async fn worked(&self, call_id: &str, limit: Duration) {
        let mut left = limit;
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.asks(call_id) {
                changed.await;
                continue;
            }
            let began = Instant::now();
            tokio::select! {
                biased;
                () = changed => left = left.saturating_sub(began.elapsed()),
                () = sleep(left) => return,
            }
        }
    }

    fn asks(&self, call_id: &str) -> bool {
        self.calls().iter().any(|asking| asking.call_id == call_id && asking.open > 0)
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Asking>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut calls = self.desk.calls();
        if let Some(asking) = calls.iter_mut().find(|asking| asking.call_id == *self.call_id) {
            asking.open = asking.open.saturating_sub(1);
        }
        drop(calls);
        self.desk.changed.notify_waiters();
    }
}

/// A question that is open until this is dropped.
pub(crate) struct OpenQuestion<'a> {
    steering: &'a Steering,
    id: &'a str,
}

impl<'a> OpenQuestion<'a> {
    pub(crate) fn new(steering: &'a Steering, id: &'a str) -> Self {
        Self { steering, id }
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.steering.withdraw(self.id);
    }
}

/// Waits for an answer from outside the run.
pub(super) async fn heard(answer: Option<oneshot::Receiver<Decision>>) -> Decision {
    if let Some(answer) = answer
        && let Ok(decision) = answer.await
    {
        return decision;
    }
    // The request was withdrawn, or has no reader.
    std::future::pending().await
}

/// Waits for the approver of the agent.
pub(super) async fn decided(approver: Option<Arc<dyn Approver>>, asked: Asked) -> Decision {
    let Some(approver) = approver else { return std::future::pending().await };
    let decision = AssertUnwindSafe(async { approver.decide(asked).await }).catch_unwind().await;
    decision.unwrap_or_else(|panic| {
        Decision::reject(format!("the approver broke down: {}", text(&*panic)))
    })
}

impl fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Desk").field("calls", &self.calls).finish_non_exhaustive()
    }
}
