//! The parts of a request of a vendor's client besides its body.

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, HeaderName},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Problem, Service,
    access::caller::RequestCaller,
    http::{
        extract::{JsonBody, QueryParameters, RequestKey},
        ids::{check_id, digest},
    },
    readers::until_wait::DisconnectAction,
};
use forgeline_agent::Caller;
use forgeline_types::Text;

/// The header that names the conversation of a request.
pub(super) const SESSION: HeaderName = HeaderName::from_static("x-session-id");

/// The value of [`SESSION`] with which a conversation begins whose id the service chooses.
const NEW: &str = "new";

/// Returns `true` for the path of a route for vendors' clients.
pub(crate) fn is_front(path: &str) -> bool {
    path == "/v1/chat/completions"
        || path == "/v1/responses"
        || path == "/v1/models"
        || path.starts_with("/v1/models/")
}

/// A request of a vendor's client.
pub(crate) struct FrontAsked {
    pub(super) caller: Caller,
    pub(super) session: SessionName,
    pub(super) body: Box<RawValue>,
    key: Option<Text>,
    on_disconnect: Option<OnDisconnect>,
}

/// The conversation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionName {
    /// The messages of the request are the whole conversation.
    None,
    /// A new one, which the response names.
    New,
    /// The one with this id: it goes on, or begins.
    Named(Text),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontQuery {
    on_disconnect: Option<OnDisconnect>,
}

/// The action on a run whose client disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OnDisconnect {
    Cancel,
    Continue,
}

impl SessionName {
    fn of_headers(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(value) = headers.get(SESSION) else { return Ok(Self::None) };
        let id = value.to_str().map_err(|_| Problem::bad("`x-session-id` must be plain text"))?;
        check_id("`x-session-id`", id)?;
        Ok(if id == NEW { Self::New } else { Self::Named(id.into()) })
    }

    /// Returns the id of the conversation, if the request names it.
    pub(super) fn conversation(&self) -> Option<&Text> {
        match self {
            Self::None | Self::New => None,
            Self::Named(id) => Some(id),
        }
    }
}

impl FrontAsked {
    /// Returns the idempotency key with the digest of the rest of the request.
    pub(super) fn request(&self) -> Option<(Text, u64)> {
        let whole = || format!("{:?} {}", self.session, self.body.get());
        self.key.clone().map(|key| (key, digest(whole().as_bytes())))
    }

    /// Returns the action on the run if the client disconnects: it is cancelled, unless the client can come back by the key of its request.
    pub(super) fn leaves(&self) -> Option<DisconnectAction> {
        let may_return = self.key.is_some();
        let cancels = match self.on_disconnect {
            Some(OnDisconnect::Cancel) => true,
            Some(OnDisconnect::Continue) => false,
            None => !may_return,
        };
        cancels.then_some(DisconnectAction::Cancel)
    }
}

impl FromRequest<Service> for FrontAsked {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let RequestCaller(caller) = RequestCaller::from_request_parts(&mut parts, service).await?;
        let RequestKey(key) = RequestKey::from_request_parts(&mut parts, service).await?;
        let query = QueryParameters::<FrontQuery>::from_request_parts(&mut parts, service).await?;
        let session = SessionName::of_headers(&parts.headers)?;
        let request = Request::from_parts(parts, body);
        let JsonBody(body) = JsonBody::<Box<RawValue>>::from_request(request, service).await?;
        let on_disconnect = query.0.on_disconnect;
        Ok(Self { caller, session, body, key, on_disconnect })
    }
}
