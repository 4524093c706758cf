//! The routes for the health of the service.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use serde_json::{Value, json};

use crate::{
    server::{
        Problem, Service,
        access::{
            identity::{OBSERVE, check_permission},
            scope::scope,
        },
        http::extract::Caller,
    },
    store::now_ms,
};

/// The age and number of latency records shown for the caller's scope.
const HOUR_MS: u64 = 3_600_000;
const SHOWN: usize = 100;

/// Reports whether the service is ready for requests, with each dependency by name.
pub(super) async fn ready(State(service): State<Service>, Caller(_caller): Caller) -> Response {
    if service.is_ending() {
        return Problem::busy("the service is shutting down", 30).into_response();
    }
    let report = service.checks().report().await;
    let is_ready = report.status != "unready";
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report)).into_response()
}

pub(super) async fn metrics(
    State(service): State<Service>,
    Caller(caller): Caller,
) -> Result<Response, Problem> {
    check_permission(&caller, OBSERVE)?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, service.metrics_text()).into_response())
}

pub(super) async fn latency(
    State(service): State<Service>,
    Caller(caller): Caller,
) -> Result<Response, Problem> {
    let Some(latency) = service.latency() else {
        let detail = "latencies are not shown; the operator turns them on with `dev`";
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_switched_on", detail));
    };
    check_permission(&caller, OBSERVE)?;
    let (store, scope) = (&service.stores().latency, scope(&caller));
    let total = store.total(&scope).await?;
    let mut last = store.since(&scope, now_ms().saturating_sub(HOUR_MS)).await?;
    last.drain(..last.len().saturating_sub(SHOWN));
    let recorded = json!({ "total": total, "last": last });
    let mut shown = serde_json::to_value(latency.shown()).unwrap_or_default();
    if let Value::Object(members) = &mut shown {
        members.insert("recorded".to_owned(), recorded);
    }
    Ok(Json(shown).into_response())
}
