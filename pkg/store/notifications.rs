//! The notification channel.

use super::StoreFuture;
use forgeline_types::Text;

/// Maximum number of notifications kept per scope.
pub(super) const MAX_KEPT: usize = 10_000;

/// Notifications to all readers of a scope, numbered from 0 in each scope, without gaps.
///
/// A notification is stored before a reader sees it. The last 10,000 of each scope are kept; a reader that is further behind learns where it can continue.
/// A reader reads at its own pace, and blocks neither publishers nor other readers.
///
/// Every operation except [`wait`](Self::wait) completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow).
///
/// # Cancel safety
///
/// If the future of [`publish`](Self::publish) is dropped, the notification may or may not be published; publishing again may duplicate it.
pub trait NotificationChannel: Send + Sync + 'static {
    /// Publishes a notification in a scope, and returns its number.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn publish<'a>(&'a self, scope: &'a str, notification: Notification) -> StoreFuture<'a, u64>;

    /// Returns the number that the next notification of a scope will have.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn end<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64>;

    /// Returns at most `most` notifications with their numbers, from number `from` on; none if there are none yet.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Dropped`](crate::StoreError::Dropped) if notification `from` was dropped.
    fn read<'a>(
        &'a self,
        scope: &'a str,
        from: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<(u64, Notification)>>;

    /// Waits until the scope has a notification with number `from`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn wait<'a>(&'a self, scope: &'a str, from: u64) -> StoreFuture<'a, ()>;
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
    /// The unique id.
    pub id: Text,
    /// The kind.
    pub kind: Text,
    /// The data, as JSON.
    pub data: String,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Notification {
    /// Returns a notification with a new id.
    #[must_use]
    pub fn new(kind: impl Into<Text>, data: impl Into<String>, at_ms: u64) -> Self {
        Self { id: super::ids::new_id("note-"), kind: kind.into(), data: data.into(), at_ms }
    }
}
