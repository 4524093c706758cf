//! The gate before all routes that are not public: identifies the caller and enforces the limits of its scope.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body::{Frame, SizeHint};
use tokio::time::timeout;

use super::{
    control::AccessControl,
    limits::Limits,
    scope::scope,
    usage::{HeldResource, ResourceHold},
};
use crate::Problem;

/// Size above which a body counts as an upload, in bytes.
const SMALL_BODY_BYTES: u64 = 64 << 10;

/// Admits a request whose caller is known and whose scope has capacity, with its body read completely. The capacity that the request takes is returned
/// after the last byte of the response.
pub(crate) async fn gate(
    State(access): State<Arc<AccessControl>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    // A browser sends a preflight request without a token.
    if request.method() == Method::OPTIONS {
        return Ok(next.run(request).await);
    }
    let limits = access.limits();
    check_head(limits, request.uri(), request.headers())?;
    let (mut parts, body) = request.into_parts();
    let caller = access.identify(&parts).await?;
    let scope = scope(&caller);
    parts.extensions.insert(caller);
    let held = access.usage().hold(&scope, HeldResource::Connection)?;
    check_coding(&parts.headers)?;
    // A client that waits for `100-continue` does not send a body that would be refused.
    let asks = parts
        .headers
        .get(header::EXPECT)
        .is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if asks && body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(too_large(limits.body_bytes));
    }
    let is_long = body.size_hint().exact().is_none_or(|bytes| bytes > SMALL_BODY_BYTES);
    let upload = is_long.then(|| access.usage().hold(&scope, HeldResource::Upload)).transpose()?;
    let body = read_body(limits, body).await?;
    drop(upload);
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(response.map(|body| Body::new(ConnectionBody { body, _held: held })).into_response())
}

fn check_head(limits: &Limits, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let bytes = fields.sum::<usize>() + uri.path_and_query().map_or(0, |path| path.as_str().len());
    if headers.len() <= limits.headers && bytes <= limits.head_bytes {
        return Ok(());
    }
    let detail = format!(
        "the address and headers have {bytes} bytes in {} headers; the limit is {} bytes in {} headers",
        headers.len(),
        limits.head_bytes,
        limits.headers
    );
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", detail))
}

/// Refuses a compressed body.
fn check_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let is_plain = |value: &HeaderValue| {
        let names = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        names.into_iter().all(|it| it.is_empty() || it.eq_ignore_ascii_case(b"identity"))
    };
    if codings.into_iter().all(is_plain) {
        return Ok(());
    }
    let detail =
        "the body is compressed (`Content-Encoding`), which is not supported; send it uncompressed";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "coded_body", detail))
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body has more than {most} bytes; send less");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

/// Reads a body to its end.
async fn read_body(limits: &Limits, body: Body) -> Result<Bytes, Problem> {
    let most = limits.body_bytes;
    match timeout(limits.body_time, whole(body, most)).await {
        Ok(Ok(body)) => body.ok_or_else(|| too_large(most)),
        Ok(Err(_)) => Err(Problem::bad("the body ended early; send the request again")),
        Err(_) => {
            let detail = format!(
                "the body did not arrive within {} s; send the request again",
                limits.body_time.as_secs()
            );
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail))
        }
    }
}

/// Reads a body of at most `most` bytes; `None` for a longer one. Reads up to twice as many first: a client still sending reads no response.
async fn whole(body: Body, most: usize) -> Result<Option<Bytes>, axum::Error> {
    let (mut whole, mut seen) = (Vec::new(), 0_usize);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        seen = seen.saturating_add(piece.len());
        if seen <= most {
            whole.extend_from_slice(&piece);
        } else if seen / 2 > most {
            break;
        } else {
            whole = Vec::new();
        }
    }
    Ok((seen <= most).then(|| whole.into()))
}

/// A body that holds a connection of its scope until it is dropped.
struct ConnectionBody {
    body: Body,
    _held: ResourceHold,
}

impl axum::body::HttpBody for ConnectionBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;

    use super::*;
    use crate::access::usage::ServiceUsage;

    #[tokio::test]
    async fn of_a_body_that_is_too_long_twice_the_limit_is_read_and_no_more() {
        for (bytes, taken) in [(9, 9), (10, 10), (11, 11), (21, 21), (22, 22), (90, 22)] {
            let sent = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&sent);
            let pieces = stream::iter(0..bytes).map(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok::<_, axum::Error>(Bytes::from_static(b"x"))
            });
            let read = whole(Body::from_stream(pieces), 10).await.unwrap();
            assert_eq!(read.map(|body| body.len()), (bytes <= 10).then_some(bytes), "{bytes}");
            assert_eq!(sent.load(Ordering::Relaxed), taken, "{bytes}");
        }
    }

    #[test]
    fn a_body_that_holds_a_connection_ends_where_its_own_does() {
        let usage = ServiceUsage::new(Limits::default());
        for body in ["", "x"] {
            let held = usage.hold(&"a".into(), HeldResource::Connection).unwrap();
            let held = ConnectionBody { body: Body::from(body), _held: held };
            assert_eq!(held.is_end_stream(), body.is_empty());
            assert_eq!(held.size_hint().exact(), Some(body.len() as u64));
        }
    }
}
