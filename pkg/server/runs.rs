//! The runs that a service knows.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::run::Run;
use crate::{store::LogKey, types::Text};

/// Most runs that have ended and are still known.
const MAX_ENDED: usize = 1_000;

/// Runs by their key. Another scope's are not found.
#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    runs: HashMap<LogKey, Arc<Run>>,
    /// In the order of their beginning.
    order: VecDeque<LogKey>,
    /// The runs that requests with a key of their own began.
    by_request: HashMap<(Text, RequestKey), (u64, LogKey)>,
}

/// The key of a request: that of its caller, and its own.
pub(super) type RequestKey = (Text, Text);

/// The run that an earlier request with the same key began.
pub(super) enum Earlier {
    /// The request was the same.
    Same(Arc<Run>),
    /// The request was another one.
    Other,
}

impl Runs {
    /// Adds a run; returns those that are too old to be kept.
    pub(super) fn add(&self, run: &Arc<Run>, request: Option<(RequestKey, u64)>) -> Vec<LogKey> {
        let mut inside = self.lock();
        if let Some((key, digest)) = request {
            let scope = run.key.scope.clone();
            inside.by_request.insert((scope, key), (digest, run.key.clone()));
        }
        inside.order.push_back(run.key.clone());
        inside.runs.insert(run.key.clone(), Arc::clone(run));
        let mut old = Vec::new();
        while inside.order.len() > MAX_ENDED {
            let has_ended = |key: &LogKey| inside.runs.get(key).is_none_or(|run| run.has_ended());
            let Some(key) = inside.order.front().filter(|key| has_ended(key)).cloned() else {
                break;
            };
            inside.order.pop_front();
            inside.runs.remove(&key);
            inside.by_request.retain(|_, (_, of)| *of != key);
            old.push(key);
        }
        old
    }

    pub(super) fn find(&self, scope: &Text, id: &str) -> Option<Arc<Run>> {
        self.lock().runs.get(&LogKey::new(scope.clone(), id)).cloned()
    }

    pub(super) fn of_request(
        &self,
        scope: &Text,
        key: &RequestKey,
        digest: u64,
    ) -> Option<Earlier> {
        let inside = self.lock();
        let (known, of) = inside.by_request.get(&(scope.clone(), key.clone()))?;
        if *known != digest {
            return Some(Earlier::Other);
        }
        inside.runs.get(of).cloned().map(Earlier::Same)
    }

    pub(super) fn all(&self) -> Vec<Arc<Run>> {
        self.lock().runs.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
