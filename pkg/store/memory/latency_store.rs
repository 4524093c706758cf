//! The latency record store of [`InMemoryStore`].

use super::{
    InMemoryStore,
    latency::{MAX_SCOPES, ScopeLatency},
    locks::{lock, ready},
    scopes::entry,
};
use crate::{EraseMode, LatencyRecord, LatencyStore, StoreFuture, latency::MAX_RECORDS};
use forgeline_types::Text;

impl LatencyStore for InMemoryStore {
    fn add<'a>(&'a self, scope: &'a str, record: LatencyRecord) -> StoreFuture<'a, ()> {
        let mut all = lock(&self.0.latency);
        let used_ms = |records: &ScopeLatency| Some(records.kept.back().map_or(0, |it| it.at_ms));
        let records = entry(&mut all, scope, MAX_SCOPES, used_ms);
        records.total += 1;
        records.kept.push_back(record);
        if records.kept.len() > MAX_RECORDS {
            records.kept.pop_front();
        }
        ready(Ok(()))
    }

    fn since<'a>(&'a self, scope: &'a str, since_ms: u64) -> StoreFuture<'a, Vec<LatencyRecord>> {
        let all = lock(&self.0.latency);
        let records = all.get(scope).into_iter().flat_map(|it| &it.kept);
        let mut found: Vec<_> =
            records.filter(|record| record.at_ms >= since_ms).cloned().collect();
        found.sort_by_key(|record| record.at_ms);
        ready(Ok(found))
    }

    fn total<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        ready(Ok(lock(&self.0.latency).get(scope).map_or(0, |it| it.total)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        let mut all = lock(&self.0.latency);
        let records = all.get_mut(scope).filter(|_| !owner.is_empty());
        let Some(records) = records else { return ready(Ok(0)) };
        let is_theirs = |record: &LatencyRecord| record.owner == owner;
        let count = records.kept.iter().filter(|record| is_theirs(record)).count();
        match mode {
            EraseMode::Count => {}
            EraseMode::Hard => records.kept.retain(|record| !is_theirs(record)),
            EraseMode::Tombstone => {
                for record in records.kept.iter_mut().filter(|record| is_theirs(record)) {
                    (record.owner, record.conversation) = (Text::new(), Text::new());
                }
            }
        }
        ready(Ok(count as u64))
    }
}
