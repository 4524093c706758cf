//! The agents and their tools.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{
    agent::tools::ToolPlace,
    server::{Service, http::extract::Caller},
};

pub(super) async fn agents(State(service): State<Service>, Caller(_caller): Caller) -> Json<Value> {
    let agents = service.agents().map(|(name, agent)| {
        let info = agent.provider().info();
        let models: Vec<_> = agent.model_names().collect();
        json!({ "name": name, "provider": info.provider, "model": info.model, "models": models })
    });
    Json(json!({ "agents": agents.collect::<Vec<_>>() }))
}

/// Returns the tools of all agents that this caller may use.
pub(super) async fn tools(State(service): State<Service>, Caller(caller): Caller) -> Json<Value> {
    let mut tools = Vec::new();
    for (name, agent) in service.agents() {
        for (tool, spec) in agent.own_tools() {
            if tool.permission().is_none_or(|permission| caller.has_permission(permission)) {
                let place = match tool.place() {
                    ToolPlace::Client => "client",
                    ToolPlace::Here => "server",
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
