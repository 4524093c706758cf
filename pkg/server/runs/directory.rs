//! The runs that callers may find: those in memory, and those in the store.

use std::sync::Arc;

use super::{RunTable, run::ServiceRun};
use crate::{Problem, access::scope::scope};
use forgeline_agent::Caller;
use forgeline_store::{
    EventLog, LogKey, RunQuery, RunStore, RunWriter, StoreError, StoredRun, Stores,
};
use forgeline_types::Text;

/// Number of newest runs of a conversation among which open ones of other nodes are looked for.
const NEWEST: usize = 50;

/// The runs in memory and in the store, with the log of their events.
pub(crate) struct RunDirectory {
    active: RunTable,
    store: Arc<dyn RunStore>,
    log: Arc<dyn EventLog>,
}

impl RunDirectory {
    pub(crate) fn new(stores: &Stores) -> Self {
        let (store, log) = (Arc::clone(&stores.runs), Arc::clone(&stores.log));
        Self { active: RunTable::default(), store, log }
    }

    /// Returns the runs in memory.
    pub(crate) fn active(&self) -> &RunTable {
        &self.active
    }

    pub(crate) fn log(&self) -> Arc<dyn EventLog> {
        Arc::clone(&self.log)
    }

    /// Returns the run of a stored record: the one in memory if there is one.
    pub(crate) fn of_record(&self, record: &StoredRun) -> Arc<ServiceRun> {
        let active = self.active.find(&record.key.scope, &record.key.name);
        active.unwrap_or_else(|| self.stored(record))
    }

    /// Returns a run that is not in memory. One of a shared store may be another node's, whose right to write it is not used here.
    fn stored(&self, record: &StoredRun) -> Arc<ServiceRun> {
        let is_shared = self.store.is_shared();
        let writer =
            if is_shared { RunWriter::new(record.key.clone(), 0) } else { record.writer() };
        Arc::new(ServiceRun::stored(record, writer))
    }

    /// Returns the run with this key, in memory or in the store; `None` if neither has it.
    pub(crate) async fn find(&self, key: &LogKey) -> Result<Option<Arc<ServiceRun>>, StoreError> {
        if let Some(run) = self.active.find(&key.scope, &key.name) {
            return Ok(Some(run));
        }
        match self.store.get(key).await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            record => Ok(Some(self.stored(&record?))),
        }
    }

    /// Returns a run of this caller; a run of another caller is not found.
    pub(crate) async fn of_caller(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<Arc<ServiceRun>, Problem> {
        let run = self.find(&LogKey::new(scope(caller), id)).await?;
        let run = run.filter(|run| run.owner == caller.id);
        run.ok_or_else(|| Problem::not_found("run", id))
    }

    /// Returns the caller's runs that have not ended.
    pub(crate) fn open_of_caller(&self, scope: &Text, owner: &str) -> Vec<Arc<ServiceRun>> {
        let mut runs = self.active.all();
        runs.retain(|run| run.key.scope == *scope && run.owner == owner && !run.has_ended());
        runs
    }

    /// Returns `true` if a conversation has a run that has not ended, on whichever node.
    pub(crate) async fn has_open(&self, scope: &Text, id: &Text) -> Result<bool, StoreError> {
        if !self.active.open(scope, id).is_empty() {
            return Ok(true);
        }
        if !self.store.is_shared() {
            return Ok(false);
        }
        let query = RunQuery::new(scope.clone(), NEWEST).conversation(id.clone());
        let page = self.store.list(query).await?;
        Ok(page.runs.iter().any(|run| !run.progress.has_ended()))
    }

    /// Returns the active run of a conversation, preferring one that its user has not left for another.
    pub(crate) fn open_run(&self, caller: &Caller, conversation: &str) -> Option<Arc<ServiceRun>> {
        let runs = self.active.open(&scope(caller), conversation);
        let run = runs.iter().find(|run| !run.steering.is_left()).or(runs.first());
        run.filter(|run| run.owner == caller.id).cloned()
    }

    /// Returns the active run of a conversation, preceded by the runs that its user has left for it.
    pub(crate) fn runs_to_stop(&self, caller: &Caller, conversation: &str) -> Vec<Arc<ServiceRun>> {
        let mut runs = self.active.open(&scope(caller), conversation);
        runs.retain(|run| run.owner == caller.id);
        let left = runs.iter().take_while(|run| run.steering.is_left()).count();
        runs.truncate(left + 1);
        runs
    }
}
