//! The client below the transport: it adds tokens, requests logins, and limits what a server sends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpError,
            StreamableHttpPostResponse, StreamableHttpResponseLimits,
        },
    },
};
use tokio::{sync::SetOnce, time::timeout};

use super::{client::is_too_long, idle_streams::IdleStreams};
use crate::{
    oauth::{bearer_challenge::BearerChallenge, oauth_access::OAuthAccess},
    output::{
        answer_repair::{MessageReading, read_message},
        remote_watch::RemoteWatch,
    },
};

/// Maximum number of times that one request is sent, each time after another login or with a renewed token.
const MAX_TRIES: usize = 4;

/// Minimum wait that a server can ask for before its stream is reopened, in milliseconds.
const SHORTEST_RETRY: u64 = 100;

/// Maximum such wait, in milliseconds.
const LONGEST_RETRY: u64 = 30_000;

/// Maximum wait of a session's first request for the stream on which the server sends messages of its own.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

type RequestHeaders = HashMap<HeaderName, HeaderValue>;
type ClientFailure<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

/// A client with the login of a server.
#[derive(Clone)]
pub(crate) struct AuthorizedClient<C> {
    pub(crate) inner: C,
    /// `None` when the headers already authenticate the client.
    pub(crate) access: Option<Arc<OAuthAccess>>,
    pub(crate) watch: Arc<RemoteWatch>,
    pub(crate) idle: Arc<IdleStreams>,
    /// Set once the server has accepted or refused the stream on which it sends messages of its own.
    pub(crate) opened: Arc<SetOnce<()>>,
}

