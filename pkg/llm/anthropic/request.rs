//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! The body of a turn starts with the body of the turn before, less its end. Marks for the prompt
//! cache move with the conversation, so the last message and the marked one before it are written
//! anew in each turn and all before them are kept as they are, without a mark.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    message::{self, Mark, unsupported},
    provider::Messages,
    reasoning::Reasoning,
};
use crate::{
    llm::{
        PromptCache, ProviderError, Request, ResponseFormat, ToolChoice, ToolSpec,
        http::{Encoded, Fields, Instructions, instructions, run_start, to_bytes},
        tool_names,
    },
    types::{Message, Transcript},
};

/// The body, in segments.
pub(super) fn body(
    request: &Request,
    model: &str,
    max_tokens: u32,
) -> Result<Vec<Bytes>, ProviderError> {
    let marks = request.cache == Some(PromptCache::Marks);
    let mut fields = Fields::new(&request.extra);
    options(&mut fields, request, model, max_tokens)?;
    let mut cached = Encoded::<Messages>::take(&request.messages);
    let mut body = Vec::with_capacity(10);
    if !request.tools.is_empty() && !fields.is_overridden("tools") {
        fields.key("tools");
        body.push(fields.take());
        body.push(cached.tools(&request.tools, u8::from(marks), |list| tools(list, marks)));
        fields.out.push(b',');
    }
    fields.extra();
    if fields.is_overridden("messages") {
        // The caller writes the messages himself.
        body.push(fields.end());
        cached.keep(&request.messages);
        return Ok(body);
    }
    if let Some(system) = system(request, &mut cached, marks)?
        && !fields.is_overridden("system")
    {
        fields.key("system");
        body.push(fields.take());
        body.push(system);
        fields.out.push(b',');
    }
    fields.key("messages");
    fields.out.push(b'[');
    body.push(fields.take());
    messages(&mut body, &mut cached, &request.messages, marks, message::encode)?;
    body.push(Bytes::from_static(b"]}"));
    cached.keep(&request.messages);
    Ok(body)
}

/// Writes the messages; those that may be marked in this turn are not kept.
///
/// The mark stands on the last message before the last that says something.
pub(super) fn messages(
    body: &mut Vec<Bytes>,
    cached: &mut Encoded<Messages>,
    history: &Transcript,
    marks: bool,
    mut encode: impl FnMut(&[Arc<Message>], bool, Mark, &mut Vec<u8>) -> Result<(), ProviderError>,
) -> Result<(), ProviderError> {
    let mut kept = history.len();
    // The last message, then those before it, up to the marked one.
    let mut tail: Vec<Vec<u8>> = Vec::new();
    while marks && kept > 0 {
        let start = run_start(history, kept - 1);
        let run = history.get(start..kept).unwrap_or_default();
        let mark = if tail.is_empty() { Mark::Nothing } else { Mark::LastBlock };
        let mut out = Vec::new();
        encode(run, false, mark, &mut out)?;
        kept = start;
        let is_marked = mark == Mark::LastBlock && !out.is_empty();
        tail.push(out);
        if is_marked {
            break;
        }
    }
    if cached.count() > kept {
        // An earlier request without marks kept more.
        cached.restart();
    }
    cached.append_runs(history, kept, |run, has_before, out| {
        encode(run, has_before, Mark::Nothing, out)
    })?;
    body.extend(cached.segments());
    let mut has_before = !cached.is_blank();
    let mut out = Vec::new();
    for message in tail.into_iter().rev().filter(|message| !message.is_empty()) {
        if has_before {
            out.push(b',');
        }
        out.extend_from_slice(&message);
        has_before = true;
    }
    if !out.is_empty() {
        body.push(Bytes::from(out));
    }
    Ok(())
}

fn options(
    fields: &mut Fields<'_>,
    request: &Request,
    model: &str,
    default_max_tokens: u32,
) -> Result<(), ProviderError> {
    if request.seed.is_some() && !fields.is_overridden("seed") {
        return Err(unsupported("a seed; leave it out".to_owned()));
    }
    if !model.is_empty() {
        fields.field("model", model);
    }
    fields.field("stream", &true);
    let reasoning =
        request.thinking.map(|thinking| Reasoning::new(thinking, model, request.max_tokens));
    let budget = reasoning.map_or(0, Reasoning::budget);
    let most = request.max_tokens.unwrap_or(default_max_tokens.saturating_add(budget));
    fields.field("max_tokens", &most);
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("top_p", request.top_p.as_ref());
    fields.optional("top_k", request.top_k.as_ref());
    if !request.stop.is_empty() {
        fields.field("stop_sequences", &request.stop);
    }
    if let Some(reasoning) = reasoning
        && !fields.is_overridden("thinking")
    {
        let is_free = fields.is_overridden("max_tokens");
        fields.field("thinking", &reasoning.value(if is_free { u32::MAX } else { most })?);
    }
    let output = output(request)?;
    fields.optional("output_config", (!output.is_empty()).then_some(&output));
    if let Some(user) = request.metadata.get("user_id") {
        fields.field("metadata", &json!({ "user_id": user }));
    }
    if !request.tools.is_empty() {
        let choice = choice(request.tool_choice.as_ref(), request.parallel_tool_calls);
        fields.optional("tool_choice", choice.as_ref());
    }
    if request.cache == Some(PromptCache::Automatic) {
        fields.field("cache_control", &mark());
    }
    Ok(())
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn output(request: &Request) -> Result<Map<String, Value>, ProviderError> {
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
            return Err(unsupported("a JSON object without a schema; give a schema".to_owned()));
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

/// The standing instructions.
fn system(
    request: &Request,
    cached: &mut Encoded<Messages>,
    marks: bool,
) -> Result<Option<Bytes>, ProviderError> {
    let Some(instructions) = instructions(request, cached.count()) else {
        let feature = "instructions inside the conversation; put them before it";
        return Err(unsupported(feature.to_owned()));
    };
    Ok(match instructions {
        Instructions::None => None,
        Instructions::Own(text) => {
            Some(cached.system(text, u8::from(marks), |text| blocks(&[text], marks)))
        }
        Instructions::All(texts) => Some(to_bytes(&blocks(&texts, marks))),
    })
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

    /// How often each message of a conversation is encoded that grows by `step` messages a turn.
    fn encodings(step: usize) -> Vec<usize> {
        let counts = RefCell::new(vec![0; 400]);
        let mut history = Transcript::default();
        for turn in 0..400 / step {
            for at in 0..step {
                history.push(Message::user((turn * step + at).to_string()));
            }
            let mut cached = Encoded::take(&history);
            let encode = |run: &[Arc<Message>], has_before, mark, out: &mut Vec<u8>| {
                for message in run {
                    counts.borrow_mut()[message.text().parse::<usize>().unwrap()] += 1;
                }
                message::encode(run, has_before, mark, out)
            };
            messages(&mut Vec::new(), &mut cached, &history, true, encode).unwrap();
            cached.keep(&history);
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
