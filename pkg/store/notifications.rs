//! The channel of notifications.

use futures_core::future::BoxFuture;

use super::StoreError;
use crate::types::Text;

/// Most notifications of a scope that are kept.
pub(super) const MAX_KEPT: usize = 10_000;

/// Notifications to all readers of a scope, numbered from 0 in each scope, without a gap.
///
/// A notification is kept before a reader sees it. Of each scope the last 10,000 are kept; a reader that comes later than that
/// learns where it can go on. A reader reads at its own pace, and keeps neither a publisher nor another reader waiting.
///
/// Each wait but [`wait`](Self::wait) ends within 10 s, with [`StoreError::Slow`] if need be.
///
/// # Cancel safety
///
/// A wait that is dropped has published or not; publishing again may give two.
pub trait NotificationChannel: Send + Sync + 'static {
    /// Publishes a notification in a scope, and returns its number.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn publish<'a>(
        &'a self,
        scope: &'a str,
        notification: Notification,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Returns the number that the next notification of a scope gets.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn end<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Returns at most this many notifications with their numbers, from the number `from` on; none when there are none yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Dropped`] when the one of this number was.
    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<(u64, Notification)>, StoreError>>;

    /// Waits until the scope has a notification with the number `from`.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A notification.
///
/// # Examples
///
/// ```
/// use forgeline::store::Notification;
///
/// let done = Notification::new("report_ready", r#"{"id":7}"#, 1_000);
/// assert_eq!(done.kind, "report_ready");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// An id that no other notification has.
    pub id: Text,
    /// Its kind.
    pub kind: Text,
    /// Its data, as JSON.
    pub data: String,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Notification {
    /// Returns a notification with an id of its own.
    #[must_use]
    pub fn new(kind: impl Into<Text>, data: impl Into<String>, at_ms: u64) -> Self {
        Self { id: super::ids::new_id("note-"), kind: kind.into(), data: data.into(), at_ms }
    }
}
