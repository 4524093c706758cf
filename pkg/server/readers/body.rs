//! Response bodies that are streams of events.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_core::Stream;
use tokio_stream::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::{context::ReaderContext, frame_body::FrameBody};
use crate::{
    encode::{EncodeMessages, RunEnd, message_writer::MessageWriter},
    runs::{
        record_stream::RecordStream,
        run::{RUN_END, ServiceRun},
        run_guard::RunGuard,
    },
};
use forgeline_store::LogRecord;
use forgeline_types::Envelope;

/// Sends the messages of a record.
pub(crate) fn encode(
    encoder: &mut impl EncodeMessages,
    record: &LogRecord,
    out: &mut MessageWriter<'_>,
) {
    if record.kind == RUN_END {
        if let Ok(end) = serde_json::from_slice::<RunEnd>(&record.data) {
            encoder.encode_end(&end, out);
        }
    } else if let Ok(envelope) = serde_json::from_slice::<Envelope>(&record.data) {
        encoder.encode_event(&envelope, out);
    }
}

/// Returns a response that reads a run from number `from` on: each record is an event with its number, in a frame that all readers share. The guard acts
/// when the reader disconnects before the end.
pub(crate) fn answer(
    readers: &ReaderContext,
    run: Arc<ServiceRun>,
    from: u64,
    mut guard: Option<RunGuard>,
) -> Response {
    let shared = Arc::clone(&run.frames);
    let records = RecordStream::new(Arc::clone(&readers.log), run, from);
    let frames = records.map_while(move |record| match record {
        Ok((number, record)) => {
            if let Some(guard) = &mut guard
                && record.kind == RUN_END
            {
                guard.disarm();
            }
            Some(shared.frame(number, &record))
        }
        Err(error) => {
            tracing::debug!(%error, "disconnected a reader");
            None
        }
    });
    streamed(frames, readers.ends.clone())
}

/// Returns a response that is a stream of events. It also ends with a stalled reader and with the service: see [`FrameBody`].
pub(crate) fn streamed(
    frames: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ends: CancellationToken,
) -> Response {
    let mut response = Response::new(Body::new(FrameBody::new(frames, ends)));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // A proxy that compresses would keep events back until it has enough of them.
        (header::CONTENT_ENCODING, "identity"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the response if nothing follows, after which a browser does not reconnect.
pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
