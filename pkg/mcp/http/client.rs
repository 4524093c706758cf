//! The HTTP of the protocol over the library's transport.

use std::{collections::HashMap, error::Error as StdError, fmt, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::{
        common::{
            client_side_sse::BoxedSseResponse,
            http_header::{
                EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
            },
        },
        streamable_http_client::{
            AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
            StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
        },
    },
};
use sse_stream::{Error as SseError, SseStream};
use url::Url;

use super::event_limit::EventLimit;
use forgeline_llm::transport::{BodyStream, HttpRequest, HttpResponse, Transport, TransportError};
use forgeline_types::Text;

/// Maximum number of redirects of one request, all within the server's origin.
const MAX_REDIRECTS: usize = 5;

/// Headers that belong to the protocol.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// The forms of an answer.
const ACCEPTED: &str = "text/event-stream, application/json";

type Failure = StreamableHttpError<TransportError>;
type RequestHeaders = HashMap<HeaderName, HeaderValue>;

/// A client of the protocol that sends over a transport.
#[derive(Clone)]
pub(crate) struct McpClient(pub(crate) Arc<dyn Transport>);

impl McpClient {
    /// Sends a request, also to where the server redirects it: with its method and body, and within its origin.
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, Failure> {
        let mut url: Url = request.url.parse().map_err(|_| unexpected("its URL is not one"))?;
        let origin = url.origin();
        request.url = Text::from(url.as_str());
        for _ in 0..MAX_REDIRECTS {
            let response = self.0.send(request.clone()).await.map_err(Failure::Client)?;
            let keeps_request = matches!(response.status, 307 | 308);
            let next = response.header("location").filter(|_| keeps_request);
            let next = next.and_then(|to| url.join(to).ok()).filter(|to| to.origin() == origin);
            let Some(next) = next else { return Ok(response) };
            request.url = Text::from(next.as_str());
            url = next;
        }
        self.0.send(request).await.map_err(Failure::Client)
    }

    /// Returns the answer to a message that was posted.
    async fn answered(
        message: &ClientJsonRpcMessage,
        has_session: bool,
        response: HttpResponse,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        refused(&response)?;
        let status = status(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let form = response.header("content-type").map(str::to_owned);
        let is_json = form.as_deref().is_some_and(|form| is_form(form, JSON_MIME_TYPE));
        let is_limited = status == StatusCode::TOO_MANY_REQUESTS;
        let failed = failed(&response);
        if let Some(error) = failed.filter(|_| !is_json || is_limited) {
            return Err(error.into());
        }
        let length: Option<u64> =
            response.header("content-length").and_then(|length| length.parse().ok());
        let session = response.header(HEADER_SESSION_ID).map(str::to_owned);
        // Nothing in the answer to a notification or an answer matters.
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if status.is_success() && length == Some(0) && !is_request {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            let discovery = discovery(message).filter(|_| !has_session);
            let sent = RejectedMessage { discovery, session, status, is_json };
            return sent.read(response, limits).await;
        }
        if form.as_deref().is_some_and(|form| is_form(form, EVENT_STREAM_MIME_TYPE)) {
            let events = events(response.body, limits.max_sse_event_size);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !is_json {
            return if is_request {
                Err(StreamableHttpError::UnexpectedContentType(form))
            } else {
                Ok(StreamableHttpPostResponse::Accepted)
            };
        }
        let max_size = limits.max_json_response_size;
        let too_large = length.is_some_and(|length| length > max_size as u64);
        if too_large {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size });
        }
        let body = whole(response.body, max_size).await?;
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => {
                let start: String = String::from_utf8_lossy(&body).chars().take(256).collect();
                Err(unexpected(&format!(
                    "failed to parse JSON-RPC response: {error}; body: {start}"
                )))
            }
        }
    }
}

/// An answer with a status that is none of success.
struct RejectedMessage {
    /// The id of the newest version's first request, which an older server rejects.
    discovery: Option<RequestId>,
    session: Option<String>,
    status: StatusCode,
    is_json: bool,
}

