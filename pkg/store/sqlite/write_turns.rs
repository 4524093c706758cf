//! Appends that wait for no other thread: if nothing else is being written, the appending thread commits.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::Connection;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use super::{checkpoint::CheckpointCounter, log_append::LogAppend};

/// Maximum size of an append that the appending thread commits, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// Duration of a commit up to which the next one may run on a runtime thread.
const SLOW: Duration = Duration::from_millis(5);

/// Time for which writes are left to the writer thread after a slower commit.
const REST: Duration = Duration::from_secs(1);

/// The right to write, and a connection for appends that obtain it without waiting.
pub(super) struct WriteTurns {
    turn: Mutex<WriteTurn>,
    /// The number of transactions so far, for tests.
    commits: AtomicU64,
}

/// The data for the holder of the right to write.
pub(super) struct WriteTurn {
    /// `None` if each commit waits for the disk, and once it is closed.
    connection: Option<Connection>,
    rests_until: Option<Instant>,
    /// `None` once the file is closed.
    checkpoints: Option<CheckpointCounter>,
}

impl WriteTurns {
    /// Returns the right to write to a file; without a connection, only the writer thread uses it.
    pub(super) fn new(connection: Option<Connection>, checkpoints: CheckpointCounter) -> Self {
        let turn = WriteTurn { connection, rests_until: None, checkpoints: Some(checkpoints) };
        Self { turn: Mutex::new(turn), commits: AtomicU64::new(0) }
    }

