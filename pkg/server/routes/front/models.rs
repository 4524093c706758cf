//! Agents as models.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Value, json};

use crate::{
    Problem, access::caller::RequestCaller, conversations::agents::AgentSet,
    http::extract::PathParameters, problem::MAX_SHOWN,
};
use forgeline_agent::{Agent, Caller};
use forgeline_types::{Text, private::clipped};

/// The name of the default agent, whatever its own is.
const DEFAULT: &str = "default";

/// Returns the agent that is named as a model, and one of its models if the name has it after a slash.
pub(super) fn named(agents: &AgentSet, name: &Text) -> Result<(Text, Option<Text>), Problem> {
    if agents.has(name) {
        return Ok((name.clone(), None));
    }
    if name == DEFAULT {
        return Ok((agents.default_name().clone(), None));
    }
    // Names of agents and of models may have slashes themselves.
    let slashes = name.match_indices('/').map(|(at, _)| name.split_at(at));
    let found = slashes.into_iter().find(|(agent, _)| agents.has(agent));
    let (agent, model) = found.ok_or_else(|| unknown(name))?;
    Ok((agent.into(), model.strip_prefix('/').map(Into::into)))
}

fn unknown(name: &str) -> Problem {
    let name = clipped(name, MAX_SHOWN);
    let detail = format!(
        "there is no model `{name}`; a model is the name of an agent, and `GET /v1/models` lists them"
    );
    Problem::new(StatusCode::NOT_FOUND, "model_not_found", detail).with("param", "model")
}

/// Returns the error of a request for one of an agent's models that the host does not offer as that of a model that does not exist.
pub(super) fn not_found(problem: Problem) -> Problem {
    if problem.code() == "unknown_model" {
        let detail = problem.to_string();
        let missing = Problem::new(StatusCode::NOT_FOUND, "model_not_found", detail);
        return missing.with("param", "model");
    }
    problem
}

pub(crate) async fn list(
    State(agents): State<Arc<AgentSet>>,
    RequestCaller(caller): RequestCaller,
) -> Json<Value> {
    let models: Vec<_> = all(&agents, &caller).await.collect();
    Json(json!({ "object": "list", "data": models }))
}

pub(crate) async fn show(
    State(agents): State<Arc<AgentSet>>,
    RequestCaller(caller): RequestCaller,
    PathParameters(id): PathParameters<String>,
) -> Result<Json<Value>, Problem> {
    if id == DEFAULT && !agents.has(DEFAULT) {
        let name = agents.default_name();
        let agent = agents.for_caller(name, &caller).await?;
        return Ok(Json(model(DEFAULT, &agent)));
    }
    let model = all(&agents, &caller).await.find(|model| model["id"] == *id);
    model.map(Json).ok_or_else(|| unknown(&id))
}

/// Returns the agents of a caller, each followed by its models if it has several.
async fn all(agents: &AgentSet, caller: &Caller) -> impl Iterator<Item = Value> {
    agents.all_for(caller).await.into_iter().flat_map(|(name, agent)| {
        let others = agent.model_names().map(|other| format!("{name}/{other}"));
        let names: Vec<_> = std::iter::once(name.to_string()).chain(others).collect();
        names.into_iter().map(move |name| model(&name, &agent))
    })
}

fn model(id: &str, agent: &Agent) -> Value {
    let owner = agent.provider().info().provider.clone();
    json!({ "id": id, "object": "model", "created": 0, "owned_by": owner })
}
