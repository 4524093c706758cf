//! The route of the events of a run.

use axum::{extract::State, http::HeaderMap, response::Response};
use serde::Deserialize;

use crate::server::{
    Problem, Service,
    http::extract::{Caller, Path, Query},
    readers::{body, until_wait::Leave},
    runs::records::page,
};

#[derive(Debug, Deserialize)]
pub(super) struct From {
    after: Option<String>,
}

/// The query of a reader of a run.
#[derive(Debug, Deserialize)]
pub(super) struct Events {
    after: Option<String>,
    /// The action on the run when its reader disconnects.
    on_disconnect: Option<Leave>,
}

/// Returns the last event seen by a reader. The browser's header is newer than the URL of the first request.
pub(super) fn last_seen(headers: &HeaderMap, From { after }: From) -> Option<String> {
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or("?").to_owned());
    last.or(after)
}

pub(super) async fn read(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
    Query(Events { after, on_disconnect }): Query<Events>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = service.run_to_read(&caller, &id).await?;
    let from = match last_seen(&headers, From { after }) {
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
    let page = page(&*service.log(), &run, from, 1).await?;
    if page.is_end && page.records.is_empty() {
        return Ok(body::nothing());
    }
    let guard = on_disconnect.map(|leave| leave.guard(&run));
    Ok(body::answer(&service, run, from, guard))
}
