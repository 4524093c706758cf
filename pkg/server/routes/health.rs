//! The routes for the health of the service.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};

use serde_json::{Value, json};

use crate::{
    Problem,
    access::{
        caller::RequestCaller,
        control::AccessControl,
        identity::{OBSERVE, check_permission},
        scope::scope,
    },
    health::{HealthChecks, HealthReport},
    lifecycle::RunLifecycle,
    metrics::{ServiceMetrics, latency::LatencyWindow},
};
use forgeline_store::{Stores, private::now_ms};

/// The age and number of latency records shown for the caller's scope.
const HOUR_MS: u64 = 3_600_000;
const SHOWN: usize = 100;

/// Time after which a client asks again when the service is not ready, in seconds.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("30");

pub(super) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Reports whether the service is ready for requests, to whoever asks: the programs that watch it have no token. Only a known caller sees the dependencies.
pub(super) async fn ready(
    State(lifecycle): State<Arc<RunLifecycle>>,
    State(checks): State<Arc<HealthChecks>>,
    State(access): State<Arc<AccessControl>>,
    parts: Parts,
) -> Response {
    let report = if lifecycle.is_ending() {
        HealthReport::ending()
    } else if lifecycle.membership().is_late() {
        HealthReport::late()
    } else {
        checks.report().await
    };
    let is_known = access.identify(&parts).await.is_ok();
    let report = if is_known { report } else { report.without_checks() };
    if report.is_ready() {
        return Json(report).into_response();
    }
    let head = [(header::RETRY_AFTER, ASK_AGAIN)];
    (StatusCode::SERVICE_UNAVAILABLE, head, Json(report)).into_response()
}

pub(super) async fn metrics(
    State(metrics): State<Arc<ServiceMetrics>>,
    State(access): State<Arc<AccessControl>>,
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
) -> Result<Response, Problem> {
    check_permission(&caller, OBSERVE)?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let node = lifecycle.reported();
    Ok((kind, metrics.text(access.usage(), lifecycle.places(), node)).into_response())
}

pub(super) async fn latency(
    State(latency): State<Option<Arc<LatencyWindow>>>,
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
) -> Result<Response, Problem> {
    let Some(latency) = latency else {
        let detail = "latencies are not shown; the operator turns them on with `dev`";
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_switched_on", detail));
    };
    check_permission(&caller, OBSERVE)?;
    let (store, scope) = (&stores.latency, scope(&caller));
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
