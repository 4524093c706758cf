//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last two brackets. Encoded messages are kept beside the history
//! that they belong to; a turn encodes only what is new.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{host::Host, message, provider::ChatCompletions};
use crate::{
    llm::{
        ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
        http::{Encoded, Fields},
        tool_names,
    },
    types::Text,
};

/// The body, in segments.
pub(super) fn body(
    request: &Request,
    model: &str,
    host: Host,
) -> Result<Vec<Bytes>, ProviderError> {
    if host.takes_reasoning() {
        write::<ChatCompletions>(request, model, host)
    } else {
        write::<WithoutReasoning>(request, model, host)
    }
}

/// Tells the encoding without members for reasoning from the one with them.
struct WithoutReasoning;

fn write<W: 'static>(
    request: &Request,
    model: &str,
    host: Host,
) -> Result<Vec<Bytes>, ProviderError> {
    let mut fields = Fields::new(&request.extra);
    options(&mut fields, request, model, host)?;
    let mut cached = Encoded::<W>::take(&request.messages);
    let mut body = Vec::with_capacity(10);
    if !request.tools.is_empty() && !fields.is_overridden("tools") {
        fields.key("tools");
        body.push(fields.take());
        body.push(cached.tools(&request.tools, 0, |tools| tools.iter().map(tool).collect()));
        fields.out.push(b',');
    }
    fields.extra();
    if fields.is_overridden("messages") {
        // The caller writes the messages himself.
        body.push(fields.end());
        cached.keep(&request.messages);
        return Ok(body);
    }
    fields.key("messages");
    fields.out.push(b'[');
    body.push(fields.take());
    if let Some(system) = &request.system {
        let message = |text: &str| json!({ "role": "system", "content": text });
        body.push(cached.system(system, 0, message));
        if !request.messages.is_empty() {
            body.push(Bytes::from_static(b","));
        }
    }
    cached.append(&request.messages, usize::MAX, |message, has_before, out| {
        message::encode(message, host.takes_reasoning(), has_before, out)
    })?;
    body.extend(cached.segments());
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

fn options(
    fields: &mut Fields<'_>,
    request: &Request,
    model: &str,
    host: Host,
) -> Result<(), ProviderError> {
    if !model.is_empty() {
        fields.field("model", model);
    }
    fields.field("stream", &true);
    // Mistral refuses the field, and tells the usage without it.
    if host != Host::Mistral && request.extra.get("stream") != Some(&Value::Bool(false)) {
        fields.field("stream_options", &json!({ "include_usage": true }));
    }
    // OpenAI has renamed it, others have not.
    let max_tokens = if host == Host::OpenAi { "max_completion_tokens" } else { "max_tokens" };
    fields.optional(max_tokens, request.max_tokens.as_ref());
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("top_p", request.top_p.as_ref());
    if host == Host::OpenAi && request.top_k.is_some() && !fields.is_overridden("top_k") {
        return Err(unsupported("sampling among the k likeliest tokens"));
    }
    fields.optional("top_k", request.top_k.as_ref());
    let seed = if host == Host::Mistral { "random_seed" } else { "seed" };
    fields.optional(seed, request.seed.as_ref());
    if !request.stop.is_empty() {
        fields.field("stop", &request.stop);
    }
    let thinking = request.thinking.map(|wanted| thinking(wanted, host)).transpose()?.flatten();
    if let Some((key, value)) = &thinking {
        fields.field(key, value);
    }
    if thinking.is_none_or(|(key, _)| key != "reasoning_effort") {
        fields.optional("reasoning_effort", request.reasoning_effort.as_ref());
    }
    if !request.metadata.is_empty() {
        fields.field("metadata", &request.metadata);
    }
    fields.optional("response_format", request.response_format.as_ref().map(format).as_ref());
    if !request.tools.is_empty() {
        fields.optional("tool_choice", request.tool_choice.as_ref().map(choice).as_ref());
        fields.optional("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    Ok(())
}

/// The field that says whether the model reasons; every vendor has another, and OpenAI's models reason
/// without one.
fn thinking(wanted: Thinking, host: Host) -> Result<Option<(&'static str, Value)>, ProviderError> {
    let is_on = wanted != Thinking::Off;
    let field = match (host, wanted) {
        (Host::OpenRouter, Thinking::Budget(tokens)) => {
            ("reasoning", json!({ "max_tokens": tokens }))
        }
        (Host::OpenRouter, Thinking::On | Thinking::Off) => {
            ("reasoning", json!({ "enabled": is_on }))
        }
        (_, Thinking::Budget(_)) => {
            return Err(unsupported("a budget of reasoning; set the reasoning effort instead"));
        }
        (Host::DeepSeek, Thinking::On | Thinking::Off) => {
            ("thinking", json!({ "type": if is_on { "enabled" } else { "disabled" } }))
        }
        (Host::OpenAi, Thinking::On) => return Ok(None),
        (Host::OpenAi, Thinking::Off) => ("reasoning_effort", json!("none")),
        (Host::Mistral | Host::Perplexity, Thinking::On | Thinking::Off) => {
            return Err(unsupported("switching reasoning; choose a model that does or does not"));
        }
        // What llama.cpp, vLLM and SGLang hand to the model's template.
        (Host::Other, Thinking::On | Thinking::Off) => {
            ("chat_template_kwargs", json!({ "enable_thinking": is_on }))
        }
    };
    Ok(Some(field))
}

fn unsupported(feature: &str) -> ProviderError {
    ProviderError::Unsupported { provider: Text::from("openai"), feature: Text::from(feature) }
}

fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { name, schema, strict } => json!({
            "type": "json_schema",
            "json_schema": { "name": name, "schema": schema, "strict": strict },
        }),
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => {
            json!({ "type": "function", "function": { "name": tool_names::encode(name) } })
        }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let mut function = json!({
        "name": tool_names::encode(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
    });
    if tool.strict {
        function["strict"] = json!(true);
    }
    json!({ "type": "function", "function": function })
}
