//! The latency record store of [`MemoryStore`].

use futures_core::future::BoxFuture;

use super::latency::{MAX_SCOPES, Records};
use super::{MemoryStore, lock, ready};
use crate::{EraseMode, LatencyRecord, LatencyStore, StoreError, latency::MAX_RECORDS};
use forgeline_types::Text;

impl LatencyStore for MemoryStore {
    fn add<'a>(
        &'a self,
        scope: &'a str,
        record: LatencyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut all = lock(&self.0.latency);
        let name = Text::from(scope);
        if all.0.len() >= MAX_SCOPES && !all.0.contains_key(&name) {
            let last = |records: &Records| records.kept.back().map(|last| last.at_ms);
            let quiet = all.0.iter().min_by_key(|(_, records)| last(records));
            if let Some(quiet) = quiet.map(|(name, _)| name.clone()) {
                all.0.remove(&quiet);
            }
        }
        let records = all.0.entry(name).or_default();
        records.total += 1;
        records.kept.push_back(record);
        if records.kept.len() > MAX_RECORDS {
            records.kept.pop_front();
        }
        ready(Ok(()))
    }

    fn since<'a>(
        &'a self,
        scope: &'a str,
        since_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<LatencyRecord>, StoreError>> {
        let all = lock(&self.0.latency);
        let records = all.0.get(&Text::from(scope)).into_iter().flat_map(|it| &it.kept);
        let mut found: Vec<_> =
            records.filter(|record| record.at_ms >= since_ms).cloned().collect();
        found.sort_by_key(|record| record.at_ms);
        ready(Ok(found))
    }

    fn total<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        ready(Ok(lock(&self.0.latency).0.get(&Text::from(scope)).map_or(0, |it| it.total)))
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let mut all = lock(&self.0.latency);
        let records = all.0.get_mut(&Text::from(scope)).filter(|_| !owner.is_empty());
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
