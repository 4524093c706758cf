//! Failover to the next provider of a chain during an outage.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    FailoverHop,
    chain::{ChainEntry, ChainSettings, ProviderChain},
    driver::{AttemptPolicy, NextAttempt, begin},
};
use crate::{
    AnswerSchema, ChunkStream, Health, Provider, ProviderError, ProviderFuture, Request,
    SchemaRules, StructuredMethod,
};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{AgentEvent, ModelInfo, Text, debug_fields};

/// The time after which a request tries the first provider again, by default.
const RECOVER_AFTER: Duration = Duration::from_mins(1);

/// A chain of providers: during an outage of the one in use, the next takes over.
///
/// Only an outage causes a hop, see [`ProviderError::is_outage`]; an answer that broke off, a rejected
/// request or a wrong key does not. Requests stay with the entry that took over until
/// [`recover_after`](Self::recover_after) has passed, by default a minute; then one request tries the first provider
/// again, and if that answers, all return to it. Clones share their position.
///
/// Each hop, also one back, is an [`AgentEvent::Failover`](forgeline_types::AgentEvent::Failover) in the stream and is recorded in
/// [`hops`](Self::hops).
///
/// # Examples
///
/// ```
/// # use forgeline::{llm::Failover, testing::{ScriptedProvider, ScriptedTurn}};
/// # let (first, second) = (ScriptedProvider::new([]), ScriptedProvider::new([]));
/// let provider = Failover::new(first).then("backup", second);
/// assert!(provider.hops().is_empty());
/// ```
#[derive(Clone)]
pub struct Failover(Arc<ProviderChain>);

impl Failover {
    /// Creates a chain with only `primary`. The providers of a chain may be of different types; an `Arc` of a provider is one, too.
    #[must_use]
    pub fn new(primary: impl Provider + 'static) -> Self {
        let primary = shared(primary);
        let (label, own) = (primary.info().provider.clone(), Arc::clone(&primary));
        let resolve = Box::new(move || Ok(Arc::clone(&own)));
        let entry = ChainEntry { label, resolve, provider: OnceLock::new() };
        let settings = ChainSettings { scope: None, recover_after: RECOVER_AFTER };
        Self::with(primary, vec![Arc::new(entry)], settings)
    }

    /// Adds a provider to the end of the chain. A label that is blank or already in use adds
    /// nothing.
    #[must_use]
    pub fn then(self, label: &str, provider: impl Provider + 'static) -> Self {
        let provider = shared(provider);
        self.then_with(label, move || Ok(Arc::clone(&provider)))
    }

    /// Adds a provider that is created when it is first needed; if that fails, the entry is skipped.
    #[must_use]
    pub fn then_with(
        self,
        label: &str,
        resolve: impl Fn() -> Result<Arc<dyn Provider>, ProviderError> + Send + Sync + 'static,
    ) -> Self {
        let mut entries = self.0.entries.clone();
        if label.trim().is_empty() || entries.iter().any(|known| known.label == label.trim()) {
            return self;
        }
        let resolve = Box::new(resolve);
        entries.push(Arc::new(ChainEntry {
            label: label.into(),
            resolve,
            provider: OnceLock::new(),
        }));
        self.with_entries(entries, self.0.settings.clone())
    }

    /// Sets the purpose of the chain, such as a conversation's id, to be recorded in its hops.
    #[must_use]
    pub fn scope(self, scope: impl Into<Text>) -> Self {
        let settings = ChainSettings { scope: Some(scope.into()), ..self.0.settings.clone() };
        self.with_entries(self.0.entries.clone(), settings)
    }

    /// Sets the time after the last failure from which a request tries the first provider again. Default: a minute.
    /// [`Duration::MAX`] stays with the provider that took over.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use forgeline::{llm::Failover, testing::ScriptedProvider};
    /// # let (first, second) = (ScriptedProvider::new([]), ScriptedProvider::new([]));
    /// let chain = Failover::new(first).then("backup", second);
    /// let patient = chain.clone().recover_after(Duration::from_secs(600));
    /// let eager = chain.per_request();
    /// ```
    #[must_use]
    pub fn recover_after(self, time: Duration) -> Self {
        let settings = ChainSettings { recover_after: time, ..self.0.settings.clone() };
        self.with_entries(self.0.entries.clone(), settings)
    }

    /// Starts each request at the first provider, whatever failed before.
    #[must_use]
    pub fn per_request(self) -> Self {
        self.recover_after(Duration::ZERO)
    }

