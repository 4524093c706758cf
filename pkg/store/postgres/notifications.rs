//! The notification channel of [`PostgresStore`].

use tokio_postgres::Row;

use super::{
    PostgresStore,
    pool::RepeatRule,
    values::{column, count, values},
};
use crate::{
    Notification, NotificationChannel, StoreError, StoreFuture, integers::int,
    notifications::MAX_KEPT,
};

/// Publishes with the next number of the scope, whose row is locked: numbers have no gap, and are seen in their order.
const PUBLISH: &str = "
WITH next AS (
    INSERT INTO forgeline.scope AS known (scope, notifications) VALUES ($1, 1)
    ON CONFLICT (scope) DO UPDATE SET notifications = known.notifications + 1
    RETURNING notifications - 1 AS number),
added AS (
    INSERT INTO forgeline.notification (scope, number, id, kind, data, at_ms)
    SELECT $1, number, $2, $3, $4, $5 FROM next),
old AS (
    DELETE FROM forgeline.notification USING next
    WHERE notification.scope = $1 AND notification.number <= next.number - $6)
SELECT number FROM next";

const READ: &str = "SELECT number, id, kind, data, at_ms FROM forgeline.notification \
     WHERE scope = $1 AND number >= $2 ORDER BY number LIMIT $3";

fn notification(row: &Row) -> Result<(u64, Notification), StoreError> {
    let (kind, data) = (column::<&str>(row, 2)?, column::<&str>(row, 3)?);
    let mut found = Notification::new(kind, data, count(row, 4)?);
    found.id = column::<&str>(row, 1)?.into();
    Ok((count(row, 0)?, found))
}

impl PostgresStore {
    async fn notification_end(&self, scope: &str) -> Result<u64, StoreError> {
        let sql = "SELECT notifications FROM forgeline.scope WHERE scope = $1";
        let row = self.0.pool.row(RepeatRule::Safe, sql, values![scope]).await?;
        row.map_or(Ok(0), |row| count(&row, 0))
    }
}

impl NotificationChannel for PostgresStore {
    fn publish<'a>(&'a self, scope: &'a str, notification: Notification) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let (id, kind) = (notification.id.as_str(), notification.kind.as_str());
            let (data, at_ms) = (notification.data.as_str(), int(notification.at_ms));
            let kept = int(MAX_KEPT as u64);
            let values = values![scope, id, kind, data, at_ms, kept];
            let row = self.0.pool.row(RepeatRule::Unsafe, PUBLISH, values).await?;
            let row = row.ok_or_else(|| StoreError::corrupt("a scope has no number"))?;
            let number = count(&row, 0)?;
            self.0.hub.published(scope, number + 1);
            Ok(number)
        })
    }

    fn end<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64> {
        Box::pin(self.notification_end(scope))
    }

    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, Notification)>> {
        Box::pin(async move {
            let (from_int, most) = (int(from), int(most as u64));
            let values = values![scope, from_int, most];
            let rows = self.0.pool.rows(RepeatRule::Safe, READ, values).await?;
            let found = rows.iter().map(notification).collect::<Result<Vec<_>, _>>()?;
            match found.first() {
                Some((first, _)) if *first != from => {
                    Err(StoreError::dropped("scope", scope, *first))
                }
                _ => Ok(found),
            }
        })
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut waiting = self.0.hub.scopes.subscribe(scope.to_owned());
            loop {
                let end = self.notification_end(scope).await?;
                waiting.saw(end);
                if end > from {
                    return Ok(());
                }
                waiting.changed().await;
            }
        })
    }
}
