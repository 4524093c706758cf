//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last two brackets. Encoded messages are kept beside the history
//! that they belong to; a turn encodes only what is new.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{host::Host, message, provider::ChatCompletions};
use crate::llm::{
    ProviderError, Request, ResponseFormat, ToolChoice, ToolSpec,
    http::{Encoded, Fields},
    tool_names,
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
    if request.extra.get("stream") != Some(&Value::Bool(false)) {
        fields.field("stream_options", &json!({ "include_usage": true }));
    }
    // OpenAI has renamed it, others have not.
    let max_tokens = if host == Host::OpenAi { "max_completion_tokens" } else { "max_tokens" };
    fields.optional(max_tokens, request.max_tokens.as_ref());
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("top_p", request.top_p.as_ref());
    fields.optional("top_k", request.top_k.as_ref());
    fields.optional("seed", request.seed.as_ref());
    if !request.stop.is_empty() {
        fields.field("stop", &request.stop);
    }
    fields.optional("reasoning_effort", request.reasoning_effort.as_ref());
    fields.optional("response_format", request.response_format.as_ref().map(format).as_ref());
    if !request.tools.is_empty() {
        fields.optional("tool_choice", request.tool_choice.as_ref().map(choice).as_ref());
        fields.optional("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    Ok(())
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
    json!({
        "type": "function",
        "function": {
            "name": tool_names::encode(&tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}
