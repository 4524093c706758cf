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

use crate::{
    Problem,
    access::caller::RequestCaller,
    http::{
        extract::{JsonBody, PathParameters, RequestKey},
        ids::digest,
    },
    input::user_message::UserMessage,
    lifecycle::{RunLifecycle, start::StartRun},
    readers::run_lookup::run_to_read,
    runs::directory::RunDirectory,
};
use forgeline_agent::RunInput;
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

pub(super) async fn show(
    State(runs): State<Arc<RunDirectory>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> Result<Response, Problem> {
    let run = run_to_read(&runs, &caller, &id).await?;
    Ok(Json(run.shown()).into_response())
}
