//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the input last, so the body of a turn starts with the body of
//! the turn before, less its last two brackets.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::message::{self, unsupported};
use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{Encoded, Fields, HttpConfig},
    tool_names,
};

/// Tells the encoding of a history that the vendor does not store from that of one that it does.
struct Stateless;
struct Stored;

/// The body, in segments.
pub(super) fn body(
    request: &Request,
    config: &HttpConfig,
    store: bool,
) -> Result<Vec<Bytes>, ProviderError> {
    check(request)?;
    let is_stored = request.extra.get("store").and_then(Value::as_bool).unwrap_or(store);
    let mut fields = Fields::new(&request.extra);
    options(&mut fields, request, &config.model, store);
    if let Some(format) = &request.response_format
        && config.base_url.starts_with("http://")
    {
        // llama.cpp reads the field of Chat Completions even here; hosted vendors refuse it.
        fields.field("response_format", &chat_format(format));
    }
    if is_stored {
        segments(request, fields, Encoded::<Stored>::take(&request.messages), true)
    } else {
        segments(request, fields, Encoded::<Stateless>::take(&request.messages), false)
    }
}

fn segments<W: 'static>(
    request: &Request,
    mut fields: Fields<'_>,
    mut cached: Encoded<W>,
    is_stored: bool,
) -> Result<Vec<Bytes>, ProviderError> {
    let mut body = Vec::with_capacity(10);
    if !request.tools.is_empty() && !fields.is_overridden("tools") {
        fields.key("tools");
        body.push(fields.take());
        body.push(cached.tools(&request.tools, 0, |tools| tools.iter().map(tool).collect()));
        fields.out.push(b',');
    }
    if let Some(system) = &request.system
        && !fields.is_overridden("instructions")
    {
        fields.key("instructions");
        body.push(fields.take());
        body.push(cached.system(system, 0, |text| json!(text)));
        fields.out.push(b',');
    }
    fields.extra();
    if fields.is_overridden("input") {
        // The caller writes the input himself.
        body.push(fields.end());
        cached.keep(&request.messages);
        return Ok(body);
    }
    fields.key("input");
    fields.out.push(b'[');
    body.push(fields.take());
    let mut at = cached.count();
    cached.append(&request.messages, usize::MAX, |message, has_before, out| {
        let before = request.messages.get(..at).unwrap_or_default();
        at += 1;
        message::encode(message, before, is_stored, has_before, out)
    })?;
    body.extend(cached.segments());
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

/// Fails for what the API has no field for, unless the caller writes the field himself.
fn check(request: &Request) -> Result<(), ProviderError> {
    let wants = [
        ("stop", !request.stop.is_empty()),
        ("seed", request.seed.is_some()),
        ("top_k", request.top_k.is_some()),
    ];
    let lacks =
        |(field, is_wanted): &(&str, bool)| *is_wanted && !request.extra.contains_key(*field);
    if let Some((field, _)) = wants.iter().find(|want| lacks(want)) {
        return Err(unsupported(&format!("`{field}`; a server that does takes it from `extra`")));
    }
    if matches!(request.thinking, Some(Thinking::Budget(_)))
        && !request.extra.contains_key("reasoning")
    {
        return Err(unsupported("a number of tokens for reasoning; set `reasoning_effort`"));
    }
    Ok(())
}

fn options(fields: &mut Fields<'_>, request: &Request, model: &str, store: bool) {
    if !model.is_empty() {
        fields.field("model", model);
    }
    fields.field("stream", &true);
    fields.field("store", &store);
    if !store && may_reason(model) {
        fields.field("include", &["reasoning.encrypted_content"]);
    }
    fields.optional("max_output_tokens", request.max_tokens.as_ref());
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("top_p", request.top_p.as_ref());
    fields.optional("reasoning", reasoning(request).as_ref());
    fields.optional("text", request.response_format.as_ref().map(text).as_ref());
    if !request.metadata.is_empty() {
        fields.field("metadata", &request.metadata);
    }
    if !request.tools.is_empty() {
        fields.optional("tool_choice", request.tool_choice.as_ref().map(choice).as_ref());
        fields.optional("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
}

/// Whether a model may send reasoning. OpenAI's older ones do not, and refuse to be asked for it.
fn may_reason(model: &str) -> bool {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| name.starts_with(family))
}

/// How to reason. A summary is what can be shown of it; it is asked for when thinking is wanted.
fn reasoning(request: &Request) -> Option<Value> {
    let mut reasoning = Map::new();
    let effort = match request.thinking {
        Some(Thinking::Off) => Some("none"),
        Some(Thinking::On | Thinking::Budget(_)) | None => request.reasoning_effort.as_deref(),
    };
    reasoning.extend(effort.map(|effort| ("effort".to_owned(), json!(effort))));
    if request.thinking == Some(Thinking::On) {
        reasoning.insert("summary".to_owned(), json!("auto"));
    }
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

fn text(format: &ResponseFormat) -> Value {
    let format = match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({ "type": "json_schema", "name": name, "schema": schema, "strict": strict })
        }
    };
    json!({ "format": format })
}

/// The form of the answer in the words of Chat Completions.
fn chat_format(format: &ResponseFormat) -> Value {
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
            json!({ "type": "function", "name": tool_names::encode(name) })
        }
    }
}

/// A tool. `strict` is always said, because the vendor's default is strict.
fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool_names::encode(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    })
}
