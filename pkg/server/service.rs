//! The service, as its host uses it.

use std::{fmt, sync::Arc, time::Duration};

use axum::extract::FromRef;

use super::{
    Keep, Problem, Recovered,
    access::control::AccessControl,
    audit::AuditTrail,
    conversations::{agents::AgentSet, directory::ConversationDirectory},
    durable::HostStreams,
    health::HealthChecks,
    input::client_instructions::ClientInstructions,
    lifecycle::RunLifecycle,
    metrics::{ServiceMetrics, latency::LatencyWindow},
    readers::context::ReaderContext,
    retention::DataRetention,
    runs::directory::RunDirectory,
};
use forgeline_agent::Caller;
use forgeline_store::{EraseMode, Erased, StoreError, Stores};
use forgeline_types::Text;

/// A set of agents as a service. Clones refer to the same service. See [the module](super).
///
/// # Examples
///
/// ```
/// use forgeline::{agent::Agent, llm::demo::DemoProvider, server::Service};
///
/// let agent = Agent::builder(DemoProvider::new()).build()?;
/// let service = Service::builder().agent("demo", agent).build()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Service(pub(super) Arc<ServiceHandles>);

/// The parts of a service; each route uses those that it needs.
pub(super) struct ServiceHandles {
    pub(super) access: Arc<AccessControl>,
    pub(super) agents: Arc<AgentSet>,
    pub(super) runs: Arc<RunDirectory>,
    pub(super) conversations: Arc<ConversationDirectory>,
    pub(super) lifecycle: Arc<RunLifecycle>,
    pub(super) retention: Arc<DataRetention>,
    pub(super) streams: Arc<HostStreams>,
    pub(super) readers: ReaderContext,
    pub(super) stores: Stores,
    pub(super) metrics: Arc<ServiceMetrics>,
    pub(super) audit: Arc<AuditTrail>,
    pub(super) latency: Option<Arc<LatencyWindow>>,
    pub(super) checks: Arc<HealthChecks>,
    pub(super) has_console: bool,
    /// The use of the instructions that vendors' clients send.
    pub(super) instructions: ClientInstructions,
}

/// Lets a route extract a part of the service as its state.
macro_rules! parts_of_service {
    ($($field:ident: $Part:ty),+ $(,)?) => {$(
        impl FromRef<Service> for $Part {
            fn from_ref(service: &Service) -> Self {
                service.0.$field.clone()
            }
        }
    )+};
}

parts_of_service! {
    access: Arc<AccessControl>,
    agents: Arc<AgentSet>,
    runs: Arc<RunDirectory>,
    conversations: Arc<ConversationDirectory>,
    lifecycle: Arc<RunLifecycle>,
    retention: Arc<DataRetention>,
    streams: Arc<HostStreams>,
    readers: ReaderContext,
    stores: Stores,
    metrics: Arc<ServiceMetrics>,
    audit: Arc<AuditTrail>,
    latency: Option<Arc<LatencyWindow>>,
    checks: Arc<HealthChecks>,
}

impl Service {
    /// Recovers the runs that an earlier process left behind: each is resumed from its journal, started if it had not been, or ended as interrupted; its
    /// log continues without a gap. Call this once, before serving requests.
    ///
    /// A tool that is not [idempotent](forgeline_agent::tools::Tool::is_idempotent) does not run twice. A run that has been resumed three times is
    /// interrupted.
    ///
    /// On a store that [several nodes share](forgeline_store::RunStore::is_shared), this process is one of them from then on, or from its first run on: each
    /// second it says that it is alive, and takes over the runs of nodes that died and those that were handed over. A run with which more than three nodes
    /// died is interrupted. Readers learn of a takeover by the notice [`RUN_TAKEN_OVER`](forgeline_agent::notice::RUN_TAKEN_OVER).
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read. On a shared store, the process tries it again each second.
    pub async fn recover(&self) -> Result<Recovered, StoreError> {
        self.0.lifecycle.recover().await
    }

    /// Deletes a conversation of a caller with its runs and their events; returns `false` if there is none. Active runs of the conversation are cancelled.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call deletes the rest.
    pub async fn delete_conversation(&self, caller: &Caller, id: &str) -> Result<bool, Problem> {
        self.0.retention.delete_conversation(caller, id).await
    }

    /// Erases the conversations of an owner in a scope, with the runs, their events and their latencies, and the streams that the owner created; an owner
    /// with an empty name has none. Audit rows of the owner lose their content, and one without a name reports the erasure. Active runs are cancelled. With
    /// [`EraseMode::Count`], nothing changes.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call erases the rest.
    pub async fn erase(
        &self,
        scope: impl Into<Text>,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, Problem> {
        self.0.retention.erase(scope, owner, mode).await
    }

    /// Retires the logs that are not to be kept, packs closed logs, removes expired streams, cuts the audit rows of at most 100 scopes, and deletes the oldest ended
    /// runs beyond the number to keep, with their events. The service does this once a minute with the value of [`ServiceBuilder::keep`](crate::ServiceBuilder::keep); readers of
    /// a retired log get 410.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call does the rest.
    ///
    /// # Cancel safety
    ///
    /// If this future is dropped, events of a deleted run may remain until they reach their age limit.
    pub async fn sweep(&self, keep: &Keep) -> Result<(), Problem> {
        self.0.retention.sweep(keep).await
    }

    /// Shuts the service down. No more runs start, and active runs have the duration `grace` to end. Runs that have not ended by then are suspended, and
    /// the next process continues them ([`recover`](Self::recover)); if the stores do not [outlive this
    /// process](forgeline_store::RunStore::outlives_process), those runs are cancelled. Finally, streams end: their readers reconnect to the next process.
    ///
    /// On a store that [several nodes share](forgeline_store::RunStore::is_shared), suspended runs are released, and another node continues them at once; runs that
    /// wait for their turn, for a person or for the client do not have to wait for `grace`.
    ///
    /// # Cancel safety
    ///
    /// A shutdown that has started continues when this future is dropped; a second call waits for the rest.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.retention.end_sweeping();
        self.0.lifecycle.shutdown(grace).await;
        self.0.readers.ends.cancel();
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agents: Vec<_> = self.0.agents.names().collect();
        formatter.debug_struct("Service").field("agents", &agents).finish_non_exhaustive()
    }
}
