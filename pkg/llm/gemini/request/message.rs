//! The encoding of one message for Gemini.

use std::{borrow::Cow, iter::Peekable, sync::Arc};

use serde_json::{Value, json};

use crate::{
    ProviderError,
    decode::JsonEntries,
    gemini::PROTOCOL,
    http::tool_names,
    http::{JsonFields, JsonItems, chat},
};
use forgeline_types::{
    ItemKind, Message, MessageRole, Part, ProviderItem, Signature, Text, ToolCall, ToolResult,
};

/// Members of candidates besides their parts, which are not sent back.
const FACTS: [&str; 3] = ["groundingMetadata", "urlContextMetadata", "finishMessage"];

/// The vendor's placeholder for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Returns `true` for Gemini 3 and later, which reject a call without a signature and accept images in tool
/// results.
pub(super) fn is_third(model: &str) -> bool {
    let version = model.rsplit_once("gemini-").map_or("", |(_, version)| version);
    let major = version.split(|digit: char| !digit.is_ascii_digit()).next().unwrap_or_default();
    major.parse::<u32>().is_ok_and(|major| major >= 3)
}

/// Writes a message, or adjacent tool messages as one, since Gemini wants the results of all calls
/// of an answer together; a message without anything that Gemini accepts is left out. Instructions have a place
/// of their own in the body.
///
/// Reasoning is sent back only with a signature by Gemini; a call is sent without a
/// signature if another vendor's model made it, or with the vendor's placeholder if the model
/// `is_third`. Otherwise, images in results are placed after them.
pub(super) fn encode(
    run: &[Arc<Message>],
    is_third: bool,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let Some(first) = run.first() else { return Ok(()) };
    let role = match first.role {
        MessageRole::System => return Ok(()),
        MessageRole::Assistant => "model",
        MessageRole::User | MessageRole::Tool => "user",
        _ => "user",
    };
    let mut written = Vec::new();
    let mut list = JsonItems::new(&mut written, false);
    let run: Vec<_> = run
        .iter()
        .map(
            |message| {
                if is_third { Cow::Borrowed(&**message) } else { chat::beside_results(message) }
            },
        )
        .collect();
    let mut parts = run.iter().flat_map(|message| &message.parts).peekable();
    // Of parallel calls, the vendor signs the first.
    let mut wants_proof = is_third;
    while let Some(part) = parts.next() {
        if let Part::ToolCall(call) = part {
            list.object(function_call(call, std::mem::take(&mut wants_proof)));
        } else {
            encode_part(part, is_third, &mut parts, &mut list)?;
        }
    }
    if !written.is_empty() {
        items.nest(&format!(r#"{{"role":"{role}","parts":["#), &written);
    }
    Ok(())
}

fn encode_part<'m>(
    part: &'m Part,
    is_third: bool,
    rest: &mut Peekable<impl Iterator<Item = &'m Part>>,
    list: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    match part {
        Part::Text { text, .. } => {
            let signature = rest.peek().and_then(|next| signature_of_text(next));
            if signature.is_some() {
                rest.next();
            }
            if signature.is_some() || !text.is_empty() {
                list.push(&signed(json!({ "text": text }), signature));
            }
        }
        Part::Thinking { text, signature, .. } => {
            if let Some(signature) = own(signature.as_ref()) {
                let thought = json!({ "text": text, "thought": true });
                list.push(&signed(thought, Some(signature.clone())));
            }
        }
        Part::ToolCall(_) => {}
        Part::ToolResult(result) => list.object(function_response(result, is_third)?),
        Part::Image { media_type, data, .. } | Part::Document { media_type, data, .. } => {
            list.push(&media(media_type, data));
        }
        Part::ProviderItem(item) => match signature_of_text(part) {
            // The text before the signature is gone.
            Some(signature) => list.push(&signed(json!({ "text": "" }), Some(signature))),
            None if goes_back(item) => list.raw(item.raw.as_str()),
            None => {}
        },
        Part::Framing { .. } | _ => {}
    }
    Ok(())
}

/// Adds a signature to a part.
fn signed(mut part: Value, signature: Option<Text>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

/// Returns the signature if it is Gemini's.
fn own(signature: Option<&Signature>) -> Option<&Text> {
    signature?.for_protocol(PROTOCOL)
}

/// Encodes a call. Its arguments stay as they were written; those that could not be read are sent as
/// an empty object.
fn function_call(call: &ToolCall, wants_proof: bool) -> JsonFields<'static> {
    let none = Text::from(UNSIGNED);
    let proof = own(call.signature.as_ref()).or(wants_proof.then_some(&none));
    let part = JsonFields::object().nested("functionCall", |function| {
        let function = function.with_some("id", real_id(&call.id));
        let function = function.with("name", &tool_names::encode(&call.name));
        match &call.arguments {
            Some(arguments) => function.with("args", arguments),
            None => function.nested("args", |none| none),
        }
    });
    part.with_some("thoughtSignature", proof)
}

/// Encodes the result of a call. Gemini requires an object, in which it knows two keys. The text stays a
/// string: as JSON its numbers would be rounded.
fn function_response(
    result: &ToolResult,
    is_third: bool,
) -> Result<JsonFields<'static>, ProviderError> {
    if result.name.is_empty() {
        let feature = "a tool result that does not name its tool";
        return Err(ProviderError::unsupported(PROTOCOL, feature));
    }
    let key = if result.is_error { "error" } else { "output" };
    let (mut content, mut media) = (result.content.clone(), Vec::new());
    for part in result.parts.iter().filter(|_| is_third) {
        match part {
            Part::Image { media_type, data, .. } | Part::Document { media_type, data, .. } => {
                media.push(self::media(media_type, data));
            }
            Part::Text { text, .. } => content.extend(["\n", text]),
            Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::ProviderItem(_) => {}
            Part::Framing { .. } | _ => {}
        }
    }
    Ok(JsonFields::object().nested("functionResponse", |response| {
        let response = response.with_some("id", real_id(&result.call_id));
        let response = response.with("name", &tool_names::encode(&result.name));
        let response = response.nested("response", |said| said.with(key, &content));
        response.with_some("parts", Some(&media).filter(|media| !media.is_empty()))
    }))
}

