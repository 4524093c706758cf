//! The readers that wait in this process, and the news for those of others.

use std::sync::{Arc, atomic::AtomicU64};

use super::{
    followed_logs::FollowedLogs,
    news::{LogNews, NewsOutbox},
};
use crate::{LogKey, LogRecord, servers::wait_table::WaitTable};

/// The readers that wait in this process, and the news for those of others.
#[derive(Default)]
pub(super) struct ReaderHub {
    pub(super) logs: Arc<FollowedLogs>,
    pub(super) scopes: Arc<WaitTable<String>>,
    pub(super) commands: Arc<WaitTable<i64>>,
    pub(super) outbox: NewsOutbox,
    /// The records that readers of this process got by a look instead of by a notification.
    pub(super) late: AtomicU64,
}

impl ReaderHub {
    /// Passes on records that this node has appended.
    pub(super) fn grown(&self, no: i64, key: &LogKey, at: u64, records: &[LogRecord]) {
        self.logs.add(key, at, records);
        self.outbox.log(no, LogNews::Grown(at + records.len() as u64));
    }

    /// Passes on that this node has closed, trimmed, retired or removed a log.
    pub(super) fn changed(&self, no: i64, key: &LogKey) {
        self.logs.end(key);
        self.outbox.log(no, LogNews::Changed);
    }

    /// Passes on that this node has published in a scope, which now has this number of notifications.
    pub(super) fn published(&self, scope: &str, count: u64) {
        self.scopes.reach(&scope.to_owned(), count);
        self.outbox.scope(scope);
    }

    /// Passes on that a run has a new command or answer.
    pub(super) fn commanded(&self, run: i64) {
        self.commands.wake(&run);
        self.outbox.command(run);
    }

    /// Wakes all readers: each looks for itself.
    pub(super) fn wake_all(&self) {
        self.logs.wake_all();
        self.scopes.wake_all();
        self.commands.wake_all();
    }
}
