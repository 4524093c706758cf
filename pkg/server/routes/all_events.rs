//! The route of everything that a caller may see.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};

use super::events::{From, last_seen};
use crate::server::{
    Problem, Service,
    access::scope::scope,
    http::extract::{Caller, Query},
    readers::{
        body,
        scope_events::{Find, Sources},
        scope_place::Place,
    },
};

pub(super) async fn read(
    State(service): State<Service>,
    Caller(caller): Caller,
    Query(from): Query<From>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if query.iter().any(|(name, _)| name == "on_disconnect") {
        return Err(Problem::bad(
            "`on_disconnect` is for readers of one run; this stream has all runs",
        ));
    }
    let scope = scope(&caller);
    let log = service.log();
    let sources = Sources::new(log, Some(service.notifications()), (scope.clone(), &caller));
    let sources = sources.finding(finder(&service));
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
                let mut now = sources.now(open).await?;
                now.leave_out();
                return Err(ahead(&now));
            }
            place
        }
        None => sources.now(open).await?,
    };
    Ok(body::streamed(Box::pin(sources.read(place)), service.ends()))
}

/// Returns a function that finds a run by its key, in memory or in the store.
fn finder(service: &Service) -> Find {
    let service = service.clone();
    Arc::new(move |key| {
        let service = service.clone();
        Box::pin(async move {
            if let Some(run) = service.0.runs.find(&key.scope, &key.name) {
                return Some(run);
            }
            let record = service.stores().runs.get(&key).await.ok()?;
            Some(Arc::new(Service::not_here(&record)))
        })
    })
}

/// Returns the error for a position that does not exist yet, with one that does.
fn ahead(now: &Place) -> Problem {
    let detail = "this stream has no such event; read from the id of an event that you have received, or without an id";
    Problem::new(StatusCode::CONFLICT, "log_behind", detail).with("last_event_id", now.to_string())
}
