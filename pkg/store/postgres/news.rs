//! News for other nodes, and their form as payloads of `NOTIFY`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The number of channels for logs: that of a log is its number modulo this one.
pub(super) const CHANNELS: i64 = 64;

/// The channel for scopes with new notifications.
pub(super) const SCOPES: &str = "forgeline_scopes";

/// The channel for runs with new commands or answers.
pub(super) const COMMANDS: &str = "forgeline_commands";

/// Maximum size of a payload, in bytes, below the 8,000 of the server.
const MAX_PAYLOAD: usize = 7_900;

/// Maximum number of items that wait to be sent. More are left to the look that each node takes every second.
const MAX_PENDING: usize = 65_536;

/// News of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogNews {
    /// The log has grown, and ends here.
    Grown(u64),
    /// The log was closed, trimmed, retired or removed.
    Changed,
}

impl LogNews {
    /// Returns the end of the log that the news name.
    pub(super) fn end(self) -> u64 {
        match self {
            Self::Grown(head) => head,
            Self::Changed => u64::MAX,
        }
    }
}

/// News that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct NewsBatch {
    logs: BTreeMap<i64, LogNews>,
    scopes: BTreeSet<String>,
    commands: BTreeSet<i64>,
}

/// The news of this node for others, which the notifier sends.
#[derive(Default)]
pub(super) struct NewsOutbox {
    pending: Mutex<NewsBatch>,
    added: Notify,
}

impl NewsOutbox {
    fn lock(&self) -> MutexGuard<'_, NewsBatch> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self, no: i64, news: LogNews) {
        let mut pending = self.lock();
        if pending.logs.len() < MAX_PENDING {
            let entry = pending.logs.entry(no).or_insert(news);
            *entry = match (*entry, news) {
                (LogNews::Grown(one), LogNews::Grown(other)) => LogNews::Grown(one.max(other)),
                (LogNews::Changed, _) | (_, LogNews::Changed) => LogNews::Changed,
            };
        }
        drop(pending);
        self.added.notify_one();
    }

    pub(super) fn scope(&self, scope: &str) {
        let mut pending = self.lock();
        if pending.scopes.len() < MAX_PENDING {
            pending.scopes.insert(scope.to_owned());
        }
        drop(pending);
        self.added.notify_one();
    }

    pub(super) fn command(&self, run: i64) {
        let mut pending = self.lock();
        if pending.commands.len() < MAX_PENDING {
            pending.commands.insert(run);
        }
        drop(pending);
        self.added.notify_one();
    }

    /// Waits until there are news.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }

    /// Takes all news.
    pub(super) fn take(&self) -> NewsBatch {
        std::mem::take(&mut *self.lock())
    }
}

impl NewsBatch {
    /// Returns the payloads with their channels.
    pub(super) fn payloads(&self) -> Vec<(String, String)> {
        let mut payloads: Vec<(String, String)> = Vec::new();
        let mut by_channel: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (no, news) in &self.logs {
            let item = match news {
                LogNews::Grown(head) => format!("{no}:{head}"),
                LogNews::Changed => format!("{no}!"),
            };
            by_channel.entry(no.rem_euclid(CHANNELS)).or_default().push(item);
        }
        for (channel, items) in by_channel {
            push_items(&mut payloads, &log_channel(channel), &items);
        }
        for scope in &self.scopes {
            // A scope that does not fit wakes the readers of all.
            let payload = if scope.len() > MAX_PAYLOAD { "" } else { scope };
            payloads.push((SCOPES.to_owned(), payload.to_owned()));
        }
        let commands: Vec<_> = self.commands.iter().map(i64::to_string).collect();
        push_items(&mut payloads, COMMANDS, &commands);
        payloads
    }
}

/// Returns the name of a channel for logs.
pub(super) fn log_channel(channel: i64) -> String {
    format!("forgeline_{channel}")
}

/// Adds items, separated by spaces, in as few payloads as they fit in.
fn push_items(payloads: &mut Vec<(String, String)>, channel: &str, items: &[String]) {
    let mut payload = String::new();
    for item in items {
        if payload.len() + item.len() >= MAX_PAYLOAD {
            payloads.push((channel.to_owned(), std::mem::take(&mut payload)));
        }
        let separator = if payload.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _written = write!(payload, "{separator}{item}");
    }
    if !payload.is_empty() {
        payloads.push((channel.to_owned(), payload));
    }
}

/// Reads the news of logs from a payload; what cannot be read is passed over.
pub(super) fn log_news(payload: &str) -> impl Iterator<Item = (i64, LogNews)> {
    payload.split(' ').filter_map(|item| {
        if let Some(no) = item.strip_suffix('!') {
            return Some((no.parse().ok()?, LogNews::Changed));
        }
        let (no, head) = item.split_once(':')?;
        Some((no.parse().ok()?, LogNews::Grown(head.parse().ok()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_come_back_from_their_payloads() {
        let outbox = NewsOutbox::default();
        for no in 0..20_000 {
            outbox.log(no, LogNews::Grown(7));
            outbox.log(no, if no % 3 == 0 { LogNews::Changed } else { LogNews::Grown(3) });
        }
        let payloads = outbox.take().payloads();
        assert!(payloads.iter().all(|(_, payload)| payload.len() < 8_000));
        let mut read = BTreeMap::new();
        for (channel, payload) in &payloads {
            for (no, news) in log_news(payload) {
                assert_eq!(*channel, log_channel(no % CHANNELS));
                assert!(read.insert(no, news).is_none(), "{no} is sent twice");
            }
        }
        let want = (0..20_000)
            .map(|no| (no, if no % 3 == 0 { LogNews::Changed } else { LogNews::Grown(7) }));
        assert!(read.into_iter().eq(want));
        assert!(outbox.take().payloads().is_empty(), "news are taken once");
        assert!(log_news("x 1 2:x :3").next().is_none());
    }

    #[test]
    fn a_scope_that_is_too_long_wakes_the_readers_of_all() {
        let outbox = NewsOutbox::default();
        outbox.scope(&"s".repeat(9_000));
        outbox.command(5);
        outbox.command(5);
        let want = [(SCOPES.to_owned(), String::new()), (COMMANDS.to_owned(), "5".to_owned())];
        assert_eq!(outbox.take().payloads(), want);
    }
}
