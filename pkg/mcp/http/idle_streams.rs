//! Reopening of streams: the number of attempts, and the waits between them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, SseRetryPolicy};
use tokio::time::Instant;

/// Maximum number of consecutive attempts to reopen a stream.
const MAX_RECONNECTS: usize = 6;

/// Wait before the first attempt; it doubles with each further one.
const FIRST_RECONNECT: Duration = Duration::from_millis(500);

/// Maximum wait before an attempt.
const LAST_RECONNECT: Duration = Duration::from_secs(8);

/// Time after which a stream without an event counts as having been open: servers and proxies end such streams now and then.
const OPEN: Duration = Duration::from_secs(8);

/// The consecutive streams that ended immediately without an event: those that never had an event, and those after the last event.
#[derive(Debug, Default)]
pub(crate) struct IdleStreams(Mutex<OpeningCounts>);

#[derive(Debug, Default)]
struct OpeningCounts {
    without_event: usize,
    behind: (String, usize),
}

impl IdleStreams {
    /// Returns the pause before a stream is opened, in addition to that of the transport; `None` when it was opened often enough.
    pub(crate) fn pause(&self, last_event: Option<&str>) -> Option<Duration> {
        match self.count(last_event, |count| *count) {
            0 | 1 => Some(Duration::ZERO),
            before => ReconnectPolicy.retry(before - 1),
        }
    }

    /// Counts a stream when it ends.
    pub(crate) fn watched(
        self: &Arc<Self>,
        last_event: Option<String>,
        stream: BoxedSseResponse,
    ) -> BoxedSseResponse {
        let (idle, opened) = (Arc::clone(self), Instant::now());
        let mut opening = StreamOpening { idle, last_event, opened, has_event: false };
        stream.inspect(move |event| opening.heard(event.is_ok())).boxed()
    }

    fn count<T>(&self, last_event: Option<&str>, change: impl FnOnce(&mut usize) -> T) -> T {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(event) = last_event else { return change(&mut counts.without_event) };
        if counts.behind.0 != event {
            counts.behind = (event.to_owned(), 0);
        }
        change(&mut counts.behind.1)
    }
}

/// An open stream.
struct StreamOpening {
    idle: Arc<IdleStreams>,
    last_event: Option<String>,
    opened: Instant,
    has_event: bool,
}

impl StreamOpening {
    fn heard(&mut self, is_event: bool) {
        self.has_event |= is_event;
    }
}

impl Drop for StreamOpening {
    fn drop(&mut self) {
        let was_open = self.has_event || self.opened.elapsed() >= OPEN;
        self.idle.count(self.last_event.as_deref(), |count| {
            *count = if was_open { 0 } else { count.saturating_add(1) };
        });
    }
}

/// Attempts to open a stream again: a few, with growing waits.
#[derive(Debug)]
pub(crate) struct ReconnectPolicy;

impl SseRetryPolicy for ReconnectPolicy {
    fn retry(&self, times: usize) -> Option<Duration> {
        let factor = u32::try_from(times).ok().and_then(|times| 2_u32.checked_pow(times))?;
        let wait = FIRST_RECONNECT.saturating_mul(factor).min(LAST_RECONNECT);
        (times < MAX_RECONNECTS).then_some(wait)
    }
}
