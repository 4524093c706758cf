//! The writer task, which commits pending writes together.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures_core::future::BoxFuture;
use sqlx::{Connection as _, SqliteConnection};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    append::{Append, append_all},
    at_once::AtOnce,
    bounded::within,
    checkpoint::{self, Checkpoints},
    errors,
};
use crate::{LogError, StoreError};

/// Maximum number of pending writes.
const MAX_QUEUED: usize = 1_024;

/// Maximum size of the pending writes, in KiB.
const MAX_QUEUED_KIB: u32 = 64 << 10;

/// Maximum number of writes in a commit.
const MAX_BATCH: usize = 256;

/// A handle to the writer task.
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Write>>,
    room: Arc<Semaphore>,
    tasks: Mutex<Option<[JoinHandle<()>; 2]>>,
    stop: CancellationToken,
    checkpoints: Arc<Checkpoints>,
    pub(super) at_once: Arc<AtOnce>,
    /// The number of transactions so far, for tests.
    commits: Arc<AtomicU64>,
}

/// A write, which may be repeated if another one in its commit fails.
trait Write: Send {
    /// Returns the append, if the write is one.
    fn append(&self) -> Option<&Append>;

    /// Records that the append was made.
    fn appended(&mut self);

    /// Makes the write within a transaction.
    fn run<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Reports the result to the waiting caller. A write that was refused changed nothing.
    fn done(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The work of a write, on the given connection.
pub(super) type Work<T> =
    Box<dyn for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send>;

/// The work after the commit of a write, given the value that it returned.
pub(super) type After<T> = Box<dyn FnOnce(&T) + Send>;

/// The ways to make a write.
pub(super) struct Ways<T> {
    /// Within a transaction.
    work: Work<T>,
    /// In one statement with other appends, with the value that it returns then.
    append: Option<(Arc<Append>, Option<T>)>,
}

impl<T> From<Work<T>> for Ways<T> {
    fn from(work: Work<T>) -> Self {
        Self { work, append: None }
    }
}

impl From<Append> for Ways<Result<(), LogError>> {
    fn from(append: Append) -> Self {
        let append = Arc::new(append);
        let alone = Arc::clone(&append);
        let work = work(move |connection| {
            let append = Arc::clone(&alone);
            Box::pin(async move { append.run(connection).await })
        });
        Self { work, append: Some((append, Some(Ok(())))) }
    }
}

struct Task<T> {
    ways: Ways<T>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    /// The work once the write is committed, even if the caller no longer waits.
    after: Option<After<T>>,
    _room: OwnedSemaphorePermit,
}

impl<T: Send> Write for Task<T> {
    fn append(&self) -> Option<&Append> {
        self.ways.append.as_ref().map(|(append, _)| &**append)
    }

    fn appended(&mut self) {
        self.result = self.ways.append.as_mut().and_then(|(_, returned)| returned.take()).map(Ok);
    }

    fn run<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let result = (self.ways.work)(connection).await;
            let failed = result.as_ref().err().filter(|error| !errors::is_refusal(error)).cloned();
            self.result = Some(result);
            failed.map_or(Ok(()), Err)
        })
    }

    fn done(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, reply, after, .. } = *self;
        let gone = || StoreError::Unavailable { reason: "the write was not done".to_owned() };
        let result = committed.and_then(|()| result.unwrap_or_else(|| Err(gone())));
        if let (Ok(returned), Some(after)) = (&result, after) {
            after(returned);
        }
        // The caller may no longer wait.
        drop(reply.send(result));
    }
}

/// Returns the work of a write; values that it needs are shared with it, as it may run twice.
pub(super) fn work<T, F>(work: F) -> Work<T>
where
    F: for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
        + Send
        + 'static,
{
    Box::new(work)
}

impl Writer {
    /// Spawns the writer task, and the checkpoint task with a connection of its own.
    pub(super) fn start(
        connection: SqliteConnection,
        mover: SqliteConnection,
        at_once: AtOnce,
    ) -> Self {
        let (queue, writes) = mpsc::channel(MAX_QUEUED);
        let stop = CancellationToken::new();
        let commits = Arc::<AtomicU64>::default();
        let checkpoints = Arc::<Checkpoints>::default();
        let moving = checkpoint::serve(mover, Arc::clone(&checkpoints), stop.clone());
        let at_once = Arc::new(at_once);
        let turns = (Arc::clone(&at_once), Arc::clone(&commits));
        let writing = serve(connection, writes, stop.clone(), turns);
        let tasks = Mutex::new(Some([tokio::spawn(moving), tokio::spawn(writing)]));
        let room = Arc::new(Semaphore::new(MAX_QUEUED_KIB as usize));
        Self { queue, room, tasks, stop, checkpoints, at_once, commits }
    }

