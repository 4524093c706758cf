//! The route of the events of a run.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};
use serde::Deserialize;

use crate::{
    Problem,
    access::caller::RequestCaller,
    http::extract::{PathParameters, QueryParameters},
    readers::{
        body, context::ReaderContext, run_lookup::run_to_read, until_wait::DisconnectAction,
    },
    runs::{directory::RunDirectory, record_stream::page},
};

/// The query of a reader of everything in a scope.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScopeQuery {
    pub(super) after: Option<String>,
    /// An action that exists for readers of one run only.
    pub(super) on_disconnect: Option<String>,
}

/// The query of a reader of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    after: Option<String>,
    /// The action on the run when its reader disconnects.
    on_disconnect: Option<DisconnectAction>,
}

/// Returns the last event seen by a reader. The browser's header is newer than the URL of the first request.
pub(super) fn last_seen(headers: &HeaderMap, after: Option<String>) -> Option<String> {
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or("?").to_owned());
    last.or(after)
}

pub(super) async fn follow_run(
    State(runs): State<Arc<RunDirectory>>,
    State(readers): State<ReaderContext>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
    QueryParameters(EventsQuery { after, on_disconnect }): QueryParameters<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = run_to_read(&runs, &caller, &id).await?;
    let from = match last_seen(&headers, after) {
        Some(last) => {
            let number: Option<u64> = last.parse().ok();
            // As it was sent, without a sign.
            let number = number.filter(|number| number.to_string() == last);
            let next = number.and_then(|number| number.checked_add(1));
            next.ok_or_else(|| {
                Problem::bad("`Last-Event-ID` and `after` must be the number of an event")
            })?
        }
        None => 0,
    };
    let page = page(&*readers.log, &run, from, 1).await?;
    if page.is_end && page.records.is_empty() {
        return Ok(body::nothing());
    }
    let guard = on_disconnect.map(|leave| leave.guard(&run));
    Ok(body::answer(&readers, run, from, guard))
}
