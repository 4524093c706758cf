//! Reading of a stream: the available data, a long poll, or server-sent events.

use std::time::{Duration, SystemTime};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    headers,
    offset::ReadStart,
    page::{StreamPage, StreamReader},
    sse,
};
use crate::{Problem, http::etag, readers::body, runs::run_guard::RunGuard};
use forgeline_store::StoreError;

/// Time after which a connection with events ends and its reader reconnects.
const CONNECTION: Duration = Duration::from_mins(1);

/// Length of the intervals that cursors count from [`EPOCH`], in seconds.
const INTERVAL: u64 = 20;

/// 2024-10-09, in seconds since 1970.
const EPOCH: u64 = 1_728_432_000;

/// The request of a reader.
#[derive(Debug)]
pub(crate) struct ReadRequest {
    pub(crate) start: Option<ReadStart>,
    pub(crate) live: LiveMode,
    /// The cursor of the reader's last response.
    cursor: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveMode {
    No,
    LongPoll,
    Sse,
}

impl ReadRequest {
    /// Parses a query; unknown parameters are ignored.
    pub(crate) fn parse(query: &[(String, String)]) -> Result<Self, Problem> {
        let mut asked = Self { start: None, live: LiveMode::No, cursor: None };
        for (name, value) in query {
            match name.as_str() {
                "offset" if asked.start.is_some() => {
                    return Err(Problem::bad("`offset` is given twice"));
                }
                "offset" => {
                    let start = ReadStart::parse(value);
                    let start = start.ok_or_else(|| {
                        Problem::bad(
                            "`offset` must be one from an earlier response, `-1` for the beginning, or `now`",
                        )
                    });
                    asked.start = Some(start?);
                }
                "live" => {
                    asked.live = match value.as_str() {
                        "long-poll" => LiveMode::LongPoll,
                        "sse" => LiveMode::Sse,
                        _ => return Err(Problem::bad("`live` must be `long-poll` or `sse`")),
                    };
                }
                "cursor" => asked.cursor = value.parse().ok(),
                _ => {}
            }
        }
        if asked.live != LiveMode::No && asked.start.is_none() {
            return Err(Problem::bad("`live` needs an `offset`"));
        }
        Ok(asked)
    }

