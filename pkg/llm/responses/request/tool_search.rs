//! The tool search built into the vendor's models: found tools are described where they were found.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    Request, ToolChoice, ToolSpec,
    http::tool_names,
    http::{HttpConfig, found_tool},
    responses::{
        PROTOCOL,
        extras::{SEARCH, SEARCH_CALL},
    },
};
use forgeline_json::subslice;
use forgeline_types::{Json, Message, MessageRole, Part, Text, ToolCall, ToolResult};

/// The first version of the vendor's models with the tool search.
const FIRST: (u32, u32) = (5, 4);

/// A tool search that the program runs, in a request to a model that supports it.
///
/// The vendor puts each function that a search has found into a namespace with the function's name. It rejects a second
/// description of the function, and a call that does not name the namespace. A tool is therefore described only where it was
/// found first; one that was called before that stays among the request's tools, where its calls expect it.
#[derive(Debug)]
pub(super) struct ToolSearch<'r> {
    tools: &'r Arc<[ToolSpec]>,
    /// The tools that results describe, by their names on the wire, with the result that describes each.
    described: Vec<(Text, &'r ToolSpec, &'r ToolResult)>,
}

impl<'r> ToolSearch<'r> {
    /// Returns the search of a request; `None` if there is none, or if the request must call the tool as a function.
    ///
    /// `messages` are the messages to be sent. `is_known` tells whether the model supports such a search; if `None`, this is derived from
    /// the server and the model's name.
    pub(super) fn from_request(
        request: &'r Request,
        messages: &'r [Arc<Message>],
        config: &HttpConfig,
        is_known: Option<bool>,
    ) -> Option<Self> {
        let tools = &request.tools;
        let is_offered = match request.extra.get("tools") {
            // A caller that writes the tools itself also declares the search there.
            Some(written) => written.as_array().is_some_and(|list| list.iter().any(is_search)),
            None => {
                is_known.unwrap_or_else(|| knows_search(config))
                    && tools.iter().any(|spec| spec.searches && spec.name == SEARCH)
                    && !is_forced(request)
            }
        };
        is_offered.then(|| Self { tools, described: described(tools, messages) })
    }

    /// Returns the tools at the beginning of the request: those that no result describes.
    pub(super) fn first(&self) -> Arc<[ToolSpec]> {
        if self.described.is_empty() {
            return Arc::clone(self.tools);
        }
        let is_first =
            |spec: &&ToolSpec| self.described.iter().all(|(_, it, _)| !std::ptr::eq(*it, *spec));
        self.tools.iter().filter(is_first).cloned().collect()
    }

    /// Returns `true` for the wire name of a tool that a result describes.
    pub(super) fn describes(&self, name: &str) -> bool {
        self.described.iter().any(|(wire, ..)| wire == name)
    }

    /// Returns the result of a search, with the full descriptions of the tools that it found first, and the text that the item
    /// has no place for: that nothing, or nothing new, was found, the reason why no search was made, and notes on the found tools.
    pub(super) fn output<'t>(&self, result: &'t ToolResult) -> (Value, Vec<&'t str>) {
        let of_result = self.described.iter().filter(|(.., by)| std::ptr::eq(*by, result));
        let tools: Vec<_> = of_result
            .map(|(_, spec, _)| {
                let mut tool = function(spec);
                tool["defer_loading"] = json!(true);
                tool
            })
            .collect();
        // Nothing is said about found tools that may no longer be used.
        let is_there = |name: &Text| found_tool(self.tools, name).is_some();
        let has_words = tools.is_empty() && result.found.iter().all(is_there);
        let item = json!({
            "type": "tool_search_output",
            "call_id": result.call_id,
            "execution": "client",
            "status": "completed",
            "tools": tools,
        });
        let words = Some(&*result.content).filter(|_| has_words);
        let notes = result.parts.iter().filter_map(Part::as_text);
        (item, words.into_iter().chain(notes).filter(|text| !text.is_empty()).collect())
    }
}

