//! The run store of [`InMemoryStore`].

use std::time::Duration;

use super::{
    InMemoryStore,
    locks::{lock, ready},
};
use crate::{
    EraseMode, LogKey, NodeId, NodeNews, RunBegun, RunChange, RunPage, RunQuery, RunStore,
    RunWriter, StoreFuture, StoredRun,
};

impl RunStore for InMemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        ready(lock(&self.0.runs).begin(run, node))
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        let runs = lock(&self.0.runs);
        let key = runs.requests.get(&(scope.into(), owner.into(), request.into()));
        ready(Ok(key.and_then(|key| runs.all.get(key)).cloned()))
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        ready(lock(&self.0.runs).get(key).cloned())
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        let changed = lock(&self.0.runs).change(writer, change);
        self.0.waits.wake(&writer.run);
        ready(changed)
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        ready(Ok(lock(&self.0.runs).news(node)))
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        ready(Ok(lock(&self.0.runs).claim(node, most, version)))
    }

    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        ready(Ok(lock(&self.0.runs).reap(node)))
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        ready(lock(&self.0.runs).release(writer, wait))
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        ready(Ok(lock(&self.0.runs).owned(node)))
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        let runs = lock(&self.0.runs);
        let all = runs.order.iter().filter_map(|key| runs.all.get(key));
        let open = all.filter(|run| !run.progress.has_ended()).take(most);
        ready(Ok(open.cloned().collect()))
    }

    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        ready(lock(&self.0.runs).list(&query))
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        ready(Ok(lock(&self.0.runs).sweep(before_ms, keep)))
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        let deleted = lock(&self.0.runs).delete(key);
        self.0.waits.wake(key);
        ready(Ok(deleted))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        let erased = lock(&self.0.runs).erase(scope, owner, mode);
        self.0.waits.wake_all();
        ready(Ok(erased))
    }
}
