//! The events of a provider's stream that cannot be moved.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{Stream, StreamExt as _};

use super::harness::check_brackets;
use crate::{EventStream, StreamOptions};
use forgeline_llm::{ProviderError, StreamChunk, ToolCallDelta};
use forgeline_types::{ErrorCode, FinishReason};

/// Notes that it was dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn chunks(is_closed: &Arc<AtomicBool>) -> impl Stream<Item = Result<StreamChunk, ProviderError>> {
    let guard = Guard(Arc::clone(is_closed));
    async_stream::stream! {
        let _guard = guard;
        yield Ok(StreamChunk::thinking("Six times seven."));
        yield Ok(StreamChunk::message("It is "));
        yield Ok(StreamChunk::calls(vec![ToolCallDelta::new(0).name("times").arguments("{\"a\":6}")]));
        yield Ok(StreamChunk::message("42."));
        yield Ok(StreamChunk::end(FinishReason::Stop));
    }
}

#[tokio::test]
async fn cancelling_an_event_stream_at_every_event_closes_what_is_open() {
    let options = StreamOptions::default();
    let length = EventStream::new(chunks(&Arc::default()), &options).count().await;
    assert!(length > 8, "{length}");
    for at in 0..=length {
        let is_closed = Arc::default();
        let mut stream = pin!(EventStream::new(chunks(&is_closed), &options));
        let mut events: Vec<_> = stream.as_mut().take(at).collect().await;
        stream.as_mut().cancel();
        assert!(is_closed.load(Ordering::Relaxed), "the provider's stream is open after {at}");
        assert!(at == length || stream.completion().is_none(), "events are left after {at}");
        events.extend(stream.as_mut().collect::<Vec<_>>().await);
        check_brackets(&events);
        let error = stream.completion().unwrap().error.as_ref();
        assert!(
            error.is_none_or(|error| error.code == ErrorCode::Cancelled),
            "{error:?} after {at}"
        );
        assert!(at < length || error.is_none(), "{error:?} after the last event");
        assert!(at > 0 || error.is_some(), "cancelled before the first event");
    }
}
