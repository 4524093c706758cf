//! The notification channel of [`SqliteStore`].

use std::sync::Arc;

use futures_core::future::BoxFuture;
use sqlx::SqliteConnection;

use super::{
    SqliteStore, errors,
    rows::{int, number},
    within,
    writer::{After, work},
};
use crate::{LogKey, Notification, NotificationChannel, StoreError, notifications::MAX_KEPT};

/// A row of the table of notifications.
type Row = (i64, String, String, String, i64);

/// Returns the key by which readers of a scope are woken; no log has this key.
fn wake_key(scope: &str) -> LogKey {
    LogKey::new(scope, "\0notifications")
}

async fn end(connection: &mut SqliteConnection, scope: &str) -> Result<u64, StoreError> {
    let last: Option<i64> =
        sqlx::query_scalar("SELECT max(number) FROM notification WHERE scope = ?")
            .bind(scope)
            .fetch_one(connection)
            .await
            .map_err(errors::of)?;
    Ok(last.map_or(0, |last| number(last) + 1))
}

async fn publish(
    connection: &mut SqliteConnection,
    scope: &str,
    note: &Notification,
) -> Result<u64, StoreError> {
    let place = end(connection, scope).await?;
    sqlx::query(
        "INSERT INTO notification (scope, number, id, kind, data, at_ms) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(scope)
    .bind(int(place))
    .bind(note.id.as_str())
    .bind(note.kind.as_str())
    .bind(note.data.as_str())
    .bind(int(note.at_ms))
    .execute(&mut *connection)
    .await
    .map_err(errors::of)?;
    // The newest notification is kept, so that numbering continues.
    sqlx::query("DELETE FROM notification WHERE scope = ? AND number <= ?")
        .bind(scope)
        .bind(int(place) - int(MAX_KEPT as u64))
        .execute(connection)
        .await
        .map_err(errors::of)?;
    Ok(place)
}

async fn read(
    connection: &mut SqliteConnection,
    scope: &str,
    from: u64,
    most: usize,
) -> Result<Vec<(u64, Notification)>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT number, id, kind, data, at_ms FROM notification WHERE scope = ? AND number >= ? \
         ORDER BY number LIMIT ?",
    )
    .bind(scope)
    .bind(int(from))
    .bind(int(most as u64))
    .fetch_all(connection)
    .await
    .map_err(errors::of)?;
    if let Some((first, ..)) = rows.first().filter(|(first, ..)| number(*first) != from) {
        return Err(StoreError::Dropped { first: number(*first) });
    }
    let note = |(place, id, kind, data, at_ms): Row| {
        let mut note = Notification::new(kind, data, number(at_ms));
        note.id = id.into();
        (number(place), note)
    };
    Ok(rows.into_iter().map(note).collect())
}

impl NotificationChannel for SqliteStore {
    fn publish<'a>(
        &'a self,
        scope: &'a str,
        notification: Notification,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let bytes = notification.data.len();
        let shared = Arc::new((scope.to_owned(), notification));
        let (tails, key) = (Arc::clone(&self.0.tails), wake_key(scope));
        let write = work(move |connection| {
            let shared = Arc::clone(&shared);
            Box::pin(async move { publish(connection, &shared.0, &shared.1).await })
        });
        let after: After<_> = Box::new(move |_| tails.end(&key));
        Box::pin(self.0.writer.write(bytes, write, Some(after)))
    }

    fn end<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            end(&mut reader, scope).await
        }))
    }

    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<(u64, Notification)>, StoreError>> {
        Box::pin(within(async move {
            let mut reader = self.0.readers.acquire().await.map_err(errors::of)?;
            read(&mut reader, scope, from, most).await
        }))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut waiting = self.0.tails.subscribe(&wake_key(scope));
            while NotificationChannel::end(self, scope).await? <= from {
                waiting.changed().await;
            }
            Ok(())
        })
    }
}