impl<C: StreamableHttpClient + Sync> AuthorizedClient<C> {
    /// Sends a request, and sends it again after each login that the server requires.
    async fn post(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: RequestHeaders,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, ClientFailure<C>> {
        let mut asked = None;
        if let ClientJsonRpcMessage::Request(request) = &message {
            asked = Some(request.id.clone());
            if session.is_some() && timeout(OPENING_TIMEOUT, self.opened.wait()).await.is_err() {
                self.opened.set(()).ok();
            }
        }
        let mut tries = 1;
        loop {
            let token = self.token().await?;
            let sent = self.inner.post_message_with_response_limits(
                Arc::clone(&uri),
                message.clone(),
                session.clone(),
                token.clone(),
                headers.clone(),
                limits,
            );
            let error = match sent.await {
                Ok(StreamableHttpPostResponse::Sse(stream, session)) => {
                    self.accepted(session.as_deref());
                    return Ok(StreamableHttpPostResponse::Sse(self.bounded(stream), session));
                }
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), _))
                    if asked.is_some() && said.id != asked =>
                {
                    // Servers that do not know a session answer none of its requests, and waiting would be in vain.
                    let words = said.error.to_string();
                    return Err(StreamableHttpError::UnexpectedServerResponse(words.into()));
                }
                Ok(response) => {
                    if let StreamableHttpPostResponse::Json(_, session) = &response {
                        self.accepted(session.as_deref());
                    } else {
                        self.accepted(None);
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            if let StreamableHttpError::ResponseBodyTooLarge { .. } = error {
                self.watch.tell_too_long();
            }
            let (Some(access), Some(challenge)) = (&self.access, challenge(&error)) else {
                self.watch.refuse(None);
                return Err(error);
            };
            if tries == MAX_TRIES {
                self.watch.refuse(Some(format!("it refused {MAX_TRIES} times, after each login")));
                return Err(error);
            }
            if let Err(reason) = access.answer(&challenge, token.as_deref()).await {
                self.watch.refuse(Some(reason));
                return Err(error);
            }
            tries += 1;
        }
    }

    async fn get(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        headers: RequestHeaders,
        limit: usize,
    ) -> Result<BoxedSseResponse, ClientFailure<C>> {
        let Some(pause) = self.idle.pause(last_event.as_deref()) else {
            let words = "its stream ended again and again without an event";
            return Err(StreamableHttpError::UnexpectedServerResponse(words.into()));
        };
        tokio::time::sleep(pause).await;
        let mut is_renewed = false;
        loop {
            let token = self.token().await?;
            let opened = self.inner.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session.clone(),
                last_event.clone(),
                token.clone(),
                headers.clone(),
                limit,
            );
            match (opened.await, &self.access) {
                (Ok(stream), _) => {
                    return Ok(self.idle.watched(last_event, self.bounded(stream)));
                }
                // A person is not asked to log in for a background stream.
                (Err(StreamableHttpError::AuthRequired(error)), Some(access)) if !is_renewed => {
                    if !access.renew(token.as_deref()).await {
                        return Err(StreamableHttpError::AuthRequired(error));
                    }
                    is_renewed = true;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Returns the token to send, if there is one.
    async fn token(&self) -> Result<Option<String>, ClientFailure<C>> {
        let Some(access) = &self.access else { return Ok(None) };
        access.token().await.map_err(|reason| {
            self.watch.refuse(Some(reason));
            StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new()))
        })
    }

    fn accepted(&self, session: Option<&str>) {
        self.watch.refuse(None);
        if session.is_some() {
            self.watch.keep_session(true);
        }
        if let Some(access) = &self.access {
            access.worked();
        }
    }

    /// Limits the waits that a stream asks for, repairs its events, and reports those that are too long or cannot be read.
    fn bounded(&self, stream: BoxedSseResponse) -> BoxedSseResponse {
        let watch = Arc::clone(&self.watch);
        let bounded = stream.map(move |event| match event {
            Ok(mut event) => {
                event.retry = event.retry.map(|wait| wait.clamp(SHORTEST_RETRY, LONGEST_RETRY));
                match event.data.as_ref().map(|data| read_message(data.as_bytes())) {
                    Some(MessageReading::Repaired(data)) => event.data = Some(data),
                    Some(MessageReading::Unreadable) => watch.tell_unreadable(),
                    Some(MessageReading::AsIs) | None => {}
                }
                Ok(event)
            }
            Err(error) => {
                if is_too_long(&error) {
                    watch.tell_too_long();
                }
                Err(error)
            }
        });
        Box::pin(bounded)
    }
}

/// Returns the server's challenge, when another token may help.
fn challenge<E: std::error::Error + Send + Sync>(
    error: &StreamableHttpError<E>,
) -> Option<BearerChallenge> {
    if let StreamableHttpError::AuthRequired(error) = error {
        return Some(BearerChallenge::parse(&error.www_authenticate_header));
    }
    if let StreamableHttpError::InsufficientScope(error) = error {
        let challenge = BearerChallenge::parse(&error.www_authenticate_header);
        return Some(challenge).filter(BearerChallenge::is_step_up);
    }
    // A refusal without a challenge can be recognized only by its message.
    let is_bare = |words: &str| words.starts_with("HTTP 401");
    if let StreamableHttpError::UnexpectedServerResponse(words) = error
        && is_bare(words)
    {
        return Some(BearerChallenge::default());
    }
    None
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for AuthorizedClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<StreamableHttpPostResponse, ClientFailure<C>> {
        self.post(uri, message, session, headers, StreamableHttpResponseLimits::default()).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: RequestHeaders,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, ClientFailure<C>> {
        self.post(uri, message, session, headers, limits).boxed().await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<(), ClientFailure<C>> {
        let token = self.token().await?;
        let ended = self.inner.delete_session(uri, session, token, headers).await;
        self.watch.keep_session(false);
        ended
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<BoxedSseResponse, ClientFailure<C>> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: RequestHeaders,
        limit: usize,
    ) -> Result<BoxedSseResponse, ClientFailure<C>> {
        let opened = self.get(uri, session, last_event, headers, limit).boxed().await;
        // Notifications after the first answer to a request are sent on a stream that was opened before it.
        self.opened.set(()).ok();
        opened
    }
}
