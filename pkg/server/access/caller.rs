//! The extractor of the caller of a request.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::request::Parts,
};

use super::control::AccessControl;
use crate::Problem;
use forgeline_agent as agent;

/// The caller of a request.
pub(crate) struct RequestCaller(pub(crate) agent::Caller);

impl<S: Send + Sync> FromRequestParts<S> for RequestCaller
where
    Arc<AccessControl>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Set by the gate.
        let known = parts.extensions.get::<agent::Caller>().cloned();
        match known {
            Some(caller) => Ok(Self(caller)),
            None => Arc::<AccessControl>::from_ref(state).identify(parts).await.map(Self),
        }
    }
}
