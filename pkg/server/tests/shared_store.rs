//! A store that several nodes share, in memory: the runs of a node are reaped once the test says that it is dead.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forgeline_store::{
    CommandSent, CommandStore, EraseMode, LogKey, NodeId, RunBegun, RunChange, RunCommand, RunPage,
    RunQuery, RunStore, RunWriter, StoreError, StoreFuture, StoredCommand, StoredRun, Stores,
};

/// The runs and commands of a store in memory, as several nodes use it.
#[derive(Clone)]
pub(super) struct SharedMemory(Arc<SharedParts>);

struct SharedParts {
    stores: Stores,
    dead: Mutex<HashSet<NodeId>>,
    /// The number of answers to commands that are lost before they are stored.
    lost_answers: AtomicUsize,
    /// The number of statements about commands.
    statements: AtomicUsize,
    /// The length of the longest key of a command.
    longest_key: AtomicUsize,
}

impl SharedMemory {
    pub(super) fn new() -> Self {
        Self(Arc::new(SharedParts {
            stores: Stores::in_memory(),
            dead: Mutex::default(),
            lost_answers: AtomicUsize::default(),
            statements: AtomicUsize::default(),
            longest_key: AtomicUsize::default(),
        }))
    }

    /// Returns the stores of one of the nodes.
    pub(super) fn stores(&self) -> Stores {
        let mut stores = self.0.stores.clone();
        stores.runs = Arc::new(self.clone());
        stores.commands = Arc::new(self.clone());
        stores
    }

    /// Lets a node be dead: its runs are taken away.
    pub(super) fn kill(&self, node: &NodeId) {
        self.0.dead.lock().unwrap().insert(node.clone());
    }

    /// Loses the next answers to commands, as if their node had died before it stored them.
    pub(super) fn lose_answers(&self, count: usize) {
        self.0.lost_answers.store(count, Ordering::SeqCst);
    }

    /// Returns the number of statements about commands.
    pub(super) fn statements(&self) -> usize {
        self.0.statements.load(Ordering::SeqCst)
    }

    /// Returns the length of the longest key of a command, in bytes.
    pub(super) fn longest_key(&self) -> usize {
        self.0.longest_key.load(Ordering::SeqCst)
    }

    fn runs(&self) -> &dyn RunStore {
        &*self.0.stores.runs
    }

    fn commands(&self) -> &dyn CommandStore {
        self.0.statements.fetch_add(1, Ordering::SeqCst);
        &*self.0.stores.commands
    }
}

impl RunStore for SharedMemory {
    fn is_shared(&self) -> bool {
        true
    }

    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun> {
        self.runs().begin(run, node)
    }

    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>> {
        self.runs().of_request(scope, owner, request)
    }

    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun> {
        self.runs().get(key)
    }

    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()> {
        self.runs().change(writer, change)
    }

    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, ()> {
        self.runs().beat(node)
    }

    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>> {
        self.runs().claim(node, most, version)
    }

    /// Releases the runs of the dead nodes.
    fn reap<'a>(&'a self, _: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>> {
        Box::pin(async move {
            let dead: Vec<_> = self.0.dead.lock().unwrap().drain().collect();
            let mut reaped = Vec::new();
            for node in dead {
                for writer in self.runs().owned(&node).await? {
                    self.runs().release(&writer, Duration::ZERO).await?;
                    reaped.push(writer.run);
                }
            }
            Ok(reaped)
        })
    }

    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()> {
        self.runs().release(writer, wait)
    }

    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>> {
        self.runs().owned(node)
    }

    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>> {
        self.runs().open(most)
    }

    /// Lists without the notes, as a database does.
    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage> {
        Box::pin(async move {
            let mut page = self.runs().list(query).await?;
            page.runs.iter_mut().for_each(|run| run.notes.clear());
            Ok(page)
        })
    }

    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>> {
        self.runs().sweep(before_ms, keep)
    }

    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool> {
        self.runs().delete(key)
    }

    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> StoreFuture<'a, u64> {
        self.runs().erase(scope, owner, mode)
    }
}

impl CommandStore for SharedMemory {
    fn send<'a>(&'a self, run: &'a LogKey, command: RunCommand) -> StoreFuture<'a, CommandSent> {
        self.0.longest_key.fetch_max(command.key.len(), Ordering::SeqCst);
        self.commands().send(run, command)
    }

    fn unanswered<'a>(
        &'a self,
        run: &'a LogKey,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<StoredCommand>> {
        self.commands().unanswered(run, from, most)
    }

    fn answer<'a>(
        &'a self,
        writer: &'a RunWriter,
        number: u64,
        answer: String,
    ) -> StoreFuture<'a, ()> {
        let fewer = |left: usize| left.checked_sub(1);
        if self.0.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            let lost = StoreError::unavailable("the connection is lost");
            return Box::pin(std::future::ready(Err(lost)));
        }
        self.commands().answer(writer, number, answer)
    }

    fn wait<'a>(&'a self, run: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        self.commands().wait(run, from)
    }

    fn wait_for_answer<'a>(&'a self, run: &'a LogKey, number: u64) -> StoreFuture<'a, String> {
        self.commands().wait_for_answer(run, number)
    }
}
