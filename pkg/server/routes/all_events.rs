//! All that a caller may see is read.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};

use super::events::{From, last_seen};
use crate::server::{
    Problem, Service, body,
    extract::{Caller, Query},
    scope::scope,
    scope_events::Sources,
    scope_place::Place,
};

pub(super) async fn read(
    State(service): State<Service>,
    Caller(caller): Caller,
    Query(from): Query<From>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if query.iter().any(|(name, _)| name == "on_disconnect") {
        return Err(Problem::bad("`on_disconnect` is for readers of one run; this stream has all"));
    }
    let scope = scope(&caller);
    let log = service.log();
    let sources = Sources::new(log, Some(service.notifications()), (scope.clone(), &caller));
    let open = || service.open_runs(&scope, &caller.id);
    let place = match last_seen(&headers, from) {
        Some(last) => {
            let place = Place::read(&last);
            let place = place.ok_or_else(|| {
                Problem::bad(
                    "`Last-Event-ID` and `after` must be the id of an event of this stream",
                )
            })?;
            if !sources.has(&place).await? {
                return Err(ahead(&sources.now(open).await?));
            }
            place
        }
        None => sources.now(open).await?,
    };
    Ok(body::streamed(Box::pin(sources.read(place)), service.ends()))
}

/// Returns the error of a place that is not there yet, with one that is.
fn ahead(now: &Place) -> Problem {
    let detail =
        "this stream has no such event; read from the id of one that you have seen, or without one";
    Problem::new(StatusCode::CONFLICT, "log_behind", detail).with("last_event_id", now.to_string())
}
