//! Deletion and erasure of stored data.

use crate::{
    agent::Caller,
    server::{Keep, Problem, Service, access::scope::scope},
    store::{
        ConversationKey, ConversationQuery, EraseMode, Erased, LogError, LogKey, RunQuery,
        StoreError, now_ms,
    },
    types::Text,
};

/// Number of runs and conversations read at a time.
const PAGE: usize = 100;

impl Service {
    /// Deletes a conversation of a caller with its runs and their events; returns `false` if there is none. Active runs of the conversation are cancelled.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call deletes the rest.
    pub async fn delete_conversation(&self, caller: &Caller, id: &str) -> Result<bool, Problem> {
        let stores = self.stores();
        let key = ConversationKey::new(scope(caller), id);
        match stores.conversations.get(&key).await {
            Ok(found) if found.owner == caller.id => {}
            Ok(_) | Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.drop_conversation(&key);
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
        Ok(stores.conversations.delete(&key).await?)
    }

    /// Erases the conversations of an owner in a scope, with the runs, their events and their latencies; an owner with an empty name has none. Active runs
    /// are cancelled. With [`EraseMode::Count`], nothing changes.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call erases the rest.
    pub async fn erase(
        &self,
        scope: impl Into<Text>,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, Problem> {
        let (stores, scope) = (self.stores(), scope.into());
        if !mode.is_dry_run() && !owner.is_empty() {
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

    /// Retires the logs that are not to be kept, packs closed logs, removes expired streams, and deletes the oldest ended runs beyond the number to keep,
    /// with their events. The service does this once a minute with the value of [`ServiceBuilder::keep`](crate::server::ServiceBuilder::keep); readers of
    /// a retired log get 410.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the store cannot be used; the next call does the rest.
    ///
    /// # Cancel safety
    ///
    /// If this future is dropped, events of a deleted run may remain until they reach their age limit.
    pub async fn sweep(&self, keep: &Keep) -> Result<(), Problem> {
        let stores = self.stores();
        stores.log.sweep(keep.retention(now_ms())).await?;
        self.streams().sweep().await?;
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
    pub(crate) fn drop_run(&self, key: &LogKey) {
        self.0.streams.forget_run(key);
        if let Some(run) = self.0.runs.find(&key.scope, &key.name) {
            run.cancel.cancel();
            self.0.runs.remove(key);
        }
    }

    /// Removes a conversation from memory.
    pub(crate) fn drop_conversation(&self, key: &ConversationKey) {
        self.0.conversations.remove(&key.scope, &key.id);
    }

    /// Drops a run and its events.
    async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.drop_run(key);
        gone(self.stores().log.retire(key).await)
    }
}

/// Succeeds if a log is gone, whether removed now or before.
fn gone(done: Result<(), LogError>) -> Result<(), Problem> {
    match done {
        Ok(()) | Err(LogError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
