//! Following of a log in memory, with a lock of that log only.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{
    lock,
    stored_log::{LogPhase, StoredLog},
};
use crate::{LogKey, LogRecord, StoreError};

/// A reader of a log, registered among those that wait.
pub(super) struct LogReader {
    log: Arc<Mutex<StoredLog>>,
    place: usize,
}

impl LogReader {
    pub(super) fn of(log: &Arc<Mutex<StoredLog>>) -> Self {
        let place = lock(log).readers.enter();
        Self { log: Arc::clone(log), place }
    }

    /// Returns what `look` finds in the log, or waits for the next change if it finds nothing.
    pub(super) fn poll<T>(
        &self,
        context: &Context<'_>,
        look: impl FnOnce(&StoredLog) -> Option<T>,
    ) -> Poll<T> {
        let mut log = lock(&self.log);
        if let Some(found) = look(&log) {
            return Poll::Ready(found);
        }
        let before = log.readers.wait(self.place, context.waker());
        drop(log);
        drop(before);
        Poll::Pending
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let waker = lock(&self.log).readers.leave(self.place);
        drop(waker);
    }
}

/// The records of a log from a number on.
pub(super) struct LogFollower {
    /// `None` after the end.
    pub(super) reading: Option<Result<LogReader, StoreError>>,
    pub(super) key: LogKey,
    pub(super) at: u64,
    /// Records that were read but not yielded yet; one buffer for all.
    pub(super) read: VecDeque<LogRecord>,
}

impl LogFollower {
    /// Reads the available records; returns `false` at the end.
    fn poll_read(&mut self, context: &Context<'_>) -> Poll<Result<bool, StoreError>> {
        let Self { reading, key, at, read } = self;
        match reading.take() {
            None => Poll::Ready(Ok(false)),
            Some(Err(error)) => Poll::Ready(Err(error)),
            Some(Ok(open)) => {
                let polled = open.poll(context, |log| match log.take(key, *at, read) {
                    Err(error) => Some(Err(error)),
                    Ok(()) if !read.is_empty() => Some(Ok(true)),
                    Ok(()) => (log.state == LogPhase::Closed).then_some(Ok(false)),
                });
                if let Poll::Pending | Poll::Ready(Ok(true)) = polled {
                    *reading = Some(Ok(open));
                }
                polled
            }
        }
    }
}

impl Stream for LogFollower {
    type Item = Result<(u64, LogRecord), StoreError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(record) = this.read.pop_front() {
                let at = this.at;
                this.at += 1;
                return Poll::Ready(Some(Ok((at, record))));
            }
            match this.poll_read(context) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) => return Poll::Ready(None),
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
