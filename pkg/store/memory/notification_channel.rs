//! The notification channel of [`MemoryStore`].

use futures_core::future::BoxFuture;

use super::notifications::Scope;
use super::{MemoryStore, lock, ready};
use crate::{Notification, NotificationChannel, StoreError};
use forgeline_types::Text;

impl NotificationChannel for MemoryStore {
    fn publish<'a>(
        &'a self,
        scope: &'a str,
        notification: Notification,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let mut scopes = lock(&self.0.notifications);
        let scope = scopes.get(scope);
        let number = scope.end();
        scope.add(notification);
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
        let name = Text::from(scope);
        let Some(scope) = scopes.0.get(&name) else { return ready(Ok(Vec::new())) };
        if from < scope.first {
            return ready(Err(StoreError::Dropped { what: "scope", name, first: scope.first }));
        }
        let skipped = usize::try_from(from - scope.first).unwrap_or(usize::MAX);
        let found = (from..).zip(scope.kept.iter().skip(skipped).cloned());
        ready(Ok(found.take(most).collect()))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let name = Text::from(scope);
        let mut end = lock(&self.0.notifications).get(scope).end.subscribe();
        Box::pin(async move {
            let ended = end.wait_for(|end| *end > from).await;
            ended.map(drop).map_err(|_| StoreError::Dropped { what: "scope", name, first: 0 })
        })
    }
}
