//! The notifications of [`MemoryStore`].

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use super::{MemoryStore, lock, ready, scopes};
use crate::{Notification, NotificationChannel, StoreError, StoreFuture, notifications::MAX_KEPT};
use forgeline_types::Text;

/// Maximum number of scopes whose notifications are kept.
const MAX_SCOPES: usize = 10_000;

/// Maximum size of the data of a scope's notifications, in bytes; the newest one is always kept.
const MAX_BYTES: usize = 16 << 20;

/// The notifications of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeNotifications {
    kept: VecDeque<Notification>,
    /// The size of their data, in bytes.
    bytes: usize,
    /// The number of the first notification that is kept.
    first: u64,
    /// Publishes the number of the next notification.
    end: watch::Sender<u64>,
}

/// Returns the notifications of a scope. Beyond the maximum of scopes, one that has a reader is kept.
fn entry<'s>(
    all: &'s mut HashMap<Text, ScopeNotifications>,
    scope: &str,
) -> &'s mut ScopeNotifications {
    scopes::entry(all, scope, MAX_SCOPES, |scope: &ScopeNotifications| {
        let is_unread = scope.end.receiver_count() == 0;
        is_unread.then(|| scope.kept.back().map_or(0, |last| last.at_ms))
    })
}

impl ScopeNotifications {
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Adds a notification, evicting the oldest ones if necessary.
    fn add(&mut self, note: Notification) {
        self.bytes += note.data.len();
        self.kept.push_back(note);
        let is_much = |scope: &Self| scope.kept.len() > MAX_KEPT || scope.bytes > MAX_BYTES;
        while is_much(self)
            && self.kept.len() > 1
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.data.len();
            self.first += 1;
        }
    }
}

impl NotificationChannel for MemoryStore {
    fn publish<'a>(&'a self, scope: &'a str, notification: Notification) -> StoreFuture<'a, u64> {
        let mut scopes = lock(&self.0.notifications);
        let scope = entry(&mut scopes, scope);
        let number = scope.end();
        scope.add(notification);
        scope.end.send_replace(number + 1);
        ready(Ok(number))
    }

    fn end<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        let scopes = lock(&self.0.notifications);
        ready(Ok(scopes.get(scope).map_or(0, ScopeNotifications::end)))
    }

    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, Notification)>> {
        let scopes = lock(&self.0.notifications);
        let name = Text::from(scope);
        let Some(scope) = scopes.get(&name) else { return ready(Ok(Vec::new())) };
        if from < scope.first {
            return ready(Err(StoreError::Dropped { what: "scope", name, first: scope.first }));
        }
        let skipped = usize::try_from(from - scope.first).unwrap_or(usize::MAX);
        let found = (from..).zip(scope.kept.iter().skip(skipped).cloned());
        ready(Ok(found.take(most).collect()))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> StoreFuture<'a, ()> {
        let name = Text::from(scope);
        let mut end = entry(&mut lock(&self.0.notifications), scope).end.subscribe();
        Box::pin(async move {
            let ended = end.wait_for(|end| *end > from).await;
            ended.map(drop).map_err(|_| StoreError::Dropped { what: "scope", name, first: 0 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notifications_of_a_scope_have_a_bound_of_bytes() {
        let mut scope = ScopeNotifications::default();
        for at in 0..300 {
            scope.add(Notification::new("n", "x".repeat(64 << 10), at));
        }
        assert_eq!((scope.kept.len(), scope.first, scope.end()), (256, 44, 300));
        scope.add(Notification::new("n", "x".repeat(MAX_BYTES + 1), 301));
        assert_eq!((scope.kept.len(), scope.end()), (1, 301), "the newest stays");
    }
}
