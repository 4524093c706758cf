//! The writer thread, which commits pending writes together.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc::sync_channel},
    thread,
};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    checkpoint::{CheckpointCounter, run_checkpoints},
    errors::is_refusal,
    file::WriteConnections,
    log_append::LogAppend,
    statements::execute,
    waits::{closed, within},
    write_turns::WriteTurns,
};
use crate::StoreError;

/// Maximum number of pending writes.
const MAX_QUEUED: usize = 1_024;

/// Maximum size of the pending writes, in KiB.
const MAX_QUEUED_KIB: u32 = 64 << 10;

/// Maximum number of writes in a commit.
const MAX_BATCH: usize = 256;

/// The queue of the writer thread.
type WriteQueue = mpsc::Sender<Box<dyn QueuedWrite>>;

/// A handle to the writer thread, which ends when the handle is dropped, after the pending writes.
pub(super) struct SqliteWriter {
    /// `None` once the file is closed.
    queue: Mutex<Option<WriteQueue>>,
    quota: Arc<Semaphore>,
    pub(super) turns: Arc<WriteTurns>,
    /// The ends of the threads: that for checkpoints, and the writer's.
    ends: Mutex<Vec<oneshot::Receiver<()>>>,
}

/// A write, which may be repeated if another one in its commit fails.
trait QueuedWrite: Send {
    /// Returns the size of the write, in bytes.
    fn bytes(&self) -> usize;

    /// Makes the write within a transaction. A write that is refused changes nothing.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Records whether the write was committed, before the next write.
    fn settle(&mut self, committed: Result<(), StoreError>);

    /// Sends the result to the waiting caller.
    fn reply(self: Box<Self>);
}

struct WriteTask<T, W, A> {
    bytes: usize,
    work: W,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    /// The work once the write is committed, even if the caller no longer waits.
    after: Option<A>,
    _quota: OwnedSemaphorePermit,
}

impl<T, W, A> QueuedWrite for WriteTask<T, W, A>
where
    T: Send,
    W: Fn(&Connection) -> Result<T, StoreError> + Send,
    A: FnOnce(&T) + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let result = (self.work)(connection);
        let failed = result.as_ref().err().filter(|error| !is_refusal(error)).cloned();
        self.result = Some(result);
        failed.map_or(Ok(()), Err)
    }

    fn settle(&mut self, committed: Result<(), StoreError>) {
        if let Err(error) = committed {
            self.result = Some(Err(error));
        }
        if let (Some(Ok(returned)), Some(after)) = (&self.result, self.after.take()) {
            after(returned);
        }
    }

    fn reply(self: Box<Self>) {
        let gone = || StoreError::Unavailable { reason: "the write was not done".to_owned() };
        // The caller may no longer wait.
        drop(self.reply.send(self.result.unwrap_or_else(|| Err(gone()))));
    }
}

impl SqliteWriter {
    /// Starts the writer thread, and a thread for checkpoints.
    pub(super) fn start(connections: WriteConnections) -> Result<Self, StoreError> {
        let WriteConnections { writer, mover, direct } = connections;
        let (queue, writes) = mpsc::channel(MAX_QUEUED);
        let (due, checkpoints) = sync_channel(1);
        let turns = Arc::new(WriteTurns::new(direct, CheckpointCounter::new(due)));
        let own = Arc::clone(&turns);
        let ends = vec![
            spawn("sqlite-moves", move || run_checkpoints(&mover, &checkpoints))?,
            spawn("sqlite-writes", move || run_writes(writer, writes, &own))?,
        ];
        let quota = Arc::new(Semaphore::new(MAX_QUEUED_KIB as usize));
        Ok(Self { queue: Mutex::new(Some(queue)), quota, turns, ends: Mutex::new(ends) })
    }

