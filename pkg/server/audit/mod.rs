//! The audit trail of the service: what was refused, decided and erased, and by whom.

mod events;
mod refusals;

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::timeout};
use tokio_util::task::TaskTracker;

pub(crate) use self::{
    events::{AuditedDecision, conversation_deleted, decided},
    refusals::refuse_audited,
};
use crate::metrics::ServiceMetrics;
use forgeline_store::{AuditEvent, AuditStore, StoreError};
use forgeline_types::Text;

/// Maximum duration of a write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of events that wait to be stored; further ones are lost.
const MAX_PENDING: usize = 1_024;

/// Stores audit events beside what they are about: an event that cannot be stored is in the log and in the metrics, and what was done stays done.
pub(crate) struct AuditTrail {
    store: Arc<dyn AuditStore>,
    metrics: Arc<ServiceMetrics>,
    pending: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl AuditTrail {
    /// Returns a trail whose writes are tasks of `tasks`.
    pub(crate) fn new(
        store: Arc<dyn AuditStore>,
        metrics: Arc<ServiceMetrics>,
        tasks: TaskTracker,
    ) -> Self {
        Self { store, metrics, pending: Arc::new(Semaphore::new(MAX_PENDING)), tasks }
    }

    /// Stores events, and returns once they are stored or lost, within 5 s each. They are stored even if the future is dropped.
    pub(crate) async fn write(self: &Arc<Self>, scope: Text, events: Vec<AuditEvent>) {
        if let Some(done) = self.start(scope, events) {
            drop(done.await);
        }
    }

    /// Stores an event without a wait.
    pub(crate) fn write_later(self: &Arc<Self>, scope: Text, event: AuditEvent) {
        drop(self.start(scope, vec![event]));
    }

    fn start(
        self: &Arc<Self>,
        scope: Text,
        events: Vec<AuditEvent>,
    ) -> Option<tokio::task::JoinHandle<()>> {
        if events.is_empty() {
            return None;
        }
        let is_running = tokio::runtime::Handle::try_current().is_ok();
        let place = Arc::clone(&self.pending).try_acquire_owned().ok().filter(|_| is_running);
        let Some(place) = place else {
            let reason = StoreError::full("too many audit events wait to be stored");
            for event in &events {
                self.lost(&scope, event, &reason);
            }
            return None;
        };
        let this = Arc::clone(self);
        Some(self.tasks.spawn(async move {
            for event in events {
                this.store(&scope, event).await;
            }
            drop(place);
        }))
    }

    async fn store(&self, scope: &Text, event: AuditEvent) {
        let stored = timeout(WRITE_TIMEOUT, self.store.append(scope, event.clone())).await;
        match stored.unwrap_or_else(|_| Err(StoreError::slow(WRITE_TIMEOUT))) {
            // A run that goes on in another process reports its last event again.
            Ok(_) | Err(StoreError::Exists { .. }) => self.metrics.audited(&event.kind),
            Err(error) => self.lost(scope, &event, &error),
        }
    }

    /// Reports an event that was not stored: who and what, without details.
    fn lost(&self, scope: &Text, event: &AuditEvent, error: &StoreError) {
        let AuditEvent { id, kind, actor, subject, .. } = event;
        let (run_id, tool) = (subject.run.as_deref(), subject.tool.as_deref());
        tracing::error!(
            %error, %scope, audit_id = %id, audit_type = %kind, %actor, run_id, tool,
            "an audit event could not be stored; what it reports was done all the same"
        );
        self.metrics.audit_lost(kind);
    }
}
