//! One message in the words of Gemini.

use std::{iter::Peekable, sync::Arc};

use serde::Serialize;

use super::{PROTOCOL, provider::unsupported};
use crate::{
    llm::{ProviderError, http::write_json, tool_names},
    types::{
        ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, Text, ToolCall,
        ToolResult,
    },
};

/// What candidates say beside their parts; it does not go back.
const FACTS: [&str; 3] = ["groundingMetadata", "urlContextMetadata", "finishMessage"];

#[derive(Serialize)]
struct Content<'m> {
    role: &'static str,
    parts: Vec<Sent<'m>>,
}

/// A part of ours, or one that goes back as it came.
#[derive(Serialize)]
#[serde(untagged)]
enum Sent<'m> {
    Ours(Box<Piece<'m>>),
    Theirs(&'m Json),
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<FileData<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'m> {
    mime_type: &'m str,
    data: &'m str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileData<'m> {
    mime_type: &'m str,
    file_uri: &'m str,
}

#[derive(Serialize)]
struct FunctionCall<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'m str>,
    name: Text,
    args: Arguments<'m>,
}

/// The arguments as they were written; those that could not be read are sent as none.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'m> {
    Known(&'m Json),
    None {},
}

#[derive(Serialize)]
struct FunctionResponse<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'m str>,
    name: Text,
    response: Answer<'m>,
}

/// Gemini wants an object, and knows these two keys. The text stays a text: as JSON its numbers would
/// be rounded.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<'m> {
    Output(&'m str),
    Error(&'m str),
}

/// Writes a message, or neighbouring tool messages as one, for Gemini wants the results of all calls of
/// an answer together; what has nothing that Gemini takes is left out. Instructions have a place of
/// their own in the body.
///
/// Reasoning goes back only with a signature of Gemini's, which proves it; a call goes without a
/// signature when another vendor's model made it.
pub(super) fn encode(
    run: &[Arc<Message>],
    has_before: bool,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let Some(first) = run.first() else { return Ok(()) };
    let role = match first.role {
        MessageRole::System => return Ok(()),
        MessageRole::Assistant => "model",
        MessageRole::User | MessageRole::Tool => "user",
    };
    let mut sent = Vec::with_capacity(first.parts.len());
    let mut parts = run.iter().flat_map(|message| &message.parts).peekable();
    while let Some(part) = parts.next() {
        sent.extend(encode_part(part, &mut parts)?);
    }
    if sent.is_empty() {
        return Ok(());
    }
    if has_before {
        out.push(b',');
    }
    write_json(out, &Content { role, parts: sent });
    Ok(())
}

fn encode_part<'m>(
    part: &'m Part,
    rest: &mut Peekable<impl Iterator<Item = &'m Part>>,
) -> Result<Option<Sent<'m>>, ProviderError> {
    let piece = match part {
        Part::Text { text } => {
            let thought_signature = rest.peek().and_then(|next| proof_of_text(next));
            if thought_signature.is_some() {
                rest.next();
            } else if text.is_empty() {
                return Ok(None);
            }
            Piece { text: Some(text), thought_signature, ..Piece::default() }
        }
        Part::Thinking { text, signature } => match own(signature.as_ref()) {
            None => return Ok(None),
            thought_signature => Piece {
                text: Some(text),
                thought: Some(true),
                thought_signature,
                ..Piece::default()
            },
        },
        Part::ToolCall(call) => function_call(call),
        Part::ToolResult(result) => function_response(result)?,
        Part::Image { media_type, data } | Part::Document { media_type, data, .. } => {
            media(media_type, data)
        }
        Part::ProviderItem(item) => {
            return Ok(match proof_of_text(part) {
                // The words before it are gone.
                Some(proof) => {
                    let piece = Piece {
                        text: Some(""),
                        thought_signature: Some(proof),
                        ..Piece::default()
                    };
                    Some(Sent::Ours(Box::new(piece)))
                }
                None => goes_back(item).then_some(Sent::Theirs(&item.raw)),
            });
        }
    };
    Ok(Some(Sent::Ours(Box::new(piece))))
}

/// The proof, if it is Gemini's.
fn own(signature: Option<&Signature>) -> Option<Text> {
    signature?.for_protocol(PROTOCOL).cloned()
}

fn function_call(call: &ToolCall) -> Piece<'_> {
    let function_call = FunctionCall {
        id: real_id(&call.id),
        name: tool_names::encode(&call.name),
        args: call.arguments.as_ref().map_or(Arguments::None {}, Arguments::Known),
    };
    Piece {
        function_call: Some(function_call),
        thought_signature: own(call.signature.as_ref()),
        ..Piece::default()
    }
}

fn function_response(result: &ToolResult) -> Result<Piece<'_>, ProviderError> {
    if result.name.is_empty() {
        return Err(unsupported("a tool result that does not name its tool"));
    }
    let content = result.content.as_str();
    let response = FunctionResponse {
        id: real_id(&result.call_id),
        name: tool_names::encode(&result.name),
        response: if result.is_error { Answer::Error(content) } else { Answer::Output(content) },
    };
    Ok(Piece { function_response: Some(response), ..Piece::default() })
}

/// The id, unless the call had none and was numbered by us.
fn real_id(id: &str) -> Option<&str> {
    let number = id.strip_prefix("call_");
    let is_ours = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (!is_ours && !id.is_empty()).then_some(id)
}

/// Bytes in base64, or the address of a file, which may be of any scheme.
fn media<'m>(mime_type: &'m str, data: &'m str) -> Piece<'m> {
    if data.contains("://") {
        let file_data = Some(FileData { mime_type, file_uri: data });
        Piece { file_data, ..Piece::default() }
    } else {
        let inline_data = Some(InlineData { mime_type, data });
        Piece { inline_data, ..Piece::default() }
    }
}

/// The signature of the words before it, if the part is one.
fn proof_of_text(part: &Part) -> Option<Text> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Proof {
        thought_signature: Text,
    }
    match part {
        Part::ProviderItem(item)
            if item.protocol == PROTOCOL && item.kind == ItemKind::Reasoning =>
        {
            item.raw.read::<Proof>().ok().map(|proof| proof.thought_signature)
        }
        Part::ProviderItem(_)
        | Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Image { .. }
        | Part::Document { .. } => None,
    }
}

/// Whether an item is a part of an answer of Gemini's.
fn goes_back(item: &ProviderItem) -> bool {
    item.protocol == PROTOCOL
        && match &item.kind {
            ItemKind::Citation(_) => false,
            ItemKind::Other { name } => !FACTS.contains(&name.as_str()),
            ItemKind::ServerToolCall { .. }
            | ItemKind::ServerToolResult { .. }
            | ItemKind::Reasoning
            | ItemKind::Media { .. } => true,
        }
}
