//! The routes that start and show runs.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::conversations::page_size;
use crate::{
    Problem,
    access::{
        caller::RequestCaller,
        identity::{RUNS, check_permission},
        scope::scope,
    },
    http::{
        extract::{JsonBody, PathParameters, QueryParameters, RequestKey},
        ids::digest,
    },
    input::user_message::UserMessage,
    lifecycle::{RunLifecycle, start::StartRun},
    readers::run_lookup::run_to_read,
    runs::directory::RunDirectory,
};
use forgeline_agent::RunInput;
use forgeline_store::{RunProgress, RunQuery, StoredRun, Stores};
use forgeline_types::Text;

/// A run to start. None of the members reaches the system prompt.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunBody {
    #[schemars(with = "Option<String>")]
    conversation_id: Option<Text>,
    input: UserMessage,
    #[schemars(with = "Option<String>")]
    agent: Option<Text>,
    #[schemars(with = "Option<String>")]
    module: Option<Text>,
    #[schemars(with = "Option<String>")]
    page: Option<Text>,
    /// One of the models of the agent that the host allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    model: Option<Text>,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
}

pub(super) async fn begin(
    State(lifecycle): State<Arc<RunLifecycle>>,
    RequestCaller(caller): RequestCaller,
    RequestKey(key): RequestKey,
    JsonBody(begin): JsonBody<RunBody>,
) -> Result<Response, Problem> {
    let request = key.map(|key| (key, digest(&serde_json::to_vec(&begin).unwrap_or_default())));
    let RunBody { conversation_id, input, agent, module, page, model, metadata } = begin;
    let mut input = RunInput::from(input.parts()?);
    if let Some(module) = module {
        input = input.module(module);
    }
    if let Some(page) = page {
        input = input.page(page);
    }
    if let Some(model) = model {
        input = input.model(model);
    }
    for (key, value) in metadata {
        input = input.metadata(key, value);
    }
    let conversation = conversation_id;
    let (tools, history, again) = (None, Vec::new(), None);
    let asked = StartRun { input, agent, conversation, tools, request, history, again };
    let run = lifecycle.begin(caller, asked).await?;
    let ids = json!({ "run_id": run.id(), "conversation_id": run.conversation });
    Ok((StatusCode::ACCEPTED, Json(ids)).into_response())
}

/// The requested runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    status: Option<RunProgress>,
    agent: Option<Text>,
    conversation: Option<Text>,
    since: Option<u64>,
    owner: Option<Text>,
    after: Option<Text>,
    limit: Option<usize>,
}

/// The owner in a query for the runs of everyone in the scope.
const EVERYONE: &str = "*";

/// Lists the runs of the caller or, with the permission, of others in the scope. Says nothing of what was said in them.
pub(super) async fn list(
    State(stores): State<Stores>,
    State(directory): State<Arc<RunDirectory>>,
    RequestCaller(caller): RequestCaller,
    QueryParameters(asked): QueryParameters<RunsQuery>,
) -> Result<Json<Value>, Problem> {
    let owner = asked.owner.unwrap_or_else(|| caller.id.clone());
    if owner != caller.id {
        check_permission(&caller, RUNS)?;
    }
    let mut query = RunQuery::new(scope(&caller), page_size(asked.limit)?);
    query.owner = Some(owner).filter(|owner| owner != EVERYONE);
    (query.agent, query.conversation) = (asked.agent, asked.conversation);
    (query.since_ms, query.after) = (asked.since, asked.after);
    // In a store of its own, this process does not write down which runs wait: it has them all.
    let is_here = !stores.runs.is_shared();
    let is_work = matches!(asked.status, Some(RunProgress::Running | RunProgress::Waiting));
    query.progress = if is_here && is_work { Some(RunProgress::Running) } else { asked.status };
    let page = stores.runs.list(query).await?;
    let mut runs = Vec::new();
    for run in &page.runs {
        let status = if run.progress.has_ended() {
            run.progress.as_str()
        } else {
            directory.of_record(run).await.shown().status()
        };
        if asked.status.is_none_or(|asked| asked.as_str() == status) {
            runs.push(listed(run, status));
        }
    }
    Ok(Json(json!({ "runs": runs, "next": page.next })))
}

/// Returns a run as lists have it.
fn listed(run: &StoredRun, status: &str) -> Value {
    json!({
        "run_id": run.key.name,
        "conversation_id": run.conversation,
        "owner": run.owner,
        "agent": run.agent,
        "status": status,
        "begun_ms": run.begun_ms,
        "ended_ms": run.ended_ms,
        "usage": run.usage,
    })
}

pub(super) async fn show(
    State(runs): State<Arc<RunDirectory>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> Result<Response, Problem> {
    let run = run_to_read(&runs, &caller, &id).await?;
    Ok(Json(run.shown()).into_response())
}
