//! The encoding of one message for Chat Completions.

use serde_json::{Map, Value, json};

use super::reasoning_rules::ReasoningRules;

use crate::{
    ProviderError,
    decode::JsonEntries,
    http::{JsonItems, chat},
    openai::{
        PROTOCOL,
        reasoning::{BLOCKS, DETAILS},
        wire::{REASONING, REASONING_CONTENT, REASONING_TEXT},
    },
};
use forgeline_types::{ItemKind, Message, Part, Text, ToolCall};

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// Reasoning is sent back in the member that it came in, as far as the `rules` of the server and model go. Reasoning that
/// came in no member is sent where the rules name members for it; from another protocol, it is not sent.
pub(super) fn encode(
    message: &Message,
    rules: ReasoningRules,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let message = &*chat::with_texts(message);
    message.tool_results().for_each(|result| items.push(&chat::tool_result(result)));
    let calls = message.tool_calls().map(|call| tool_call(call, rules.is_taken));
    let calls: Vec<_> = calls.collect();
    let has_result = message.tool_results().next().is_some();
    let content = chat::content(message, rich)?;
    let mut reasoning = if rules.is_taken { reasoning(message, rules) } else { Map::new() };
    if reasoning.is_empty() && !calls.is_empty() && content == json!("") {
        reasoning = written(message, rules);
    }
    let content = match reasoning.remove("content") {
        Some(Value::Array(before)) => with_parts(before, content),
        _ => content,
    };
    if !calls.is_empty() || !reasoning.is_empty() {
        let mut said = Map::from_iter([
            ("role".to_owned(), json!("assistant")),
            ("content".to_owned(), content),
        ]);
        said.extend(reasoning);
        if !calls.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        items.push(&said);
    } else if !has_result || content != json!("") {
        items.push(&json!({ "role": chat::role(message.role), "content": content }));
    }
    Ok(())
}

