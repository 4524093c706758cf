//! The options of a request to Cohere.

use serde_json::{Value, json};

use crate::llm::{
    ProviderError, ResponseFormat, Thinking, ToolChoice,
    http::{BodyWriter, SamplingNames},
};

/// Cohere's names.
const NAMES: SamplingNames =
    SamplingNames { top_p: "p", top_k: "k", stop: "stop_sequences", ..SamplingNames::CHAT };

/// Writes the members that stand before the tools.
pub(super) fn options(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    if request.reasoning_effort.is_some() && !body.is_set("thinking") {
        return Err(body.unsupported("a reasoning effort; set a budget for thinking instead"));
    }
    body.begin();
    body.sampling(&NAMES)?;
    body.optional("thinking", request.thinking.map(thinking));
    body.optional("response_format", request.response_format.as_ref().map(format));
    if request.tools.is_empty() {
        return Ok(());
    }
    if request.parallel_tool_calls == Some(false) {
        return Err(body.unsupported("one call at a time; leave parallel_tool_calls unset"));
    }
    if let Some(choice) = &request.tool_choice
        && !body.is_set("tool_choice")
    {
        body.optional("tool_choice", tool_choice(body, choice)?);
    }
    body.optional("strict_tools", request.tools.iter().any(|tool| tool.strict).then_some(true));
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
    body: &BodyWriter<'_>,
    choice: &ToolChoice,
) -> Result<Option<&'static str>, ProviderError> {
    match choice {
        ToolChoice::Auto => Ok(None),
        ToolChoice::None => Ok(Some("NONE")),
        ToolChoice::Required => Ok(Some("REQUIRED")),
        ToolChoice::Tool(name) if body.request().tools.iter().all(|tool| tool.name == *name) => {
            Ok(Some("REQUIRED"))
        }
        ToolChoice::Tool(_) => {
            Err(body.unsupported("a choice of one tool among several; offer that tool alone"))
        }
    }
}
