//! The requests that are refused because of who asks.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State},
    http::StatusCode,
    middleware::Next,
    response::Response,
};
use serde_json::{Map, Value};

use super::AuditTrail;
use crate::access::scope::scope;
use forgeline_agent::Caller;
use forgeline_store::{AuditEvent, AuditSubject, private::now_ms};

/// Reports a request that a known caller may not make: the route and the method, and nothing that the caller has sent but the id of the run.
pub(crate) async fn refuse_audited(
    State(trail): State<Arc<AuditTrail>>,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().map(|it| it.as_str().to_owned());
    // Set by the gate.
    let caller = request.extensions().get::<Caller>().cloned();
    let response = next.run(request).await;
    let Some(caller) = caller.filter(|_| response.status() == StatusCode::FORBIDDEN) else {
        return response;
    };
    let route = route.unwrap_or_default();
    let run = route.split_once("/v1/runs/{id}").and_then(|(before, _)| {
        let rest = path.get(before.len()..)?.strip_prefix("/v1/runs/")?;
        rest.split('/').next().map(str::to_owned)
    });
    let mut members = Map::new();
    members.insert("route".to_owned(), Value::String(route));
    members.insert("method".to_owned(), Value::String(method.to_string()));
    let mut subject = AuditSubject::default();
    // An id of a run is short; anything else is not one.
    subject.run = run.filter(|run| run.len() <= 100).map(Into::into);
    let event = AuditEvent::new("access.denied", "service", caller.id.clone(), now_ms());
    trail.write_later(scope(&caller), event.subject(subject).details(&members));
    response
}