    /// Writes, and returns once the write is committed. If the future is dropped, the write is made completely or not at all.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        ways: impl Into<Ways<T>> + Send,
        after: Option<After<T>>,
    ) -> Result<T, StoreError> {
        let ways = ways.into();
        within(async {
            let closed = || StoreError::Unavailable { reason: "the file was closed".to_owned() };
            let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).saturating_add(1);
            let room = Arc::clone(&self.room).acquire_many_owned(kib.min(MAX_QUEUED_KIB));
            let room = room.await.map_err(|_| closed())?;
            let (reply, replied) = oneshot::channel();
            let task = Task { ways, result: None, reply, after, _room: room };
            self.queue.send(Box::new(task)).await.map_err(|_| closed())?;
            self.checkpoints.wrote(bytes);
            replied.await.map_err(|_| closed())?
        })
        .await
    }

    /// Appends if nothing else is being written, and returns once the append is committed; `false` if nothing was done.
    pub(super) fn append_at_once(&self, append: &Append, after: impl FnOnce()) -> bool {
        let is_done = self.at_once.append(append, after);
        if is_done {
            self.commits.fetch_add(1, Ordering::Relaxed);
            self.checkpoints.wrote(append.data.len());
        }
        is_done
    }

    /// Waits until the writer task has taken all pending writes.
    #[cfg(test)]
    pub(super) async fn taken(&self) {
        while self.queue.capacity() < MAX_QUEUED {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the number of transactions so far.
    #[cfg(test)]
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Ends the tasks after the pending writes.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.at_once.close().await;
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        for task in tasks.into_iter().flatten() {
            drop(task.await);
        }
    }
}

async fn serve(
    mut connection: SqliteConnection,
    mut writes: mpsc::Receiver<Box<dyn Write>>,
    stop: CancellationToken,
    (at_once, commits): (Arc<AtOnce>, Arc<AtomicU64>),
) {
    let mut batch = Vec::new();
    loop {
        let count = tokio::select! {
            biased;
            count = writes.recv_many(&mut batch, MAX_BATCH) => count,
            () = stop.cancelled(), if !writes.is_closed() => {
                writes.close();
                continue;
            }
        };
        if count == 0 {
            break;
        }
        let _turn = at_once.turn().await;
        commits.fetch_add(1, Ordering::Relaxed);
        commit(&mut connection, &mut batch).await;
    }
    // Closing moves commits into the main file.
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the file of the store could not be closed");
    }
}

/// Commits writes together; if one fails, each on its own, so that no write suffers from another.
async fn commit(connection: &mut SqliteConnection, batch: &mut Vec<Box<dyn Write>>) {
    let together = transaction(connection, batch).await;
    if together.is_ok() || batch.len() == 1 {
        for write in batch.drain(..) {
            write.done(together.clone());
        }
        return;
    }
    for write in batch.drain(..) {
        let mut alone = [write];
        let done = transaction(connection, &mut alone).await;
        let [write] = alone;
        write.done(done);
    }
}

async fn transaction(
    connection: &mut SqliteConnection,
    writes: &mut [Box<dyn Write>],
) -> Result<(), StoreError> {
    let appends: Option<Vec<_>> = writes.iter().map(|write| write.append()).collect();
    if let Some(appends) = appends
        && append_all(connection, &appends).await.is_ok()
    {
        for write in writes {
            write.appended();
        }
        return Ok(());
    }
    // If one append was refused, nothing was done, and each gets its own reason.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.map_err(errors::of)?;
    let mut done = Ok(());
    for write in writes {
        done = write.run(connection).await;
        if done.is_err() {
            break;
        }
    }
    if done.is_ok() {
        done = sqlx::query("COMMIT").execute(&mut *connection).await.map(drop).map_err(errors::of);
    }
    if done.is_err() {
        roll_back(connection).await;
    }
    done
}

/// Ends a failed transaction; the database may already have done so.
async fn roll_back(connection: &mut SqliteConnection) {
    drop(sqlx::query("ROLLBACK").execute(connection).await);
}
