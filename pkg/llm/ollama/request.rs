//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! As for Chat Completions, everything that stays comes first and the messages last.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{message, provider::OllamaChat};
use crate::{
    llm::{
        ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
        http::{Encoded, Fields},
        tool_names,
    },
    types::Text,
};

/// The body, in segments.
pub(super) fn body(request: &Request, model: &str) -> Result<Vec<Bytes>, ProviderError> {
    let extra = with_options(&request.extra, &Options::of(request));
    let mut fields = Fields::new(extra.as_ref().unwrap_or(&request.extra));
    if model.is_empty() && !fields.is_overridden("model") {
        return Err(ProviderError::Config {
            message: Text::from(
                "no model is named, and Ollama has no default; `ollama list` shows those there are; name one, such as with OLLAMA_MODEL",
            ),
        });
    }
    settings(&mut fields, request, model)?;
    let mut cached = Encoded::<OllamaChat>::take(&request.messages);
    let mut body = Vec::with_capacity(10);
    if offers_tools(request)? && !fields.is_overridden("tools") {
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
    cached.append(&request.messages, usize::MAX, message::encode)?;
    body.extend(cached.segments());
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

fn settings(fields: &mut Fields<'_>, request: &Request, model: &str) -> Result<(), ProviderError> {
    fields.field("model", model);
    fields.field("stream", &true);
    fields.optional("think", think(request)?.as_ref());
    fields.optional("format", request.response_format.as_ref().map(format).as_ref());
    let options = Options::of(request);
    if !options.is_empty() {
        fields.field("options", &options);
    }
    Ok(())
}

fn think(request: &Request) -> Result<Option<Value>, ProviderError> {
    let effort = request.reasoning_effort.as_ref().map(|effort| json!(effort));
    match request.thinking {
        None => Ok(effort),
        Some(Thinking::Off) => Ok(Some(json!(false))),
        Some(Thinking::On) => Ok(Some(effort.unwrap_or(json!(true)))),
        Some(Thinking::Budget(_)) => Err(unsupported(
            "a budget of thinking tokens; set `reasoning_effort` to low, medium or high",
        )),
    }
}

/// Whether the model is told of the tools. Nothing can make it call one, or only one, but it calls
/// none that it is not told of.
fn offers_tools(request: &Request) -> Result<bool, ProviderError> {
    if request.tools.is_empty() {
        return Ok(false);
    }
    match request.tool_choice {
        Some(ToolChoice::None) => return Ok(false),
        Some(ToolChoice::Required | ToolChoice::Tool(_)) => {
            return Err(unsupported("a forced tool call; leave `tool_choice` to the model"));
        }
        None | Some(ToolChoice::Auto) => {}
    }
    if request.parallel_tool_calls == Some(false) {
        return Err(unsupported("a limit to one call; leave `parallel_tool_calls` unset"));
    }
    Ok(true)
}

pub(super) fn unsupported(feature: &str) -> ProviderError {
    ProviderError::Unsupported { provider: Text::from("ollama"), feature: Text::from(feature) }
}

/// How the model is run.
#[derive(Debug, Serialize)]
struct Options<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'r [String],
}

impl<'r> Options<'r> {
    fn of(request: &'r Request) -> Self {
        Self {
            num_predict: request.max_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            top_k: request.top_k,
            seed: request.seed,
            stop: &request.stop,
        }
    }

    fn is_empty(&self) -> bool {
        let Self { num_predict, temperature, top_p, top_k, seed, stop } = self;
        (num_predict, top_k, seed) == (&None, &None, &None)
            && (temperature, top_p) == (&None, &None)
            && stop.is_empty()
    }
}

/// The caller's own fields, when they have `options`, together with ours; his win.
fn with_options(extra: &Map<String, Value>, ours: &Options<'_>) -> Option<Map<String, Value>> {
    let theirs = extra.get("options")?.as_object()?;
    // By way of the text, so that a number is written as it would be without this.
    let ours = serde_json::to_string(ours).ok()?;
    let mut options: Map<String, Value> = serde_json::from_str(&ours).ok()?;
    options.extend(theirs.clone());
    let mut extra = extra.clone();
    extra.insert("options".to_owned(), Value::Object(options));
    Some(extra)
}

/// A schema is always enforced, so it has no `strict`.
fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!("json"),
        ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
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
