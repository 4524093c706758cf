//! The entries of a failover chain, the entry currently in use, and the hops between entries.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::{Provider, ProviderError};
use forgeline_types::{AgentEvent, Text};

/// Creates the provider of an entry when it is first needed.
pub(super) type ResolveProvider =
    Box<dyn Fn() -> Result<Arc<dyn Provider>, ProviderError> + Send + Sync>;

pub(super) struct ProviderChain {
    pub(super) primary: Arc<dyn Provider>,
    /// The entries, never empty; the first is the primary.
    pub(super) entries: Vec<Arc<ChainEntry>>,
    /// The index of the entry in use.
    pub(super) serving: AtomicUsize,
    pub(super) hops: Mutex<Vec<FailoverHop>>,
    pub(super) scope: Option<Text>,
}

pub(super) struct ChainEntry {
    pub(super) label: Text,
    pub(super) resolve: ResolveProvider,
    pub(super) provider: OnceLock<Arc<dyn Provider>>,
}

/// One hop in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailoverHop {
    /// The provider that was left.
    pub from_provider: Text,
    /// The provider that took over; empty if it could not be created.
    pub to_provider: Text,
    /// The label of the entry that took over.
    pub to_label: Text,
    /// The model of the provider that took over.
    pub to_model: Text,
    /// `true` if the provider could be created; otherwise the entry was skipped.
    pub resolved: bool,
    /// The index of the entry in the chain; the primary is 0.
    pub position: u32,
    /// The number of entries after the primary.
    pub length: u32,
    /// The purpose of the chain, if it was set.
    pub scope: Option<Text>,
    /// The reason why the previous provider was left, or why this entry could not be created.
    pub reason: String,
}

impl ChainEntry {
    pub(super) fn get(&self) -> Result<&Arc<dyn Provider>, ProviderError> {
        if let Some(provider) = self.provider.get() {
            return Ok(provider);
        }
        let made = (self.resolve)()?;
        Ok(self.provider.get_or_init(|| made))
    }
}

impl ProviderChain {
    /// Returns the provider of an entry, or the primary if the entry has not been created yet.
    pub(super) fn entry(&self, at: usize) -> &Arc<dyn Provider> {
        self.entries.get(at).and_then(|entry| entry.provider.get()).unwrap_or(&self.primary)
    }

    /// Returns the provider in use, whose entry has always been created.
    pub(super) fn serving(&self) -> &Arc<dyn Provider> {
        self.entry(self.serving.load(Ordering::Acquire))
    }

    /// Moves on from entry `from`, skipping entries that cannot be created; returns the events of the hops
    /// and the index of the entry that takes over, if any.
    pub(super) fn hop(&self, from: usize, reason: &str) -> (Vec<AgentEvent>, Option<usize>) {
        let mut events = Vec::new();
        let from_provider = &self.entry(from).info().provider;
        for (at, entry) in self.entries.iter().enumerate().skip(from + 1) {
            let made = entry.get();
            let info = made.as_ref().ok().map(|provider| provider.info());
            let failure = made.as_ref().err().map(ToString::to_string);
            let hop = FailoverHop {
                from_provider: from_provider.clone(),
                to_provider: info.map(|info| info.provider.clone()).unwrap_or_default(),
                to_label: entry.label.clone(),
                to_model: info.map(|info| info.model.clone()).unwrap_or_default(),
                resolved: made.is_ok(),
                position: number(at),
                length: number(self.entries.len() - 1),
                scope: self.scope.clone(),
                reason: failure.unwrap_or_else(|| reason.to_owned()),
            };
            events.push(AgentEvent::Failover {
                from_provider: hop.from_provider.clone(),
                to_provider: hop.to_provider.clone(),
                to_model: hop.to_model.clone(),
                position: hop.position,
                length: hop.length,
                reason: hop.reason.clone(),
            });
            let resolved = hop.resolved;
            self.hops.lock().unwrap_or_else(PoisonError::into_inner).push(hop);
            if resolved {
                self.serving.fetch_max(at, Ordering::AcqRel);
                return (events, Some(at));
            }
        }
        (events, None)
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
