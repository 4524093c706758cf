//! Stores whose pages begin at their cursor instead of after it: the suites report them, and come to their end.

use std::time::Duration;

use super::*;
use crate::conformance::Outcome;
use forgeline_store::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, EventLog, LogInfo, LogKey, LogPage, LogRecord,
    NodeId, NodeNews, Retention, RunBegun, RunChange, RunPage, RunQuery, RunStore, RunWriter,
    StoreError, StoreFuture, StoredMessage, StoredRun,
};
use forgeline_types::Text;

/// A store that gives the item of its cursor twice.
struct Inclusive<S>(S);

/// Returns the items from the one with this name on, at most `most`, and the name of the last one if more follow.
fn page<T>(
    mut all: Vec<T>,
    after: Option<&str>,
    most: usize,
    name: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>), StoreError> {
    if let Some(after) = after {
        let cursor = || StoreError::bad_cursor(after);
        let at = all.iter().position(|item| name(item) == after).ok_or_else(cursor)?;
        all.drain(..at);
    }
    let has_more = all.len() > most;
    all.truncate(most);
    let next = all.last().map(name).filter(|_| has_more);
    Ok((all, next))
}

impl RunStore for Inclusive<InMemoryStore> {
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        RunStore::begin(&self.0, run, node)
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        self.0.of_request(scope, owner, request)
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        RunStore::get(&self.0, key)
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        self.0.change(writer, change)
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews> {
        self.0.beat(node)
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        self.0.claim(node, most, version)
    }

    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        self.0.reap(node)
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        self.0.release(writer, wait)
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        self.0.owned(node)
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        self.0.open(most)
    }

    fn list(&self, mut query: RunQuery) -> StoreFuture<'_, RunPage> {
        Box::pin(async move {
            let (after, most) = (query.after.take(), query.most);
            query.most = usize::MAX;
            let all = RunStore::list(&self.0, query).await?.runs;
            let name = |run: &StoredRun| run.key.name.to_string();
            let (runs, next) = page(all, after.as_deref(), most, name)?;
            Ok(RunPage::new(runs, next.map(Text::from)))
        })
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        self.0.sweep(before_ms, keep)
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        RunStore::delete(&self.0, key)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        RunStore::erase(&self.0, scope, owner, mode)
    }
}

impl ConversationStore for Inclusive<InMemoryStore> {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        ConversationStore::begin(&self.0, conversation)
    }

    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        ConversationStore::get(&self.0, key)
    }

    fn list(&self, mut query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        Box::pin(async move {
            let (after, most) = (query.after.take(), query.most);
            query.most = usize::MAX;
            let all = ConversationStore::list(&self.0, query).await?.conversations;
            let name = |it: &ConversationRecord| it.key.id.to_string();
            let (found, next) = page(all, after.as_deref(), most, name)?;
            Ok(ConversationPage::new(found, next.map(Text::from)))
        })
    }

    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.0.append(key, at, entry, writer)
    }

    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        self.0.lines(key, from, most)
    }

    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        self.0.messages(key, from, most)
    }

    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.0.rename(key, title, at_ms)
    }

    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.0.set_status(key, status, at_ms)
    }

    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        ConversationStore::delete(&self.0, key)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        ConversationStore::erase(&self.0, scope, owner, mode)
    }
}

impl EventLog for Inclusive<InMemoryLog> {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        self.0.create(key)
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.0.append(key, at, records, writer)
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        self.0.close(key, writer)
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        self.0.read(key, from, most)
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        self.0.wait(key, from)
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.retire(key)
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.remove(key)
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        self.0.trim(key, before)
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.0.touch(key)
    }

    fn remove_unused<'a>(&'a self, key: &'a LogKey, unused: Duration) -> StoreFuture<'a, bool> {
        self.0.remove_unused(key, unused)
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        Box::pin(async move {
            let all = self.0.list(prefix, None, usize::MAX).await?;
            let name = |key: &LogKey| format!("{}/{}", key.scope, key.name);
            let after = after.map(name);
            Ok(page(all, after.as_deref(), most, |info| name(&info.key))?.0)
        })
    }

    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        self.0.sweep(keep)
    }
}

/// The checks that a report says have failed, with their faults.
fn failed(report: &Report) -> Vec<String> {
    let failed = report.checks.iter().filter_map(|check| match &check.outcome {
        Outcome::Failed(faults) => Some(format!("{}: {}", check.name, faults.join("; "))),
        Outcome::Passed | Outcome::NotApplicable(_) => None,
    });
    failed.collect()
}

#[tokio::test]
async fn a_store_whose_cursor_is_inclusive_fails_and_the_suite_ends() {
    let store = async || Arc::new(Inclusive(InMemoryStore::new()));
    let log = async || Arc::new(Inclusive(InMemoryLog::new()));
    let limit = Duration::from_mins(1);
    let reports = async {
        [
            ("list", check_run_store(store).await),
            ("list", check_conversation_store(store).await),
            ("listed", check_event_log(log).await),
        ]
    };
    for (check, report) in tokio::time::timeout(limit, reports).await.expect("the suites end") {
        let failed = failed(&report);
        let [fault] = &failed[..] else { panic!("one check fails: {failed:?}") };
        assert!(fault.starts_with(check), "{fault}");
        assert!(fault.contains("must begin behind its cursor"), "{fault}");
    }
}
