//! Bounded channels with a reserved slot for the last items.
//!
//! Only the writer waits for a slow reader, and a writer that must stop can still close what it
//! opened: its last items go to a separate slot, which the reader reads after the queue.

use std::{
    collections::VecDeque,
    fmt, mem,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::{
    sync::{Notify, Semaphore, SemaphorePermit},
    task::coop::poll_proceed,
};

use crate::types::debug_fields;

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
    let shared = Arc::new(Shared {
        places: Semaphore::new(capacity.clamp(1, Semaphore::MAX_PERMITS)),
        state: Mutex::new(State {
            queue: VecDeque::new(),
            last: VecDeque::new(),
            reader: None,
            senders: 1,
        }),
        gone: Notify::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

/// The state shared by both ends. A short queue takes little memory, whatever the capacity.
struct Shared<T> {
    /// One permit for each free place; closed once the receiver is gone.
    places: Semaphore,
    state: Mutex<State<T>>,
    /// Notified when the receiver is gone.
    gone: Notify,
}

struct State<T> {
    queue: VecDeque<T>,
    /// The last items; read after the queue, once every sender is gone.
    last: VecDeque<T>,
    /// The waker of the waiting reader.
    reader: Option<Waker>,
    senders: usize,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item into a place that is already taken.
    fn put(&self, item: T) {
        let mut state = self.state();
        if self.places.is_closed() {
            // The queue is no longer read; the item itself may own an end of this channel.
            drop(state);
            return drop(item);
        }
        state.queue.push_back(item);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// Takes the next item. If there is none, `reader` is woken when there is one or when the channel
    /// ends.
    fn take(&self, reader: Option<&Waker>) -> Poll<Option<T>> {
        let mut state = self.state();
        if let Some(item) = state.queue.pop_front() {
            drop(state);
            self.places.add_permits(1);
            return Poll::Ready(Some(item));
        }
        if state.senders == 0 {
            return Poll::Ready(state.last.pop_front());
        }
        let before = reader.and_then(|reader| state.reader.replace(reader.clone()));
        drop(state);
        // Dropping a waker may drop a task, and with it an end of this channel.
        drop(before);
        Poll::Pending
    }
}

/// The writing end; clones write to the same channel.
pub struct Sender<T>(Arc<Shared<T>>);

/// The error of a channel whose receiver was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver is gone")]
pub struct Closed;

impl<T> Sender<T> {
    /// Waits for a place and sends `item`.
    ///
    /// # Errors
    ///
    /// [`Closed`] if the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, nothing is sent.
    pub async fn send(&self, item: T) -> Result<(), Closed> {
        self.reserve().await?.send(item);
        Ok(())
    }

    /// Waits for a place and reserves it for one item.
    ///
    /// # Errors
    ///
    /// [`Closed`] if the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, no place is reserved; dropping a place frees it.
    pub async fn reserve(&self) -> Result<Place<'_, T>, Closed> {
        let permit = self.0.places.acquire().await.map_err(|_| Closed)?;
        Ok(Place { permit, shared: &self.0 })
    }

    /// Sends `item` if there is a free place now.
    ///
    /// # Errors
    ///
    /// Returns the item if the queue is full or the receiver was dropped.
    pub fn try_send(&self, item: T) -> Result<(), T> {
        let Ok(permit) = self.0.places.try_acquire() else { return Err(item) };
        Place { permit, shared: &self.0 }.send(item);
        Ok(())
    }

    /// Sends items to the reserved slot; never waits. The reader reads them after the queue, once
    /// every sender is gone.
    pub fn send_last(&self, items: impl IntoIterator<Item = T>) {
        // The iterator may use the channel.
        let items: Vec<_> = items.into_iter().collect();
        let mut state = self.0.state();
        if self.is_closed() {
            drop(state);
            return drop(items);
        }
        state.last.extend(items);
    }

    /// Waits until the receiver is gone.
    pub async fn closed(&self) {
        let mut gone = pin!(self.0.gone.notified());
        // From here on, notifications are received.
        gone.as_mut().enable();
        if !self.is_closed() {
            gone.await;
        }
    }

    /// Returns `true` if the receiver is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.places.is_closed()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.senders -= 1;
        let reader = if state.senders == 0 { state.reader.take() } else { None };
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}

debug_fields!(<T> Sender, sender: places = sender.0.places.available_permits());

/// A place in the queue, reserved for one item.
pub struct Place<'a, T> {
    permit: SemaphorePermit<'a>,
    shared: &'a Shared<T>,
}

impl<T> Place<'_, T> {
    /// Sends `item`; never waits.
    pub fn send(self, item: T) {
        // The reader returns the permit.
        self.permit.forget();
        self.shared.put(item);
    }
}

impl<T> fmt::Debug for Place<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Place").field(&self.permit).finish()
    }
}

/// The reading end, which is a [`Stream`]. Dropping it makes later sends fail.
pub struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// Waits for the next item; returns `None` after the last.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, no item is lost.
    pub async fn recv(&mut self) -> Option<T> {
        self.next().await
    }

    /// Takes the next item if there is one; returns `Ready(None)` after the last. Registers no waker.
    pub(crate) fn try_next(&mut self) -> Poll<Option<T>> {
        self.0.take(None)
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        // Yields to other tasks now and then, even if the queue is never empty.
        let budget = ready!(poll_proceed(context));
        let item = self.0.take(Some(context.waker()));
        if item.is_ready() {
            budget.made_progress();
        }
        item
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.places.close();
        self.0.gone.notify_waiters();
        let mut state = self.0.state();
        let left = (mem::take(&mut state.queue), mem::take(&mut state.last), state.reader.take());
        drop(state);
        // The items themselves may own ends of this channel.
        drop(left);
    }
}

debug_fields!(<T> Receiver, receiver: queued = receiver.0.state().queue.len());

#[cfg(test)]
mod tests;