    /// Waits for the right to write, which is held until the guard is dropped.
    #[cfg(test)]
    pub(super) async fn turn(&self) -> MutexGuard<'_, WriteTurn> {
        self.turn.lock().await
    }

    /// Blocks the thread until it has the right to write a transaction with writes of these sizes.
    pub(super) fn wait(&self, bytes: impl Iterator<Item = usize>) -> MutexGuard<'_, WriteTurn> {
        let mut turn = self.turn.blocking_lock();
        self.commits.fetch_add(1, Ordering::Relaxed);
        bytes.for_each(|bytes| turn.count(bytes));
        turn
    }

    /// Appends and commits, and calls `after` before the next write. Returns `false` if nothing was done because others write, or for another reason.
    pub(super) fn append(&self, append: &LogAppend, after: impl FnOnce()) -> bool {
        if append.data.len() > MAX_BYTES {
            return false;
        }
        // An append that waited could obtain the right only after the other work of its thread, and block other writers in the meantime.
        let Ok(mut turn) = self.turn.try_lock() else { return false };
        let is_done = turn.append(append);
        if is_done {
            self.commits.fetch_add(1, Ordering::Relaxed);
            turn.count(append.data.len());
            after();
        }
        is_done
    }

    /// Closes the connection, and ends the checkpoints.
    pub(super) async fn close(&self) {
        let mut turn = self.turn.lock().await;
        (turn.connection, turn.checkpoints) = (None, None);
    }

    /// Returns the number of transactions so far.
    #[cfg(test)]
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl WriteTurn {
    fn append(&mut self, append: &LogAppend) -> bool {
        let begun = Instant::now();
        if self.rests_until.is_some_and(|until| begun < until) {
            return false;
        }
        let Some(connection) = &self.connection else { return false };
        let appended = append.insert(connection);
        self.took(begun.elapsed());
        appended.unwrap_or_default()
    }

    /// Records the duration of a commit.
    fn took(&mut self, time: Duration) {
        self.rests_until = (time > SLOW).then(|| Instant::now() + REST);
    }

    /// Counts a write for the next checkpoint.
    fn count(&mut self, bytes: usize) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.count(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, future::join_all};
    use tokio::time::advance;

    use super::*;
    use crate::{
        Durability, EventLog, LogKey, LogRecord, SqliteOptions, SqliteStore, StoreError,
        chunk_codec, sqlite_folder as folder,
    };

    fn key(name: &str) -> LogKey {
        LogKey::new("team-a", name)
    }

    fn records(size: usize) -> Vec<LogRecord> {
        vec![LogRecord::new("kind", vec![b'x'; size])]
    }

    /// Returns `true` if the appending thread commits an append.
    fn is_direct(store: &SqliteStore, at: u64, size: usize) -> bool {
        let (run, records) = (key("run"), records(size));
        let append = LogAppend {
            key: run.clone(),
            at,
            count: 1,
            data: chunk_codec::write(&records),
            writer: None,
        };
        let add = || store.0.tails.add(&run, at, &records);
        store.0.writer.append_directly(&append, add)
    }

    /// Returns `true` if the appending thread commits an append; otherwise the writer thread does.
    async fn is_at_once(store: &SqliteStore, at: u64, size: usize) -> bool {
        let is_done = is_direct(store, at, size);
        if !is_done {
            store.append(&key("run"), at, records(size), None).await.unwrap();
        }
        is_done
    }

    /// Returns `true` if the appending thread commits an append this long after a commit of this duration; otherwise the writer thread does.
    async fn is_at_once_after(
        store: &SqliteStore,
        at: u64,
        took: Duration,
        rest: Duration,
    ) -> bool {
        // A stall of the machine does not count as rest. The append is made on the real clock: on this one, its time limit is over at once.
        tokio::time::pause();
        store.0.writer.turns.turn().await.took(took);
        advance(rest).await;
        let is_done = is_direct(store, at, 10);
        tokio::time::resume();
        if !is_done {
            store.append(&key("run"), at, records(10), None).await.unwrap();
        }
        is_done
    }

    async fn store(name: &str, durability: Durability) -> (std::path::PathBuf, SqliteStore) {
        let folder = folder(name);
        let options = SqliteOptions::new(folder.join("service.db")).durability(durability);
        let store = SqliteStore::open_with(options).await.unwrap();
        store.create(key("run")).await.unwrap();
        (folder, store)
    }

    #[tokio::test]
    async fn an_append_beside_no_other_write_is_committed_at_once_unless_it_is_long() {
        let (folder, store) = store("at-once", Durability::Process).await;
        let mut at = 0;
        for (size, want) in [(10, true), (MAX_BYTES / 2, true), (MAX_BYTES, false), (10, true)] {
            // On a busy machine, the commit before may have taken long.
            store.0.writer.turns.turn().await.took(Duration::ZERO);
            assert_eq!(is_at_once(&store, at, size).await, want, "{size}");
            at += 1;
        }
        let turn = store.0.writer.turns.turn().await;
        let run = key("run");
        let mut append = store.append(&run, at, records(10), None);
        assert!((&mut append).now_or_never().is_none(), "others write");
        drop(turn);
        append.await.unwrap();
        store.0.writer.turns.turn().await.took(Duration::ZERO);
        assert!(is_at_once(&store, at + 1, 10).await);
        assert_eq!(store.read(&run, 0, 9).await.unwrap().next, 6);
        store.check().await.unwrap();
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn an_append_whose_commit_waits_for_the_disk_keeps_no_thread_of_the_runtime() {
        let (folder, store) = store("power", Durability::Power).await;
        assert!(!is_at_once(&store, 0, 10).await);
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_slow_disk_is_left_to_the_task_that_writes_for_a_while() {
        let (folder, store) = store("slow-disk", Durability::Process).await;
        for (at, (took, want)) in
            [(SLOW, true), (SLOW * 2, false), (SLOW, true)].into_iter().enumerate()
        {
            let is_done = is_at_once_after(&store, at as u64, took, Duration::ZERO).await;
            assert_eq!(is_done, want, "{took:?}");
        }
        assert!(!is_at_once_after(&store, 3, SLOW * 2, REST / 2).await, "it rests");
        assert!(is_at_once_after(&store, 4, SLOW * 2, REST * 2).await);
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn an_append_beside_a_lock_of_another_connection_waits_for_it_in_the_task_that_writes() {
        let (folder, store) = store("locked", Durability::Process).await;
        let other = Connection::open(folder.join("service.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let run = key("run");
        let mut append = store.append(&run, 0, records(10), None);
        assert!((&mut append).now_or_never().is_none());
        other.execute_batch("COMMIT").unwrap();
        append.await.unwrap();
        drop(other);
        store.close_file().await;
        let closed = store.append(&run, 1, records(10), None).await.unwrap_err();
        assert!(matches!(closed, StoreError::Unavailable { .. }), "{closed}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn the_task_that_writes_and_what_is_told_behind_an_append_have_the_turn() {
        let (folder, store) = store("turn", Durability::Process).await;
        let writer = &store.0.writer;
        let turn = writer.turns.turn().await;
        let before = writer.turns.commits();
        let mut create = store.create(key("other"));
        assert!((&mut create).now_or_never().is_none());
        writer.taken().await;
        assert_eq!(writer.turns.commits(), before, "it wrote in the turn of another");
        drop(turn);
        create.await.unwrap();
        let data = chunk_codec::write(&records(10));
        let append = LogAppend { key: key("run"), at: 0, count: 1, data, writer: None };
        let mut is_told = false;
        let tell = || {
            assert!(writer.turns.turn.try_lock().is_err(), "another could come between");
            is_told = true;
        };
        assert!(writer.turns.append(&append, tell));
        assert!(is_told);
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }

    // Whoever follows a log must not find a gap where several append to it from several threads.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn appends_of_several_threads_to_one_log_are_followed_in_their_order() {
        let (folder, store) = store("threads", Durability::Process).await;
        let followed = std::sync::Arc::new(store.clone()).follow(key("run"), 0);
        let writers = (0..4).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let (run, mut at, mut done) = (key("run"), 0, 0);
                while done < 250 {
                    match store.append(&run, at, records(10), None).await {
                        Ok(()) => done += 1,
                        Err(StoreError::Behind { end, .. }) => {
                            at = end;
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    }
                    at += 1;
                }
            })
        });
        let writing = join_all(writers.collect::<Vec<_>>());
        let reading = futures_util::StreamExt::collect::<Vec<_>>(futures_util::StreamExt::take(
            followed, 1_000,
        ));
        let (written, read) = tokio::join!(writing, reading);
        assert!(written.iter().all(Result::is_ok));
        let numbers: Vec<_> = read.into_iter().map(|record| record.unwrap().0).collect();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
        store.check().await.unwrap();
        store.close_file().await;
        std::fs::remove_dir_all(folder).unwrap();
    }
}