    /// Writes, and returns once the write is committed. If the future is dropped, the write is made completely or not at all.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_then(bytes, work, |_| ()).await
    }

    /// Writes as [`write`](Self::write) does, and calls `after` with the result before the next write.
    pub(super) async fn write_then<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        within(async {
            let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).saturating_add(1);
            let quota = Arc::clone(&self.quota).acquire_many_owned(kib.min(MAX_QUEUED_KIB));
            let quota = quota.await.map_err(|_| closed())?;
            let (reply, replied) = oneshot::channel();
            let after = Some(after);
            let task = WriteTask { bytes, work, result: None, reply, after, _quota: quota };
            let queue = self.queue().ok_or_else(closed)?;
            queue.send(Box::new(task)).await.map_err(|_| closed())?;
            drop(queue);
            replied.await.map_err(|_| closed())?
        })
        .await
    }

    /// Appends on this thread if nothing else is being written or waits to be, as [`WriteTurns::append`] does.
    pub(super) fn append_directly(&self, append: &LogAppend, after: impl FnOnce()) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Otherwise the writer thread would wait for a processor while others append.
        let is_idle = queue.as_ref().is_some_and(|queue| queue.capacity() == MAX_QUEUED);
        drop(queue);
        is_idle && self.turns.append(append, after)
    }

    fn queue(&self) -> Option<WriteQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the writer thread has taken all pending writes.
    #[cfg(test)]
    pub(super) async fn taken(&self) {
        while self.queue().is_some_and(|queue| queue.capacity() < MAX_QUEUED) {
            tokio::task::yield_now().await;
        }
    }

    /// Ends the threads after the pending writes.
    pub(super) async fn stop(&self) {
        self.turns.close().await;
        let ends = std::mem::take(&mut *self.ends.lock().unwrap_or_else(PoisonError::into_inner));
        // One after the other, the writer last: of two connections that are closed at once, each sees the other's lock, and neither
        // moves the commits into the main file.
        let mut ends = ends.into_iter();
        if let Some(checkpoints) = ends.next() {
            // The other half is dropped by a thread that ends.
            drop(checkpoints.await);
        }
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        for end in ends {
            drop(end.await);
        }
    }
}

/// Starts a thread; the receiver is closed when it ends.
fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<oneshot::Receiver<()>, StoreError> {
    let (running, end) = oneshot::channel::<()>();
    let work = move || {
        work();
        drop(running);
    };
    let failed = |error| StoreError::Unavailable { reason: format!("no thread for it: {error}") };
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(failed)?;
    Ok(end)
}

/// Commits the writes of the queue until it is closed.
fn run_writes(
    connection: Connection,
    mut writes: mpsc::Receiver<Box<dyn QueuedWrite>>,
    turns: &WriteTurns,
) {
    let mut batch = Vec::new();
    while writes.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        let turn = turns.wait(batch.iter().map(|write| write.bytes()));
        commit(&connection, &mut batch);
        // The callers may write at once.
        drop(turn);
        batch.drain(..).for_each(QueuedWrite::reply);
    }
    // Closing moves commits into the main file.
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the file of the store could not be closed");
    }
}

/// Commits writes together; if one fails, each on its own, so that no write suffers from another.
fn commit(connection: &Connection, batch: &mut [Box<dyn QueuedWrite>]) {
    let together = transaction(connection, batch);
    let is_settled = together.is_ok() || batch.len() == 1;
    for write in batch {
        let alone = std::slice::from_mut(write);
        let done = if is_settled { together.clone() } else { transaction(connection, alone) };
        write.settle(done);
    }
}

fn transaction(
    connection: &Connection,
    writes: &mut [Box<dyn QueuedWrite>],
) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE", [])?;
    let done = writes.iter_mut().try_for_each(|write| write.run(connection));
    let done = done.and_then(|()| execute(connection, "COMMIT", []).map(drop));
    if done.is_err() {
        // The database may already have ended a failed transaction.
        drop(execute(connection, "ROLLBACK", []));
    }
    done
}
