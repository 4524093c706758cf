//! The runs that a service has in memory.

pub(super) mod batches;
pub(super) mod cancel_wait;
pub(super) mod guard;
pub(super) mod nested;
pub(super) mod own_calls;
pub(super) mod pieces;
pub(super) mod places;
pub(super) mod records;
pub(super) mod recover;
pub(super) mod run;
pub(super) mod settling;
pub(super) mod shared_events;
pub(super) mod shared_frames;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::run::Run;
use crate::{store::LogKey, types::Text};

/// Maximum number of ended runs kept in memory.
const MAX_ENDED: usize = 1_000;

/// Runs by key. Runs of other scopes are not found.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    runs: HashMap<LogKey, Arc<Run>>,
    /// Keys, in start order.
    order: VecDeque<LogKey>,
}

impl Runs {
    /// Adds a run, and drops the oldest ended runs beyond the maximum.
    pub(crate) fn add(&self, run: &Arc<Run>) {
        let mut inside = self.lock();
        inside.order.push_back(run.key.clone());
        inside.runs.insert(run.key.clone(), Arc::clone(run));
        while inside.order.len() > MAX_ENDED {
            let has_ended = |key: &LogKey| inside.runs.get(key).is_none_or(|run| run.has_ended());
            let Some(at) = inside.order.iter().position(has_ended) else { break };
            if let Some(key) = inside.order.remove(at) {
                inside.runs.remove(&key);
            }
        }
    }

    /// Removes a run.
    pub(crate) fn remove(&self, key: &LogKey) {
        let mut inside = self.lock();
        inside.order.retain(|other| other != key);
        inside.runs.remove(key);
    }

    pub(crate) fn find(&self, scope: &Text, id: &str) -> Option<Arc<Run>> {
        self.lock().runs.get(&LogKey::new(scope.clone(), id)).cloned()
    }

    /// Returns the runs of a conversation that have not ended, in start order: the others wait for the first.
    pub(crate) fn open(&self, scope: &Text, conversation: &str) -> Vec<Arc<Run>> {
        let inside = self.lock();
        let runs = inside.order.iter().filter_map(|key| inside.runs.get(key));
        let is_it = |run: &&Arc<Run>| {
            run.key.scope == *scope && run.conversation == conversation && !run.has_ended()
        };
        runs.filter(is_it).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.lock().runs.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
