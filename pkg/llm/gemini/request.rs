//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Everything that stays comes first and the conversation last, as in every protocol.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    message,
    provider::{GenerateContent, unsupported},
};
use crate::{
    llm::{
        ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
        http::{Encoded, Fields, Instructions, instructions, to_bytes},
        tool_names,
    },
    types::Text,
};

const CONFIG: &str = "generationConfig";

/// The body, in segments. `has_labels` tells Vertex AI from the API for developers.
pub(super) fn body(request: &Request, has_labels: bool) -> Result<Vec<Bytes>, ProviderError> {
    if request.parallel_tool_calls == Some(false) && !request.tools.is_empty() {
        return Err(unsupported("one call at a time; leave parallel_tool_calls unset"));
    }
    let (config, extra) = generation_config(request)?;
    let mut fields = Fields::new(&extra);
    let mut body = Vec::with_capacity(12);
    if let Some(config) = config {
        fields.key(CONFIG);
        fields.out.extend_from_slice(&config);
        fields.out.push(b',');
    }
    if has_labels && !request.metadata.is_empty() {
        fields.field("labels", &request.metadata);
    }
    let mut cached = Encoded::<GenerateContent>::take(&request.messages);
    if !request.tools.is_empty() {
        fields.optional("toolConfig", request.tool_choice.as_ref().map(choice).as_ref());
        if !fields.is_overridden("tools") {
            fields.key("tools");
            body.push(fields.take());
            body.push(cached.tools(&request.tools, 0, tools));
            fields.out.push(b',');
        }
    }
    if let Some(system) = system(request, &mut cached, fields.is_overridden("contents"))?
        && !fields.is_overridden("systemInstruction")
    {
        fields.key("systemInstruction");
        body.push(fields.take());
        body.push(system);
        fields.out.push(b',');
    }
    fields.extra();
    if fields.is_overridden("contents") {
        // The caller writes the conversation himself.
        body.push(fields.end());
        cached.keep(&request.messages);
        return Ok(body);
    }
    fields.key("contents");
    fields.out.push(b'[');
    body.push(fields.take());
    cached.append_runs(&request.messages, usize::MAX, message::encode)?;
    body.extend(cached.segments());
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

/// The standing instructions; those of a conversation that is not sent do not count.
fn system(
    request: &Request,
    cached: &mut Encoded<GenerateContent>,
    is_overridden: bool,
) -> Result<Option<Bytes>, ProviderError> {
    let write = |texts: &[&str]| {
        let parts: Vec<_> = texts.iter().map(|text| json!({ "text": text })).collect();
        json!({ "parts": parts })
    };
    let instructions = instructions(request, cached.count());
    let mut own = |text| cached.system(text, 0, |text| write(&[text]));
    Ok(match instructions {
        None if !is_overridden => {
            return Err(unsupported("instructions inside the conversation; put them before it"));
        }
        Some(Instructions::All(texts)) if !is_overridden => Some(to_bytes(&write(&texts))),
        Some(Instructions::None) => None,
        Some(Instructions::Own(text)) => Some(own(text)),
        Some(Instructions::All(_)) | None => request.system.as_ref().map(own),
    })
}

/// Our generation settings with those of the caller, which win one by one, and what else the caller
/// sets.
fn generation_config(request: &Request) -> Result<Config<'_>, ProviderError> {
    let none = Map::new();
    let (theirs, extra) = match request.extra.get(CONFIG) {
        None => (&none, Cow::Borrowed(&request.extra)),
        Some(Value::Object(theirs)) => {
            let mut extra = request.extra.clone();
            extra.shift_remove(CONFIG);
            (theirs, Cow::Owned(extra))
        }
        // Whatever it is, it is what the caller wants.
        Some(_) => return Ok((None, Cow::Borrowed(&request.extra))),
    };
    let mut fields = Fields::new(theirs);
    fields.optional("maxOutputTokens", request.max_tokens.as_ref());
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("topP", request.top_p.as_ref());
    fields.optional("topK", request.top_k.as_ref());
    fields.optional("seed", request.seed.as_ref());
    if !request.stop.is_empty() {
        fields.field("stopSequences", &request.stop);
    }
    if let Some(format) = &request.response_format {
        fields.field("responseMimeType", "application/json");
        if let ResponseFormat::JsonSchema { schema, .. } = format {
            fields.field("responseJsonSchema", schema);
        }
    }
    if !fields.is_overridden("thinkingConfig") {
        fields.optional("thinkingConfig", thinking(request)?.as_ref());
    }
    fields.extra();
    let config = fields.end();
    Ok((Some(config).filter(|config| config.as_ref() != b"{}"), extra))
}

/// The generation settings, and what else the caller sets.
type Config<'r> = (Option<Bytes>, Cow<'r, Map<String, Value>>);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'r str>,
}

/// How much the model thinks. A budget of -1 lets it choose; a level is a choice already.
fn thinking(request: &Request) -> Result<Option<ThinkingConfig<'_>>, ProviderError> {
    let thinking_level = request.reasoning_effort.as_deref();
    if let (Some(Thinking::Off | Thinking::Budget(_)), Some(_)) = (request.thinking, thinking_level)
    {
        let message =
            "a thinking budget and a reasoning effort say different things; give one of them";
        return Err(ProviderError::Config { message: Text::from(message) });
    }
    let (include_thoughts, thinking_budget) = match request.thinking {
        None => (None, None),
        Some(Thinking::Off) => (None, Some(0)),
        Some(Thinking::On) => (Some(true), thinking_level.is_none().then_some(-1)),
        Some(Thinking::Budget(tokens)) => (Some(true), Some(i64::from(tokens))),
    };
    let is_set = thinking_level.is_some() || request.thinking.is_some();
    let config = ThinkingConfig { include_thoughts, thinking_budget, thinking_level };
    Ok(is_set.then_some(config))
}

fn choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => {
            json!({ "mode": "ANY", "allowedFunctionNames": [tool_names::encode(name)] })
        }
    };
    json!({ "functionCallingConfig": config })
}

/// JSON schemas go as such: the older `parameters` takes only a part of `OpenAPI`.
fn tools(tools: &[ToolSpec]) -> Value {
    let declarations = tools.iter().map(|tool| {
        json!({
            "name": tool_names::encode(&tool.name),
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        })
    });
    json!([{ "functionDeclarations": declarations.collect::<Vec<_>>() }])
}
