//! The entries of a chain, which of them serves, and the hops between them.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    llm::{Provider, ProviderError},
    types::{AgentEvent, Text},
};

/// Makes the provider of an entry when it is first needed.
pub(super) type Resolve = Box<dyn Fn() -> Result<Arc<dyn Provider>, ProviderError> + Send + Sync>;

pub(super) struct Chain {
    pub(super) primary: Arc<dyn Provider>,
    /// Never empty; the first is the primary's.
    pub(super) entries: Vec<Arc<Entry>>,
    /// The entry that serves.
    pub(super) serving: AtomicUsize,
    pub(super) hops: Mutex<Vec<FailoverHop>>,
    pub(super) scope: Option<Text>,
}

pub(super) struct Entry {
    pub(super) label: Text,
    pub(super) resolve: Resolve,
    pub(super) provider: OnceLock<Arc<dyn Provider>>,
}

/// One hop of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailoverHop {
    /// The provider that was left.
    pub from_provider: Text,
    /// The provider that took over; empty when it could not be made.
    pub to_provider: Text,
    /// Its label in the chain.
    pub to_label: Text,
    /// Its model.
    pub to_model: Text,
    /// `true` if it could be made; one that could not is skipped.
    pub resolved: bool,
    /// Its index in the chain, the primary being 0.
    pub position: u32,
    /// The number of entries that follow the primary.
    pub length: u32,
    /// The purpose of the chain, if it was set.
    pub scope: Option<Text>,
    /// The reason why the provider before was left, or why the entry could not be made.
    pub reason: String,
}

impl Entry {
    pub(super) fn get(&self) -> Result<&Arc<dyn Provider>, ProviderError> {
        if let Some(provider) = self.provider.get() {
            return Ok(provider);
        }
        let made = (self.resolve)()?;
        Ok(self.provider.get_or_init(|| made))
    }
}

impl Chain {
    /// Returns the provider of an entry; the primary when the entry was not made yet.
    pub(super) fn entry(&self, at: usize) -> &Arc<dyn Provider> {
        self.entries.get(at).and_then(|entry| entry.provider.get()).unwrap_or(&self.primary)
    }

    /// Returns the provider that serves; only an entry that was made does.
    pub(super) fn serving(&self) -> &Arc<dyn Provider> {
        self.entry(self.serving.load(Ordering::Acquire))
    }

    /// Moves on from entry `from`, past entries that cannot be made; returns the events of the hops
    /// and the entry that serves then.
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