    /// Returns the chain as a provider, or the primary itself if it is the only entry.
    #[must_use]
    pub fn into_provider(self) -> Arc<dyn Provider> {
        match self.0.entries.as_slice() {
            [_] => Arc::clone(&self.0.primary),
            _ => Arc::new(self),
        }
    }

    /// Returns the same chain, reset to its first provider and without hops.
    #[must_use]
    pub fn fresh(&self) -> Self {
        self.with_entries(self.0.entries.clone(), self.0.settings.clone())
    }

    /// Returns the hops so far, of more than 1,000 the last ones.
    #[must_use]
    pub fn hops(&self) -> Vec<FailoverHop> {
        self.0.hops.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn with_entries(&self, entries: Vec<Arc<ChainEntry>>, settings: ChainSettings) -> Self {
        Self::with(Arc::clone(&self.0.primary), entries, settings)
    }

    fn with(
        primary: Arc<dyn Provider>,
        entries: Vec<Arc<ChainEntry>>,
        settings: ChainSettings,
    ) -> Self {
        let (serving, moved) = (AtomicUsize::new(0), Mutex::new(None));
        let hops = Mutex::new(VecDeque::new());
        Self(Arc::new(ProviderChain { primary, entries, serving, hops, moved, settings }))
    }

    /// Returns the walk of a request, and the events that it starts with.
    fn walk(&self, request: Request) -> (ChainWalk, Vec<AgentEvent>) {
        let (chain, (at, event)) = (Arc::clone(&self.0), self.0.start());
        let returns = event.is_some();
        let walk = ChainWalk { chain, at, returns, request, schema: None };
        (walk, event.into_iter().collect())
    }
}

/// Returns the provider behind one `Arc`, also if it is behind one already.
fn shared(provider: impl Provider + 'static) -> Arc<dyn Provider> {
    let known = (&provider as &dyn Any).downcast_ref::<Arc<dyn Provider>>().cloned();
    known.unwrap_or_else(|| Arc::new(provider))
}

debug_fields! { Failover, chain:
    entries = chain.0.entries.iter().map(|entry| &entry.label).collect::<Vec<_>>(),
    serving = chain.0.serving.load(Ordering::Relaxed),
}

impl Provider for Failover {
    /// Returns the info of the provider in use.
    fn info(&self) -> &ModelInfo {
        self.0.serving().info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let (walk, events) = self.walk(request);
        Box::pin(begin(walk, events))
    }

    /// Adapts the schema to the provider in use, again after each hop.
    fn stream_answer(
        &self,
        request: Request,
        schema: AnswerSchema,
    ) -> ProviderFuture<(ChunkStream, StructuredMethod)> {
        // Every entry is asked by the same method, so that the reader of the answer need not know which one
        // gives it.
        let (mut walk, events) = self.walk(request);
        let method = schema.method_for(self.0.entry(walk.at).info());
        walk.schema = Some(schema.method(method));
        Box::pin(async move { Ok((begin(walk, events).await?, method)) })
    }

    /// Returns the rules of the provider in use.
    fn schema_rules(&self) -> SchemaRules {
        self.0.serving().schema_rules()
    }

    /// Returns the dialect of the provider in use.
    fn written_thinking(&self) -> Option<ThinkingDialect> {
        self.0.serving().written_thinking()
    }

    /// Asks the provider in use.
    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        self.0.serving().context_window()
    }

    fn health(&self) -> ProviderFuture<Health> {
        self.0.serving().health()
    }
}

/// One request as it moves down the chain.
struct ChainWalk {
    chain: Arc<ProviderChain>,
    at: usize,
    /// `true` for a request that tries the first provider again.
    returns: bool,
    request: Request,
    /// The schema of the answer, if there is one.
    schema: Option<AnswerSchema>,
}

impl AttemptPolicy for ChainWalk {
    type Stream = ChunkStream;

    fn open(&mut self) -> ProviderFuture<ChunkStream> {
        let (provider, request) = (self.chain.entry(self.at), self.request.clone());
        let Some(schema) = self.schema.clone() else {
            return provider.stream_completion(request);
        };
        let answer = provider.stream_answer(request, schema);
        Box::pin(async move { Ok(answer.await?.0) })
    }

    fn after(&mut self, error: ProviderError) -> Result<NextAttempt, ProviderError> {
        if !error.is_outage() {
            return Err(error);
        }
        let (events, at) = self.chain.hop(self.at, &error.to_agent_error().message);
        match at {
            Some(at) => {
                self.at = at;
                Ok(NextAttempt { events, delay: Duration::ZERO })
            }
            None => Err(error),
        }
    }

    fn delivered(&mut self) {
        if self.returns {
            self.chain.settle(self.at);
        }
    }
}
