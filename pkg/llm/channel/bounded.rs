//! Creation of a channel.

use std::sync::Arc;

use super::{Receiver, Sender, queue::ChannelQueue};

/// Creates a bounded channel for `capacity` items, at least one, and a reserved slot for the last items.
///
/// # Examples
///
/// ```
/// use forgeline::llm::channel::channel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (sender, mut receiver) = channel(1);
/// sender.send("content").await.unwrap();
/// assert_eq!(sender.try_send("more"), Err("more"), "the queue is full");
/// sender.send_last(["end"]);
/// drop(sender);
/// assert_eq!(receiver.recv().await, Some("content"));
/// assert_eq!(receiver.recv().await, Some("end"));
/// assert_eq!(receiver.recv().await, None);
/// # }
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(ChannelQueue::new(capacity));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}
