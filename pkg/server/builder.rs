//! The builder of a service.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Identify, Keep, Limits,
    access::{
        control::AccessControl, identity::LocalCallers, origins::AllowedOrigins,
        usage::ServiceUsage,
    },
    audit::AuditTrail,
    conversations::{
        agents::{AgentSet, ServedAgent},
        directory::ConversationDirectory,
    },
    durable::HostStreams,
    health::{CheckState, HealthCheck, HealthChecks},
    input::client_instructions::ClientInstructions,
    lifecycle::{RunLifecycle, membership::NodeMembership},
    metrics::{ServiceMetrics, latency::LatencyWindow, latency_records::LatencyRecords},
    readers::context::ReaderContext,
    retention::{DataRetention, SweepTask},
    runs::{directory::RunDirectory, event_batches::LeaveSignals, slots::RunSlots},
    service::{Service, ServiceHandles},
};
use forgeline_agent::{Agent, Caller, access::AuditRecord, observe::Observer};
use forgeline_store::{EventLog, NodeId, NotificationChannel, Stores};
use forgeline_types::Text;

/// Default maximum wait of a long poll.
const LONG_POLL: Duration = Duration::from_secs(20);

/// A builder for a [`Service`].
#[must_use = "a builder does nothing before `build`"]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct ServiceBuilder {
    agents: Vec<(Text, ServedAgent)>,
    with_history: BTreeSet<Text>,
    identify: Box<dyn Identify>,
    stores: Stores,
    long_poll: Duration,
    limits: Limits,
    checks: Vec<HealthCheck>,
    keep: Keep,
    origins: Vec<String>,
    is_dev: bool,
    has_console: bool,
    instructions: ClientInstructions,
}

/// An error in the configuration of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service has no agent.
    #[error("the service has no agent; add one with `agent`")]
    NoAgent,
    /// Two agents have the same name.
    #[error("two agents are named `{name}`; give one of them another name")]
    #[non_exhaustive]
    SameName {
        /// The name.
        name: Text,
    },
    /// A setting is for an agent that the service does not have.
    #[error("the service has no agent `{name}`; add it with `agent`")]
    #[non_exhaustive]
    UnknownAgent {
        /// The name.
        name: Text,
    },
    /// A text is not a web origin.
    #[error("expected an origin such as `https://app.example`, not `{origin}`")]
    #[non_exhaustive]
    NoOrigin {
        /// The text.
        origin: String,
    },
}

impl Service {
    /// Returns a builder for a service.
    pub fn builder() -> ServiceBuilder {
        ServiceBuilder {
            agents: Vec::new(),
            with_history: BTreeSet::new(),
            identify: Box::new(LocalCallers),
            stores: Stores::in_memory(),
            long_poll: LONG_POLL,
            limits: Limits::default(),
            checks: Vec::new(),
            keep: Keep::default(),
            origins: Vec::new(),
            is_dev: false,
            has_console: true,
            instructions: ClientInstructions::default(),
        }
    }
}

impl ServiceBuilder {
    /// Adds an agent. The first agent is the default for requests that name none. Each conversation has its own history.
    pub fn agent(mut self, name: impl Into<Text>, agent: Agent) -> Self {
        self.agents.push((name.into(), ServedAgent::Shared(agent)));
        self
    }

