//! The search for tools as the vendor's models know it: what is found is described where it was found.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    PROTOCOL,
    extras::{SEARCH, SEARCH_CALL},
};
use crate::{
    llm::{
        Request, ToolChoice, ToolSpec,
        http::{HttpConfig, found_tool},
        tool_names,
    },
    types::{Json, Message, MessageRole, ToolCall, ToolResult, subslice},
};

/// The first version of the vendor's models that know the search.
const FIRST: (u32, u32) = (5, 4);

/// A search that the program runs, in a request whose model knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'r> {
    tools: &'r Arc<[ToolSpec]>,
}

impl<'r> Search<'r> {
    /// Returns the search of a request; `None` where it has none, or must call the tool itself as a function.
    ///
    /// `is_known` says whether the model knows such a search; without it the server and the model's name say so.
    pub(super) fn of(
        request: &'r Request,
        config: &HttpConfig,
        is_known: Option<bool>,
    ) -> Option<Self> {
        let tools = &request.tools;
        let is_offered = match request.extra.get("tools") {
            // Whoever writes the tools himself says there what the search is.
            Some(written) => written.as_array().is_some_and(|list| list.iter().any(is_search)),
            None => {
                is_known.unwrap_or_else(|| knows_search(config))
                    && tools.iter().any(|spec| spec.searches && spec.name == SEARCH)
                    && !is_forced(request)
            }
        };
        is_offered.then_some(Self { tools })
    }

    /// Returns the tools that stand at the beginning: those that no result in `messages` describes.
    pub(super) fn first(self, messages: &[Arc<Message>]) -> Arc<[ToolSpec]> {
        let mut described: Vec<&ToolSpec> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let before = subslice(messages, ..at);
            let results = message.tool_results().filter(|it| !it.found.is_empty());
            for result in results.filter(|it| is_result(it, before)) {
                described.extend(self.found(result));
            }
        }
        if described.is_empty() {
            return Arc::clone(self.tools);
        }
        let is_first =
            |spec: &&ToolSpec| !(spec.deferred && described.iter().any(|it| it.name == spec.name));
        self.tools.iter().filter(is_first).cloned().collect()
    }

    fn found(self, result: &ToolResult) -> impl Iterator<Item = &'r ToolSpec> {
        result.found.iter().filter_map(move |name| found_tool(self.tools, name))
    }

    /// Returns the result of a search, with the whole descriptions of what it found.
    pub(super) fn output(self, result: &ToolResult) -> Value {
        let found = |spec| {
            let mut tool = function(spec);
            tool["defer_loading"] = json!(true);
            tool
        };
        json!({
            "type": "tool_search_output",
            "call_id": result.call_id,
            "execution": "client",
            "status": "completed",
            "tools": self.found(result).map(found).collect::<Value>(),
        })
    }
}

/// A search that the model asked for, as it goes back.
#[derive(Debug, Serialize)]
pub(super) struct Searched<'c> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'c str,
    execution: &'static str,
    status: &'static str,
    arguments: Json,
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl<'c> Searched<'c> {
    /// Returns a call as an item. Arguments that could not be read are sent as none, for they must be an object.
    pub(super) fn new(call: &'c ToolCall) -> Self {
        let arguments = call.arguments.clone().filter(|it| it.as_str().starts_with('{'));
        Self {
            kind: SEARCH_CALL,
            call_id: &call.id,
            execution: "client",
            status: "completed",
            arguments: arguments.unwrap_or_else(|| Json::from(&json!({}))),
            more: call.signature.as_ref().map(|it| it.members(PROTOCOL)).unwrap_or_default(),
        }
    }
}

/// Returns `true` for a call of the search.
pub(super) fn is_call(call: &ToolCall) -> bool {
    call.name == SEARCH && !call.hosted
}

/// Returns `true` for the result of a search; `before` are the messages before it.
pub(super) fn is_result(result: &ToolResult, before: &[Arc<Message>]) -> bool {
    let asked = before.iter().rfind(|it| it.role == MessageRole::Assistant);
    let is_asked = |call: &ToolCall| is_call(call) && call.id == result.call_id;
    asked.is_some_and(|asked| asked.tool_calls().any(is_asked))
}

/// Returns a tool as the model sees it from the start.
pub(super) fn tool(tool: &ToolSpec, search: Option<Search<'_>>) -> Value {
    if search.is_none() || !tool.searches {
        return function(tool);
    }
    json!({
        "type": SEARCH,
        "execution": "client",
        "description": tool.description,
        "parameters": tool.parameters,
    })
}

/// Returns a function. `strict` is always written, because the vendor's default is strict.
fn function(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool_names::encode(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    })
}

/// Returns `true` for a search by the program among tools that the caller of the library wrote.
fn is_search(written: &Value) -> bool {
    written["type"] == SEARCH && written["execution"] == "client"
}

/// Returns `true` when the model must call the search, or what it found: only functions at the beginning can be forced.
fn is_forced(request: &Request) -> bool {
    let Some(ToolChoice::Tool(name)) = &request.tool_choice else { return false };
    request.tools.iter().any(|spec| spec.name == *name && (spec.searches || spec.deferred))
}

/// Returns `true` for a model of the vendor's that knows the search, on the vendor's own server.
fn knows_search(config: &HttpConfig) -> bool {
    config.base_url.contains("api.openai.com") && model_knows_search(&config.model)
}

/// Returns `true` for the name of a model that knows the search. The smallest ones do not.
fn model_knows_search(model: &str) -> bool {
    let Some(name) = model.strip_prefix("gpt-") else { return false };
    let mut words = name.split('-');
    let version = words.next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let version = major.parse().ok().zip(minor.parse().ok());
    version.is_some_and(|version: (u32, u32)| version >= FIRST) && !words.any(|it| it == "nano")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_know_the_search_are_told_by_their_names() {
        for model in
            ["gpt-5.4", "gpt-5.4-mini", "gpt-5.5-2026-04-23", "gpt-5.10", "gpt-6", "gpt-6.1-codex"]
        {
            assert!(model_knows_search(model), "{model}");
        }
        for model in [
            "gpt-5.4-nano",
            "gpt-5.3-codex",
            "gpt-5",
            "gpt-5-mini",
            "gpt-4o",
            "gpt-4.1",
            "gpt-oss-120b",
            "gpt-realtime",
            "o3",
            "chatgpt-4o-latest",
            "grok-5.4",
            "",
        ] {
            assert!(!model_knows_search(model), "{model}");
        }
    }
}
