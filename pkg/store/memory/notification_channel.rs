//! The notification channel of [`InMemoryStore`].

use super::{
    InMemoryStore,
    locks::{lock, ready},
    notifications::{ScopeNotifications, entry},
};
use crate::{Notification, NotificationChannel, StoreError, StoreFuture};
use forgeline_types::Text;

impl NotificationChannel for InMemoryStore {
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
