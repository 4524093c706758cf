//! The options of a request, which differ from host to host.

use serde_json::{Value, json};

use super::host::Host;
use crate::llm::{
    ProviderError, Thinking, ToolSpec,
    http::{BodyWriter, SamplingNames, chat},
};

/// Writes the members that stand before the tools.
pub(super) fn options(body: &mut BodyWriter<'_>, host: Host) -> Result<(), ProviderError> {
    let request = body.request();
    body.begin();
    // Mistral refuses the member, and sends the usage without it.
    if host != Host::Mistral && request.extra.get("stream") != Some(&Value::Bool(false)) {
        body.field("stream_options", &json!({ "include_usage": true }));
    }
    let is_openai = host == Host::OpenAi;
    body.sampling(&SamplingNames {
        // OpenAI has renamed it, others have not.
        max_tokens: if is_openai { "max_completion_tokens" } else { "max_tokens" },
        top_k: if is_openai { "" } else { "top_k" },
        seed: if host == Host::Mistral { "random_seed" } else { "seed" },
        ..SamplingNames::CHAT
    })?;
    let thinking = match request.thinking {
        Some(wanted) => thinking(body, wanted, host)?,
        None => None,
    };
    if let Some((key, value)) = &thinking {
        body.field(key, value);
    }
    if thinking.is_none_or(|(key, _)| key != "reasoning_effort") {
        body.optional("reasoning_effort", request.reasoning_effort.as_ref());
    }
    body.metadata("metadata");
    body.optional("response_format", request.response_format.as_ref().map(chat::response_format));
    body.tool_choice(chat::tool_choice);
    Ok(())
}

/// Returns the member that switches reasoning; every vendor has another, and OpenAI's models reason
/// without one.
fn thinking(
    body: &BodyWriter<'_>,
    wanted: Thinking,
    host: Host,
) -> Result<Option<(&'static str, Value)>, ProviderError> {
    let is_on = wanted != Thinking::Off;
    let unsupported = |feature| Err(body.unsupported(feature));
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
