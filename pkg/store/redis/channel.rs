//! The notification channel of [`RedisNotifications`].

use super::{
    RedisNotifications,
    replies::{StreamEntry, field, reply, strange},
};
use crate::{Notification, NotificationChannel, StoreError, StoreFuture, ids::new_id};

/// Number of notifications read first, whose size says how many are read next.
const FIRST_PAGE: usize = 16;

/// Maximum number of notifications read at a time.
const MAX_PAGE: usize = 1_024;

/// Size of notifications, in bytes, after which a read returns what it has.
const MAX_READ_BYTES: usize = 16 << 20;

fn notification(entry: &StreamEntry) -> Result<(u64, Notification), StoreError> {
    let id = entry.0.split('-').next().and_then(|id| id.parse::<u64>().ok());
    let number = id.and_then(|id| id.checked_sub(1)).ok_or_else(strange)?;
    let at_ms = field(entry, "at")?.parse().map_err(|_| strange())?;
    let mut found = Notification::new(field(entry, "kind")?, field(entry, "data")?, at_ms);
    found.id = field(entry, "id")?.into();
    Ok((number, found))
}

/// Returns how many notifications are read after some of a size, so that all have about the size of a read.
fn page(count: usize, bytes: usize) -> usize {
    let left = MAX_READ_BYTES.saturating_sub(bytes);
    match bytes.checked_div(count) {
        Some(size) => (left / size.max(1)).clamp(1, MAX_PAGE),
        None => FIRST_PAGE,
    }
}

impl RedisNotifications {
    async fn notification_end(&self, scope: &str) -> Result<u64, StoreError> {
        let end: Option<String> = reply(self.0.link.ask(&self.0.keys.end(scope)).await?)?;
        end.map_or(Ok(0), |end| end.parse().map_err(|_| strange()))
    }
}

impl NotificationChannel for RedisNotifications {
    fn publish<'a>(&'a self, scope: &'a str, notification: Notification) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let attempt = new_id("");
            let command = self.0.keys.publish(scope, &notification, attempt.as_str());
            let id: String = reply(self.0.link.ask(&command).await?)?;
            let end: u64 = id.parse().map_err(|_| strange())?;
            self.0.scopes.reach(&scope.to_owned(), end);
            end.checked_sub(1).ok_or_else(strange)
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
        let work = async move {
            let (mut found, mut bytes) = (Vec::new(), 0);
            while found.len() < most && bytes < MAX_READ_BYTES {
                let next = from + found.len() as u64;
                let count = page(found.len(), bytes).min(most - found.len());
                let command = self.0.keys.read(scope, next, count);
                let entries: Vec<StreamEntry> = reply(self.0.link.ask(&command).await?)?;
                for entry in &entries {
                    let (number, note) = notification(entry)?;
                    if number != from + found.len() as u64 {
                        if found.is_empty() {
                            return Err(StoreError::dropped("scope", scope, number));
                        }
                        // Trimmed meanwhile: the next read says so.
                        return Ok(found);
                    }
                    bytes += note.data.len();
                    found.push((number, note));
                }
                if entries.len() < count {
                    break;
                }
            }
            Ok(found)
        };
        Box::pin(crate::time_limit::within(work))
    }

    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut waiting = self.0.scopes.subscribe(scope.to_owned());
            loop {
                // What another reader or publisher of this process has seen is not asked for again.
                if waiting.saw(0) > from {
                    return Ok(());
                }
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
