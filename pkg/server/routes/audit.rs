//! The routes that read the audit rows of the caller's scope.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::conversations::page_size;
use crate::{
    Problem,
    access::{
        caller::RequestCaller,
        identity::{AUDIT, check_permission},
        scope::scope,
    },
    http::extract::QueryParameters,
};
use forgeline_agent::Caller;
use forgeline_store::{AuditHash, AuditHead, AuditQuery, Stores, export_audit};
use forgeline_types::Text;

/// Maximum duration of a check of the chain.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// The requested rows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowsQuery {
    r#type: Option<Text>,
    source: Option<Text>,
    actor: Option<Text>,
    since: Option<u64>,
    until: Option<u64>,
    after: Option<Text>,
    limit: Option<usize>,
}

/// An earlier end of the chain.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownQuery {
    next: Option<u64>,
    hash: Option<Text>,
}

/// No query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoQuery {}

/// Returns the scope whose rows a caller may read.
fn audited_scope(caller: &Caller) -> Result<Text, Problem> {
    check_permission(caller, AUDIT)?;
    Ok(scope(caller))
}

pub(super) async fn list(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(asked): QueryParameters<RowsQuery>,
) -> Result<Json<Value>, Problem> {
    let mut query = AuditQuery::new(audited_scope(&caller)?, page_size(asked.limit)?);
    (query.kind, query.source, query.actor) = (asked.r#type, asked.source, asked.actor);
    (query.since_ms, query.until_ms, query.after) = (asked.since, asked.until, asked.after);
    let page = stores.audit.read(query).await?;
    Ok(Json(json!({ "rows": page.rows, "next": page.next })))
}

/// Streams the whole chain as JSON lines. A response that breaks off has fewer rows than its first line states.
pub(super) async fn export(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(NoQuery {}): QueryParameters<NoQuery>,
) -> Result<Response, Problem> {
    let scope = audited_scope(&caller)?;
    // A store that cannot be used is a problem rather than a response that breaks off.
    stores.audit.head(&scope).await?;
    let lines = export_audit(Arc::clone(&stores.audit), scope);
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    Ok((kind, Body::from_stream(lines)).into_response())
}

pub(super) async fn verify(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(KnownQuery { next, hash }): QueryParameters<KnownQuery>,
) -> Result<Response, Problem> {
    let scope = audited_scope(&caller)?;
    let known = match (next, hash) {
        (None, None) => None,
        (Some(next), Some(hash)) => {
            let hash: AuditHash =
                hash.parse().map_err(|error| Problem::bad(format!("invalid `hash`: {error}")))?;
            Some(AuditHead::new(next, hash, next, hash))
        }
        (Some(_), None) | (None, Some(_)) => {
            return Err(Problem::bad(
                "send `next` and `hash` of an earlier check together, or neither",
            ));
        }
    };
    let check = stores.audit.verify(&scope, known.as_ref());
    let Ok(report) = timeout(VERIFY_TIMEOUT, check).await else {
        let detail = "the chain is too long to be checked in one request; check it from an earlier `next` and `hash`, or check an export";
        return Err(Problem::busy(detail, 60));
    };
    let report = report?;
    let problem = report.fault.map(|fault| fault.to_string());
    let (head, is_whole) = (report.head, report.is_whole());
    Ok(Json(json!({
        "whole": is_whole, "rows": report.rows, "erased": report.erased, "first": head.first,
        "next": head.next, "hash": head.hash, "problem": problem,
    }))
    .into_response())
}
