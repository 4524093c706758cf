//! The run store of [`MemoryStore`].

use futures_core::future::BoxFuture;

use super::runs::not_found;
use super::{MemoryStore, lock, ready};
use crate::{
    EraseMode, LogKey, RunBegun, RunChange, RunPage, RunQuery, RunRecord, RunStore, StoreError,
};

impl RunStore for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn begin(&self, run: RunRecord) -> BoxFuture<'_, Result<RunBegun, StoreError>> {
        ready(lock(&self.0.runs).begin(run))
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        let runs = lock(&self.0.runs);
        let key = runs.requests.get(&(scope.into(), owner.into(), request.into()));
        ready(Ok(key.and_then(|key| runs.all.get(key)).cloned()))
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<RunRecord, StoreError>> {
        ready(lock(&self.0.runs).all.get(key).cloned().ok_or_else(|| not_found(key)))
    }

    fn change<'a>(
        &'a self,
        key: &'a LogKey,
        change: RunChange,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(lock(&self.0.runs).change(key, change))
    }

    fn open(&self, most: usize) -> BoxFuture<'_, Result<Vec<RunRecord>, StoreError>> {
        let runs = lock(&self.0.runs);
        let all = runs.order.iter().filter_map(|key| runs.all.get(key));
        let open = all.filter(|run| !run.progress.has_ended()).take(most);
        ready(Ok(open.cloned().collect()))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        ready(lock(&self.0.runs).list(&query))
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> BoxFuture<'_, Result<Vec<LogKey>, StoreError>> {
        ready(Ok(lock(&self.0.runs).sweep(before_ms, keep)))
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(lock(&self.0.runs).delete(key)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        ready(Ok(lock(&self.0.runs).erase(scope, owner, mode)))
    }
}
