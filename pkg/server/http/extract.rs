//! Extractors for the path, query and body of a request.

use axum::{
    Json,
    extract::{self, FromRequest, FromRequestParts, Request, rejection::JsonRejection},
    http::{Method, StatusCode, Uri, request::Parts},
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{ids::check_id, parse_error};
use crate::Problem;
use forgeline_types::Text;

/// The query of a request.
pub(crate) struct QueryParameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = match seen_by_head(parts) {
            Some(uri) => extract::Query::<T>::try_from_uri(&uri),
            None => extract::Query::<T>::from_request_parts(parts, state).await,
        };
        read.map(|extract::Query(query)| Self(query))
            .map_err(|rejection| unread_query(&rejection.body_text()))
    }
}

/// The query parameter that ends a run when its reader disconnects.
const ON_DISCONNECT: &str = "on_disconnect";

/// Returns the URI of a `HEAD` request without the parameter that ends a run when its reader disconnects, if present. A client that requests only the head
/// reads nothing and does not disconnect.
fn seen_by_head(parts: &Parts) -> Option<Uri> {
    let query = parts.uri.query().filter(|_| parts.method == Method::HEAD)?;
    let pairs: Vec<_> = query.split('&').collect();
    let left: Vec<_> = pairs.iter().copied().filter(|pair| !ends_run(pair)).collect();
    if left.len() == pairs.len() {
        return None;
    }
    format!("/?{}", left.join("&")).parse().ok()
}

/// Returns `true` for the query parameter that ends a run when its reader disconnects, however its name is encoded.
fn ends_run(pair: &str) -> bool {
    let read = |uri: Uri| extract::Query::<Vec<(String, String)>>::try_from_uri(&uri).ok();
    let pairs = format!("/?{pair}").parse().ok().and_then(read);
    pairs.is_some_and(|pairs| pairs.iter().any(|(name, _)| name == ON_DISCONNECT))
}

fn unread_query(text: &str) -> Problem {
    let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    Problem::bad(format!("invalid query: {}", parse_error::reword(what)))
}

/// Returns the error for a member of a query that its route does not know.
pub(crate) fn unknown_query(name: &str, known: &[&str]) -> Problem {
    let known = match known {
        [] => "there are no members".to_owned(),
        known => format!("expected one of `{}`", known.join("`, `")),
    };
    unread_query(&format!("unknown field `{name}`, {known}"))
}

/// Refuses a query for routes that have none: a member of the body in the query would be overlooked.
pub(crate) async fn refuse_query(request: Request, next: Next) -> Result<Response, Problem> {
    let query = extract::Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let pairs = query.map_err(|rejection| unread_query(&rejection.body_text()))?.0;
    match pairs.first() {
        Some((name, _)) => Err(unknown_query(name, &[])),
        None => Ok(next.run(request).await),
    }
}

/// The parameters in the path of a request.
pub(crate) struct PathParameters<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|extract::Path(path)| Self(path))
            .map_err(|rejection| Problem::bad(rejection.body_text()))
    }
}

/// The key with which a client marks a request that it may send again: the header `Idempotency-Key`.
pub(crate) struct RequestKey(pub(crate) Option<Text>);

impl<S: Send + Sync> FromRequestParts<S> for RequestKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(key) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let key = key.to_str().map_err(|_| Problem::bad("`Idempotency-Key` must be plain text"))?;
        check_id("`Idempotency-Key`", key)?;
        Ok(Self(Some(key.into())))
    }
}

/// The body of a request: a JSON object.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// An empty body, or an empty object.
pub(crate) struct EmptyBody;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyObject {}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<Box<RawValue>>::from_request(request, state).await {
            Ok(Json(body)) => parse_json(body.get()).map(Self),
            Err(rejection) => Err(refused(&rejection)),
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for EmptyBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|rejection| {
            Problem::new(rejection.status(), "body_refused", rejection.body_text())
        })?;
        let not_json = |_| Problem::bad("the body must be empty, or the JSON object `{}`");
        let text = std::str::from_utf8(&body).map_err(not_json)?.trim();
        if !text.is_empty() {
            parse_json::<EmptyObject>(text)?;
        }
        Ok(Self)
    }
}

/// Parses an object.
fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    // From a list, serde would read the fields in order.
    if !text.trim_start().starts_with('{') {
        return Err(Problem::bad("the body must be a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| Problem::bad(parse_error::of_body(&error)))
}

fn refused(rejection: &JsonRejection) -> Problem {
    let is_read =
        matches!(rejection, JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_));
    let code = if is_read { "bad_request" } else { "body_refused" };
    let status = match rejection.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    // For a body that is not JSON, the text contains only the position.
    Problem::new(status, code, rejection.body_text())
}