    /// Returns the number of the current interval, or one more than the reader's last cursor if that is greater.
    fn cursor(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = since.as_secs().saturating_sub(EPOCH) / INTERVAL;
        self.cursor.map_or(now, |last| now.max(last.saturating_add(1)))
    }
}

/// Answers a reader. `wait` is the maximum wait of a long poll, and `ends` ends the events. The guard acts when a reader of events disconnects before
/// their end.
pub(crate) async fn answer(
    mut reader: StreamReader,
    asked: ReadRequest,
    request: &HeaderMap,
    (wait, ends): (Duration, CancellationToken),
    guard: Option<RunGuard>,
) -> Result<Response, Problem> {
    match asked.live {
        LiveMode::No => {
            let from = reader.offset();
            let page = reader.page().await?;
            let response = caught_up(&reader, &page, &asked, &format!("{from}"), request);
            reader.leave();
            Ok(response)
        }
        LiveMode::LongPoll => {
            let page = polled(&mut reader, wait).await?;
            let mut response = paged(&reader, &page, page.messages.is_empty());
            headers::set(response.headers_mut(), headers::CURSOR, &asked.cursor());
            cached(&mut response, "private, no-store");
            reader.leave();
            Ok(response)
        }
        LiveMode::Sse => {
            let is_text = reader.source.is_text();
            let mut response = body::streamed(Box::pin(events(reader, asked, guard)), ends);
            if !is_text {
                let value = HeaderValue::from_static("base64");
                response.headers_mut().insert(headers::ENCODING, value);
            }
            Ok(response)
        }
    }
}

/// Returns a response with the available data.
fn caught_up(
    reader: &StreamReader,
    page: &StreamPage,
    asked: &ReadRequest,
    from: &str,
    request: &HeaderMap,
) -> Response {
    let end = if page.is_closed { ":closed" } else { "" };
    let tag = format!("\"{from}:{}{end}\"", reader.offset());
    let is_now = asked.start == Some(ReadStart::Now);
    let mut response = paged(reader, page, false);
    if etag::is_known(request, &tag) && !is_now {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
    }
    headers::set(response.headers_mut(), header::ETAG, &tag);
    cached(&mut response, if is_now { "no-store" } else { "private, no-cache" });
    response
}

/// Returns a response with a page; without a body if `is_empty`.
fn paged(reader: &StreamReader, page: &StreamPage, is_empty: bool) -> Response {
    let mut response = Response::new(Body::empty());
    if is_empty {
        *response.status_mut() = StatusCode::NO_CONTENT;
    } else {
        *response.body_mut() = Body::from(reader.source.join(&page.messages));
    }
    let fields = response.headers_mut();
    headers::set(fields, header::CONTENT_TYPE, &reader.source.content_type());
    headers::set(fields, headers::NEXT_OFFSET, &reader.offset());
    if page.is_tail {
        fields.insert(headers::UP_TO_DATE, HeaderValue::from_static("true"));
    }
    if page.is_closed {
        fields.insert(headers::CLOSED, HeaderValue::from_static("true"));
    }
    response
}

fn cached(response: &mut Response, value: &'static str) {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
}

/// Waits for a page with messages, or for the end of the stream.
async fn polled(reader: &mut StreamReader, wait: Duration) -> Result<StreamPage, StoreError> {
    let until = Instant::now() + wait;
    loop {
        let page = reader.page().await?;
        if !page.messages.is_empty() || page.is_closed {
            return Ok(page);
        }
        if page.is_tail {
            match timeout_at(until, reader.wait()).await {
                Ok(done) => done?,
                Err(_) => return Ok(page),
            }
        }
    }
}

/// Returns a stream as the server-sent events of a connection.
fn events(
    mut reader: StreamReader,
    asked: ReadRequest,
    mut guard: Option<RunGuard>,
) -> impl Stream<Item = Bytes> + Send {
    async_stream::stream! {
        let until = Instant::now() + CONNECTION;
        let mut is_told = false;
        loop {
            let page = match reader.page().await {
                Ok(page) => page,
                Err(error) => return tracing::debug!(%error, "disconnected a reader of a stream"),
            };
            if !page.messages.is_empty() || page.is_closed || !is_told {
                let mut out = Vec::new();
                sse::data(&reader.source, &page.messages, &mut out);
                let ends = (page.is_tail, page.is_closed);
                sse::control(reader.offset(), asked.cursor(), ends, &mut out);
                is_told = page.is_tail;
                yield Bytes::from(out);
            }
            let ends = page.is_closed
                || (page.is_tail && !matches!(timeout_at(until, reader.wait()).await, Ok(Ok(()))));
            if ends {
                // The server ended the connection, not the reader.
                if let Some(guard) = &mut guard {
                    guard.disarm();
                }
                if !page.is_closed {
                    reader.leave();
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_behind_that_of_the_reader() {
        let cursor = |query: &[(&str, &str)]| {
            let query: Vec<_> =
                query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            ReadRequest::parse(&query).ok().unwrap().cursor()
        };
        let now = cursor(&[]);
        let ahead = now + 1_000;
        for (given, want) in [
            (ahead.to_string(), ahead + 1),
            ("3".to_owned(), now),
            (u64::MAX.to_string(), u64::MAX),
            ("none".to_owned(), now),
        ] {
            let got = cursor(&[("live", "long-poll"), ("cursor", &given), ("offset", "-1")]);
            // The interval may have ended meanwhile.
            assert!(got == want || (want == now && got == now + 1), "{given}: {got}, not {want}");
        }
    }
}
