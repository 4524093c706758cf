//! Erasure of an owner's data in the stores.

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::{
    AuditEvent, EraseMode, Erased, LogInfo, LogKey, RunQuery, StoreError, Stores, ids::now_ms,
};
use forgeline_types::Text;

/// Number of runs, and of streams, read at a time.
const PAGE: usize = 100;

/// Prefix of the names of logs that are streams of hosts.
pub const STREAM_PREFIX: &str = "stream/";

/// The caller that a stream belongs to, a part of the first record of its log. Streams of earlier versions have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamOwner {
    /// The id of the caller that created the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Text>,
}

/// Prefix of the names of logs that list the runs of an owner.
pub(crate) const RUNS_OF: &str = "runs-of/";

/// Returns the key of the log that lists the runs of an owner.
pub fn runs_of(scope: &Text, owner: &str) -> LogKey {
    LogKey::new(scope.clone(), format!("{RUNS_OF}{owner}"))
}

impl Stores {
    /// Erases the data of an owner in a scope: conversations, runs, their events, latency records, the streams that the owner created,
    /// and the content of audit rows; an owner with an empty name has none. With [`EraseMode::Count`], nothing changes. If a service uses the stores, call `Service::erase` instead, which first
    /// ends the active runs. An audit row of the type `data.erased` has the numbers, and not whose they are.
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
        let (mut runs, mut streams, mut audit) = (0, 0, 0);
        if !owner.is_empty() {
            if !mode.is_dry_run() {
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
                self.latency.erase(&scope, owner, mode).await?;
            }
            streams = self.erase_streams(&scope, owner, mode).await?;
            runs = self.runs.erase(&scope, owner, mode).await?;
            audit = self.audit.erase(&scope, owner, mode).await?;
        }
        let erased = self.conversations.erase(&scope, owner, mode).await?;
        let erased = Erased { runs, streams, audit, ..erased };
        if !mode.is_dry_run() && !owner.is_empty() {
            self.audit.append(&scope, erasure(mode, &erased)).await?;
        }
        Ok(erased)
    }

    /// Removes the streams that an owner created; returns their number.
    async fn erase_streams(
        &self,
        scope: &Text,
        owner: &str,
        mode: EraseMode,
    ) -> Result<u64, StoreError> {
        let (mut after, mut count) = (None::<LogKey>, 0);
        loop {
            let page = self.log.list(STREAM_PREFIX, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.key.clone());
            for LogInfo { key, .. } in page.iter().filter(|info| info.key.scope == *scope) {
                if self.stream_owner(key).await?.owner.as_deref() != Some(owner) {
                    continue;
                }
                count += 1;
                if !mode.is_dry_run() {
                    gone(self.log.remove(key).await)?;
                }
            }
        }
    }

    async fn stream_owner(&self, key: &LogKey) -> Result<StreamOwner, StoreError> {
        let page = match self.log.read(key, 0, 1).await {
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                return Ok(StreamOwner::default());
            }
            page => page?,
        };
        let first = page.records.first();
        let read = first.and_then(|first| serde_json::from_slice(&first.data).ok());
        Ok(read.unwrap_or_default())
    }
}

/// Returns the event of an erasure, which the program does that has the stores. It does not name the person.
fn erasure(mode: EraseMode, erased: &Erased) -> AuditEvent {
    let Erased { conversations, messages, runs, streams, audit } = *erased;
    let word = if mode == EraseMode::Tombstone { "tombstone" } else { "hard" };
    let mut details = Map::new();
    details.insert("mode".to_owned(), word.into());
    for (name, count) in [
        ("conversations", conversations),
        ("messages", messages),
        ("runs", runs),
        ("streams", streams),
        ("audit", audit),
    ] {
        details.insert(name.to_owned(), count.into());
    }
    AuditEvent::new("data.erased", "host", "", now_ms()).details(&details)
}

/// Succeeds if a log is gone, whether removed now or before.
fn gone(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(StoreError::NotFound { .. }) => Ok(()),
        done => done,
    }
}
