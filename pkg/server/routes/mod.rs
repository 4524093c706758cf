//! The routes of the service.

mod ag_ui;
mod agents;
mod all_events;
mod chat;
mod conversations;
mod events;
mod health;
mod message_runs;
mod notifications;
mod requests;
mod runs;
mod streams;
mod ui_files;
mod ui_request;
mod user_message;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::DefaultBodyLimit,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Response,
    routing::{get, post},
};
use serde_json::json;

use super::{
    Problem, Service,
    access::{cors, gate::gate},
    console,
    http::extract::refuse_query,
    metrics::request_log::log_request,
};

/// Returns the routes of a service, for use in a host's application.
pub fn router(service: Service) -> Router {
    let access = &service.0.access;
    let without_query = Router::new()
        .route("/v1/agents", get(agents::agents))
        .route("/v1/tools", get(agents::tools))
        .route("/v1/notifications", post(notifications::notify))
        .route("/v1/runs", post(runs::begin))
        .route("/v1/runs/{id}", get(runs::show))
        .route("/v1/runs/{id}/cancel", post(requests::cancel))
        .route("/v1/runs/{id}/approvals", post(requests::approve))
        .route("/v1/runs/{id}/tool-results", post(requests::complete))
        .route("/v1/runs/{id}/inputs", post(requests::steer))
        .route_layer(from_fn(refuse_query));
    let runs = Router::new()
        .merge(without_query)
        .route("/v1/conversations", get(conversations::list))
        .route(
            "/v1/conversations/{id}",
            get(conversations::show).patch(conversations::rename).delete(conversations::delete),
        )
        .route("/api/chat/history", get(conversations::history).delete(conversations::forget))
        .route("/metrics", get(health::metrics))
        .route("/dev/latency", get(health::latency))
        .route("/v1/events", get(all_events::follow_scope))
        .route("/v1/runs/{id}/events", get(events::follow_run))
        .route(
            "/v1/runs/{id}/stream",
            get(streams::read_run).head(streams::show_run).options(streams::preflight),
        )
        .route(
            "/v1/streams/{*name}",
            get(streams::read_stream)
                .head(streams::show)
                .put(streams::create)
                .post(streams::append)
                .delete(streams::remove)
                .options(streams::preflight),
        )
        .route("/api/chat", post(chat::begin))
        .route("/api/chat/{id}/stream", get(chat::resume).delete(chat::stop))
        .route("/agui", post(ag_ui::begin))
        .layer(from_fn_with_state(Arc::clone(access), gate));
    let most = access.limits().body_bytes;
    let console = if service.0.has_console { console::routes() } else { Router::new() };
    let routes = Router::new()
        .merge(runs)
        .merge(console)
        .route("/ready", get(health::ready))
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .fallback(async || {
            Problem::new(StatusCode::NOT_FOUND, "no_route", "this path does not exist")
        })
        .method_not_allowed_fallback(async || {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "wrong_method",
                "this path does not support this method",
            )
        })
        .layer(map_response(guarded))
        .layer(from_fn_with_state(Arc::clone(&service.0.metrics), log_request))
        .layer(DefaultBodyLimit::max(most));
    cors::over(access, routes).with_state(service)
}

/// The policy of a response that a browser shows as a page: it may do nothing. Callers choose the data and types of streams.
const INERT: HeaderValue =
    HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");

/// Keeps browsers from guessing the type of a response and from running data that callers stored.
async fn guarded(mut response: Response) -> Response {
    let fields = response.headers_mut();
    // Responses with a caller's data are not cached, unless their route decides otherwise.
    let cache = fields.entry(header::CACHE_CONTROL);
    cache.or_insert(HeaderValue::from_static("no-store"));
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The console has a policy of its own.
    fields.entry(header::CONTENT_SECURITY_POLICY).or_insert(INERT);
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    fields.insert(policy, HeaderValue::from_static("same-origin"));
    response
}
