//! A run that another process left comes to where it was.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use crate::{
    server::Problem,
    types::{AgentEvent, Envelope, Text},
};

/// Longest wait for a run of another process to come to where it was.
const MAX_SETTLE: Duration = Duration::from_secs(5);

/// The way of a run to where it was in another process: all that it waited for there is open again, and not only the first of it.
#[derive(Debug)]
pub(crate) struct Settling {
    is_settled: watch::Sender<bool>,
    /// The requests that it waited for, which were not open again yet; `None` where none are known.
    awaited: Mutex<Option<Vec<Text>>>,
}

impl Default for Settling {
    /// Returns that of a run that began here.
    fn default() -> Self {
        Self { is_settled: watch::Sender::new(true), awaited: Mutex::default() }
    }
}

impl Settling {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Text>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the run goes on here, and waited for these requests.
    pub(crate) fn begin(&self, awaited: Vec<Text>) {
        *self.lock() = Some(awaited).filter(|awaited| !awaited.is_empty());
        self.is_settled.send_replace(false);
    }

    /// Returns `true` once all that the run waited for was open again; where that is not known, once it `waits` for anything.
    pub(crate) fn is_back(&self, is_open: impl Fn(&str) -> bool, waits: impl Fn() -> bool) -> bool {
        match &mut *self.lock() {
            Some(awaited) => {
                awaited.retain(|id| !is_open(id));
                awaited.is_empty()
            }
            None => waits(),
        }
    }

    /// Sees an event; a request that has ended is not awaited any more.
    pub(crate) fn see(&self, envelope: &Envelope) {
        if let AgentEvent::ToolApprovalGranted { approval_id: id, .. }
        | AgentEvent::ToolApprovalRejected { approval_id: id, .. }
        | AgentEvent::ToolApprovalTimeout { approval_id: id, .. }
        | AgentEvent::ToolApprovalCancelled { approval_id: id, .. }
        | AgentEvent::ClientToolCancelled { client_call_id: id, .. }
        | AgentEvent::ToolQuestionEnd { question_id: id, .. } = &envelope.event
            && let Some(awaited) = &mut *self.lock()
        {
            awaited.retain(|other| other != id);
        }
    }

    /// Notes that the run has come to where it was.
    pub(crate) fn settle(&self) {
        *self.lock() = None;
        self.is_settled.send_if_modified(|is_settled| !std::mem::replace(is_settled, true));
    }

    /// Returns `true` once it has.
    pub(crate) fn is_settled(&self) -> bool {
        *self.is_settled.borrow()
    }

    /// Waits until it has, for a while. What is not open then is told so, unless it may come yet: then the caller is to ask again.
    pub(crate) async fn settled(&self) -> Result<(), Problem> {
        let mut is_settled = self.is_settled.subscribe();
        // The sender is here.
        let settled = timeout(MAX_SETTLE, is_settled.wait_for(|is_settled| *is_settled)).await;
        if settled.is_ok() || self.lock().is_none() {
            return Ok(());
        }
        Err(Problem::busy("the run is being resumed after a restart; send this again", 5))
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    fn granted(id: &str) -> Envelope {
        let (approval_id, id, tool_name) = (id.into(), "1".into(), "pay".into());
        let event = AgentEvent::ToolApprovalGranted { approval_id, id, tool_name };
        Envelope::new("run".into(), 1, 0, 0, event)
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_back_once_each_request_was_open_again() {
        let settling = Settling::default();
        assert!(settling.is_settled(), "it began here");
        settling.begin(vec!["a".into(), "b".into(), "c".into()]);
        let waits = || true;
        assert!(!settling.is_back(|id| id == "a", waits));
        // It was answered meanwhile.
        assert!(!settling.is_back(|_| false, waits));
        settling.see(&granted("b"));
        assert!(!settling.is_back(|_| false, waits));
        let problem = settling.settled().await.unwrap_err().into_response();
        assert_eq!(
            (problem.status().as_u16(), &problem.headers()["retry-after"]),
            (503, &"5".parse().unwrap())
        );
        assert!(settling.is_back(|id| id == "c", waits));
        settling.settle();
        assert!(settling.is_settled());
        settling.settled().await.unwrap();
        // Nothing is known of this one.
        settling.begin(Vec::new());
        assert!(!settling.is_settled() && !settling.is_back(|_| true, || false));
        assert!(settling.is_back(|_| false, waits));
        settling.settled().await.unwrap();
    }
}
