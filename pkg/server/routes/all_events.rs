//! The route of everything that a caller may see.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};

use super::events::{ScopeQuery, last_seen};
use crate::{
    Problem,
    access::{caller::RequestCaller, scope::scope},
    http::extract::QueryParameters,
    readers::{
        body,
        context::ReaderContext,
        scope_cursor::ScopeCursor,
        scope_events::{RunFinder, ScopeSources},
    },
    runs::directory::RunDirectory,
};
use forgeline_store::Stores;

pub(super) async fn follow_scope(
    State(stores): State<Stores>,
    State(runs): State<Arc<RunDirectory>>,
    State(readers): State<ReaderContext>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(ScopeQuery { after, on_disconnect }): QueryParameters<ScopeQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if on_disconnect.is_some() {
        return Err(Problem::bad(
            "`on_disconnect` is for readers of one run; this stream has all runs",
        ));
    }
    let scope = scope(&caller);
    let sources =
        ScopeSources::new(stores.log, Some(stores.notifications), (scope.clone(), &caller));
    let sources = sources.finding(finder(&runs));
    let open = async || runs.open_of_caller(&scope, &caller.id).await;
    let place = match last_seen(&headers, after) {
        Some(last) => {
            let place = ScopeCursor::parse(&last);
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
    Ok(body::streamed(Box::pin(sources.into_frames(place)), readers.ends))
}

/// Returns a function that finds a run by its key, in memory or in the store.
fn finder(runs: &Arc<RunDirectory>) -> RunFinder {
    let runs = Arc::clone(runs);
    Arc::new(move |key| {
        let runs = Arc::clone(&runs);
        Box::pin(async move { runs.find(&key).await.ok().flatten() })
    })
}

/// Returns the error for a position that does not exist yet, with one that does.
fn ahead(now: &ScopeCursor) -> Problem {
    let detail = "this stream has no such event; read from the id of an event that you have received, or without an id";
    Problem::new(StatusCode::CONFLICT, "log_behind", detail).with("last_event_id", now.to_string())
}
