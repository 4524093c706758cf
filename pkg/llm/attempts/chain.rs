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
    /// Never empty; the first is the primary.
    pub(super) entries: Vec<Arc<Entry>>,
    /// The entry that serves.
    pub(super) serving: AtomicUsize,
    pub(super) hops: Mutex<Vec<FailoverHop>>,
    pub(super) scope: Option<Text>,
}

pub(super) struct Entry {
    pub(super) label: Text,
    pub(super) resolve: Option<Resolve>,
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
        if self.provider.get().is_none()
            && let Some(resolve) = &self.resolve
        {
            let made = resolve()?;
            return Ok(self.provider.get_or_init(|| made));
        }
        let missing = || ProviderError::config("the entry has no provider");
        self.provider.get().ok_or_else(missing)
    }
}

impl Chain {
    pub(super) fn entry(&self, at: usize) -> Option<&Arc<dyn Provider>> {
        self.entries.get(at).and_then(|entry| entry.provider.get())
    }

    /// Returns the provider that serves. Only an entry that was made serves, and the first always was.
    pub(super) fn serving(&self) -> Option<&Arc<dyn Provider>> {
        self.entry(self.serving.load(Ordering::Acquire)).or_else(|| self.entry(0))
    }

    /// Moves on from entry `from`, past entries that cannot be made; returns the events of the hops
    /// and the entry that serves then.
    pub(super) fn hop(&self, from: usize, reason: &str) -> (Vec<AgentEvent>, Option<usize>) {
        let mut events = Vec::new();
        let from_provider =
            self.entry(from).map(|provider| provider.info().provider.clone()).unwrap_or_default();
        for (at, entry) in self.entries.iter().enumerate().skip(from + 1) {
            let made = entry.get();
            let (provider, model) = match &made {
                Ok(provider) => (provider.info().provider.clone(), provider.info().model.clone()),
                Err(_) => Default::default(),
            };
            let failure = made.as_ref().err().map(ToString::to_string);
            let hop = FailoverHop {
                from_provider: from_provider.clone(),
                to_provider: provider,
                to_label: entry.label.clone(),
                to_model: model,
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
