//! Checkpoints: commits are moved into the main file beside the writer, because this takes the disk milliseconds, for which events should not wait.

use std::sync::mpsc::{Receiver, SyncSender};

use rusqlite::Connection;

use super::statements::integer;

/// Size of the writes after which a checkpoint is due, in bytes.
const MOVED_BYTES: usize = 8 << 20;

/// Bytes counted for a write in addition to its own, for the pages of tables and indexes that it changes.
const BESIDE_BYTES: usize = 12 << 10;

/// A count of the bytes written since the last checkpoint.
pub(super) struct CheckpointCounter {
    written: usize,
    due: SyncSender<()>,
}

impl CheckpointCounter {
    /// Returns a counter that reports each checkpoint that is due.
    pub(super) fn new(due: SyncSender<()>) -> Self {
        Self { written: 0, due }
    }

    /// Counts a write.
    pub(super) fn count(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes).saturating_add(BESIDE_BYTES);
        if self.written >= MOVED_BYTES {
            self.written = 0;
            // One that waits to be run includes this one.
            self.due.try_send(()).ok();
        }
    }
}

/// Runs a checkpoint whenever one is due, until the counter is dropped.
pub(super) fn run_checkpoints(connection: &Connection, due: &Receiver<()>) {
    while due.recv().is_ok() {
        // Passive: waits for no reader and blocks no writer. The next checkpoint moves what this one cannot.
        if let Err(error) = integer(connection, "PRAGMA wal_checkpoint(PASSIVE)", []) {
            tracing::warn!(%error, "committed data could not be moved into the file of the store");
        }
    }
}