impl RejectedMessage {
    async fn read(
        self,
        response: HttpResponse,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let failed = failed(&response);
        let is_access = matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let body = if self.is_json && !is_access {
            match whole(response.body, limits.max_json_response_size).await {
                Ok(body) => body,
                Err(error @ StreamableHttpError::ResponseBodyTooLarge { .. }) => {
                    return Err(failed.map_or(error, StreamableHttpError::from));
                }
                Err(_) => Vec::new(),
            }
        } else {
            start(response.body, limits.max_error_response_size).await
        };
        let text = String::from_utf8_lossy(&body);
        let error = match serde_json::from_str(&text) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let is_older = self.status.is_client_error() && !is_access;
        if let Some(id) = self.discovery.filter(|_| is_older) {
            let words = || format!("server/discover rejected with HTTP {}: {text}", self.status);
            let data = error
                .map_or_else(|| ErrorData::invalid_request(words(), None), |error| error.error);
            let answer = ServerJsonRpcMessage::error(data, Some(id));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        if let Some(error) = error.filter(|_| self.is_json && !is_access) {
            let answer = ServerJsonRpcMessage::Error(error);
            return Ok(StreamableHttpPostResponse::Json(answer, self.session));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        let shown: String = text.chars().take(limits.max_error_response_size).collect();
        Err(unexpected(&format!("HTTP {}: {shown}", self.status)))
    }
}

/// Returns the id of a request that only the newest version has.
fn discovery(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
}

impl StreamableHttpClient for McpClient {
    type Error = TransportError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: RequestHeaders,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request = request("POST", &uri, session.as_deref(), token, headers)?
            .header("accept", ACCEPTED)
            .header("content-type", JSON_MIME_TYPE)
            .body(vec![Bytes::from(serde_json::to_vec(&message)?)]);
        let response = self.send(request).boxed().await?;
        Self::answered(&message, session.is_some(), response, limits).boxed().await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<(), Failure> {
        let request = request("DELETE", &uri, Some(&session), token, headers)?;
        let response = self.send(request).boxed().await?;
        let status = status(&response)?;
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(unexpected(&format!("HTTP {status}")))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<BoxedSseResponse, Failure> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: RequestHeaders,
        limit: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        let mut request =
            request("GET", &uri, session.as_deref(), token, headers)?.header("accept", ACCEPTED);
        if let Some(event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, event);
        }
        let response = self.send(request).boxed().await?;
        let status = status(&response)?;
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        refused(&response)?;
        if let Some(error) = failed(&response) {
            return Err(error.into());
        }
        if status.is_client_error() {
            return Err(unexpected(&format!("HTTP {status}")));
        }
        let form = response.header("content-type");
        let is_known =
            |form: &str| is_form(form, EVENT_STREAM_MIME_TYPE) || is_form(form, JSON_MIME_TYPE);
        if !form.is_some_and(is_known) {
            return Err(StreamableHttpError::UnexpectedContentType(form.map(str::to_owned)));
        }
        Ok(events(response.body, limit))
    }
}

/// Returns a request with the headers of all.
fn request(
    method: &'static str,
    uri: &str,
    session: Option<&str>,
    token: Option<String>,
    headers: RequestHeaders,
) -> Result<HttpRequest, Failure> {
    let mut request = HttpRequest::new(method, uri);
    for (name, value) in headers {
        if RESERVED.contains(&name.as_str()) {
            return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
        }
        let value = value.to_str().map_err(|_| unexpected("a header is not ASCII"))?;
        request = request.header(name.as_str(), value);
    }
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if let Some(session) = session {
        request = request.header(HEADER_SESSION_ID, session);
    }
    Ok(request)
}

fn unexpected(words: &str) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(words.to_owned().into())
}

fn status(response: &HttpResponse) -> Result<StatusCode, Failure> {
    StatusCode::from_u16(response.status).map_err(|_| unexpected("its status is not one of HTTP"))
}

/// Fails if the server wants another token, and says which.
fn refused(response: &HttpResponse) -> Result<(), Failure> {
    let Some(challenge) = response.header("www-authenticate") else { return Ok(()) };
    match response.status {
        401 => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.to_owned()))),
        403 => Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(
            challenge.to_owned(),
            None,
        ))),
        _ => Ok(()),
    }
}

/// Returns the failure of a server that is busy or broken, which may answer later.
fn failed(response: &HttpResponse) -> Option<HttpStatusError> {
    let may_answer_later = matches!(response.status, 429 | 500..=599);
    let wait = response.header("retry-after").map(str::to_owned);
    may_answer_later.then(|| HttpStatusError::new(response.status, wait))
}

/// Returns `true` if a content type is this one, whatever its case and parameters.
fn is_form(form: &str, expected: &str) -> bool {
    let form = form.split(';').next().unwrap_or_default();
    form.trim().eq_ignore_ascii_case(expected)
}

/// Returns the whole body.
///
/// # Errors
///
/// Returns an error when it is longer than `max_size` bytes, or breaks off.
async fn whole(mut body: BodyStream, max_size: usize) -> Result<Vec<u8>, Failure> {
    let mut read = Vec::new();
    while let Some(piece) = body.try_next().await.map_err(Failure::Client)? {
        if piece.len() > max_size - read.len() {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size });
        }
        read.extend_from_slice(&piece);
    }
    Ok(read)
}

/// Returns at most `max_size` bytes of a body.
async fn start(mut body: BodyStream, max_size: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while let Some(Ok(piece)) = body.next().await {
        read.extend_from_slice(&piece);
        if read.len() >= max_size {
            read.truncate(max_size);
            break;
        }
    }
    read
}

/// Returns the events of a body, and an error in place of one that is longer than `limit`.
pub(super) fn events(body: BodyStream, limit: usize) -> BoxedSseResponse {
    let mut size = EventLimit::new(limit);
    let pieces = body.scan(false, move |is_over, piece| {
        let piece = match piece {
            _ if *is_over => None,
            Ok(piece) if size.admits(&piece) => Some(Ok(piece)),
            Ok(_) => Some(Err(EventFailure::TooLong(limit))),
            Err(error) => Some(Err(EventFailure::Broken(error.to_string()))),
        };
        *is_over |= !matches!(piece, Some(Ok(_)));
        std::future::ready(piece)
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

/// The reason for which no further event can be read.
#[derive(Debug)]
enum EventFailure {
    TooLong(usize),
    Broken(String),
}

/// Returns `true` if the events of a stream ended because one is longer than it may be.
pub(super) fn is_too_long(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    matches!(error.downcast_ref(), Some(EventFailure::TooLong(_)))
}

impl fmt::Display for EventFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => {
                write!(formatter, "SSE event exceeded the maximum size of {limit} bytes")
            }
            Self::Broken(reason) => formatter.write_str(reason),
        }
    }
}

impl StdError for EventFailure {}
