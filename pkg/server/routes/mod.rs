//! The routes of the service.

mod ag_ui;
mod agents;
mod all_events;
mod audit;
mod chat;
mod conversations;
mod events;
mod front;
mod health;
mod message_runs;
mod notifications;
mod requests;
mod runs;
mod streams;
mod table;
mod ui_request;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Response,
};

use super::{
    Problem, Service,
    access::{cors, gate::gate},
    audit::refuse_audited,
    console,
    http::extract::refuse_query,
    metrics::request_log::log_request,
    openapi::add_routes,
};

pub use self::table::openapi;

/// Returns the routes of a service, for use in a host's application.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::Agent, llm::demo::DemoProvider, server::{Service, router}};
///
/// let agent = Agent::builder(DemoProvider::new()).build()?;
/// let service = Service::builder().agent("demo", agent).build()?;
/// let app = axum::Router::new().nest("/assistant", router(service));
/// # drop(app);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn router(service: Service) -> Router {
    let access = &service.0.access;
    let without_query = add_routes(Router::new(), table::without_query());
    let runs = add_routes(Router::new(), table::with_query())
        .merge(without_query.route_layer(from_fn(refuse_query)))
        .layer(from_fn_with_state(Arc::clone(&service.0.audit), refuse_audited))
        .layer(from_fn_with_state(Arc::clone(access), gate));
    let most = access.limits().body_bytes;
    let console = if service.0.has_console { console::routes() } else { Router::new() };
    let routes = add_routes(Router::new(), table::open())
        .merge(runs)
        .merge(console)
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
        .layer(from_fn(front::with_vendor_errors))
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