/// Returns the members with the message's reasoning. If there are details, they contain the whole reasoning, and its text is
/// sent besides only where the rules require it.
fn reasoning(message: &Message, rules: ReasoningRules) -> Map<String, Value> {
    let (mut members, mut own_members) = (Map::new(), Map::new());
    for part in &message.parts {
        if let Part::Thinking { text, signature: Some(signature), .. } = part {
            let member = signature.for_protocol(PROTOCOL).map(Text::as_str);
            // Reasoning without a member's name did not come in one.
            if let Some(member @ (REASONING_CONTENT | REASONING | REASONING_TEXT)) =
                member.filter(|_| !text.is_empty())
                && let Value::String(known) = members.entry(member).or_insert_with(|| json!(""))
            {
                known.push_str(text);
            }
        }
        let own = part.as_provider_item().filter(|item| item.protocol == PROTOCOL);
        if let Some(item) = own.filter(|item| item.kind == ItemKind::Reasoning) {
            let Value::Object(raw) = item.raw.to_value() else { continue };
            for (name, value) in raw.into_iter().filter(|(name, _)| GO_BACK.contains(&&**name)) {
                match (own_members.get_mut(&name), value) {
                    (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                    (_, value) => drop(own_members.insert(name, value)),
                }
            }
        }
    }
    let texts = [REASONING_CONTENT, REASONING, REASONING_TEXT];
    let text = || texts.iter().find_map(|name| members.get(*name)).cloned();
    if rules.must_have_content && message.tool_calls().next().is_some() {
        let text = text().unwrap_or_else(|| json!(""));
        members = Map::from_iter([(REASONING_CONTENT.to_owned(), text)]);
    } else if own_members.contains_key(DETAILS) {
        members = Map::new();
    } else if let Some(member) = rules.only_in {
        members = text().map(|text| (member.to_owned(), text)).into_iter().collect();
    }
    if let Some(Value::Array(details)) = own_members.get_mut(DETAILS).filter(|_| rules.drops_index)
    {
        let objects = details.iter_mut().filter_map(Value::as_object_mut);
        objects.for_each(|entry| drop(entry.remove("index")));
    }
    members.extend(own_members);
    members
}

/// Returns the members for reasoning that the model wrote into its text.
fn written(message: &Message, rules: ReasoningRules) -> Map<String, Value> {
    let mut written = String::new();
    for part in &message.parts {
        if let Part::Thinking { text, signature: None, .. } = part {
            written.push_str(text);
        }
    }
    let members = rules.written_in.iter().filter(|_| !written.is_empty());
    members.map(|member| ((*member).to_owned(), json!(written))).collect()
}

/// The members of reasoning items that are sent back as members of the message; of these, the content goes
/// before the message's text.
const GO_BACK: [&str; 6] =
    [DETAILS, BLOCKS, "reasoning_opaque", "extra_content", "provider_specific_fields", "content"];

/// Returns `content` preceded by `parts`.
fn with_parts(mut parts: Vec<Value>, content: Value) -> Value {
    match content {
        Value::Array(more) => parts.extend(more),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => parts.push(json!({ "type": "text", "text": text })),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
    Value::Array(parts)
}

/// Encodes a call with the additional members that its server wants back, if the server `takes_more` than is documented.
fn tool_call(call: &ToolCall, takes_more: bool) -> Value {
    let mut value = chat::tool_call(call);
    let Some(signature) = &call.signature else { return value };
    let proof = signature.for_protocol(PROTOCOL).filter(|proof| !proof.starts_with('{'));
    if let Some(proof) = proof.filter(|_| takes_more) {
        value["extra_content"] = json!({ "google": { "thought_signature": proof } });
    }
    for (name, member) in signature.members(PROTOCOL) {
        if name == "type" {
            let input = JsonEntries::parse(call.arguments_raw.as_str()).text("input");
            value = json!({
                "id": call.id,
                "type": member,
                "custom": { "name": value["function"]["name"], "input": input },
            });
        } else if takes_more {
            value[name] = member;
        }
    }
    value
}

fn rich(part: &Part) -> Result<Option<Value>, ProviderError> {
    Ok(match part {
        Part::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        Part::Image { media_type, data, .. } => Some(chat::image(media_type, data)),
        Part::Document { data, .. } if chat::is_url(data) => {
            let feature = "documents by URL; send the bytes in base64";
            return Err(ProviderError::unsupported("openai", feature));
        }
        Part::Document { media_type, data, name, .. } => Some(json!({
            "type": "file",
            "file": {
                "filename": name.as_deref().unwrap_or("document"),
                "file_data": chat::url(media_type, data),
            },
        })),
        Part::Thinking { .. }
        | Part::Framing { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => None,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use forgeline_types::{Json, MessageRole, ProviderItem, Signature};

    use super::*;

    // Rows: N-20
    #[test]
    fn reasoning_that_came_as_text_goes_back_as_members_where_the_template_wants_them() {
        let call = || Part::ToolCall(ToolCall::new("c", "find", json!({})));
        let written = |text: &str| Part::thinking(text, None);
        let signed = || Part::thinking("of O", Signature::new(PROTOCOL, REASONING));
        let foreign = || Part::thinking("of A", Signature::new("anthropic", "proof"));
        let (plain, groq) = ("http://127.0.0.1:8080/v1", "https://api.groq.com/openai/v1");
        let (cerebras, oss) = ("https://api.cerebras.ai/v1", "gpt-oss-120b");
        let both = json!({ "reasoning_content": "plan", "thinking": "plan" });
        let none = || json!({});
        #[rustfmt::skip]
        let rows = [
            ("beside a call",      plain,    oss,       vec![written("plan"), call()],                   both.clone()),
            ("in two parts",       plain,    oss,       vec![written("pl"), call(), written("an")],      both),
            ("beside text",        plain,    oss,       vec![written("plan"), Part::text("Hi"), call()], none()),
            ("no call",            plain,    oss,       vec![written("plan")],                           none()),
            ("no words",           plain,    oss,       vec![written(""), call()],                       none()),
            ("another model",      plain,    "qwen3",   vec![written("plan"), call()],                   none()),
            ("from elsewhere",     plain,    oss,       vec![foreign(), call()],                         none()),
            ("in a member",        plain,    oss,       vec![signed(), written("plan"), call()],         json!({ "reasoning": "of O" })),
            ("a strict server",    groq,     oss,       vec![written("plan"), call()],                   none()),
            ("its member",         groq,     oss,       vec![signed(), call()],                          json!({ "reasoning": "of O" })),
            ("no member there",    groq,     "kimi-k2", vec![signed(), call()],                          none()),
            ("a member renamed",   cerebras, oss,       vec![Part::thinking("hm", Signature::new(PROTOCOL, REASONING_CONTENT))], json!({ "reasoning": "hm" })),
            ("nothing to rename",  cerebras, oss,       vec![call()],                                    none()),
        ];
        for (name, url, model, parts, want) in rows {
            let message = Message::new(MessageRole::Assistant, parts);
            let mut out = Vec::new();
            let rules = ReasoningRules::of(url, model);
            encode(&message, rules, &mut JsonItems::new(&mut out, false)).unwrap();
            let mut sent: Map<String, Value> = serde_json::from_slice(&out).unwrap();
            sent.retain(|name, _| !["role", "content", "tool_calls"].contains(&&**name));
            assert_eq!(Value::Object(sent), want, "{name}");
        }
    }

    // Rows: N-20
    #[test]
    fn reasoning_beside_calls_goes_back_as_the_server_wants_it() {
        let thought = |member: &str| Part::thinking("hm", Signature::new(PROTOCOL, member));
        let details = || {
            let entry = json!({ "type": "reasoning.text", "text": "hm", "index": 0 });
            let raw = Json::from(json!({ DETAILS: [entry] }));
            Part::ProviderItem(ProviderItem::new(PROTOCOL, ItemKind::Reasoning, raw))
        };
        let call = || Part::ToolCall(ToolCall::new("c", "find", json!({})));
        let indexed = json!([{ "type": "reasoning.text", "text": "hm", "index": 0 }]);
        let plain = json!([{ "type": "reasoning.text", "text": "hm" }]);
        let (host, other) = ("https://openrouter.ai/api/v1", "https://opencode.ai/v1");
        #[rustfmt::skip]
        let rows = [
            ("nothing to say",     host,  "kimi-k2.6",   vec![call()],                         json!(""),   Value::Null),
            ("another model",      host,  "gpt-5",       vec![call()],                         Value::Null, Value::Null),
            ("another host",       other, "kimi-k2.6",   vec![call()],                         Value::Null, Value::Null),
            ("an answer in words", host,  "kimi-k2.6",   vec![Part::text("Hi")], Value::Null, Value::Null),
            ("its own member",     host,  "deepseek-v4", vec![thought(REASONING_CONTENT), call()], json!("hm"), Value::Null),
            ("a member renamed",   host,  "deepseek-v4", vec![thought(REASONING), call()],     json!("hm"), Value::Null),
            ("text and details",   host,  "deepseek-v4", vec![thought(REASONING), details(), call()], json!("hm"), indexed.clone()),
            ("details alone",      host,  "gpt-5",       vec![thought(REASONING), details(), call()], Value::Null, indexed),
            ("no index",           host,  "k3",          vec![thought(REASONING_CONTENT), details(), call()], json!("hm"), plain.clone()),
            ("no index there",     other, "k3",          vec![details(), call()],              Value::Null, plain),
        ];
        for (name, url, model, parts, content, details) in rows {
            let message = Message::new(MessageRole::Assistant, parts);
            let mut out = Vec::new();
            let rules = ReasoningRules::of(url, model);
            encode(&message, rules, &mut JsonItems::new(&mut out, false)).unwrap();
            let sent: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(
                (&sent[REASONING_CONTENT], &sent[DETAILS]),
                (&content, &details),
                "{name}: {sent}"
            );
        }
    }
}
