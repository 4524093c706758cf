//! The caller and the body of a request.

use axum::{
    Json,
    extract::{self, FromRequest, FromRequestParts, Request, rejection::JsonRejection},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

use super::{Problem, Service};
use crate::agent;

/// The caller that sends a request.
pub(super) struct Caller(pub(super) agent::Caller);

impl FromRequestParts<Service> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        // Known from the gate.
        let known = parts.extensions.get::<agent::Caller>().cloned();
        known.map_or_else(|| service.identify(parts), Ok).map(Self)
    }
}

/// The query of a request.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|extract::Query(query)| Self(query))
            .map_err(|rejection| Problem::bad(rejection.body_text()))
    }
}

/// The names in the path of a request.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|extract::Path(path)| Self(path))
            .map_err(|rejection| Problem::bad(rejection.body_text()))
    }
}

/// The body of a request, as JSON.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(refused(&rejection)),
        }
    }
}

fn refused(rejection: &JsonRejection) -> Problem {
    let is_read =
        matches!(rejection, JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_));
    let code = if is_read { "bad_request" } else { "body_refused" };
    let status = match rejection.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    Problem::new(status, code, rejection.body_text())
}
