//! Deletion and erasure of stored data.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::{DataRetention, Keep};
use crate::{
    Problem, access::scope::scope, audit::conversation_deleted, commands::send::end_elsewhere,
    runs::run::ServiceRun,
};
use forgeline_agent::Caller;
use forgeline_store::{
    ConversationKey, ConversationQuery, EraseMode, Erased, LogKey, RunQuery, StoreError,
    private::now_ms,
};
use forgeline_types::Text;

/// Number of runs and conversations read at a time.
const PAGE: usize = 100;

impl DataRetention {
    /// Deletes a conversation of a caller with its runs and their events; returns `false` if there is none.
    pub(crate) async fn delete_conversation(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<bool, Problem> {
        let stores = &self.stores;
        let key = ConversationKey::new(scope(caller), id);
        match stores.conversations.get(&key).await {
            Ok(found) if found.owner == caller.id => {}
            Ok(_) | Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.drop_conversation(&key);
        if stores.runs.is_shared() {
            end_all(&self.runs.open(&key.scope, id).await?).await?;
        }
        let mut query = RunQuery::new(key.scope.clone(), PAGE).conversation(id);
        loop {
            let page = stores.runs.list(query.clone()).await?;
            for record in &page.runs {
                self.drop_run(&record.key);
                gone(stores.log.remove(&record.key).await)?;
                stores.runs.delete(&record.key).await?;
            }
            let Some(next) = page.next else { break };
            query.after = Some(next);
        }
        let is_deleted = stores.conversations.delete(&key).await?;
        if is_deleted {
            let (scope, event) = conversation_deleted(caller, id);
            self.audit.write(scope, vec![event]).await;
        }
        Ok(is_deleted)
    }

    /// Erases what an owner has in a scope.
    pub(crate) async fn erase(
        &self,
        scope: impl Into<Text>,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, Problem> {
        let (stores, scope) = (&self.stores, scope.into());
        if !mode.is_dry_run() && !owner.is_empty() {
            if stores.runs.is_shared() {
                end_all(&self.runs.open_of_caller(&scope, owner).await?).await?;
            }
            let mut query = RunQuery::new(scope.clone(), PAGE).owner(owner);
            loop {
                let page = stores.runs.list(query.clone()).await?;
                page.runs.iter().for_each(|it| self.drop_run(&it.key));
                let Some(next) = page.next else { break };
                query.after = Some(next);
            }
            let mut query = ConversationQuery::new(scope.clone(), PAGE).owner(owner);
            loop {
                let page = stores.conversations.list(query.clone()).await?;
                page.conversations.iter().for_each(|it| self.drop_conversation(&it.key));
                let Some(next) = page.next else { break };
                query.after = Some(next);
            }
        }
        Ok(stores.erase(scope, owner, mode).await?)
    }

    /// Removes the data that is not to be kept.
    pub(crate) async fn sweep(&self, keep: &Keep) -> Result<(), Problem> {
        let stores = &self.stores;
        stores.log.sweep(keep.retention(now_ms())).await?;
        self.streams.sweep().await?;
        self.sweep_audit(keep).await?;
        loop {
            let deleted = stores.runs.sweep(0, keep.runs).await?;
            if deleted.is_empty() {
                return Ok(());
            }
            for key in deleted {
                self.forget(&key).await?;
            }
        }
    }

    /// Removes a run from memory, and cancels it if it is active.
    fn drop_run(&self, key: &LogKey) {
        self.streams.forget_run(key);
        if let Some(run) = self.runs.active().find(&key.scope, &key.name) {
            run.cancel.cancel();
            self.runs.active().remove(key);
        }
    }

    /// Removes a conversation from memory.
    fn drop_conversation(&self, key: &ConversationKey) {
        self.conversations.cache().remove(&key.scope, &key.id);
    }

    /// Drops a run and its events.
    async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.drop_run(key);
        gone(self.stores.log.retire(key).await)
    }
}

/// Cancels those of these runs that work on other nodes, and waits until they have ended: an owner would keep the end of a run that is erased meanwhile.
async fn end_all(runs: &[Arc<ServiceRun>]) -> Result<(), Problem> {
    try_join_all(runs.iter().map(|run| end_elsewhere(run))).await.map(drop)
}

/// Succeeds if a log is gone, whether removed now or before.
fn gone(done: Result<(), StoreError>) -> Result<(), Problem> {
    match done {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
