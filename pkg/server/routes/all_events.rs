//! All that a caller may see is read.

use axum::{extract::State, http::HeaderMap, response::Response};

use super::events::{From, last_seen};
use crate::server::{
    Problem, Service, body,
    extract::{Caller, Query},
    scope::scope,
    scope_events::{Place, Sources},
};

pub(super) async fn read(
    State(service): State<Service>,
    Caller(caller): Caller,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let scope = scope(&caller);
    let open = service.open_runs(&scope, &caller.id);
    let sources = Sources::new(service.log(), Some(service.notifications()), (scope, &caller));
    let place = match last_seen(&headers, from) {
        Some(last) => {
            let place = Place::read(&last);
            let place = place.ok_or_else(|| {
                Problem::bad(
                    "`Last-Event-ID` and `after` must be the id of an event of this stream",
                )
            })?;
            sources.check(&place).await?;
            place
        }
        None => sources.now(&open).await?,
    };
    Ok(body::streamed(Box::pin(sources.read(place)), service.ends()))
}
