//! The body of a request: what was sent before goes out again as the same bytes.
//!
//! The body of a turn starts with the body of the turn before, less its end. Marks for the prompt
//! cache move with the conversation, so the last two messages, of which one may be marked, are
//! written anew in each turn and all before them are kept as they are, without a mark.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    message::{self, Mark, unsupported},
    provider::Messages,
};
use crate::{
    llm::{
        PromptCache, ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
        http::{Encoded, Fields, to_bytes},
        tool_names,
    },
    types::{Message, MessageRole, Part, Text, Transcript},
};

/// Fewest tokens of a budget for reasoning.
const MIN_BUDGET: u32 = 1024;

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
pub(super) fn messages(
    body: &mut Vec<Bytes>,
    cached: &mut Encoded<Messages>,
    history: &Transcript,
    marks: bool,
    mut encode: impl FnMut(&Message, bool, Mark, &mut Vec<u8>) -> Result<(), ProviderError>,
) -> Result<(), ProviderError> {
    let kept = if marks { history.len().saturating_sub(2) } else { history.len() };
    if cached.count() > kept {
        // An earlier request without marks kept more.
        *cached = Encoded::default();
    }
    cached.append(history, kept, |message, has_before, out| {
        encode(message, has_before, Mark::Nothing, out)
    })?;
    body.extend(cached.segments());
    let tail = history.get(kept..).unwrap_or_default();
    let mut out = Vec::new();
    for (at, message) in tail.iter().enumerate() {
        let has_before = !cached.is_blank() || !out.is_empty();
        let mark = if at + 2 == tail.len() { Mark::LastBlock } else { Mark::Nothing };
        encode(message, has_before, mark, &mut out)?;
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
    let budget = match request.thinking {
        Some(Thinking::Budget(tokens)) => tokens,
        Some(Thinking::On | Thinking::Off) | None => 0,
    };
    let most = request.max_tokens.unwrap_or(default_max_tokens.saturating_add(budget));
    fields.field("max_tokens", &most);
    fields.optional("temperature", request.temperature.as_ref());
    fields.optional("top_p", request.top_p.as_ref());
    fields.optional("top_k", request.top_k.as_ref());
    if !request.stop.is_empty() {
        fields.field("stop_sequences", &request.stop);
    }
    if let Some(thinking) = request.thinking
        && !fields.is_overridden("thinking")
    {
        let is_free = fields.is_overridden("max_tokens");
        fields.field("thinking", &self::thinking(thinking, if is_free { u32::MAX } else { most })?);
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

fn thinking(thinking: Thinking, max_tokens: u32) -> Result<Value, ProviderError> {
    Ok(match thinking {
        Thinking::Off => json!({ "type": "disabled" }),
        Thinking::On => json!({ "type": "adaptive" }),
        Thinking::Budget(tokens) if (MIN_BUDGET..max_tokens).contains(&tokens) => {
            json!({ "type": "enabled", "budget_tokens": tokens })
        }
        Thinking::Budget(tokens) => {
            let message = format!(
                "a thinking budget of {tokens} tokens is not possible; it must be at least \
                 {MIN_BUDGET} and less than max_tokens, which is {max_tokens}"
            );
            return Err(ProviderError::Config { message: Text::from(message) });
        }
    })
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

/// The standing instructions: those of the request, then those that begin the conversation. The
/// protocol has no place for later ones.
fn system(
    request: &Request,
    cached: &mut Encoded<Messages>,
    marks: bool,
) -> Result<Option<Bytes>, ProviderError> {
    let is_system = |message: &Message| message.role == MessageRole::System;
    let leading = request.messages.iter().take_while(|message| is_system(message)).count();
    let new = request.messages.get(leading.max(cached.count())..).unwrap_or_default();
    if new.iter().any(|message| is_system(message)) {
        let feature = "instructions inside the conversation; put them before it";
        return Err(unsupported(feature.to_owned()));
    }
    let own = request.system.as_ref().filter(|text| !text.trim().is_empty());
    if leading == 0 {
        let write = |text: &str| blocks(&[text], marks);
        return Ok(own.map(|text| cached.system(text, u8::from(marks), write)));
    }
    let messages = request.messages.iter().take(leading).flat_map(|message| &message.parts);
    let texts = messages.filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_)
        | Part::Image { .. }
        | Part::Document { .. } => None,
    });
    let texts: Vec<_> = own.map(|text| &**text).into_iter().chain(texts).collect();
    Ok((!texts.is_empty()).then(|| to_bytes(&blocks(&texts, marks))))
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
            let encode = |message: &Message, has_before, mark, out: &mut Vec<u8>| {
                counts.borrow_mut()[message.text().parse::<usize>().unwrap()] += 1;
                message::encode(message, has_before, mark, out)
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
