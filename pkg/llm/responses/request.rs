//! The options of a request to Responses.

use serde_json::{Map, Value, json};

use super::provider::PROVIDER;
use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{BodyWriter, HttpConfig, SamplingNames, chat},
    tool_names,
};

/// The API's names; it has no `top_k`, `seed` and `stop`.
const NAMES: SamplingNames = SamplingNames { top_p: "top_p", top_k: "", seed: "", stop: "" };

/// Writes the members that stand before the tools.
pub(super) fn options(
    body: &mut BodyWriter<'_>,
    request: &Request,
    config: &HttpConfig,
    store: bool,
) -> Result<(), ProviderError> {
    if matches!(request.thinking, Some(Thinking::Budget(_))) && !body.is_set("reasoning") {
        let feature = "a number of tokens for reasoning; set `reasoning_effort`";
        return Err(ProviderError::unsupported(PROVIDER, feature));
    }
    let model = config.model.as_str();
    if !model.is_empty() {
        body.field("model", model);
    }
    body.field("stream", &true);
    body.field("store", &store);
    if !store && may_reason(model) {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.optional("max_output_tokens", request.max_tokens.as_ref());
    body.sampling(PROVIDER, &NAMES)?;
    body.optional("reasoning", reasoning(request).as_ref());
    body.optional("text", request.response_format.as_ref().map(text).as_ref());
    if !request.metadata.is_empty() {
        body.field("metadata", &request.metadata);
    }
    if !request.tools.is_empty() {
        body.optional("tool_choice", request.tool_choice.as_ref().map(choice).as_ref());
        body.optional("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    if config.base_url.starts_with("http://") {
        // llama.cpp reads the member of Chat Completions even here; hosted vendors refuse it.
        let format = request.response_format.as_ref().map(chat::response_format);
        body.optional("response_format", format.as_ref());
    }
    Ok(())
}

/// Returns `true` when a model may send reasoning. OpenAI's older ones do not, and refuse to be asked
/// for it.
fn may_reason(model: &str) -> bool {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| name.starts_with(family))
}

/// Returns how to reason. A summary is what can be shown of it; it is asked for when thinking is
/// wanted.
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

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Tool(name) => json!({ "type": "function", "name": tool_names::encode(name) }),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => chat::tool_choice(choice),
    }
}

/// Returns a tool. `strict` is always written, because the vendor's default is strict.
pub(super) fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool_names::encode(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    })
}
