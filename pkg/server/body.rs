//! Bodies of answers that are streams of events.

use std::{convert::Infallible, future::ready, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::{
    encode::{AgUi, Encode, RunEnd, UiMessageStream},
    run::RUN_END,
    service::Service,
};
use crate::{
    store::{LogKey, LogRecord, follow},
    types::Envelope,
};

/// Most frames that wait for a reader.
const QUEUE: usize = 256;

/// Longest time in which a reader takes no frame.
const STALLED: Duration = Duration::from_secs(5);

/// Time after which a comment keeps the connection alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Longest wait for a frame once the service ends.
const LAST_FRAME: Duration = Duration::from_millis(250);

/// The frames of one record.
pub(super) trait Frames: Send + 'static {
    fn frames(&mut self, number: u64, record: &LogRecord) -> Bytes;
}

/// Each record as an event with its number.
pub(super) struct Numbered;

impl Frames for Numbered {
    fn frames(&mut self, number: u64, LogRecord { kind, data, .. }: &LogRecord) -> Bytes {
        let mut out = Vec::with_capacity(data.len() + kind.len() + 40);
        super::encode::head(number, kind, &mut out);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(data);
        out.extend_from_slice(b"\n\n");
        out.into()
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
    if record.kind == RUN_END {
        if let Ok(end) = serde_json::from_slice::<RunEnd>(&record.data) {
            encoder.end(&end, &mut out);
        }
    } else if let Ok(envelope) = serde_json::from_slice::<Envelope>(&record.data) {
        encoder.event(&envelope, &mut out);
    }
    out.into()
}

/// Returns the answer that reads a log from the number `from` on.
pub(super) fn answer(
    service: &Service,
    key: LogKey,
    from: u64,
    mut frames: impl Frames,
) -> Response {
    let records = follow(service.log(), key, from);
    let frames = records.map(move |record| match record {
        Ok((number, record)) => Some(frames.frames(number, &record)),
        Err(error) => {
            tracing::debug!(%error, "a reader is let go");
            None
        }
    });
    let frames = frames.take_while(|frame| ready(frame.is_some())).filter_map(ready);
    streamed(Box::pin(frames), service.ends())
}

/// Returns the answer that is a stream of events. It ends with its reader too: a frame that has no place for too long, or a connection that is gone;
/// and with the service, behind what there is.
pub(super) fn streamed(
    mut frames: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ends: CancellationToken,
) -> Response {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(QUEUE);
    tokio::spawn(async move {
        loop {
            let frame = tokio::select! {
                biased;
                () = sender.closed() => return,
                frame = frames.next() => match frame {
                    Some(frame) => frame,
                    None => return,
                },
                () = ends.cancelled() => match timeout(LAST_FRAME, frames.next()).await {
                    Ok(Some(frame)) => frame,
                    Ok(None) | Err(_) => return,
                },
                () = sleep(KEEP_ALIVE) => Bytes::from_static(b": keep-alive\n\n"),
            };
            if !frame.is_empty()
                && !matches!(timeout(STALLED, sender.send(Ok(frame))).await, Ok(Ok(())))
            {
                return;
            }
        }
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
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
