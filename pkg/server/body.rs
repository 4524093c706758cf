//! Bodies of answers that are streams of events.

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

use super::{
    encode::{AgUi, Encode, RunEnd, UiMessageStream},
    run::{RUN_END, Run},
    service::Service,
    streamed::Streamed,
};
use crate::{
    store::{LogKey, LogRecord, follow},
    types::Envelope,
};

/// The frames of one record.
pub(super) trait Frames: Send + 'static {
    fn frames(&mut self, number: u64, record: &LogRecord) -> Bytes;
}

/// The frames of a run that its readers share: each record as an event with its number.
pub(super) struct Numbered(pub(super) Arc<Run>);

impl Frames for Numbered {
    fn frames(&mut self, number: u64, record: &LogRecord) -> Bytes {
        self.0.frames.frame(number, record)
    }
}

impl Frames for UiMessageStream {
    fn frames(&mut self, _number: u64, record: &LogRecord) -> Bytes {
        encoded(self, record)
    }
}

impl Frames for AgUi {
    fn frames(&mut self, _number: u64, record: &LogRecord) -> Bytes {
        encoded(self, record)
    }
}

pub(super) fn encoded(encoder: &mut impl Encode, record: &LogRecord) -> Bytes {
    let mut out = Vec::new();
    encode(encoder, record, &mut out);
    out.into()
}

/// Appends the frames of a record.
pub(super) fn encode(encoder: &mut impl Encode, record: &LogRecord, out: &mut Vec<u8>) {
    if record.kind == RUN_END {
        if let Ok(end) = serde_json::from_slice::<RunEnd>(&record.data) {
            encoder.end(&end, out);
        }
    } else if let Ok(envelope) = serde_json::from_slice::<Envelope>(&record.data) {
        encoder.event(&envelope, out);
    }
}

/// Returns the answer that reads a log from the number `from` on.
pub(super) fn answer(
    service: &Service,
    key: LogKey,
    from: u64,
    mut frames: impl Frames,
) -> Response {
    let records = follow(service.log(), key, from);
    let frames = records.map_while(move |record| match record {
        Ok((number, record)) => Some(frames.frames(number, &record)),
        Err(error) => {
            tracing::debug!(%error, "a reader is let go");
            None
        }
    });
    streamed(frames, service.ends())
}

/// Returns the answer that is a stream of events. It ends with its reader and with the service too: see [`Streamed`].
pub(super) fn streamed(
    frames: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ends: CancellationToken,
) -> Response {
    let mut response = Response::new(Body::new(Streamed::new(frames, ends)));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the answer where nothing follows: a browser does not connect again.
pub(super) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