/// Returns the tools that results in `messages` describe, each with the first result that found it.
fn described<'r>(
    tools: &'r [ToolSpec],
    messages: &'r [Arc<Message>],
) -> Vec<(Text, &'r ToolSpec, &'r ToolResult)> {
    let mut described: Vec<(Text, &ToolSpec, &ToolResult)> = Vec::new();
    // The tools that may still be described, by their names on the wire.
    let deferred = tools.iter().filter(|spec| spec.deferred);
    let mut open: Vec<_> = deferred.map(|spec| (tool_names::encode(&spec.name), spec)).collect();
    for (at, message) in messages.iter().enumerate() {
        if open.is_empty() {
            break;
        }
        for part in &message.parts {
            if let Some(call) = part.as_tool_call() {
                let wire = tool_names::encode(&call.name);
                open.retain(|(name, _)| *name != wire);
            } else if let Some(result) = part.as_tool_result()
                && !result.found.is_empty()
                && is_result(result, subslice(messages, ..at))
            {
                for name in &result.found {
                    if let Some(place) = open.iter().position(|(_, spec)| spec.name == *name) {
                        let (wire, spec) = open.remove(place);
                        described.push((wire, spec, result));
                    }
                }
            }
        }
    }
    described
}

/// A search that the model asked for, in the form in which it is sent back.
#[derive(Debug, Serialize)]
pub(super) struct SearchCall<'c> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'c str,
    execution: &'static str,
    status: &'static str,
    arguments: Json,
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl<'c> SearchCall<'c> {
    /// Converts a call into an item. Arguments that could not be read are sent as an empty object, which is required.
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

/// Returns `true` for a call of the tool search.
pub(super) fn is_call(call: &ToolCall) -> bool {
    call.name == SEARCH && !call.hosted
}

/// Returns `true` for the result of a search; `before` are the preceding messages.
pub(super) fn is_result(result: &ToolResult, before: &[Arc<Message>]) -> bool {
    let asked = before.iter().rfind(|it| it.role == MessageRole::Assistant);
    let is_asked = |call: &ToolCall| is_call(call) && call.id == result.call_id;
    asked.is_some_and(|asked| asked.tool_calls().any(is_asked))
}

/// Encodes a tool at the beginning of the request; `has_search` tells whether the model supports the search.
pub(super) fn tool(tool: &ToolSpec, has_search: bool) -> Value {
    if !has_search || !tool.searches {
        return function(tool);
    }
    json!({
        "type": SEARCH,
        "execution": "client",
        "description": tool.description,
        "parameters": tool.parameters,
    })
}

/// Encodes a function. `strict` is always written, because the vendor's default is strict.
fn function(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool_names::encode(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    })
}

/// Returns `true` for a search run by the program, among the tools written by the caller.
fn is_search(written: &Value) -> bool {
    written["type"] == SEARCH && written["execution"] == "client"
}

/// Returns `true` if the model must call the search or a found tool: only functions at the beginning can be forced.
fn is_forced(request: &Request) -> bool {
    let Some(ToolChoice::Tool(name)) = &request.tool_choice else { return false };
    request.tools.iter().any(|spec| spec.name == *name && (spec.searches || spec.deferred))
}

/// Returns `true` for a model with the tool search on the vendor's own server.
pub(super) fn knows_search(config: &HttpConfig) -> bool {
    config.base_url.contains("api.openai.com") && model_knows_search(&config.model)
}

/// Returns `true` for the name of a model with the tool search. The smallest models do not have it.
pub(super) fn model_knows_search(model: &str) -> bool {
    let Some(name) = model.strip_prefix("gpt-") else { return false };
    let mut words = name.split('-');
    let version = words.next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let version = major.parse().ok().zip(minor.parse().ok());
    version.is_some_and(|version: (u32, u32)| version >= FIRST) && !words.any(|it| it == "nano")
}
