//! The body of a request to Gemini.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{PROTOCOL, message};
use crate::llm::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
    http::{BodyWriter, Fields, SamplingNames, instructions, joins_results},
    tool_names,
};

const CONFIG: &str = "generationConfig";

/// Gemini's names.
const NAMES: SamplingNames = SamplingNames {
    max_tokens: "maxOutputTokens",
    top_p: "topP",
    top_k: "topK",
    seed: "seed",
    stop: "stopSequences",
};

/// Writes the body.
pub(super) fn body(mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
    let request = body.request();
    if request.parallel_tool_calls == Some(false) && !request.tools.is_empty() {
        return Err(body.unsupported("one call at a time; leave parallel_tool_calls unset"));
    }
    generation_config(&mut body)?;
    // Vertex AI has them, the API for developers has not.
    if body.config().base_url.contains("aiplatform") {
        body.metadata("labels");
    }
    if !request.tools.is_empty() {
        body.optional("toolConfig", request.tool_choice.as_ref().map(choice));
    }
    body.tools("tools", 0, tools);
    let write = |texts: &[&str]| {
        let parts: Vec<_> = texts.iter().map(|text| json!({ "text": text })).collect();
        json!({ "parts": parts })
    };
    // Instructions of a conversation that is not sent do not count.
    match &request.system {
        Some(system) if body.is_set("contents") => {
            body.system("systemInstruction", system, 0, |text| write(&[text]));
        }
        None if body.is_set("contents") => {}
        _ => instructions::write(&mut body, "systemInstruction", 0, write)?,
    }
    body.array("contents", None, |encoded, history| {
        encoded.append(history, usize::MAX, joins_results, message::encode)?;
        Ok(None)
    })
}

/// Writes the library's generation settings with those of the caller, which win one by one.
fn generation_config(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    let none = Map::new();
    let theirs = match request.extra.get(CONFIG) {
        None => &none,
        Some(Value::Object(theirs)) => {
            body.extra_mut().shift_remove(CONFIG);
            theirs
        }
        // Any other value is what the caller wants.
        Some(_) => return Ok(()),
    };
    let mut fields = Fields::new(Cow::Borrowed(theirs));
    fields.sampling(request, PROTOCOL, &NAMES)?;
    if let Some(format) = &request.response_format {
        fields.field("responseMimeType", "application/json");
        if let ResponseFormat::JsonSchema { schema, .. } = format {
            fields.field("responseJsonSchema", schema);
        }
    }
    if !fields.is_set("thinkingConfig")
        && let Some(config) = thinking(request)?
    {
        fields.raw("thinkingConfig", &config);
    }
    fields.extra();
    if let Some(config) = fields.end() {
        body.raw(CONFIG, config);
    }
    Ok(())
}

/// Returns how much the model thinks. A budget of -1 lets it choose; a level is a choice already.
fn thinking(request: &Request) -> Result<Option<Bytes>, ProviderError> {
    let level = request.reasoning_effort.as_deref();
    let (thoughts, budget) = match request.thinking {
        Some(Thinking::Off | Thinking::Budget(_)) if level.is_some() => {
            return Err(ProviderError::config(
                "a thinking budget and a reasoning effort say different things; give one of them",
            ));
        }
        None => (None, None),
        Some(Thinking::Off) => (None, Some(0)),
        Some(Thinking::On) => (Some(true), level.is_none().then_some(-1)),
        Some(Thinking::Budget(tokens)) => (Some(true), Some(i64::from(tokens))),
    };
    let config = Fields::object().with_some("includeThoughts", thoughts);
    Ok(config.with_some("thinkingBudget", budget).with_some("thinkingLevel", level).end())
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

/// Returns the tools. JSON schemas go as such: the older `parameters` takes only a part of `OpenAPI`.
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
