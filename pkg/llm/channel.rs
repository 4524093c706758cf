//! Bounded channels with a reserved slot for the last items.
//!
//! Only the writer waits for a slow reader, and a writer that must stop can still close what it
//! opened: its last items go to a slot beside the queue, which the reader gets after the queue.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::sync::mpsc;

use crate::types::debug_fields;
use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};

/// Creates a bounded channel for `capacity` items, at least one, and a slot for last items.
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
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    let slot = Arc::new(Mutex::new(VecDeque::new()));
    (
        Sender { sender, slot: Arc::clone(&slot) },
        Receiver { queue: ReceiverStream::new(receiver), slot },
    )
}

/// The writing end; clones write to the same channel.
pub struct Sender<T> {
    sender: mpsc::Sender<T>,
    slot: Arc<Mutex<VecDeque<T>>>,
}

/// The error of a channel whose receiver is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver is gone")]
pub struct Closed;

impl<T> Sender<T> {
    /// Waits for a place and sends `item`.
    ///
    /// # Errors
    ///
    /// [`Closed`] when the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has sent nothing.
    pub async fn send(&self, item: T) -> Result<(), Closed> {
        self.sender.send(item).await.map_err(|_| Closed)
    }

    /// Waits for a place and keeps it for one item.
    ///
    /// # Errors
    ///
    /// [`Closed`] when the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has taken no place; a dropped place is free again.
    pub async fn reserve(&self) -> Result<Place<'_, T>, Closed> {
        self.sender.reserve().await.map(Place).map_err(|_| Closed)
    }

    /// Sends `item` if there is a place now; gives it back if there is none.
    ///
    /// # Errors
    ///
    /// The item, when the queue is full or the receiver was dropped.
    pub fn try_send(&self, item: T) -> Result<(), T> {
        self.sender.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(item) | mpsc::error::TrySendError::Closed(item) => item,
        })
    }

    /// Sends items to the reserved slot; never waits. The reader gets them after the queue, once
    /// every sender is gone.
    pub fn send_last(&self, items: impl IntoIterator<Item = T>) {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).extend(items);
    }

    /// Waits until the receiver is gone.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Returns `true` if the receiver is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), slot: Arc::clone(&self.slot) }
    }
}

debug_fields!(<T> Sender, sender: capacity = sender.sender.capacity());

/// A place in the queue, kept for one item.
#[derive(Debug)]
pub struct Place<'a, T>(mpsc::Permit<'a, T>);

impl<T> Place<'_, T> {
    /// Sends `item`; never waits.
    pub fn send(self, item: T) {
        self.0.send(item);
    }
}

/// The reading end; a [`Stream`]. Dropping it makes the next send fail.
pub struct Receiver<T> {
    queue: ReceiverStream<T>,
    slot: Arc<Mutex<VecDeque<T>>>,
}

impl<T> Receiver<T> {
    /// Waits for the next item; `None` after the last.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has taken nothing.
    pub async fn recv(&mut self) -> Option<T> {
        self.next().await
    }

    fn take_last(&self) -> Option<T> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let item = ready!(Pin::new(&mut self.queue).poll_next(context));
        Poll::Ready(item.or_else(|| self.take_last()))
    }
}

debug_fields!(<T> Receiver, receiver: queued = receiver.queue.as_ref().len());

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn last_items_come_after_a_full_queue_and_nothing_is_dropped() {
        for capacity in 1..4 {
            let (sender, mut receiver) = channel(capacity);
            let mut sent = 0;
            while sender.try_send(sent).is_ok() {
                sent += 1;
            }
            assert_eq!(sent, capacity);
            sender.send_last([90, 91]);
            drop(sender);
            let mut got = Vec::new();
            while let Some(item) = receiver.recv().await {
                got.push(item);
            }
            assert_eq!(got, (0..capacity).chain([90, 91]).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_dropped_receiver_fails_the_next_send() {
        let (sender, receiver) = channel(1);
        drop(receiver);
        assert_eq!(sender.send(1).await, Err(Closed));
        sender.closed().await;
        assert!(sender.is_closed());
    }
}
