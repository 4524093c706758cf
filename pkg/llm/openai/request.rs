//! The options of a request, which differ from host to host.

use serde_json::{Value, json};

use super::host::Host;
use crate::llm::{
    ProviderError, Request, Thinking, ToolSpec,
    http::{BodyWriter, SamplingNames, chat},
};

/// Writes the members that stand before the tools.
pub(super) fn options(
    body: &mut BodyWriter<'_>,
    request: &Request,
    model: &str,
    host: Host,
) -> Result<(), ProviderError> {
    if !model.is_empty() {
        body.field("model", model);
    }
    body.field("stream", &true);
    // Mistral refuses the member, and sends the usage without it.
    if host != Host::Mistral && request.extra.get("stream") != Some(&Value::Bool(false)) {
        body.field("stream_options", &json!({ "include_usage": true }));
    }
    // OpenAI has renamed it, others have not.
    let max_tokens = if host == Host::OpenAi { "max_completion_tokens" } else { "max_tokens" };
    body.optional(max_tokens, request.max_tokens.as_ref());
    let names = SamplingNames {
        top_k: if host == Host::OpenAi { "" } else { "top_k" },
        seed: if host == Host::Mistral { "random_seed" } else { "seed" },
        ..SamplingNames::CHAT
    };
    body.sampling("openai", &names)?;
    let thinking = request.thinking.map(|wanted| thinking(wanted, host)).transpose()?.flatten();
    if let Some((key, value)) = &thinking {
        body.field(key, value);
    }
    if thinking.is_none_or(|(key, _)| key != "reasoning_effort") {
        body.optional("reasoning_effort", request.reasoning_effort.as_ref());
    }
    if !request.metadata.is_empty() {
        body.field("metadata", &request.metadata);
    }
    let format = request.response_format.as_ref().map(chat::response_format);
    body.optional("response_format", format.as_ref());
    if !request.tools.is_empty() {
        let choice = request.tool_choice.as_ref().map(chat::tool_choice);
        body.optional("tool_choice", choice.as_ref());
        body.optional("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    Ok(())
}

/// Returns the member that switches reasoning; every vendor has another, and OpenAI's models reason
/// without one.
fn thinking(wanted: Thinking, host: Host) -> Result<Option<(&'static str, Value)>, ProviderError> {
    let is_on = wanted != Thinking::Off;
    let unsupported = |feature| Err(ProviderError::unsupported("openai", feature));
    let field = match (host, wanted) {
        (Host::OpenRouter, Thinking::Budget(tokens)) => {
            ("reasoning", json!({ "max_tokens": tokens }))
        }
        (Host::OpenRouter, Thinking::On | Thinking::Off) => {
            ("reasoning", json!({ "enabled": is_on }))
        }
        (_, Thinking::Budget(_)) => {
            return unsupported("a budget of reasoning; set the reasoning effort instead");
        }
        (Host::DeepSeek, Thinking::On | Thinking::Off) => {
            ("thinking", json!({ "type": if is_on { "enabled" } else { "disabled" } }))
        }
        (Host::OpenAi, Thinking::On) => return Ok(None),
        (Host::OpenAi, Thinking::Off) => ("reasoning_effort", json!("none")),
        (Host::Mistral | Host::Perplexity, Thinking::On | Thinking::Off) => {
            return unsupported("switching reasoning; choose a model that does or does not");
        }
        // llama.cpp, vLLM and SGLang hand it to the model's template.
        (Host::Other, Thinking::On | Thinking::Off) => {
            ("chat_template_kwargs", json!({ "enable_thinking": is_on }))
        }
    };
    Ok(Some(field))
}

/// Returns a tool, which the server may hold the model to.
pub(super) fn tool(tool: &ToolSpec) -> Value {
    let mut value = chat::tool(tool);
    if tool.strict {
        value["function"]["strict"] = json!(true);
    }
    value
}
