//! The agents and their tools.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{access::caller::RequestCaller, conversations::agents::AgentSet};
use forgeline_agent::tools::ToolPlace;

pub(super) async fn agents(
    State(set): State<Arc<AgentSet>>,
    RequestCaller(caller): RequestCaller,
) -> Json<Value> {
    let all = set.all_for(&caller).await;
    let agents = all.iter().map(|(name, agent)| {
        let info = agent.provider().info();
        let models: Vec<_> = agent.model_names().collect();
        json!({ "name": name, "provider": info.provider, "model": info.model, "models": models })
    });
    Json(json!({ "agents": agents.collect::<Vec<_>>() }))
}

/// Returns the tools of all agents that this caller may use.
pub(super) async fn tools(
    State(set): State<Arc<AgentSet>>,
    RequestCaller(caller): RequestCaller,
) -> Json<Value> {
    let mut tools = Vec::new();
    for (name, agent) in set.all_for(&caller).await {
        for (tool, spec) in agent.own_tools() {
            if tool.permission().is_none_or(|permission| caller.has_permission(permission)) {
                let place = match tool.place() {
                    ToolPlace::Client => "client",
                    ToolPlace::Here => "server",
                    _ => "server",
                };
                tools.push(json!({
                    "agent": name,
                    "name": tool.name(),
                    "description": tool.description(),
                    "parameters": spec.parameters,
                    "place": place,
                    "module": tool.module(),
                }));
            }
        }
    }
    Json(json!({ "tools": tools }))
}
