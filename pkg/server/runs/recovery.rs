//! The catching up of a resumed run with its state in another process.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use crate::Problem;
use forgeline_types::{
    AgentEvent, ClientToolCancelledEvent, Envelope, Text, ToolApprovalEvent,
    ToolApprovalRejectedEvent, ToolQuestionEndEvent,
};

/// Maximum wait for a resumed run to catch up.
const MAX_RECOVERY: Duration = Duration::from_secs(5);

/// The progress of a resumed run towards its state in another process, where every request that it waited for, not only the first, is open again.
#[derive(Debug)]
pub(crate) struct RecoveryProgress {
    has_recovered: watch::Sender<bool>,
    /// The requests that the run waited for and has not reopened yet; `None` if unknown.
    awaited: Mutex<Option<Vec<Text>>>,
}

impl Default for RecoveryProgress {
    /// Returns the state of a run that started in this process.
    fn default() -> Self {
        Self { has_recovered: watch::Sender::new(true), awaited: Mutex::default() }
    }
}

impl RecoveryProgress {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Text>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the run was resumed here, and waited for these requests.
    pub(crate) fn begin(&self, awaited: Vec<Text>) {
        *self.lock() = Some(awaited).filter(|awaited| !awaited.is_empty());
        self.has_recovered.send_replace(false);
    }

    /// Returns `true` once every request that the run waited for has been open again; if they are unknown, once it `waits` for anything.
    pub(crate) fn is_back(&self, is_open: impl Fn(&str) -> bool, waits: impl Fn() -> bool) -> bool {
        match &mut *self.lock() {
            Some(awaited) => {
                awaited.retain(|id| !is_open(id));
                awaited.is_empty()
            }
            None => waits(),
        }
    }

    /// Processes an event; a request that has ended is no longer awaited.
    pub(crate) fn see(&self, envelope: &Envelope) {
        if let AgentEvent::ToolApprovalGranted(ToolApprovalEvent { approval_id: id, .. })
        | AgentEvent::ToolApprovalRejected(ToolApprovalRejectedEvent {
            approval_id: id, ..
        })
        | AgentEvent::ToolApprovalTimeout(ToolApprovalEvent { approval_id: id, .. })
        | AgentEvent::ToolApprovalCancelled(ToolApprovalEvent { approval_id: id, .. })
        | AgentEvent::ClientToolCancelled(ClientToolCancelledEvent {
            client_call_id: id, ..
        })
        | AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { question_id: id, .. }) =
            &envelope.event
            && let Some(awaited) = &mut *self.lock()
        {
            awaited.retain(|other| other != id);
        }
    }

    /// Records that the run has caught up.
    pub(crate) fn finish_recovery(&self) {
        *self.lock() = None;
        self.has_recovered
            .send_if_modified(|has_recovered| !std::mem::replace(has_recovered, true));
    }

    /// Returns `true` once the run has caught up.
    pub(crate) fn has_recovered(&self) -> bool {
        *self.has_recovered.borrow()
    }

    /// Waits up to 5 s until the run has caught up. Returns an error that asks the caller to retry if awaited requests may still be reopened after that.
    pub(crate) async fn recovered(&self) -> Result<(), Problem> {
        let mut has_recovered = self.has_recovered.subscribe();
        // The sender is alive, so this cannot fail.
        let recovered =
            timeout(MAX_RECOVERY, has_recovered.wait_for(|has_recovered| *has_recovered)).await;
        if recovered.is_ok() || self.lock().is_none() {
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
        let event = AgentEvent::ToolApprovalGranted(ToolApprovalEvent::new(id, "1", "pay"));
        Envelope::new("run".into(), 1, 0, 0, event)
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_back_once_each_request_was_open_again() {
        let recovery = RecoveryProgress::default();
        assert!(recovery.has_recovered(), "it began here");
        recovery.begin(vec!["a".into(), "b".into(), "c".into()]);
        let waits = || true;
        assert!(!recovery.is_back(|id| id == "a", waits));
        // It was answered meanwhile.
        assert!(!recovery.is_back(|_| false, waits));
        recovery.see(&granted("b"));
        assert!(!recovery.is_back(|_| false, waits));
        let problem = recovery.recovered().await.unwrap_err().into_response();
        assert_eq!(
            (problem.status().as_u16(), &problem.headers()["retry-after"]),
            (503, &"5".parse().unwrap())
        );
        assert!(recovery.is_back(|id| id == "c", waits));
        recovery.finish_recovery();
        assert!(recovery.has_recovered());
        recovery.recovered().await.unwrap();
        // Nothing is known of this one.
        recovery.begin(Vec::new());
        assert!(!recovery.has_recovered() && !recovery.is_back(|_| true, || false));
        assert!(recovery.is_back(|_| false, waits));
        recovery.recovered().await.unwrap();
    }
}
