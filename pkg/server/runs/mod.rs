//! The runs that a service has in memory.

pub(super) mod cancel_wait;
pub(super) mod client_call_ids;
pub(super) mod command_progress;
pub(super) mod directory;
pub(super) mod event_batches;
pub(super) mod piece_allocator;
pub(super) mod record_stream;
pub(super) mod recovery;
pub(super) mod run;
pub(super) mod run_guard;
pub(super) mod run_view;
pub(super) mod run_writes;
pub(super) mod shared_events;
pub(super) mod shared_frames;
pub(super) mod slots;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::run::ServiceRun;
use forgeline_store::LogKey;
use forgeline_types::Text;

/// Maximum number of ended runs kept in memory.
const MAX_ENDED: usize = 1_000;

/// Runs by key. Runs of other scopes are not found.
#[derive(Debug, Default)]
pub(crate) struct RunTable(Mutex<RunTableInner>);

#[derive(Debug, Default)]
struct RunTableInner {
    runs: HashMap<LogKey, Arc<ServiceRun>>,
    /// Keys, in start order.
    order: VecDeque<LogKey>,
}

impl RunTable {
    /// Adds a run, and drops the oldest ended runs beyond the maximum.
    pub(crate) fn add(&self, run: &Arc<ServiceRun>) {
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

    /// Removes a run, unless a later claim of it has taken its place.
    pub(crate) fn remove_own(&self, run: &ServiceRun) {
        let is_own = |it: &Arc<ServiceRun>| it.fence().writer() == run.fence().writer();
        let mut inside = self.lock();
        if inside.runs.get(&run.key).is_some_and(is_own) {
            inside.order.retain(|other| *other != run.key);
            inside.runs.remove(&run.key);
        }
    }

    /// Removes a run.
    pub(crate) fn remove(&self, key: &LogKey) {
        let mut inside = self.lock();
        inside.order.retain(|other| other != key);
        inside.runs.remove(key);
    }

    pub(crate) fn find(&self, scope: &Text, id: &str) -> Option<Arc<ServiceRun>> {
        self.lock().runs.get(&LogKey::new(scope.clone(), id)).cloned()
    }

    /// Returns the runs of a conversation that have not ended, in start order: the others wait for the first.
    pub(crate) fn open(&self, scope: &Text, conversation: &str) -> Vec<Arc<ServiceRun>> {
        let inside = self.lock();
        let runs = inside.order.iter().filter_map(|key| inside.runs.get(key));
        let is_it = |run: &&Arc<ServiceRun>| {
            run.key.scope == *scope && run.conversation == conversation && !run.has_ended()
        };
        runs.filter(is_it).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServiceRun>> {
        self.lock().runs.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, RunTableInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
