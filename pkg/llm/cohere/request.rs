//! The options of a request to Cohere.

use serde_json::{Value, json};

use super::PROTOCOL;
use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{BodyWriter, SamplingNames},
};

/// Cohere's names.
const NAMES: SamplingNames =
    SamplingNames { top_p: "p", top_k: "k", seed: "seed", stop: "stop_sequences" };

/// Writes the members that stand before the tools.
pub(super) fn options(
    body: &mut BodyWriter<'_>,
    request: &Request,
    model: &str,
) -> Result<(), ProviderError> {
    if request.reasoning_effort.is_some() && !body.is_set("thinking") {
        let feature = "a reasoning effort; set a budget for thinking instead";
        return Err(ProviderError::unsupported(PROTOCOL, feature));
    }
    if !model.is_empty() {
        body.field("model", model);
    }
    body.field("stream", &true);
    body.optional("max_tokens", request.max_tokens.as_ref());
    body.sampling(PROTOCOL, &NAMES)?;
    body.optional("thinking", request.thinking.map(thinking).as_ref());
    body.optional("response_format", request.response_format.as_ref().map(format).as_ref());
    if request.tools.is_empty() {
        return Ok(());
    }
    if request.parallel_tool_calls == Some(false) {
        let feature = "one call at a time; leave parallel_tool_calls unset";
        return Err(ProviderError::unsupported(PROTOCOL, feature));
    }
    if let Some(choice) = &request.tool_choice
        && !body.is_set("tool_choice")
    {
        body.optional("tool_choice", tool_choice(choice, &request.tools)?);
    }
    if request.tools.iter().any(|tool| tool.strict) {
        body.field("strict_tools", &true);
    }
    Ok(())
}

fn thinking(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Off => json!({ "type": "disabled" }),
        Thinking::On => json!({ "type": "enabled" }),
        Thinking::Budget(tokens) => json!({ "type": "enabled", "token_budget": tokens }),
    }
}

fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { schema, .. } => {
            json!({ "type": "json_object", "json_schema": schema })
        }
    }
}

/// Returns Cohere's word for a choice; to let the model decide is to say nothing.
fn tool_choice(
    choice: &ToolChoice,
    tools: &[ToolSpec],
) -> Result<Option<&'static str>, ProviderError> {
    match choice {
        ToolChoice::Auto => Ok(None),
        ToolChoice::None => Ok(Some("NONE")),
        ToolChoice::Required => Ok(Some("REQUIRED")),
        ToolChoice::Tool(name) if tools.iter().all(|tool| tool.name == *name) => {
            Ok(Some("REQUIRED"))
        }
        ToolChoice::Tool(_) => Err(ProviderError::unsupported(
            PROTOCOL,
            "a choice of one tool among several; offer that tool alone",
        )),
    }
}
