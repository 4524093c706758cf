//! Notifications in memory.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use crate::{store::Notification, types::Text};

/// Most scopes whose notifications are kept.
pub(super) const MAX_SCOPES: usize = 10_000;

/// Notifications by scope.
#[derive(Debug, Default)]
pub(super) struct Scopes(pub(super) HashMap<Text, Scope>);

#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) kept: VecDeque<Notification>,
    /// The number of the first that is kept.
    pub(super) first: u64,
    /// Tells of the end.
    pub(super) end: watch::Sender<u64>,
}

impl Scopes {
    /// Returns what a scope has. A scope more than there may be takes the place of the one that was quiet for longest.
    pub(super) fn get(&mut self, scope: &str) -> &mut Scope {
        if self.0.len() >= MAX_SCOPES && !self.0.contains_key(&Text::from(scope)) {
            let last = |scope: &Scope| scope.kept.back().map(|last| last.at_ms);
            let unread = self.0.iter().filter(|(_, scope)| scope.end.receiver_count() == 0);
            let quiet = unread.min_by_key(|(_, scope)| last(scope));
            if let Some(quiet) = quiet.map(|(name, _)| name.clone()) {
                self.0.remove(&quiet);
            }
        }
        self.0.entry(scope.into()).or_default()
    }
}

impl Scope {
    pub(super) fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }
}
