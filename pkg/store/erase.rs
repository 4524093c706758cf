//! Erasure of an owner's data in the stores.

use super::{EraseMode, Erased, LogKey, RunQuery, StoreError, Stores};
use forgeline_types::Text;

/// Number of runs read at a time.
const PAGE: usize = 100;

/// Prefix of the names of logs that list the runs of an owner.
pub(super) const RUNS_OF: &str = "runs-of/";

/// Returns the key of the log that lists the runs of an owner.
pub fn runs_of(scope: &Text, owner: &str) -> LogKey {
    LogKey::new(scope.clone(), format!("{RUNS_OF}{owner}"))
}

impl Stores {
    /// Erases the data of an owner in a scope: conversations, runs, their events, and latency records; an owner with an empty name has none. With
    /// [`EraseMode::Count`], nothing changes. If a service uses the stores, call `Service::erase` instead, which first
    /// ends the active runs.
    ///
    /// # Errors
    ///
    /// Returns an error if a store cannot be used; the next call erases the rest.
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
            // The name of the log is free again: the next run of the owner is the first.
            gone(self.log.remove(&runs_of(&scope, owner)).await)?;
            self.runs.erase(&scope, owner, mode).await?;
            self.latency.erase(&scope, owner, mode).await?;
        }
        self.conversations.erase(&scope, owner, mode).await
    }
}

/// Succeeds if a log is gone, whether removed now or before.
fn gone(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(StoreError::NotFound { .. }) => Ok(()),
        done => done,
    }
}
