//! The entries of a failover chain, the entry currently in use, and the hops between entries.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{Provider, ProviderError};
use forgeline_types::{AgentEvent, FailoverEvent, Text};

/// Creates the provider of an entry when it is first needed.
pub(super) type ResolveProvider =
    Box<dyn Fn() -> Result<Arc<dyn Provider>, ProviderError> + Send + Sync>;

pub(super) struct ProviderChain {
    pub(super) primary: Arc<dyn Provider>,
    /// The entries, never empty; the first is the primary.
    pub(super) entries: Vec<Arc<ChainEntry>>,
    /// The index of the entry in use.
    pub(super) serving: AtomicUsize,
    /// The last hops, at most [`MAX_HOPS`].
    pub(super) hops: Mutex<VecDeque<FailoverHop>>,
    /// The time of the last hop or attempt to return.
    pub(super) moved: Mutex<Option<Instant>>,
    pub(super) settings: ChainSettings,
}

/// Maximum number of hops that a chain records.
const MAX_HOPS: usize = 1_000;

/// The settings of a chain.
#[derive(Debug, Clone)]
pub(super) struct ChainSettings {
    pub(super) scope: Option<Text>,
    /// The time after which a request starts at the first entry again.
    pub(super) recover_after: Duration,
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
    /// The provider that failed; in a return to the first one, the provider that had taken over.
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

    /// Returns the entry with which a request starts and, if that is the first one again, the event to tell.
    pub(super) fn start(&self) -> (usize, Option<AgentEvent>) {
        let serving = self.serving.load(Ordering::Acquire);
        if serving == 0 || !self.is_time_to_return() {
            return (serving, None);
        }
        let after = self.settings.recover_after;
        let reason = if after.is_zero() {
            "each request starts there".to_owned()
        } else {
            format!("{after:?} have passed since it failed")
        };
        let from = self.entry(serving).info().provider.clone();
        (0, Some(self.record(from, 0, reason)))
    }

    /// Returns `true` when a request may try the first entry again; the requests beside it then may not.
    fn is_time_to_return(&self) -> bool {
        let (now, after) = (Instant::now(), self.settings.recover_after);
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = moved.is_none_or(|moved| now.duration_since(moved) >= after);
        if is_time {
            *moved = Some(now);
        }
        is_time
    }

    /// Notes that the entry of a request that tried to return has delivered: the following requests start there.
    pub(super) fn settle(&self, at: usize) {
        self.serving.store(at, Ordering::Release);
    }

    /// Records a hop to an entry, and returns its event.
    fn record(&self, from_provider: Text, at: usize, reason: String) -> AgentEvent {
        let entry = self.entries.get(at);
        let provider = entry.and_then(|entry| entry.get().ok());
        let info = provider.map(Provider::info);
        let hop = FailoverHop {
            from_provider,
            to_provider: info.map(|info| info.provider.clone()).unwrap_or_default(),
            to_label: entry.map(|entry| entry.label.clone()).unwrap_or_default(),
            to_model: info.map(|info| info.model.clone()).unwrap_or_default(),
            resolved: provider.is_some(),
            position: number(at),
            length: number(self.entries.len() - 1),
            scope: self.settings.scope.clone(),
            reason,
        };
        let event = AgentEvent::Failover(
            FailoverEvent::new(
                hop.from_provider.clone(),
                hop.to_provider.clone(),
                hop.to_model.clone(),
            )
            .position(hop.position)
            .length(hop.length)
            .reason(hop.reason.clone()),
        );
        let mut hops = self.hops.lock().unwrap_or_else(PoisonError::into_inner);
        if hops.len() >= MAX_HOPS {
            hops.pop_front();
        }
        hops.push_back(hop);
        event
    }

    /// Moves on from entry `from`, skipping entries that cannot be created; returns the events of the hops
    /// and the index of the entry that takes over, if any.
    pub(super) fn hop(&self, from: usize, reason: &str) -> (Vec<AgentEvent>, Option<usize>) {
        let mut events = Vec::new();
        let from_provider = &self.entry(from).info().provider;
        for (at, entry) in self.entries.iter().enumerate().skip(from + 1) {
            let failure = entry.get().err().map(|error| error.to_string());
            let is_made = failure.is_none();
            let reason = failure.unwrap_or_else(|| reason.to_owned());
            events.push(self.record(from_provider.clone(), at, reason));
            if is_made {
                self.serving.fetch_max(at, Ordering::AcqRel);
                let now = Some(Instant::now());
                *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = now;
                return (events, Some(at));
            }
        }
        (events, None)
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
