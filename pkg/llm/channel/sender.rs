//! The writing end of a channel.

use std::{fmt, pin::pin, sync::Arc, task::Waker};

use tokio::sync::SemaphorePermit;

use super::queue::ChannelQueue;
use forgeline_types::debug_fields;

/// The writing end; clones write to the same channel.
pub struct Sender<T>(pub(super) Arc<ChannelQueue<T>>);

/// The error of a channel whose receiver was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver is gone; send nothing more")]
pub struct ChannelClosed;

impl<T> Sender<T> {
    /// Waits for a place and sends `item`.
    ///
    /// # Errors
    ///
    /// [`ChannelClosed`] if the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, nothing is sent.
    pub async fn send(&self, item: T) -> Result<(), ChannelClosed> {
        self.reserve().await?.send(item);
        Ok(())
    }

    /// Waits for a place and reserves it for one item.
    ///
    /// # Errors
    ///
    /// [`ChannelClosed`] if the receiver was dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, no place is reserved; dropping a place frees it.
    pub async fn reserve(&self) -> Result<Place<'_, T>, ChannelClosed> {
        let permit = self.0.places.acquire().await.map_err(|_| ChannelClosed)?;
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
    shared: &'a ChannelQueue<T>,
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
