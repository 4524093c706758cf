//! The options of a request to Responses.

use serde_json::{Map, Value, json};

use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{BodyWriter, SamplingNames, chat},
    tool_names,
};

/// The API's names; it has no `top_k`, `seed` and `stop`.
const NAMES: SamplingNames = SamplingNames {
    max_tokens: "max_output_tokens",
    top_k: "",
    seed: "",
    stop: "",
    ..SamplingNames::CHAT
};

/// Writes the members that stand before the tools.
pub(super) fn options(body: &mut BodyWriter<'_>, store: bool) -> Result<(), ProviderError> {
    let (request, config) = (body.request(), body.config());
    if matches!(request.thinking, Some(Thinking::Budget(_))) && !body.is_set("reasoning") {
        return Err(body.unsupported("a number of tokens for reasoning; set `reasoning_effort`"));
    }
    body.begin();
    body.field("store", &store);
    if !store && may_reason(&config.model) {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.sampling(&NAMES)?;
    body.optional("reasoning", reasoning(request));
    body.optional("text", request.response_format.as_ref().map(text));
    body.metadata("metadata");
    body.tool_choice(choice);
    if config.base_url.starts_with("http://") {
        // llama.cpp reads the member of Chat Completions even here; hosted vendors refuse it.
        let format = request.response_format.as_ref().map(chat::response_format);
        body.optional("response_format", format);
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
