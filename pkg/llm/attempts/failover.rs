//! Failover: the next provider of a chain, when one is out.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    FailoverHop,
    chain::{Chain, Entry},
    driver::{Attempts, Next, begin},
};
use crate::{
    llm::{
        AnswerSchema, ChunkStream, Health, Provider, ProviderError, ProviderFuture, Request,
        SchemaRules, StructuredMethod, parser::ThinkingDialect,
    },
    types::{ModelInfo, Text, debug_fields},
};

/// A chain of providers: when the one that serves is out, the next takes over.
///
/// Only an outage moves on, see [`ProviderError::is_outage`]; an answer that broke off, a refused
/// request or a wrong key does not. The chain is sticky: it stays with the entry that answered, for as
/// long as it lives, and walks down once. Clones share their place; make one for each conversation, or
/// for whatever else should come back to the first provider.
///
/// Each hop is an [`AgentEvent::Failover`](crate::types::AgentEvent::Failover) in the stream and stays in [`hops`](Self::hops).
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use forgeline::{llm::{Failover, Provider}, testing::{ScriptedProvider, ScriptedTurn}};
/// # let (first, second) = (ScriptedProvider::new([]), ScriptedProvider::new([]));
/// let provider = Failover::new(Arc::new(first)).then("backup", Arc::new(second));
/// assert!(provider.hops().is_empty());
/// ```
#[derive(Clone)]
pub struct Failover(Arc<Chain>);

impl Failover {
    /// Creates a chain of `primary` alone.
    #[must_use]
    pub fn new(primary: Arc<dyn Provider>) -> Self {
        let (label, own) = (primary.info().provider.clone(), Arc::clone(&primary));
        let resolve = Box::new(move || Ok(Arc::clone(&own)));
        let entry = Entry { label, resolve, provider: OnceLock::new() };
        Self::with(primary, vec![Arc::new(entry)], None)
    }

    /// Adds a provider to the end of the chain. A blank label, and one that is there already, adds
    /// nothing.
    #[must_use]
    pub fn then(self, label: &str, provider: Arc<dyn Provider>) -> Self {
        self.then_with(label, move || Ok(Arc::clone(&provider)))
    }

    /// Adds a provider that is made when it is first needed; when that fails it is skipped.
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
        entries.push(Arc::new(Entry { label: label.into(), resolve, provider: OnceLock::new() }));
        self.with_entries(entries, self.0.scope.clone())
    }

    /// Sets the purpose of the chain, such as a conversation's id, for its hops.
    #[must_use]
    pub fn scope(self, scope: impl Into<Text>) -> Self {
        self.with_entries(self.0.entries.clone(), Some(scope.into()))
    }

    /// Returns the chain as a provider; the primary itself when nothing follows it.
    #[must_use]
    pub fn into_provider(self) -> Arc<dyn Provider> {
        match self.0.entries.as_slice() {
            [_] => Arc::clone(&self.0.primary),
            _ => Arc::new(self),
        }
    }

    /// Returns the same chain, back at its first provider and without hops.
    #[must_use]
    pub fn fresh(&self) -> Self {
        self.with_entries(self.0.entries.clone(), self.0.scope.clone())
    }

    /// Returns the hops so far.
    #[must_use]
    pub fn hops(&self) -> Vec<FailoverHop> {
        self.0.hops.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with_entries(&self, entries: Vec<Arc<Entry>>, scope: Option<Text>) -> Self {
        Self::with(Arc::clone(&self.0.primary), entries, scope)
    }

    fn with(primary: Arc<dyn Provider>, entries: Vec<Arc<Entry>>, scope: Option<Text>) -> Self {
        let (serving, hops) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        Self(Arc::new(Chain { primary, entries, serving, hops, scope }))
    }

    fn walk(&self, request: Request, schema: Option<AnswerSchema>) -> Walk {
        let chain = Arc::clone(&self.0);
        Walk { at: chain.serving.load(Ordering::Acquire), chain, request, schema }
    }
}

debug_fields! { Failover, chain:
    entries = chain.0.entries.iter().map(|entry| &entry.label).collect::<Vec<_>>(),
    serving = chain.0.serving.load(Ordering::Relaxed),
}

impl Provider for Failover {
    /// Returns that of the provider that serves now.
    fn info(&self) -> &ModelInfo {
        self.0.serving().info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        Box::pin(begin(self.walk(request, None), Vec::new()))
    }

    /// Fits the schema to the provider that is asked, after each hop anew.
    fn stream_answer(
        &self,
        request: Request,
        schema: AnswerSchema,
    ) -> ProviderFuture<(ChunkStream, StructuredMethod)> {
        // Every entry is asked in the same way, so that the answer can be read before it is known who
        // gives it.
        let method = schema.method_for(self.info());
        let walk = self.walk(request, Some(schema.method(method)));
        Box::pin(async move { Ok((begin(walk, Vec::new()).await?, method)) })
    }

    /// Returns that of the provider that serves now.
    fn schema_rules(&self) -> SchemaRules {
        self.0.serving().schema_rules()
    }

    /// Returns that of the provider that serves now.
    fn written_thinking(&self) -> Option<ThinkingDialect> {
        self.0.serving().written_thinking()
    }

    fn health(&self) -> ProviderFuture<Health> {
        self.0.serving().health()
    }
}

/// One request on its way down the chain.
struct Walk {
    chain: Arc<Chain>,
    at: usize,
    request: Request,
    /// The schema of the answer, if there is one.
    schema: Option<AnswerSchema>,
}

impl Attempts for Walk {
    type Stream = ChunkStream;

    fn open(&mut self) -> ProviderFuture<ChunkStream> {
        let (provider, request) = (self.chain.entry(self.at), self.request.clone());
        let Some(schema) = self.schema.clone() else {
            return provider.stream_completion(request);
        };
        let answer = provider.stream_answer(request, schema);
        Box::pin(async move { Ok(answer.await?.0) })
    }

    fn after(&mut self, error: ProviderError) -> Result<Next, ProviderError> {
        if !error.is_outage() {
            return Err(error);
        }
        let (events, at) = self.chain.hop(self.at, &error.to_agent_error().message);
        match at {
            Some(at) => {
                self.at = at;
                Ok(Next { events, delay: Duration::ZERO })
            }
            None => Err(error),
        }
    }
}
