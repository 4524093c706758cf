//! Checkpoints: commits are moved into the main file beside the writer, because this takes the disk milliseconds, for which events should not wait.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Size of the writes after which a checkpoint is due, in bytes.
const MOVED_BYTES: usize = 8 << 20;

/// Bytes counted for a write in addition to its own, for the pages of tables and indexes that it changes.
const BESIDE_BYTES: usize = 12 << 10;

/// The bytes written since the last checkpoint.
#[derive(Default)]
pub(super) struct Checkpoints {
    written: AtomicUsize,
    due: Notify,
}

impl Checkpoints {
    /// Counts a write.
    pub(super) fn wrote(&self, bytes: usize) {
        let bytes = bytes.saturating_add(BESIDE_BYTES);
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= MOVED_BYTES {
            self.written.store(0, Ordering::Relaxed);
            self.due.notify_one();
        }
    }
}

/// Runs a checkpoint whenever enough was written, until it is stopped.
pub(super) async fn serve(
    mut connection: SqliteConnection,
    checkpoints: Arc<Checkpoints>,
    stop: CancellationToken,
) {
    while stop.run_until_cancelled(checkpoints.due.notified()).await.is_some() {
        // Passive: waits for no reader and blocks no writer. The next checkpoint moves what this one cannot.
        let moved = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await;
        if let Err(error) = moved {
            tracing::warn!(%error, "committed data could not be moved into the file of the store");
        }
    }
    drop(connection.close().await);
}