    /// Adds an agent that is made for its caller: with the prompt, the tools or the keys of a tenant. `make` is called for each run, once the limits of the
    /// caller and the ownership of its conversation have been checked, and for each list of agents, tools or messages that is requested. It caches what is
    /// expensive: clones of an [`Agent`] are cheap. The conversation stays the same, whatever the agent of its next run. A run that is resumed after a
    /// restart gets an agent that is made again for its caller, which must have the tools that the run had.
    ///
    /// `make` takes the caller by value, since a future that a service runs borrows nothing. Keys alone need no agent of their own: see
    /// [`Authorize`](https://docs.rs/forgeline/latest/forgeline/llm/http/trait.Authorize.html).
    ///
    /// # Errors
    ///
    /// An error of `make` that is a [`Problem`](crate::Problem) is the response: `Problem::new(StatusCode::FORBIDDEN, "no_plan", "choose a plan first")`. Any other one is in
    /// the logs, and the response is 500 `agent_not_made`. After 10 s the future of `make` is dropped, and the response is 503. A run that is to be resumed
    /// is interrupted by either; lists leave the agent out.
    ///
    /// `/ready` does not check providers of such agents: add a [`check`](Self::check).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{
    ///     agent::{Agent, Caller},
    ///     llm::demo::DemoProvider,
    ///     server::Service,
    /// };
    ///
    /// let service = Service::builder().agent_for("help", async |caller: Caller| {
    ///     let tenant = caller.scope.unwrap_or_default();
    ///     let prompt = format!("You help the customers of {tenant}.");
    ///     Agent::builder(DemoProvider::new()).system(prompt).build()
    /// });
    /// # drop(service);
    /// ```
    pub fn agent_for<F, R, E>(mut self, name: impl Into<Text>, make: F) -> Self
    where
        F: Fn(Caller) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Agent, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.agents.push((name.into(), ServedAgent::per_caller(make)));
        self
    }

    /// Lets conversations with the agent of this name begin with the earlier messages of a request to `/api/chat` or `/agui`, for a conversation that the
    /// service does not have. Only the texts of the user and the model are taken, the last 200 messages and 256 KiB of them at most: no instructions, no
    /// calls, no results. They count as text from [outside](forgeline_types::TextOrigin::Outside), as whoever sends them may have written the model's
    /// part too. Default: no agent; the earlier messages are not read, and the response says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{agent::Agent, llm::demo::DemoProvider, server::Service};
    ///
    /// let agent = Agent::builder(DemoProvider::new()).build()?;
    /// let service = Service::builder().agent("main", agent).client_history("main").build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_history(mut self, name: impl Into<Text>) -> Self {
        self.with_history.insert(name.into());
        self
    }

    /// Sets the use of the instructions that vendors' clients send. Default: [`ClientInstructions::AsUserText`].
    pub fn client_instructions(mut self, rule: ClientInstructions) -> Self {
        self.instructions = rule;
        self
    }

    /// Sets how callers are identified. Default: all programs of this machine are one caller and other machines are refused. This requires the peer
    /// address (`into_make_service_with_connect_info::<SocketAddr>()`), which must be a loopback address.
    pub fn identify(mut self, identify: impl Identify) -> Self {
        self.identify = Box::new(identify);
        self
    }

    /// Sets the event log. Default: a [`InMemoryLog`](forgeline_store::InMemoryLog).
    pub fn log(mut self, log: impl EventLog) -> Self {
        self.stores.log = Arc::new(log);
        self
    }

    /// Sets the stores for runs, conversations and all other data. Default: in memory. With stores that outlive the process, call [`Service::recover`]
    /// once before serving requests.
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = stores;
        self
    }

    /// Adds a check to those that `/ready` makes of providers and stores. A check that takes more than 5 s counts as [degraded](CheckState::Degraded).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::server::{CheckState, Service};
    ///
    /// let builder = Service::builder().check("billing", || async { CheckState::Healthy });
    /// ```
    pub fn check<F, R>(mut self, name: impl Into<Text>, check: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = CheckState> + Send + 'static,
    {
        self.checks.push(HealthCheck::new(name, check));
        self
    }

    /// Enables `/dev/latency`, which reports the latencies of turns and calls of the last hour. Default: off.
    pub fn dev(mut self, is_on: bool) -> Self {
        self.is_dev = is_on;
        self
    }

    /// Sets the limits of the service. Default: [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what the service keeps of runs that have ended; the rest is removed once a minute. Default: [`Keep::default`].
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Allows pages of these origins, such as `https://app.example`, to send requests and read the responses (CORS); they send a token or are on this
    /// machine. Default: none; pages of other origins are refused.
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the notification channel, which `/v1/events` reads. Default: in memory.
    pub fn notifications(mut self, channel: Arc<dyn NotificationChannel>) -> Self {
        self.stores.notifications = channel;
        self
    }

    /// Sets the maximum wait of a long poll of a stream. Default: 20 s.
    pub fn long_poll(mut self, wait: Duration) -> Self {
        self.long_poll = wait;
        self
    }

    /// Sets whether the web console is served, at `/` and below `/console/`. A host with its own page there disables the console or nests the routes below
    /// another path. Default: enabled. The console's files contain no data and are served without authentication.
    pub fn console(mut self, is_there: bool) -> Self {
        self.has_console = is_there;
        self
    }

    /// Builds the service.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NoAgent`], [`ServiceError::SameName`], [`ServiceError::UnknownAgent`] or [`ServiceError::NoOrigin`].
    pub fn build(self) -> Result<Service, ServiceError> {
        let Self {
            agents: given,
            with_history,
            identify,
            stores,
            long_poll,
            limits,
            mut checks,
            keep,
            origins,
            is_dev,
            has_console,
            instructions,
        } = self;
        let default = given.first().map(|(name, _)| name.clone()).ok_or(ServiceError::NoAgent)?;
        let origins =
            AllowedOrigins::new(origins).map_err(|origin| ServiceError::NoOrigin { origin })?;
        let metrics = Arc::new(ServiceMetrics::default());
        let records = Arc::<LatencyRecords>::default();
        let latency = is_dev.then(Arc::<LatencyWindow>::default);
        let mut watchers: Vec<Arc<dyn Observer>> =
            vec![Arc::clone(&metrics) as _, Arc::clone(&records) as _];
        watchers.extend(latency.clone().map(|latency| latency as _));
        let tasks = TaskTracker::new();
        let audit = Arc::new(AuditTrail::new(
            Arc::clone(&stores.audit),
            Arc::clone(&metrics),
            tasks.clone(),
        ));
        let sink = Arc::clone(&audit);
        let refusals = Arc::new(move |record: AuditRecord| sink.refused(&record));
        let mut agents = AgentSet::new(default, watchers, refusals);
        checks.extend(HealthCheck::of_stores(&stores));
        for (name, agent) in given {
            if let ServedAgent::Shared(agent) = &agent {
                checks.extend(HealthCheck::of_agent(&name, agent));
            }
            if !agents.add(name.clone(), agent) {
                return Err(ServiceError::SameName { name });
            }
        }
        agents.take_history(with_history).map_err(|name| ServiceError::UnknownAgent { name })?;
        let agents = Arc::new(agents);
        let store = Arc::clone(&stores.conversations);
        let is_shared = stores.runs.is_shared();
        let conversations =
            Arc::new(ConversationDirectory::new(Arc::clone(&agents), store, is_shared));
        let runs = Arc::new(RunDirectory::new(&stores));
        let streams = Arc::new(HostStreams::new(Arc::clone(&stores.log), is_shared, &limits));
        let places = RunSlots::new(&limits);
        let usage = ServiceUsage::new(limits);
        let retention = Arc::new(DataRetention {
            stores: stores.clone(),
            runs: Arc::clone(&runs),
            conversations: Arc::clone(&conversations),
            streams: Arc::clone(&streams),
            audit: Arc::clone(&audit),
            audit_swept: Mutex::default(),
            keep,
            sweeping: SweepTask::default(),
            tasks: tasks.clone(),
        });
        let lifecycle = Arc::new(RunLifecycle {
            node: NodeId::random(),
            stores: stores.clone(),
            runs: Arc::clone(&runs),
            conversations: Arc::clone(&conversations),
            places,
            usage: Arc::clone(&usage),
            metrics: Arc::clone(&metrics),
            records,
            audit: Arc::clone(&audit),
            retention: Arc::clone(&retention),
            tasks,
            leave: LeaveSignals::default(),
            membership: NodeMembership::default(),
        });
        let ends = CancellationToken::new();
        Ok(Service(Arc::new(ServiceHandles {
            access: Arc::new(AccessControl::new(identify, usage, origins)),
            agents,
            runs,
            conversations,
            lifecycle,
            retention,
            streams,
            readers: ReaderContext { log: Arc::clone(&stores.log), long_poll, ends },
            stores,
            metrics,
            audit,
            latency,
            checks: Arc::new(HealthChecks::new(checks)),
            has_console,
            instructions,
        })))
    }
}

impl fmt::Debug for ServiceBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServiceBuilder").finish_non_exhaustive()
    }
}
