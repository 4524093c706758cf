//! The queue that both ends of a channel share.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use tokio::sync::{Notify, Semaphore};

/// The state shared by both ends. A short queue takes little memory, whatever the capacity.
pub(super) struct ChannelQueue<T> {
    /// One permit for each free place; closed once the receiver is gone.
    pub(super) places: Semaphore,
    state: Mutex<QueueState<T>>,
    /// Notified when the receiver is gone.
    pub(super) gone: Notify,
}

pub(super) struct QueueState<T> {
    pub(super) queue: VecDeque<T>,
    /// The last items; read after the queue, once every sender is gone.
    pub(super) last: VecDeque<T>,
    /// The waker of the waiting reader.
    pub(super) reader: Option<Waker>,
    pub(super) senders: usize,
}

impl<T> ChannelQueue<T> {
    /// Creates an empty queue with one sender.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            places: Semaphore::new(capacity.clamp(1, Semaphore::MAX_PERMITS)),
            state: Mutex::new(QueueState {
                queue: VecDeque::new(),
                last: VecDeque::new(),
                reader: None,
                senders: 1,
            }),
            gone: Notify::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item into a place that is already taken.
    pub(super) fn put(&self, item: T) {
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
    pub(super) fn take(&self, reader: Option<&Waker>) -> Poll<Option<T>> {
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
