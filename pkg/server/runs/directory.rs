//! The runs that callers may find: those in memory, and those in the store.

use std::sync::Arc;

use super::{RunTable, command_progress::OtherNode, run::ServiceRun};
use crate::{Problem, access::scope::scope, input::stored_input::StoredInput};
use forgeline_agent::Caller;
use forgeline_store::{
    CommandStore, ConversationKey, EventLog, LogKey, RunQuery, RunStore, RunWriter, StoreError,
    StoredRun, Stores,
};
use forgeline_types::Text;

/// Maximum number of runs read at a time.
const PAGE: usize = 100;

/// Maximum number of the last runs of a caller among which open ones are looked for.
const MAX_RUNS: usize = 1_000;

/// The runs in memory and in the store, with the log of their events.
pub(crate) struct RunDirectory {
    active: RunTable,
    store: Arc<dyn RunStore>,
    log: Arc<dyn EventLog>,
    commands: Arc<dyn CommandStore>,
}

impl RunDirectory {
    pub(crate) fn new(stores: &Stores) -> Self {
        let (store, log) = (Arc::clone(&stores.runs), Arc::clone(&stores.log));
        Self { active: RunTable::default(), store, log, commands: Arc::clone(&stores.commands) }
    }

    /// Returns the runs in memory.
    pub(crate) fn active(&self) -> &RunTable {
        &self.active
    }

    pub(crate) fn log(&self) -> Arc<dyn EventLog> {
        Arc::clone(&self.log)
    }

    /// Returns the run of a stored record: the one in memory if there is one.
    pub(crate) async fn of_record(&self, record: &StoredRun) -> Arc<ServiceRun> {
        let active = self.here(&record.key).await;
        active.unwrap_or_else(|| self.stored(record))
    }

    /// Returns the run with this key if it is in memory and another node has not taken it. One whose end is being written is that which has ended.
    async fn here(&self, key: &LogKey) -> Option<Arc<ServiceRun>> {
        let run = self.active.find(&key.scope, &key.name)?;
        run.settled().await;
        self.is_here(&run).then_some(run)
    }

    /// Returns `true` for a run in memory that another node has not taken.
    fn is_here(&self, run: &ServiceRun) -> bool {
        !(self.store.is_shared() && run.fence().is_lost())
    }

    /// Returns a run that is not in memory. If it has not ended and the store is shared, another node works on it, or will: its right to write the run is not
    /// used here.
    fn stored(&self, record: &StoredRun) -> Arc<ServiceRun> {
        if !self.store.is_shared() {
            return Arc::new(ServiceRun::stored(record, record.writer()));
        }
        let run = ServiceRun::stored(record, RunWriter::new(record.key.clone(), 0));
        if run.has_ended() {
            return Arc::new(run);
        }
        let is_left = StoredInput::read(record).is_left();
        let (commands, is_after_loss) = (Arc::clone(&self.commands), false);
        Arc::new(run.at(Some(OtherNode { commands, is_left, is_after_loss })))
    }

    /// Returns the way to the next node of a run that works here; `None` on a store of one node.
    pub(crate) fn next_node(&self) -> Option<OtherNode> {
        let (commands, is_left, is_after_loss) = (Arc::clone(&self.commands), false, true);
        self.store.is_shared().then_some(OtherNode { commands, is_left, is_after_loss })
    }

    /// Returns the run with this key, in memory or in the store; `None` if neither has it.
    pub(crate) async fn find(&self, key: &LogKey) -> Result<Option<Arc<ServiceRun>>, StoreError> {
        if let Some(run) = self.here(key).await {
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

    /// Returns the caller's runs that have not ended, on this node or on others.
    pub(crate) async fn open_of_caller(
        &self,
        scope: &Text,
        owner: &str,
    ) -> Result<Vec<Arc<ServiceRun>>, StoreError> {
        if self.store.is_shared() {
            let query = RunQuery::new(scope.clone(), PAGE).owner(owner);
            return self.open_in_store(query).await;
        }
        let mut runs = self.active.all();
        runs.retain(|run| run.key.scope == *scope && run.owner == owner && !run.has_ended());
        Ok(still_open(runs).await)
    }

    /// Returns the runs of a conversation that have not ended, on this node or on others, in start order.
    pub(crate) async fn open(
        &self,
        scope: &Text,
        conversation: &str,
    ) -> Result<Vec<Arc<ServiceRun>>, StoreError> {
        if self.store.is_shared() {
            let key = ConversationKey::new(scope.clone(), conversation);
            let mut open = Vec::new();
            for run in self.store.open_in(&key).await? {
                open.extend(self.find(&run.key).await?.filter(|run| !run.has_ended()));
            }
            return Ok(open);
        }
        Ok(still_open(self.active.open(scope, conversation)).await)
    }

    /// Returns `true` if a conversation has a run that has not ended, on whichever node.
    pub(crate) async fn has_open(&self, scope: &Text, id: &Text) -> Result<bool, StoreError> {
        if !self.active.open(scope, id).is_empty() {
            return Ok(true);
        }
        if !self.store.is_shared() {
            return Ok(false);
        }
        let key = ConversationKey::new(scope.clone(), id.clone());
        Ok(!self.store.open_in(&key).await?.is_empty())
    }

    /// Returns those of the last runs of a query that have not ended, in start order: at least `MAX_RUNS` runs are looked at, and all before them while
    /// there are open ones.
    async fn open_in_store(&self, mut query: RunQuery) -> Result<Vec<Arc<ServiceRun>>, StoreError> {
        let (mut open, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = self.store.list(query.clone()).await?;
            looked_at += page.runs.len();
            let before = open.len();
            for record in page.runs.iter().filter(|record| !record.progress.has_ended()) {
                open.push(self.of_record(record).await);
            }
            if page.next.is_none() || (looked_at >= MAX_RUNS && open.len() == before) {
                break;
            }
            query.after = page.next;
        }
        open.reverse();
        open.retain(|run| !run.has_ended());
        Ok(open)
    }

    /// Returns the open run of a conversation, preferring one that its user has not left for another.
    pub(crate) async fn open_run(
        &self,
        caller: &Caller,
        conversation: &str,
    ) -> Result<Option<Arc<ServiceRun>>, StoreError> {
        let runs = self.open(&scope(caller), conversation).await?;
        let run = runs.iter().find(|run| !run.is_left()).or(runs.first());
        Ok(run.filter(|run| run.owner == caller.id).cloned())
    }

    /// Returns the open run of a conversation, preceded by the runs that its user has left for it.
    pub(crate) async fn runs_to_stop(
        &self,
        caller: &Caller,
        conversation: &str,
    ) -> Result<Vec<Arc<ServiceRun>>, StoreError> {
        let mut runs = self.open(&scope(caller), conversation).await?;
        runs.retain(|run| run.owner == caller.id);
        let left = runs.iter().take_while(|run| run.is_left()).count();
        runs.truncate(left + 1);
        Ok(runs)
    }
}

/// Returns those of the runs that have not ended once the ends that are being written have been.
async fn still_open(mut runs: Vec<Arc<ServiceRun>>) -> Vec<Arc<ServiceRun>> {
    for run in &runs {
        run.settled().await;
    }
    runs.retain(|run| !run.has_ended());
    runs
}
