//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the messages last, so the body of a turn starts with the
//! body of the turn before, less its last two brackets. Encoded messages are kept beside the history
//! that they belong to; a turn encodes only what is new.

use std::{io::Write as _, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::{message, names};
use crate::{
    llm::{ProviderError, Request, ResponseFormat, ToolChoice, ToolSpec},
    types::{Capabilities, Part, Text},
};

/// The encoding of the first messages of a history, kept in its wire cache.
#[derive(Debug, Default)]
struct Encoded {
    /// Messages in `segments`.
    count: usize,
    /// Each at least twice as long as the next, so there are few.
    segments: Vec<Bytes>,
    head: Head,
}

/// The encoding of what stays from turn to turn.
#[derive(Debug, Default)]
struct Head {
    tools: Option<(Arc<[ToolSpec]>, Bytes)>,
    system: Option<(Arc<str>, Bytes)>,
}

/// The body, in segments.
pub(super) fn body(
    request: &Request,
    model: &str,
    max_tokens_field: &str,
) -> Result<Vec<Bytes>, ProviderError> {
    let mut fields = Fields { out: b"{".to_vec(), request };
    options(&mut fields, model, max_tokens_field);
    let mut cached: Encoded = request.messages.wire_cache().take().unwrap_or_default();
    let mut body = Vec::with_capacity(cached.segments.len() + 6);
    if !request.tools.is_empty() && !request.extra.contains_key("tools") {
        fields.out.extend_from_slice(b"\"tools\":");
        body.push(Bytes::from(std::mem::take(&mut fields.out)));
        body.push(tools(&mut cached.head, &request.tools));
        fields.out.push(b',');
    }
    fields.extra();
    if request.extra.contains_key("messages") {
        // The caller writes the messages himself.
        fields.out.pop();
        fields.out.push(b'}');
        body.push(Bytes::from(fields.out));
        request.messages.wire_cache().put(cached);
        return Ok(body);
    }
    fields.out.extend_from_slice(b"\"messages\":[");
    body.push(Bytes::from(fields.out));
    if let Some(system) = &request.system {
        body.push(system_message(&mut cached.head, system));
        if !request.messages.is_empty() {
            body.push(Bytes::from_static(b","));
        }
    }
    append(&mut cached, request)?;
    body.extend(cached.segments.iter().cloned());
    body.push(Bytes::from_static(b"]}"));
    request.messages.wire_cache().put(cached);
    Ok(body)
}

/// Fails when the request needs what the model lacks.
pub(super) fn check(request: &Request, model: Capabilities) -> Result<(), ProviderError> {
    let lacks = |feature: &str| {
        Err(ProviderError::Unsupported { provider: Text::from("openai"), feature: feature.into() })
    };
    if !model.tools && !request.tools.is_empty() {
        return lacks("native tools; write the tools into the prompt instead");
    }
    if !model.structured_output && request.response_format.is_some() {
        return lacks("a response format");
    }
    if model.vision && model.documents {
        return Ok(());
    }
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    if !model.vision && parts().any(|part| matches!(part, Part::Image { .. })) {
        return lacks("images");
    }
    if !model.documents && parts().any(|part| matches!(part, Part::Document { .. })) {
        return lacks("documents");
    }
    Ok(())
}

/// Writes fields, each followed by a comma; those that the caller sets himself are left out.
struct Fields<'r> {
    out: Vec<u8>,
    request: &'r Request,
}

impl Fields<'_> {
    fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if !self.request.extra.contains_key(key) {
            self.write(key, value);
        }
    }

    fn optional(&mut self, key: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    fn extra(&mut self) {
        for (key, value) in &self.request.extra {
            self.write(key, value);
        }
    }

    fn write(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        write_json(&mut self.out, key);
        self.out.push(b':');
        write_json(&mut self.out, value);
        self.out.push(b',');
    }
}

fn options(fields: &mut Fields<'_>, model: &str, max_tokens_field: &str) {
    let request = fields.request;
    if !model.is_empty() {
        fields.field("model", model);
    }
    fields.field("stream", &true);
    if request.extra.get("stream") != Some(&Value::Bool(false)) {
        fields.field("stream_options", &json!({ "include_usage": true }));
    }
    fields.optional(max_tokens_field, request.max_tokens.as_ref());
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
            json!({ "type": "function", "function": { "name": names::encode(name) } })
        }
    }
}

fn tools(head: &mut Head, tools: &Arc<[ToolSpec]>) -> Bytes {
    match &head.tools {
        Some((known, bytes)) if Arc::ptr_eq(known, tools) => bytes.clone(),
        _ => {
            let list: Vec<_> = tools.iter().map(tool).collect();
            let bytes = to_bytes(&list);
            head.tools = Some((Arc::clone(tools), bytes.clone()));
            bytes
        }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": names::encode(&tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn system_message(head: &mut Head, system: &Arc<str>) -> Bytes {
    match &head.system {
        Some((known, bytes)) if Arc::ptr_eq(known, system) => bytes.clone(),
        _ => {
            let bytes = to_bytes(&json!({ "role": "system", "content": &**system }));
            head.system = Some((Arc::clone(system), bytes.clone()));
            bytes
        }
    }
}

/// Encodes the messages that are new since the last request.
fn append(cached: &mut Encoded, request: &Request) -> Result<(), ProviderError> {
    let Some(new) = request.messages.get(cached.count..).filter(|new| !new.is_empty()) else {
        return Ok(());
    };
    let mut out = Vec::new();
    for message in new {
        message::encode(message, cached.count > 0, &mut out)?;
        cached.count += 1;
    }
    cached.segments.push(Bytes::from(out));
    merge(&mut cached.segments);
    Ok(())
}

/// Joins the last segments until each is at least twice as long as the next: a body has few
/// segments, and a byte is copied as often as its segment has doubled.
fn merge(segments: &mut Vec<Bytes>) {
    while let [.., before, last] = segments.as_slice() {
        if before.len() >= 2 * last.len() {
            return;
        }
        let joined = Bytes::from([before.as_ref(), last.as_ref()].concat());
        segments.truncate(segments.len() - 2);
        segments.push(joined);
    }
}

fn to_bytes(value: &impl Serialize) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, value);
    Bytes::from(out)
}

/// Writes a value that has a JSON form: text, numbers, and values made of them.
pub(super) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.write_all(b"null").unwrap_or_default();
    }
}
