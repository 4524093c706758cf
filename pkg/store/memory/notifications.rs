//! Notifications in memory.

use std::collections::{HashMap, VecDeque};

use futures_core::future::BoxFuture;
use tokio::sync::watch;

use super::{MemoryStore, lock, ready};
use crate::{
    store::{Notification, NotificationChannel, StoreError, notifications::MAX_KEPT},
    types::Text,
};

/// Most scopes whose notifications are kept.
const MAX_SCOPES: usize = 10_000;

/// Notifications by scope.
#[derive(Debug, Default)]
pub(super) struct Scopes(HashMap<Text, Scope>);

#[derive(Debug, Default)]
struct Scope {
    kept: VecDeque<Notification>,
    /// The number of the first that is kept.
    first: u64,
    /// Tells of the end.
    end: watch::Sender<u64>,
}

impl Scopes {
    /// Returns what a scope has. A scope more than there may be takes the place of the one that was quiet for longest.
    fn get(&mut self, scope: &str) -> &mut Scope {
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
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }
}

impl NotificationChannel for MemoryStore {
    fn publish<'a>(
        &'a self,
        scope: &'a str,
        notification: Notification,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let mut scopes = lock(&self.0.notifications);
        let scope = scopes.get(scope);
        let number = scope.end();
        scope.kept.push_back(notification);
        if scope.kept.len() > MAX_KEPT {
            scope.kept.pop_front();
            scope.first += 1;
        }
        scope.end.send_replace(number + 1);
        ready(Ok(number))
    }

    fn end<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let scopes = lock(&self.0.notifications);
        ready(Ok(scopes.0.get(&Text::from(scope)).map_or(0, Scope::end)))
    }

    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<(u64, Notification)>, StoreError>> {
        let scopes = lock(&self.0.notifications);
        let Some(scope) = scopes.0.get(&Text::from(scope)) else { return ready(Ok(Vec::new())) };
        if from < scope.first {
            return ready(Err(StoreError::Dropped { first: scope.first }));
        }
        let skipped = usize::try_from(from - scope.first).unwrap_or(usize::MAX);
        let found = (from..).zip(scope.kept.iter().skip(skipped).cloned());
        ready(Ok(found.take(most).collect()))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut end = lock(&self.0.notifications).get(scope).end.subscribe();
        Box::pin(async move {
            let ended = end.wait_for(|end| *end > from).await;
            ended.map(drop).map_err(|_| StoreError::Dropped { first: 0 })
        })
    }
}
