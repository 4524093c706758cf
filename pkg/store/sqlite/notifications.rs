//! The notification channel of [`SqliteStore`].

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    statements::{execute, int, maybe_integer, number, rows},
};
use crate::{
    LogKey, Notification, NotificationChannel, StoreError, StoreFuture, notifications::MAX_KEPT,
};

/// A row of the table of notifications.
type NotificationRow = (i64, String, String, String, i64);

/// Returns the key by which readers of a scope are woken; no log has this key.
fn wake_key(scope: &str) -> LogKey {
    LogKey::new(scope, "\0notifications")
}

fn end(connection: &Connection, scope: &str) -> Result<u64, StoreError> {
    let sql = "SELECT max(number) FROM notification WHERE scope = ?";
    let last = maybe_integer(connection, sql, [scope])?;
    Ok(last.map_or(0, |last| number(last) + 1))
}

fn publish(connection: &Connection, scope: &str, note: &Notification) -> Result<u64, StoreError> {
    let place = end(connection, scope)?;
    let sql =
        "INSERT INTO notification (scope, number, id, kind, data, at_ms) VALUES (?, ?, ?, ?, ?, ?)";
    let (id, kind, data) = (note.id.as_str(), note.kind.as_str(), note.data.as_str());
    execute(connection, sql, params![scope, int(place), id, kind, data, int(note.at_ms)])?;
    // The newest notification is kept, so that numbering continues.
    let sql = "DELETE FROM notification WHERE scope = ? AND number <= ?";
    execute(connection, sql, params![scope, int(place) - int(MAX_KEPT as u64)])?;
    Ok(place)
}

fn read(
    connection: &Connection,
    scope: &str,
    from: u64,
    most: usize,
) -> Result<Vec<(u64, Notification)>, StoreError> {
    let sql = "SELECT number, id, kind, data, at_ms FROM notification \
               WHERE scope = ? AND number >= ? ORDER BY number LIMIT ?";
    let rows: Vec<NotificationRow> =
        rows(connection, sql, params![scope, int(from), int(most as u64)])?;
    if let Some((first, ..)) = rows.first().filter(|(first, ..)| number(*first) != from) {
        return Err(StoreError::Dropped {
            what: "scope",
            name: scope.into(),
            first: number(*first),
        });
    }
    let note = |(place, id, kind, data, at_ms): NotificationRow| {
        let mut note = Notification::new(kind, data, number(at_ms));
        note.id = id.into();
        (number(place), note)
    };
    Ok(rows.into_iter().map(note).collect())
}

impl NotificationChannel for SqliteStore {
    fn publish<'a>(&'a self, scope: &'a str, notification: Notification) -> StoreFuture<'a, u64> {
        let (bytes, tails, key) =
            (notification.data.len(), Arc::clone(&self.0.tails), wake_key(scope));
        let scope = scope.to_owned();
        let write = move |connection: &Connection| publish(connection, &scope, &notification);
        Box::pin(self.0.writer.write_then(bytes, write, move |_| tails.end(&key)))
    }

    fn end<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| end(connection, &scope)))
    }

    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, Notification)>> {
        let scope = scope.to_owned();
        Box::pin(self.query(move |connection| read(connection, &scope, from, most)))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut waiting = self.0.tails.subscribe(&wake_key(scope));
            while NotificationChannel::end(self, scope).await? <= from {
                waiting.changed().await;
            }
            Ok(())
        })
    }
}
