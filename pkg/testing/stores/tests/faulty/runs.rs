//! Run stores with a fault.

use std::time::Duration;

use super::{Faulty, StoreFault};
use forgeline_store::{
    ConversationKey, EraseMode, LogKey, NodeId, NodeNews, RunBegun, RunChange, RunPage, RunPlace,
    RunQuery, RunStore, RunWriter, StoreError, StoreFuture, StoredRun,
};

impl Faulty {
    /// Returns the right that the owner of a run has, whoever asks.
    pub(super) async fn owner(&self, writer: &RunWriter) -> Result<RunWriter, StoreError> {
        Ok(self.0.runs.get(&writer.run).await?.writer())
    }

    /// Returns the right with which a write is made: that of the owner if the store has this fault.
    async fn writer(&self, writer: &RunWriter, fault: StoreFault) -> Result<RunWriter, StoreError> {
        if self.1 == fault { self.owner(writer).await } else { Ok(writer.clone()) }
    }

    /// Returns the runs that have no owner.
    async fn free(&self) -> Result<Vec<StoredRun>, StoreError> {
        let mut open = self.0.runs.open(usize::MAX).await?;
        open.retain(|run| run.node.is_none());
        Ok(open)
    }

    async fn claims(
        &self,
        node: &NodeId,
        most: usize,
        version: u32,
    ) -> Result<Vec<StoredRun>, StoreError> {
        let runs = &self.0.runs;
        match self.1 {
            StoreFault::ClaimsOfNewer => runs.claim(node, most, u32::MAX).await,
            StoreFault::ClaimsOfEnded => {
                let mut claimed = runs.claim(node, most, version).await?;
                let all = runs.list(RunQuery::new("team-a", usize::MAX)).await?.runs;
                claimed.extend(all.into_iter().filter(|run| run.progress.has_ended()));
                Ok(claimed)
            }
            StoreFault::ClaimsBackwards => {
                let skipped = self.free().await?.len().saturating_sub(most);
                let mut claimed = runs.claim(node, usize::MAX, version).await?;
                for run in claimed.drain(..skipped.min(claimed.len())).collect::<Vec<_>>() {
                    runs.release(&run.writer(), Duration::ZERO).await?;
                }
                Ok(claimed)
            }
            StoreFault::ClaimsByTwo => {
                let mut seen = self.free().await?;
                seen.truncate(most);
                // Others claim what was seen.
                tokio::task::yield_now().await;
                let mut claimed = runs.claim(node, most, version).await?;
                for run in seen {
                    let now = runs.get(&run.key).await?;
                    if now.node.as_ref().is_some_and(|owner| owner != node) {
                        claimed.push(now);
                    }
                }
                Ok(claimed)
            }
            _ => runs.claim(node, most, version).await,
        }
    }

    async fn releases(&self, writer: &RunWriter, wait: Duration) -> Result<(), StoreError> {
        let runs = &self.0.runs;
        let writer = self.writer(writer, StoreFault::ReleasesOfAnyone).await?;
        match self.1 {
            StoreFault::ClaimsTooEarly => runs.release(&writer, Duration::ZERO).await,
            StoreFault::ReleasesCountDead
                if wait.is_zero() && self.owner(&writer).await? == writer =>
            {
                runs.reap(&NodeId::new("nobody")).await.map(drop)
            }
            _ => runs.release(&writer, wait).await,
        }
    }
}

impl RunStore for Faulty {
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        self.0.runs.begin(run, node)
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        self.0.runs.of_request(scope, owner, request)
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        self.0.runs.get(key)
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let writer = self.writer(writer, StoreFault::ChangesOfAnyone).await?;
            self.0.runs.change(&writer, change).await
        })
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        match self.1 {
            StoreFault::BeatsWithoutNews => Box::pin(async { Ok(NodeNews::new(0, false)) }),
            _ => self.0.runs.beat(node),
        }
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        Box::pin(self.claims(node, most, version))
    }

    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        let nobody = NodeId::new("nobody");
        Box::pin(async move {
            match self.1 {
                StoreFault::ReapsWithoutCount => {
                    let mut open = self.0.runs.open(usize::MAX).await?;
                    open.retain(|run| run.node.as_ref().is_some_and(|owner| owner != node));
                    for run in &open {
                        self.0.runs.release(&run.writer(), Duration::ZERO).await?;
                    }
                    Ok(open.into_iter().map(|run| run.key).collect())
                }
                StoreFault::ReapsItself => self.0.runs.reap(&nobody).await,
                _ => self.0.runs.reap(node).await,
            }
        })
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        Box::pin(self.releases(writer, wait))
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        match self.1 {
            StoreFault::OwnersForgotten => Box::pin(async { Ok(Vec::new()) }),
            _ => self.0.runs.owned(node),
        }
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        self.0.runs.open(most)
    }

    fn open_in<'a>(&'a self, conversation: &'a ConversationKey) -> StoreFuture<'a, Vec<RunPlace>> {
        if self.1 != StoreFault::OpenOfFirstPage {
            return self.0.runs.open_in(conversation);
        }
        Box::pin(async move {
            let query = RunQuery::new(conversation.scope.clone(), 50);
            let page = self.0.runs.list(query.conversation(conversation.id.clone())).await?;
            let open = page.runs.iter().rev().filter(|run| !run.progress.has_ended());
            let seen = |run: &StoredRun| RunPlace::new(run.key.clone(), run.begun_ms, run.progress);
            Ok(open.map(seen).collect())
        })
    }

    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        self.0.runs.list(query)
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        self.0.runs.sweep(before_ms, keep)
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        self.0.runs.delete(key)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        match self.1 {
            StoreFault::CommandsOfErased => Box::pin(async { Ok(1) }),
            _ => self.0.runs.erase(scope, owner, mode),
        }
    }
}
