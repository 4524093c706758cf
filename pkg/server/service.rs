//! The service: agents, their runs, and who may use them.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::{
    Identify, Problem,
    conversations::{Conversation, Conversations},
    identity::Local,
    run::Run,
    runs::{Earlier, Runs},
};
use crate::{
    agent::{Caller, DefaultAgent, RunInput},
    store::{EventLog, LogKey, MemoryLog},
    types::Text,
};

/// Most runs that work at the same time.
const MAX_RUNS: usize = 64;

/// Most runs that wait for a place.
const MAX_WAITING: usize = 256;

/// Longest id of a conversation, and key of a request, in bytes.
const MAX_ID_BYTES: usize = 200;

/// Agents as a service; clones are the same one. See [the module](super).
#[derive(Clone)]
pub struct Service(Arc<Inside>);

struct Inside {
    agents: BTreeMap<Text, DefaultAgent>,
    default: Text,
    identify: Box<dyn Identify>,
    log: Arc<dyn EventLog>,
    runs: Runs,
    conversations: Conversations,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    has_console: bool,
    /// Held while a request with a key of its own begins a run.
    keyed: tokio::sync::Mutex<()>,
}

/// The setup of a [`Service`].
#[must_use = "a builder does nothing before `build`"]
pub struct ServiceBuilder {
    agents: Vec<(Text, DefaultAgent)>,
    identify: Box<dyn Identify>,
    log: Arc<dyn EventLog>,
    has_console: bool,
}

/// An error of the setup of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// There is no agent.
    #[error("the service has no agent; add one with `agent`")]
    NoAgent,
    /// Two agents have the same name.
    #[error("two agents are named `{name}`; give one of them another name")]
    SameName {
        /// The name.
        name: Text,
    },
}

/// A run that a request asks for.
pub(super) struct Asked {
    pub(super) input: RunInput,
    pub(super) agent: Option<Text>,
    pub(super) conversation: Option<Text>,
    /// The key of the request, and a digest of the rest of it.
    pub(super) request: Option<(Text, u64)>,
}

impl Service {
    /// Begins the setup of a service.
    pub fn builder() -> ServiceBuilder {
        let log = Arc::new(MemoryLog::new());
        ServiceBuilder { agents: Vec::new(), identify: Box::new(Local), log, has_console: true }
    }

    /// Lets runs come to their end for this long, then cancels those that have not; returns when all have ended.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.tasks.close();
        self.0.places.close();
        if tokio::time::timeout(grace, self.0.tasks.wait()).await.is_err() {
            for run in self.0.runs.all() {
                run.cancel.cancel();
            }
            self.0.tasks.wait().await;
        }
    }

    pub(super) fn identify(&self, parts: &axum::http::request::Parts) -> Result<Caller, Problem> {
        self.0.identify.identify(parts)
    }

    /// Returns `true` when the web console is one of the routes.
    pub(super) fn has_console(&self) -> bool {
        self.0.has_console
    }

    pub(super) fn log(&self) -> Arc<dyn EventLog> {
        Arc::clone(&self.0.log)
    }

    /// Returns the names of the agents, the first one first.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Text> {
        let others = self.0.agents.keys().filter(|name| **name != self.0.default);
        std::iter::once(&self.0.default).chain(others)
    }

    /// Begins a run; it goes on whoever listens, and is begun whole also when the request is dropped.
    pub(super) async fn begin(&self, caller: Caller, asked: Asked) -> Result<Arc<Run>, Problem> {
        let this = self.clone();
        let begun = tokio::spawn(async move { this.begin_whole(caller, asked).await });
        begun.await.unwrap_or_else(|_| Err(Problem::busy("the run could not begin", 5)))
    }

    async fn begin_whole(&self, caller: Caller, asked: Asked) -> Result<Arc<Run>, Problem> {
        let inside = &self.0;
        let Asked { input, agent, conversation, request } = asked;
        let scope = scope(&caller);
        // Keys are the caller's own, and two requests with the same one do not begin beside each other.
        let request = request.map(|(key, digest)| ((caller.id.clone(), key), digest));
        let _one = match &request {
            Some(_) => Some(inside.keyed.lock().await),
            None => None,
        };
        if let Some((key, digest)) = &request {
            check_id("Idempotency-Key", &key.1)?;
            match inside.runs.of_request(&scope, key, *digest) {
                Some(Earlier::Same(run)) => return Ok(run),
                Some(Earlier::Other) => {
                    let detail = "the key was used for another request; take a new one";
                    let status = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
                    return Err(Problem::new(status, "other_request", detail));
                }
                None => {}
            }
        }
        if inside.tasks.is_closed() {
            return Err(Problem::busy("the service is shutting down", 30));
        }
        let free = inside.places.available_permits();
        if free == 0 && inside.tasks.len() >= MAX_RUNS + MAX_WAITING {
            let detail = "the service is busy and could not begin this run; try again later";
            return Err(Problem::busy(detail, 5));
        }
        let conversation = self.conversation(&caller, agent, conversation)?;
        let input = input.caller(caller.clone()).conversation(conversation.id.clone());
        let stream = conversation.agent.run_stream(input);
        let key = LogKey::new(scope, stream.run_id());
        let run = Run::new(key.clone(), conversation.id.clone(), caller.id, &stream);
        let run = Arc::new(run);
        inside.log.create(key).await?;
        for old in inside.runs.add(&run, request) {
            if let Err(error) = inside.log.retire(&old).await {
                tracing::warn!(%error, "an old log could not be dropped");
            }
        }
        conversation.begin(&run);
        let (driven, log, places) = (Arc::clone(&run), self.log(), Arc::clone(&inside.places));
        inside.tasks.spawn(async move { driven.drive(stream, log, places).await });
        Ok(run)
    }

    /// Returns the conversation that is asked for, or a new one.
    fn conversation(
        &self,
        caller: &Caller,
        agent: Option<Text>,
        id: Option<Text>,
    ) -> Result<Arc<Conversation>, Problem> {
        let scope = scope(caller);
        if let Some(id) = &id {
            check_id("conversation_id", id)?;
            if let Some(known) = self.0.conversations.find(&scope, id) {
                let other = agent.filter(|agent| *agent != known.agent_name);
                if known.owner != caller.id || other.is_some() {
                    return Err(Problem::not_found("conversation", id));
                }
                return Ok(known);
            }
        }
        let name = agent.unwrap_or_else(|| self.0.default.clone());
        let Some(agent) = self.0.agents.get(&name) else {
            return Err(Problem::not_found("agent", &name));
        };
        let id = id.unwrap_or_else(new_id);
        let conversation = Conversation::new(id, caller.id.clone(), name, agent);
        let added = self.0.conversations.add(&scope, conversation);
        if added.owner != caller.id {
            return Err(Problem::not_found("conversation", &added.id));
        }
        Ok(added)
    }

    /// Returns a run of this caller; that of another is not found.
    pub(super) fn run(&self, caller: &Caller, id: &str) -> Result<Arc<Run>, Problem> {
        let run = self.0.runs.find(&scope(caller), id).filter(|run| run.owner == caller.id);
        run.ok_or_else(|| Problem::not_found("run", id))
    }

    /// Returns the run of a conversation that has not ended.
    pub(super) fn open_run(&self, caller: &Caller, conversation: &str) -> Option<Arc<Run>> {
        let known = self.0.conversations.find(&scope(caller), conversation);
        let run = known.filter(|known| known.owner == caller.id)?.last_run()?;
        (!run.has_ended()).then_some(run)
    }
}

