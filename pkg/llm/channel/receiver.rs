//! The reading end of a channel.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::task::coop::poll_proceed;

use super::queue::ChannelQueue;
use forgeline_types::debug_fields;

/// The reading end, which is a [`Stream`]. Dropping it makes later sends fail.
pub struct Receiver<T>(pub(super) Arc<ChannelQueue<T>>);

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
    #[doc(hidden)]
    pub fn try_next(&mut self) -> Poll<Option<T>> {
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
