//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, as in every protocol.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    message,
    provider::{ChatV2, unsupported},
};
use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{Encoded, Fields},
    tool_names,
};

/// The body, in segments.
pub(super) fn body(request: &Request, model: &str) -> Result<Vec<Bytes>, ProviderError> {
    let mut fields = Fields::new(&request.extra);
    options(&mut fields, request, model)?;
    let mut cached = Encoded::<ChatV2>::take(&request.messages);
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
    cached.append(&request.messages, usize::MAX, message::encode)?;
    if let Some(system) = &request.system {
        let message = |text: &str| json!({ "role": "system", "content": text });
        body.push(cached.system(system, 0, message));
        if !cached.is_blank() {
            body.push(Bytes::from_static(b","));
        }
    }
    body.extend(cached.segments());
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

fn options(fields: &mut Fields<'_>, request: &Request, model: &str) -> Result<(), ProviderError> {
    if request.reasoning_effort.is_some() && !fields.is_overridden("thinking") {
        return Err(unsupported("a reasoning effort; set a budget for thinking instead"));
    }
    if !model.is_empty() {
        fields.field("model", model);
    }
    fields.field("stream", &true);
    fields.optional("max_tokens", request.max_tokens.as_ref());
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("p", request.top_p.as_ref());
    fields.optional("k", request.top_k.as_ref());
    fields.optional("seed", request.seed.as_ref());
    if !request.stop.is_empty() {
        fields.field("stop_sequences", &request.stop);
    }
    fields.optional("thinking", request.thinking.map(thinking).as_ref());
    fields.optional("response_format", request.response_format.as_ref().map(format).as_ref());
    if request.tools.is_empty() {
        return Ok(());
    }
    if request.parallel_tool_calls == Some(false) {
        return Err(unsupported("one call at a time; leave parallel_tool_calls unset"));
    }
    if let Some(choice) = &request.tool_choice
        && !fields.is_overridden("tool_choice")
    {
        fields.optional("tool_choice", tool_choice(choice, &request.tools)?);
    }
    if request.tools.iter().any(|tool| tool.strict) {
        fields.field("strict_tools", &true);
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

/// Cohere's word; to let the model decide is to say nothing.
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
        ToolChoice::Tool(_) => {
            Err(unsupported("a choice of one tool among several; offer that tool alone"))
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
