//! Notifications in memory.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use super::scopes;
use crate::{Notification, notifications::MAX_KEPT};
use forgeline_types::Text;

/// Maximum number of scopes whose notifications are kept.
const MAX_SCOPES: usize = 10_000;

/// Maximum size of the data of a scope's notifications, in bytes; the newest one is always kept.
const MAX_BYTES: usize = 16 << 20;

/// The notifications of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeNotifications {
    pub(super) kept: VecDeque<Notification>,
    /// The size of their data, in bytes.
    bytes: usize,
    /// The number of the first notification that is kept.
    pub(super) first: u64,
    /// Publishes the number of the next notification.
    pub(super) end: watch::Sender<u64>,
}

/// Returns the notifications of a scope. Beyond the maximum of scopes, one that has a reader is kept.
pub(super) fn entry<'s>(
    all: &'s mut HashMap<Text, ScopeNotifications>,
    scope: &str,
) -> &'s mut ScopeNotifications {
    scopes::entry(all, scope, MAX_SCOPES, |scope: &ScopeNotifications| {
        let is_unread = scope.end.receiver_count() == 0;
        is_unread.then(|| scope.kept.back().map_or(0, |last| last.at_ms))
    })
}

impl ScopeNotifications {
    pub(super) fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Adds a notification, evicting the oldest ones if necessary.
    pub(super) fn add(&mut self, note: Notification) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_with_a_reader_stays_when_there_are_too_many() {
        let mut all = HashMap::new();
        for at in 0..MAX_SCOPES as u64 {
            entry(&mut all, &at.to_string()).add(Notification::new("n", "x", at));
        }
        let reader = entry(&mut all, "0").end.subscribe();
        entry(&mut all, "new").add(Notification::new("n", "x", 1 << 20));
        assert!(all.contains_key("0") && !all.contains_key("1") && all.len() == MAX_SCOPES);
        drop(reader);
        entry(&mut all, "newer");
        assert!(!all.contains_key("0") && all.contains_key("2"), "nobody reads it any more");
    }

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
