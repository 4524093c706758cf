//! The routes of the service.

mod ag_ui;
mod chat;
mod events;
mod requests;
mod runs;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::StatusCode,
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{Problem, Service, console, extract::Caller};

/// Longest body of a request, in bytes.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Returns the routes of a service, for a host's own application.
pub fn router(service: Service) -> Router {
    let runs = Router::new()
        .route("/v1/agents", get(agents))
        .route("/v1/runs", post(runs::begin))
        .route("/v1/runs/{id}", get(runs::show))
        .route("/v1/runs/{id}/events", get(events::read))
        .route("/v1/runs/{id}/cancel", post(requests::cancel))
        .route("/v1/runs/{id}/approvals", post(requests::approve))
        .route("/v1/runs/{id}/tool-results", post(requests::complete))
        .route("/v1/runs/{id}/inputs", post(requests::steer))
        .route("/api/chat", post(chat::begin))
        .route("/api/chat/{id}/stream", get(chat::resume))
        .route("/agui", post(ag_ui::begin));
    let console = if service.has_console() { console::routes() } else { Router::new() };
    Router::new()
        .merge(runs)
        .merge(console)
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "no_route", "there is nothing here"))
        .method_not_allowed_fallback(async || {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "wrong_method",
                "there is no such method here",
            )
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(service)
}

async fn agents(State(service): State<Service>, Caller(_caller): Caller) -> Json<Value> {
    let agents: Vec<_> = service.agents().map(|name| json!({ "name": name })).collect();
    Json(json!({ "agents": agents }))
}