/// Returns the id, unless the call had none and was numbered by this library.
fn real_id(id: &str) -> Option<&str> {
    let number = id.strip_prefix("call_");
    let is_ours = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (!is_ours && !id.is_empty()).then_some(id)
}

/// Encodes bytes in base64, or the URL of a file, which may have any scheme.
fn media(media_type: &str, data: &str) -> Value {
    if data.contains("://") {
        json!({ "fileData": { "mimeType": media_type, "fileUri": data } })
    } else {
        json!({ "inlineData": { "mimeType": media_type, "data": data } })
    }
}

/// Returns the signature of the text before `part`, if `part` is one.
fn signature_of_text(part: &Part) -> Option<Text> {
    let item = part.as_provider_item()?;
    let is_own = item.protocol == PROTOCOL && item.kind == ItemKind::Reasoning;
    let raw = JsonEntries::parse(item.raw.as_str());
    let is_alone = is_own && raw.names().eq(["thoughtSignature"]);
    raw.first_text(&["thoughtSignature"]).filter(|_| is_alone)
}

/// Returns `true` for a part of an answer by Gemini, which is sent back.
fn goes_back(item: &ProviderItem) -> bool {
    item.protocol == PROTOCOL
        && match &item.kind {
            ItemKind::Citation(_) => false,
            ItemKind::Other { name, .. } => !FACTS.contains(&name.as_str()),
            ItemKind::ServerToolCall { .. }
            | ItemKind::ServerToolResult { .. }
            | ItemKind::Reasoning
            | ItemKind::Media { .. } => true,
            _ => true,
        }
}
