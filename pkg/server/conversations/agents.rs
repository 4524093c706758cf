//! The agents of a service.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use axum::http::StatusCode;
use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{Problem, input::client_tools::RequestToolSource};
use forgeline_agent::{Agent, Caller, access::AuditSink, observe::Observer};
use forgeline_llm::without_secrets;
use forgeline_types::Text;

/// Maximum time in which the host makes an agent for a caller.
const MAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes an agent for a caller.
type MakeAgent =
    dyn Fn(Caller) -> BoxFuture<'static, Result<Agent, Box<dyn Error + Send + Sync>>> + Send + Sync;

/// An agent that a service has.
#[derive(Clone)]
pub(crate) enum ServedAgent {
    /// One that all callers share.
    Shared(Agent),
    /// One that is made for each run.
    PerCaller(Arc<MakeAgent>),
}

/// The agents of a service by name, one of which is the default.
pub(crate) struct AgentSet {
    agents: BTreeMap<Text, ServedAgent>,
    default: Text,
    /// Those whose conversations may begin with the messages of a client.
    with_history: BTreeSet<Text>,
    /// The observers of every run.
    watchers: Vec<Arc<dyn Observer>>,
    /// The receiver of refused calls of every run.
    audit: Arc<dyn AuditSink>,
}

impl ServedAgent {
    pub(crate) fn per_caller<F, R, E>(make: F) -> Self
    where
        F: Fn(Caller) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Agent, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        Self::PerCaller(Arc::new(move |caller| {
            let making = make(caller);
            async move { making.await.map_err(Into::into) }.boxed()
        }))
    }
}

impl AgentSet {
    pub(crate) fn new(
        default: Text,
        watchers: Vec<Arc<dyn Observer>>,
        audit: Arc<dyn AuditSink>,
    ) -> Self {
        Self { agents: BTreeMap::new(), default, with_history: BTreeSet::new(), watchers, audit }
    }

    /// Adds an agent; returns `false` if there is one of this name.
    pub(crate) fn add(&mut self, name: Text, agent: ServedAgent) -> bool {
        let agent = match agent {
            ServedAgent::Shared(agent) => ServedAgent::Shared(self.served(&agent)),
            made @ ServedAgent::PerCaller(_) => made,
        };
        self.agents.insert(name, agent).is_none()
    }

    /// Lets conversations with these agents begin with the messages of a client; returns a name that no agent has.
    pub(crate) fn take_history(&mut self, names: BTreeSet<Text>) -> Result<(), Text> {
        if let Some(unknown) = names.iter().find(|name| !self.has(name)) {
            return Err(unknown.clone());
        }
        self.with_history = names;
        Ok(())
    }

    /// Returns an agent with what the service adds to it.
    fn served(&self, agent: &Agent) -> Agent {
        let agent = agent.with_source(Arc::new(RequestToolSource)).watched_by(&self.watchers);
        agent.audited_by(Arc::clone(&self.audit))
    }

    /// Returns `true` if a conversation with this agent, or the default one, may begin with the messages of a client.
    pub(crate) fn takes_history(&self, name: Option<&Text>) -> bool {
        self.with_history.contains(name.unwrap_or(&self.default))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.agents.contains_key(name)
    }

    /// Returns the agent of this name for a caller, which the host may have to make.
    pub(crate) async fn for_caller(&self, name: &str, caller: &Caller) -> Result<Agent, Problem> {
        let make = match self.agents.get(name) {
            None => return Err(Problem::not_found("agent", name)),
            Some(ServedAgent::Shared(agent)) => return Ok(agent.clone()),
            Some(ServedAgent::PerCaller(make)) => make,
        };
        let caller = caller.clone();
        let making = AssertUnwindSafe(async move { make(caller).await }).catch_unwind();
        let Ok(outcome) = tokio::time::timeout(MAKE_TIMEOUT, making).await else {
            tracing::error!(agent = name, "an agent was not made within {MAKE_TIMEOUT:?}");
            let detail = format!(
                "the agent `{name}` could not be made within {MAKE_TIMEOUT:?}; try again later"
            );
            return Err(Problem::busy(&detail, 5));
        };
        match outcome.unwrap_or_else(|_| Err("the function that makes it panicked".into())) {
            Ok(agent) => Ok(self.served(&agent)),
            Err(error) => Err(not_made(name, error)),
        }
    }

    /// Returns the name of the agent for requests that name none.
    pub(crate) fn default_name(&self) -> &Text {
        &self.default
    }

    /// Returns the names of the agents, that of the default agent first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Text> {
        let others = self.agents.keys().filter(|name| **name != self.default);
        std::iter::once(&self.default).chain(others)
    }

    /// Returns the agents that this caller may have, the default agent first.
    pub(crate) async fn all_for(&self, caller: &Caller) -> Vec<(&Text, Agent)> {
        let mut all = Vec::new();
        for name in self.names() {
            if let Ok(agent) = self.for_caller(name, caller).await {
                all.push((name, agent));
            }
        }
        all
    }
}

/// Returns the response to a request whose agent could not be made: the host's own, if its error is one.
fn not_made(name: &str, error: Box<dyn Error + Send + Sync>) -> Problem {
    match error.downcast::<Problem>() {
        Ok(problem) => *problem,
        Err(error) => {
            let error = without_secrets(&error.to_string());
            tracing::error!(%error, agent = name, "an agent could not be made for its caller");
            let detail = format!(
                "the agent `{name}` could not be made for this caller; try again, or ask the operator of the service, whose logs have the reason"
            );
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "agent_not_made", detail)
        }
    }
}
