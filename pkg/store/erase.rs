//! Erasing what an owner has in the stores.

use super::{EraseMode, Erased, LogError, LogKey, RunQuery, StoreError, Stores};
use crate::types::Text;

/// Runs that are looked at a time.
const PAGE: usize = 100;

/// The beginning of the names of the logs of the runs of owners.
pub(super) const RUNS_OF: &str = "runs-of/";

/// Returns the log of the runs of an owner.
pub(crate) fn runs_of(scope: &Text, owner: &str) -> LogKey {
    LogKey::new(scope.clone(), format!("{RUNS_OF}{owner}"))
}

impl Stores {
    /// Erases what an owner has in a scope: conversations, runs, their events, and the latency records; an owner without a name has
    /// nothing. With [`EraseMode::Count`] nothing changes. Where a service uses the stores, call
    /// [`Service::erase`](crate::server::Service::erase): it ends the runs that go on before.
    ///
    /// # Errors
    ///
    /// When a store cannot be used; what was not erased yet is by the next call.
    pub async fn erase(
        &self,
        scope: impl Into<Text>,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, StoreError> {
        let scope = scope.into();
        if !mode.is_dry_run() && !owner.is_empty() {
            let mut query = RunQuery::new(scope.clone(), PAGE).owner(owner);
            loop {
                let page = self.runs.list(query.clone()).await?;
                for run in &page.runs {
                    gone(self.log.retire(&run.key).await)?;
                }
                let Some(next) = page.next else { break };
                query.after = Some(next);
            }
            // Its name is free again: the next run of the owner is the first.
            gone(self.log.remove(&runs_of(&scope, owner)).await)?;
            self.runs.erase(&scope, owner, mode).await?;
            self.latency.erase(&scope, owner, mode).await?;
        }
        self.conversations.erase(&scope, owner, mode).await
    }
}

/// Holds that a log is gone, now or before.
fn gone(done: Result<(), LogError>) -> Result<(), StoreError> {
    match done {
        Ok(()) | Err(LogError::NotFound { .. }) => Ok(()),
        Err(error) => Err(StoreError::Unavailable { reason: error.to_string() }),
    }
}
