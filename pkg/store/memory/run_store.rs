//! The run store of [`InMemoryStore`].

use super::{
    InMemoryStore,
    locks::{lock, ready},
};
use crate::{
    EraseMode, LogKey, RunBegun, RunChange, RunPage, RunQuery, RunStore, StoreError, StoreFuture,
    StoredRun,
};

impl RunStore for InMemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn begin(&self, run: StoredRun) -> StoreFuture<'_, RunBegun> {
        ready(lock(&self.0.runs).begin(run))
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
        ready(lock(&self.0.runs).all.get(key).cloned().ok_or_else(|| StoreError::no_run(key)))
    }

    fn change<'a>(&'a self, key: &'a LogKey, change: RunChange) -> StoreFuture<'a, ()> {
        ready(lock(&self.0.runs).change(key, change))
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
        ready(Ok(lock(&self.0.runs).delete(key)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        ready(Ok(lock(&self.0.runs).erase(scope, owner, mode)))
    }
}
