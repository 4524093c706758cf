//! The options of a request to Ollama.

use serde_json::{Map, Value, json};

use super::PROTOCOL;
use crate::llm::{
    ProviderError, ResponseFormat, Thinking, ToolChoice,
    http::{BodyWriter, Fields, SamplingNames},
};

/// Ollama's names.
const NAMES: SamplingNames = SamplingNames { max_tokens: "num_predict", ..SamplingNames::CHAT };

/// Writes the members that stand before the tools.
pub(super) fn options(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    if body.config().model.is_empty() && !body.is_set("model") {
        return Err(ProviderError::config(
            "no model is named, and Ollama has no default; `ollama list` shows those there are; name one, such as with OLLAMA_MODEL",
        ));
    }
    let mut settings = Fields::object();
    settings.sampling(request, PROTOCOL, &NAMES)?;
    let settings = settings.end();
    if let Some(Value::Object(theirs)) = request.extra.get("options") {
        // The caller's win one by one.
        let ours = settings.as_ref().map(|ours| serde_json::from_slice::<Map<_, _>>(ours));
        let mut options = ours.and_then(Result::ok).unwrap_or_default();
        options.extend(theirs.clone());
        body.extra_mut().insert("options".to_owned(), Value::Object(options));
    }
    body.begin();
    body.optional("think", think(body)?);
    body.optional("format", request.response_format.as_ref().map(format));
    if let Some(settings) = settings {
        body.raw("options", settings);
    }
    Ok(())
}

/// Returns how much the model thinks.
fn think(body: &BodyWriter<'_>) -> Result<Option<Value>, ProviderError> {
    let request = body.request();
    let effort = request.reasoning_effort.as_ref().map(|effort| json!(effort));
    match request.thinking {
        None => Ok(effort),
        Some(Thinking::Off) => Ok(Some(json!(false))),
        Some(Thinking::On) => Ok(Some(effort.unwrap_or(json!(true)))),
        Some(Thinking::Budget(_)) => Err(body.unsupported(
            "a budget of thinking tokens; set `reasoning_effort` to low, medium or high",
        )),
    }
}

/// Returns `true` when the model gets the tools. Nothing can make it call one, or only one, but it
/// calls none that it does not know.
pub(super) fn offers_tools(body: &BodyWriter<'_>) -> Result<bool, ProviderError> {
    let request = body.request();
    match request.tool_choice {
        _ if request.tools.is_empty() => Ok(false),
        Some(ToolChoice::None) => Ok(false),
        Some(ToolChoice::Required | ToolChoice::Tool(_)) => {
            Err(body.unsupported("a forced tool call; leave `tool_choice` to the model"))
        }
        None | Some(ToolChoice::Auto) if request.parallel_tool_calls == Some(false) => {
            Err(body.unsupported("a limit to one call; leave `parallel_tool_calls` unset"))
        }
        None | Some(ToolChoice::Auto) => Ok(true),
    }
}

/// Returns the form of the answer. A schema is always enforced, so it has no `strict`.
fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!("json"),
        ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
    }
}
