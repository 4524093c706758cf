//! Deleting and erasing what a service keeps.

use crate::{
    agent::Caller,
    server::{Keep, Problem, Service, access::scope::scope},
    store::{
        ConversationKey, ConversationQuery, EraseMode, Erased, LogError, LogKey, RunQuery,
        StoreError, now_ms,
    },
    types::Text,
};

/// Runs and conversations that are looked at a time.
const PAGE: usize = 100;

impl Service {
    /// Deletes a conversation of a caller with its runs and their events; `false` when there is none. A run of it that goes on is
    /// cancelled.
    ///
    /// # Errors
    ///
    /// A [`Problem`] when the store cannot be used; what was not deleted yet is by the next call.
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

    /// Erases the conversations of an owner in a scope, with the runs, their events and what they took; an owner without a name has
    /// none. Runs that go on are cancelled. With [`EraseMode::Count`] nothing changes.
    ///
    /// # Errors
    ///
    /// A [`Problem`] when the store cannot be used; what was not erased yet is by the next call.
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

    /// Retires the logs that are not to be kept, packs those that were closed, removes the streams whose time is over, and deletes the oldest of the runs that ended beyond the number
    /// that is kept, with their events. The service does it each minute with what [`ServiceBuilder::keep`](crate::server::ServiceBuilder::keep)
    /// says; readers of a retired log get 410.
    ///
    /// # Errors
    ///
    /// A [`Problem`] when the store cannot be used; what is left is done by the next call.
    ///
    /// # Cancel safety
    ///
    /// A wait that is dropped may leave events of a run that was deleted, until their age is reached.
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

    /// Takes a run out of memory, and cancels it if it goes on.
    pub(crate) fn drop_run(&self, key: &LogKey) {
        self.0.streams.forget_run(key);
        if let Some(run) = self.0.runs.find(&key.scope, &key.name) {
            run.cancel.cancel();
            self.0.runs.remove(key);
        }
    }

    /// Takes a conversation out of memory.
    pub(crate) fn drop_conversation(&self, key: &ConversationKey) {
        self.0.conversations.remove(&key.scope, &key.id);
    }

    /// Drops a run and its events.
    async fn forget(&self, key: &LogKey) -> Result<(), Problem> {
        self.drop_run(key);
        gone(self.stores().log.retire(key).await)
    }
}

/// Holds that a log is gone, now or before.
fn gone(done: Result<(), LogError>) -> Result<(), Problem> {
    match done {
        Ok(()) | Err(LogError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
