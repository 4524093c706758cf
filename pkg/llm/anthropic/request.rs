//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! Marks for the prompt cache move with the conversation, so the last message and the marked one
//! before it are written anew in each turn and all before them are kept as they are, without a mark.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    message::{self, Mark},
    reasoning::Reasoning,
};
use crate::{
    llm::{
        PromptCache, ProviderError, ResponseFormat, ToolChoice, ToolSpec,
        http::{BodyWriter, JsonItems, SamplingNames, instructions, joins_results, run_start},
        tool_names,
    },
    types::Message,
};

/// Anthropic's names; it has no seed.
const NAMES: SamplingNames =
    SamplingNames { max_tokens: "", seed: "", stop: "stop_sequences", ..SamplingNames::CHAT };

/// Writes the body.
pub(super) fn body(mut body: BodyWriter<'_>, max_tokens: u32) -> Result<Vec<Bytes>, ProviderError> {
    let marks = body.request().cache == Some(PromptCache::Marks);
    options(&mut body, max_tokens)?;
    body.tools("tools", u8::from(marks), |list| tools(list, marks));
    body.extra();
    if !body.is_set("messages") {
        let write = |texts: &[&str]| blocks(texts, marks);
        instructions::write(&mut body, "system", u8::from(marks), write)?;
    }
    messages(body, marks, message::encode)
}

/// Writes the messages; those that may be marked in this turn are not kept.
///
/// The mark stands on the last message before the last that says something.
fn messages(
    body: BodyWriter<'_>,
    marks: bool,
    mut encode: impl FnMut(&[Arc<Message>], Mark, &mut JsonItems<'_>) -> Result<(), ProviderError>,
) -> Result<Vec<Bytes>, ProviderError> {
    body.array("messages", None, |encoded, history| {
        let mut kept = history.len();
        // The last message, then those before it, up to the marked one.
        let mut tail: Vec<Vec<u8>> = Vec::new();
        while marks && kept > 0 {
            let start = run_start(history.messages(), kept - 1);
            let run = history.messages().get(start..kept).unwrap_or_default();
            let mark = if tail.is_empty() { Mark::Nothing } else { Mark::LastBlock };
            let mut out = Vec::new();
            encode(run, mark, &mut JsonItems::new(&mut out, false))?;
            kept = start;
            let is_marked = mark == Mark::LastBlock && !out.is_empty();
            tail.push(out);
            if is_marked {
                break;
            }
        }
        if encoded.count() > kept {
            // An earlier request without marks kept more.
            encoded.restart();
        }
        encoded
            .append(history, kept, joins_results, |run, items| encode(run, Mark::Nothing, items))?;
        let tail: Vec<_> = tail.into_iter().rev().filter(|message| !message.is_empty()).collect();
        Ok((!tail.is_empty()).then(|| Bytes::from(tail.join(&b','))))
    })
}

fn options(body: &mut BodyWriter<'_>, default_max_tokens: u32) -> Result<(), ProviderError> {
    let (request, model) = (body.request(), &body.config().model);
    body.begin();
    let reasoning =
        request.thinking.map(|thinking| Reasoning::new(thinking, model, request.max_tokens));
    let budget = reasoning.map_or(0, Reasoning::budget);
    let most = request.max_tokens.unwrap_or(default_max_tokens.saturating_add(budget));
    body.field("max_tokens", &most);
    body.sampling(&NAMES)?;
    if let Some(reasoning) = reasoning
        && !body.is_set("thinking")
    {
        let is_free = body.is_set("max_tokens");
        body.field("thinking", &reasoning.value(if is_free { u32::MAX } else { most })?);
    }
    let output = output(body)?;
    body.optional("output_config", (!output.is_empty()).then_some(output));
    let user = request.metadata.get("user_id");
    body.optional("metadata", user.map(|user| json!({ "user_id": user })));
    if !request.tools.is_empty() {
        let choice = choice(request.tool_choice.as_ref(), request.parallel_tool_calls);
        body.optional("tool_choice", choice);
    }
    body.optional("cache_control", (request.cache == Some(PromptCache::Automatic)).then(mark));
    Ok(())
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn output(body: &BodyWriter<'_>) -> Result<Map<String, Value>, ProviderError> {
    let request = body.request();
    let mut output = Map::new();
    if let Some(effort) = &request.reasoning_effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    match &request.response_format {
        // The provider always holds the model to a schema, and gives it no name.
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            let format = json!({ "type": "json_schema", "schema": schema });
            output.insert("format".to_owned(), format);
        }
        Some(ResponseFormat::JsonObject) if !request.extra.contains_key("output_config") => {
            return Err(body.unsupported("a JSON object without a schema; give a schema"));
        }
        Some(ResponseFormat::JsonObject) | None => {}
    }
    Ok(output)
}

fn choice(choice: Option<&ToolChoice>, parallel: Option<bool>) -> Option<Value> {
    let is_single = parallel == Some(false);
    let mut value = match choice {
        None if !is_single => return None,
        None | Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => {
            json!({ "type": "tool", "name": tool_names::encode(name) })
        }
    };
    if is_single {
        value["disable_parallel_tool_use"] = Value::Bool(true);
    }
    Some(value)
}

fn tools(list: &[ToolSpec], marks: bool) -> Value {
    let mut tools: Vec<_> = list.iter().map(tool).collect();
    if let Some(last) = tools.last_mut().filter(|_| marks) {
        last["cache_control"] = mark();
    }
    Value::Array(tools)
}

fn tool(tool: &ToolSpec) -> Value {
    let mut value = json!({ "name": tool_names::encode(&tool.name) });
    if !tool.description.is_empty() {
        value["description"] = json!(tool.description);
    }
    let takes_nothing = || json!({ "type": "object", "properties": {} });
    value["input_schema"] =
        if tool.parameters.is_object() { tool.parameters.clone() } else { takes_nothing() };
    if tool.strict {
        value["strict"] = Value::Bool(true);
    }
    value
}

fn blocks(texts: &[&str], marks: bool) -> Value {
    let mut blocks: Vec<_> =
        texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    if let Some(last) = blocks.last_mut().filter(|_| marks) {
        last["cache_control"] = mark();
    }
    Value::Array(blocks)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::{
        llm::{
            Request,
            anthropic::Messages,
            http::{EncodedCache, WireFormat as _},
        },
        types::Transcript,
    };

    /// Returns how often each message is encoded of a conversation that grows by `step` messages a
    /// turn.
    fn encodings(step: usize) -> Vec<usize> {
        let config = Messages::defaults();
        let counts = RefCell::new(vec![0; 400]);
        let (cache, mut history) = (EncodedCache::default(), Transcript::default());
        for turn in 0..400 / step {
            for at in 0..step {
                history.push(Message::user((turn * step + at).to_string()));
            }
            let encode = |run: &[Arc<Message>], mark, items: &mut JsonItems<'_>| {
                for message in run {
                    counts.borrow_mut()[message.text().parse::<usize>().unwrap()] += 1;
                }
                message::encode(run, mark, items)
            };
            let request = Request::new(history.clone());
            let body = BodyWriter::new("anthropic", &request, &config).with_cache(&cache);
            messages(body, true, encode).unwrap();
        }
        counts.into_inner()
    }

    #[test]
    fn each_message_is_encoded_a_bounded_number_of_times() {
        assert_eq!(encodings(1).iter().max(), Some(&3));
        assert_eq!(encodings(2).iter().max(), Some(&2));
        assert_eq!(encodings(5).iter().max(), Some(&2));
    }
}
