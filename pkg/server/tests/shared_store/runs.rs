//! The runs of shared stores.

use std::{sync::atomic::Ordering, time::Duration};

use super::StoreHandle;
use forgeline_store::{
    ConversationKey, EraseMode, LogKey, NodeId, NodeNews, RunBegun, RunChange, RunPage, RunPlace,
    RunQuery, RunStore, RunWriter, ScopeConnections, StoreError, StoreFuture, StoredRun,
    private::now_ms,
};

impl RunStore for StoreHandle {
    fn is_shared(&self) -> bool {
        true
    }
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        self.with(move |stores| stores.runs.begin(run, node))
    }
    fn begin_within<'a>(
        &'a self,
        run: StoredRun,
        node: Option<&'a NodeId>,
        most: usize,
    ) -> StoreFuture<'a, RunBegun> {
        self.with(move |stores| {
            Box::pin(async move {
                let mut open = stores.runs.open(usize::MAX).await?;
                open.retain(|other| other.key.scope == run.key.scope);
                if open.len() >= most {
                    return Ok(RunBegun::TooMany);
                }
                stores.runs.begin(run, node).await
            })
        })
    }
    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        self.with(move |stores| stores.runs.of_request(scope, owner, request))
    }
    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        self.with(move |stores| stores.runs.get(key))
    }
    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        let loses = !change.added.is_empty();
        Box::pin(async move {
            let changed = self.with(move |stores| stores.runs.change(writer, change)).await;
            if loses && changed.is_ok() && self.0.loses_notes.swap(false, Ordering::SeqCst) {
                return Err(StoreError::unavailable("the reply is lost"));
            }
            changed
        })
    }
    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        self.0.beats.fetch_add(1, Ordering::SeqCst);
        self.with(move |stores| {
            Box::pin(async move {
                let mut news = stores.runs.beat(node).await?;
                let open = stores.runs.open(usize::MAX).await?;
                let is_due = |run: &StoredRun| run.not_before_ms.is_none_or(|it| it <= now_ms());
                news.has_more = open.iter().any(|run| match &run.node {
                    Some(owner) => owner != node && self.0.is_dead(owner),
                    None => is_due(run),
                });
                Ok(news)
            })
        })
    }
    fn beat_with<'a>(
        &'a self,
        node: &'a NodeId,
        connections: Vec<ScopeConnections>,
    ) -> StoreFuture<'a, (NodeNews, Option<Vec<ScopeConnections>>)> {
        Box::pin(async move {
            let news = self.beat(node).await?;
            let mut held = self.0.connections.lock().unwrap();
            held.insert(node.clone(), connections);
            let others = held.iter().filter(|(other, _)| *other != node && !self.0.is_dead(other));
            let mut elsewhere: Vec<ScopeConnections> = Vec::new();
            for of_node in others.flat_map(|(_, held)| held) {
                match elsewhere.iter_mut().find(|held| held.scope == of_node.scope) {
                    Some(held) => held.count += of_node.count,
                    None => elsewhere.push(of_node.clone()),
                }
            }
            Ok((news, Some(elsewhere)))
        })
    }
    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        let most = if self.0.is_dead(node) { 0 } else { most };
        self.with(move |stores| {
            Box::pin(async move {
                let claimed = stores.runs.claim(node, most, version).await?;
                let loses = !claimed.is_empty();
                if loses && self.0.loses_claim.swap(false, Ordering::SeqCst) {
                    return Err(StoreError::slow(Duration::from_secs(10)));
                }
                Ok(claimed)
            })
        })
    }
    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        self.with(move |stores| {
            Box::pin(async move {
                let dead: Vec<_> = self.0.dead.lock().unwrap().iter().cloned().collect();
                let mut has_runs = false;
                for dead in dead.iter().filter(|dead| *dead != node) {
                    has_runs |= !stores.runs.owned(dead).await?.is_empty();
                }
                // The other nodes that own runs are dead.
                if has_runs { stores.runs.reap(node).await } else { Ok(Vec::new()) }
            })
        })
    }
    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        self.0.released.lock().unwrap().push(writer.clone());
        let wait = if self.0.skips_waits.load(Ordering::SeqCst) { Duration::ZERO } else { wait };
        let held = self.0.held_release.lock().unwrap().clone();
        self.with(move |stores| {
            Box::pin(async move {
                if let Some(held) = held {
                    held.notified().await;
                }
                stores.runs.release(writer, wait).await
            })
        })
    }
    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        self.with(move |stores| stores.runs.owned(node))
    }
    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        self.with(move |stores| stores.runs.open(most))
    }
    fn open_in<'a>(&'a self, conversation: &'a ConversationKey) -> StoreFuture<'a, Vec<RunPlace>> {
        self.with(move |stores| stores.runs.open_in(conversation))
    }
    /// Lists without the notes, as a database does.
    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        self.0.lists.fetch_add(1, Ordering::SeqCst);
        self.with(move |stores| {
            Box::pin(async move {
                let mut page = stores.runs.list(query).await?;
                page.runs.iter_mut().for_each(|run| run.notes.clear());
                Ok(page)
            })
        })
    }
    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        self.with(move |stores| stores.runs.sweep(before_ms, keep))
    }
    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        self.with(move |stores| stores.runs.delete(key))
    }
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.with(move |stores| stores.runs.erase(scope, owner, mode))
    }
}
