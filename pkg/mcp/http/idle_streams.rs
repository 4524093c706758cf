//! Reopening of streams: the number of attempts, and the waits between them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, SseRetryPolicy};
use sse_stream::{Error as SseError, Sse};
use tokio::time::Instant;

use super::client::is_too_long;

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
        let mut opening = StreamOpening { idle, last_event, opened, heard: StreamNews::Nothing };
        stream.inspect(move |event| opening.hear(event)).boxed()
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
    heard: StreamNews,
}

/// The news that a stream has brought so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamNews {
    Nothing,
    Event,
    /// An event that is longer than it may be: a stream that is opened again would bring it again.
    LongEvent,
}

impl StreamOpening {
    fn hear(&mut self, event: &Result<Sse, SseError>) {
        match event {
            Ok(_) => self.heard = StreamNews::Event,
            Err(error) if is_too_long(error) => self.heard = StreamNews::LongEvent,
            Err(_) => {}
        }
    }
}

impl Drop for StreamOpening {
    fn drop(&mut self) {
        let was_open = self.opened.elapsed() >= OPEN;
        self.idle.count(self.last_event.as_deref(), |count| {
            *count = match self.heard {
                StreamNews::LongEvent => MAX_RECONNECTS + 1,
                StreamNews::Event => 0,
                StreamNews::Nothing if was_open => 0,
                StreamNews::Nothing => count.saturating_add(1),
            };
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::{super::client::events, *};

    #[tokio::test]
    async fn a_stream_with_an_event_that_is_too_long_is_not_opened_again() {
        for (body, is_opened) in [("data: 1\n\n", true), ("id: 1\n\ndata: 123456789\n\n", false)] {
            let idle = Arc::new(IdleStreams::default());
            let pieces = stream::iter([Ok(Bytes::from(body))]);
            let opened = events(Box::pin(pieces), 14);
            let read = idle.watched(Some("1".to_owned()), opened).collect::<Vec<_>>().await;
            assert_eq!(read.iter().all(Result::is_ok), is_opened, "{body:?}: {read:?}");
            assert_eq!(idle.pause(Some("1")).is_some(), is_opened, "{body:?}");
        }
    }
}
