//! Stores in memory that several nodes share: a node is dead when the test says so, and all fail while the test says so.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_core::stream::BoxStream;

use forgeline_store::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    ConversationStore, Entry, EraseMode, Erased, EventLog, LogInfo, LogKey, LogPage, LogRecord,
    NodeId, Retention, RunBegun, RunChange, RunPage, RunQuery, RunStore, RunWriter, StoreError,
    StoreFuture, StoredMessage, StoredRun, Stores,
};
use forgeline_types::Text;

/// The stores, and what the test does to them.
pub(super) struct SharedStores {
    pub(super) inner: Stores,
    dead: Mutex<HashSet<NodeId>>,
    /// The error of each operation, while there is one.
    fails: Mutex<Option<StoreError>>,
    /// Set to lose the reply to the next change that stores notes of a run.
    pub(super) loses_notes: AtomicBool,
    /// Set to lose the reply to the next claim that claims a run.
    pub(super) loses_claim: AtomicBool,
    /// The releases.
    pub(super) released: Mutex<Vec<RunWriter>>,
}

/// A handle to the stores, as services have it.
#[derive(Clone)]
struct StoreHandle(Arc<SharedStores>);

impl SharedStores {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Stores::in_memory(),
            dead: Mutex::default(),
            fails: Mutex::default(),
            loses_notes: AtomicBool::new(false),
            loses_claim: AtomicBool::new(false),
            released: Mutex::default(),
        })
    }

    /// Returns the stores for a node.
    pub(super) fn stores(self: &Arc<Self>) -> Stores {
        let handle = Arc::new(StoreHandle(Arc::clone(self)));
        let mut stores = self.inner.clone();
        (stores.log, stores.conversations) = (handle.clone(), handle.clone());
        stores.runs = handle;
        stores
    }

    /// Lets a node be dead for the others, without its knowledge.
    pub(super) fn kill(&self, node: &NodeId) {
        self.dead.lock().unwrap().insert(node.clone());
    }

    pub(super) fn is_down(&self, is_down: bool) {
        self.fail_with(is_down.then(|| StoreError::unavailable("the test says so")));
    }

    /// Lets each operation fail with this error, or none.
    pub(super) fn fail_with(&self, error: Option<StoreError>) {
        *self.fails.lock().unwrap() = error;
    }

    fn is_dead(&self, node: &NodeId) -> bool {
        self.dead.lock().unwrap().contains(node)
    }
}

impl StoreHandle {
    /// Does an operation, unless the stores are down.
    fn with<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce(&'a Stores) -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            // The statements of two nodes alternate.
            tokio::task::yield_now().await;
            if let Some(error) = self.0.fails.lock().unwrap().clone() {
                return Err(error);
            }
            let done = operation(&self.0.inner).await;
            tokio::task::yield_now().await;
            done
        })
    }
}

impl RunStore for StoreHandle {
    fn is_shared(&self) -> bool {
        true
    }
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        self.with(move |stores| stores.runs.begin(run, node))
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
    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.runs.beat(node))
    }
    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
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
        self.with(move |stores| {
            Box::pin(async move {
                let dead: Vec<_> = self.0.dead.lock().unwrap().iter().cloned().collect();
                let mut has_runs = false;
                for dead in dead.iter().filter(|dead| *dead != node) {
                    has_runs |= !stores.runs.owned(dead).await?.is_empty();
                }
                // There are two nodes: all runs of others are those of the dead one.
                if has_runs { stores.runs.reap(node).await } else { Ok(Vec::new()) }
            })
        })
    }
    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        self.0.released.lock().unwrap().push(writer.clone());
        self.with(move |stores| stores.runs.release(writer, wait))
    }
    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        self.with(move |stores| stores.runs.owned(node))
    }
    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        self.with(move |stores| stores.runs.open(most))
    }
    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        self.with(move |stores| stores.runs.list(query))
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

impl EventLog for StoreHandle {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        self.with(move |stores| stores.log.create(key))
    }
    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.append(key, at, records, writer))
    }
    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.close(key, writer))
    }
    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        self.with(move |stores| stores.log.read(key, from, most))
    }
    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.wait(key, from))
    }
    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Arc::clone(&self.0.inner.log).follow(key, from)
    }
    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.retire(key))
    }
    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.remove(key))
    }
    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.trim(key, before))
    }
    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.log.touch(key))
    }
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        self.with(move |stores| stores.log.list(prefix, after, most))
    }
    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        self.with(move |stores| stores.log.sweep(keep))
    }
}

impl ConversationStore for StoreHandle {
    fn begin(&self, conversation: ConversationRecord) -> StoreFuture<'_, ()> {
        self.with(move |stores| stores.conversations.begin(conversation))
    }
    fn get<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, ConversationRecord> {
        self.with(move |stores| stores.conversations.get(key))
    }
    fn list(&self, query: ConversationQuery) -> StoreFuture<'_, ConversationPage> {
        self.with(move |stores| stores.conversations.list(query))
    }
    fn append<'a>(
        &'a self,
        key: &'a ConversationKey,
        at: u64,
        entry: Entry,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.append(key, at, entry, writer))
    }
    fn lines<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, String)>> {
        self.with(move |stores| stores.conversations.lines(key, from, most))
    }
    fn messages<'a>(
        &'a self,
        key: &'a ConversationKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredMessage>> {
        self.with(move |stores| stores.conversations.messages(key, from, most))
    }
    fn rename<'a>(
        &'a self,
        key: &'a ConversationKey,
        title: Text,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.rename(key, title, at_ms))
    }
    fn set_status<'a>(
        &'a self,
        key: &'a ConversationKey,
        status: ConversationStatus,
        at_ms: u64,
    ) -> StoreFuture<'a, ()> {
        self.with(move |stores| stores.conversations.set_status(key, status, at_ms))
    }
    fn delete<'a>(&'a self, key: &'a ConversationKey) -> StoreFuture<'a, bool> {
        self.with(move |stores| stores.conversations.delete(key))
    }
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, Erased> {
        self.with(move |stores| stores.conversations.erase(scope, owner, mode))
    }
}
