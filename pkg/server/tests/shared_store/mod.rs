//! Stores in memory that several nodes share: a node is dead when the test says so, and all fail while the test says so.

mod commands;
mod conversations;
mod logs;
mod runs;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

use forgeline_store::{NodeId, RunWriter, ScopeConnections, StoreError, StoreFuture, Stores};

/// The stores, and what the test does to them.
pub(super) struct SharedStores {
    pub(super) inner: Stores,
    /// `true` if other tasks come between two statements.
    alternates: bool,
    dead: Mutex<HashSet<NodeId>>,
    /// The connections that each node reported last.
    connections: Mutex<HashMap<NodeId, Vec<ScopeConnections>>>,
    /// The error of each operation, while there is one.
    fails: Mutex<Option<StoreError>>,
    /// Set to lose the reply to the next change that stores notes of a run.
    pub(super) loses_notes: AtomicBool,
    /// Holds each release until it is notified.
    pub(super) held_release: Mutex<Option<Arc<Notify>>>,
    /// Set to let the next creation of a log never begin.
    pub(super) hangs_log: AtomicBool,
    /// Set to lose the replies to new commands until they are answered.
    pub(super) loses_sends: AtomicBool,
    /// Set to lose the reply to the next claim that claims a run.
    pub(super) loses_claim: AtomicBool,
    /// The releases.
    pub(super) released: Mutex<Vec<RunWriter>>,
    /// Set to claim released runs at once, however long they should wait.
    pub(super) skips_waits: AtomicBool,
    /// Set to let no wait for commands end.
    pub(super) hides_commands: AtomicBool,
    /// The number of answers to commands that are lost before they are stored.
    lost_answers: AtomicUsize,
    /// The number of statements about commands.
    statements: AtomicUsize,
    /// The length of the longest key of a command.
    longest_key: AtomicUsize,
    /// The numbers of beats, of lists, and of claims, reaps and lists of what a node owns.
    pub(super) beats: AtomicUsize,
    pub(super) lists: AtomicUsize,
    pub(super) looks: AtomicUsize,
}

/// A handle to the stores, as services have it.
#[derive(Clone)]
struct StoreHandle(Arc<SharedStores>);

impl SharedStores {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self::of(false))
    }

    /// Returns stores where the statements of two nodes alternate.
    pub(super) fn alternating() -> Arc<Self> {
        Arc::new(Self::of(true))
    }

    fn of(alternates: bool) -> Self {
        Self {
            alternates,
            inner: Stores::in_memory(),
            dead: Mutex::default(),
            connections: Mutex::default(),
            fails: Mutex::default(),
            loses_notes: AtomicBool::new(false),
            held_release: Mutex::default(),
            hangs_log: AtomicBool::new(false),
            loses_sends: AtomicBool::new(false),
            loses_claim: AtomicBool::new(false),
            released: Mutex::default(),
            skips_waits: AtomicBool::new(false),
            hides_commands: AtomicBool::new(false),
            lost_answers: AtomicUsize::default(),
            statements: AtomicUsize::default(),
            longest_key: AtomicUsize::default(),
            beats: AtomicUsize::default(),
            lists: AtomicUsize::default(),
            looks: AtomicUsize::default(),
        }
    }

    /// Returns the stores for a node.
    pub(super) fn stores(self: &Arc<Self>) -> Stores {
        let handle = Arc::new(StoreHandle(Arc::clone(self)));
        let mut stores = self.inner.clone();
        (stores.log, stores.conversations) = (handle.clone(), handle.clone());
        (stores.runs, stores.commands) = (handle.clone(), handle);
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

    /// Loses the next answers to commands, as if their node had died before it stored them.
    pub(super) fn lose_answers(&self, count: usize) {
        self.lost_answers.store(count, Ordering::SeqCst);
    }

    /// Returns the number of statements about commands.
    pub(super) fn statements(&self) -> usize {
        self.statements.load(Ordering::SeqCst)
    }

    /// Returns the length of the longest key of a command, in bytes.
    pub(super) fn longest_key(&self) -> usize {
        self.longest_key.load(Ordering::SeqCst)
    }

    async fn pass_turn(&self) {
        if self.alternates {
            tokio::task::yield_now().await;
        }
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
            self.0.pass_turn().await;
            if let Some(error) = self.0.fails.lock().unwrap().clone() {
                return Err(error);
            }
            let done = operation(&self.0.inner).await;
            self.0.pass_turn().await;
            done
        })
    }
}