impl ServiceBuilder {
    /// Adds an agent. The first one answers where a request names none. Each conversation is a fork of it.
    pub fn agent(mut self, name: impl Into<Text>, agent: DefaultAgent) -> Self {
        self.agents.push((name.into(), agent));
        self
    }

    /// Sets who finds out who asks. Default: all who send to `127.0.0.1` or `localhost` are one caller: listen on a loopback address only. No one else is let
    /// in.
    pub fn identify(mut self, identify: impl Identify) -> Self {
        self.identify = Box::new(identify);
        self
    }

    /// Sets the log of events. Default: a [`MemoryLog`].
    pub fn log(mut self, log: impl EventLog) -> Self {
        self.log = Arc::new(log);
        self
    }

    /// Sets whether the web console is there, at `/` and below `/console/`; a host's application that has a page of its own there
    /// leaves it out, or nests the routes below another path. Default: it is there. Its files hold no data, and are sent to whoever asks.
    pub fn console(mut self, is_there: bool) -> Self {
        self.has_console = is_there;
        self
    }

    /// Sets the service up.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NoAgent`], or [`ServiceError::SameName`].
    pub fn build(self) -> Result<Service, ServiceError> {
        let Self { agents: given, identify, log, has_console } = self;
        let default = given.first().map(|(name, _)| name.clone()).ok_or(ServiceError::NoAgent)?;
        let mut agents = BTreeMap::new();
        for (name, agent) in given {
            if agents.insert(name.clone(), agent).is_some() {
                return Err(ServiceError::SameName { name });
            }
        }
        Ok(Service(Arc::new(Inside {
            agents,
            default,
            identify,
            log,
            runs: Runs::default(),
            conversations: Conversations::default(),
            places: Arc::new(Semaphore::new(MAX_RUNS)),
            tasks: TaskTracker::new(),
            has_console,
            keyed: tokio::sync::Mutex::default(),
        })))
    }
}

/// Returns the scope of a caller; one without a scope has one of its own.
fn scope(caller: &Caller) -> Text {
    caller.scope.clone().unwrap_or_else(|| format!("caller:{}", caller.id).into())
}

fn check_id(what: &str, id: &str) -> Result<(), Problem> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
        let detail =
            format!("`{what}` must have 1 to {MAX_ID_BYTES} bytes, without control characters");
        return Err(Problem::bad(detail));
    }
    Ok(())
}

/// Returns an id that cannot be guessed.
fn new_id() -> Text {
    let mut id = Text::from("conv-");
    for _ in 0..2 {
        // Its keys are drawn anew for each.
        let state = std::collections::hash_map::RandomState::new();
        id.push_str(&format!("{:016x}", std::hash::BuildHasher::hash_one(&state, 0)));
    }
    id
}

/// Returns a digest of a request, to know it again.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Service")
            .field("agents", &self.0.agents.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServiceBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServiceBuilder").finish_non_exhaustive()
    }
}
