//! The encoding of one message for Anthropic Messages.

use std::sync::Arc;

use super::found::FoundTools;
use crate::{
    ProviderError,
    anthropic::{
        items::PROTOCOL,
        wire::{CONTAINER, FACTS},
    },
    decode::JsonEntries,
    http::tool_names,
    http::{JsonFields, JsonItems, chat::is_url},
    media,
};
use forgeline_types::{
    ItemKind, Message, MessageRole, Part, ProviderItem, Text, ToolCall, ToolResult, Transcript,
};

/// The member that makes the provider cache the prompt up to and including its block.
const CACHE_CONTROL: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// The part of a message that is marked for the prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheMark {
    Nothing,
    LastBlock,
}

/// Writes a message, or adjacent tool messages as one; a message without anything that the provider
/// accepts is left out.
///
/// Tool results come first, as the provider requires; blank texts, which it rejects, are left
/// out. Reasoning is sent back only with a signature of this protocol. Instructions have a place of
/// their own in the body.
pub(super) fn encode(
    run: &[Arc<Message>],
    mark: CacheMark,
    found: FoundTools<'_>,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let Some(first) = run.first() else { return Ok(()) };
    let role = match first.role {
        MessageRole::System => return Ok(()),
        MessageRole::Assistant => "assistant",
        MessageRole::User | MessageRole::Tool => "user",
        _ => "user",
    };
    let mut content = MessageContent::new(role);
    for result in run.iter().flat_map(|message| message.tool_results()) {
        content.block(tool_result(result, found));
    }
    for part in run.iter().flat_map(|message| &message.parts) {
        match part {
            Part::Text { text, .. } if text.trim().is_empty() => {}
            Part::Text { text, .. } => content.block(typed("text").with("text", text)),
            Part::Thinking { text, signature, .. } => {
                let own = signature.as_ref().and_then(|proof| proof.for_protocol(PROTOCOL));
                if let Some(proof) = own {
                    let block = typed("thinking").with("thinking", text).with("signature", proof);
                    content.write(&block.end().unwrap_or_default(), false);
                }
            }
            Part::ToolCall(call) => content.block(tool_use(call)),
            Part::ProviderItem(item) if goes_back(item) => {
                content.write(item.raw.as_str().as_bytes(), item.kind != ItemKind::Reasoning);
            }
            Part::Image { media_type, data, .. } => content.block(image(media_type, data)),
            Part::Document { media_type, data, name, .. } => {
                content.block(document(media_type, data, name.as_deref())?);
            }
            // Next to references a result has no place for text, such as notes on what was found.
            Part::ToolResult(result) if found.found_by(result).next().is_some() => {
                let words = result.parts.iter().filter_map(Part::as_text);
                for text in words.filter(|text| !text.trim().is_empty()) {
                    content.block(typed("text").with("text", text));
                }
            }
            Part::ProviderItem(_) | Part::ToolResult(_) => {}
            Part::Framing { .. } | _ => {}
        }
    }
    content.end(mark, items);
    Ok(())
}

/// The content of a message, written block by block.
struct MessageContent {
    out: Vec<u8>,
    /// The offset of the first block.
    first: usize,
    /// The offset of the closing brace of the last block that may be marked.
    markable: Option<usize>,
}

impl MessageContent {
    fn new(role: &str) -> Self {
        let out = format!(r#"{{"role":"{role}","content":["#).into_bytes();
        Self { first: out.len(), out, markable: None }
    }

    fn block(&mut self, block: JsonFields<'_>) {
        self.write(&block.end().unwrap_or_default(), true);
    }

    fn write(&mut self, block: &[u8], is_markable: bool) {
        if self.out.len() > self.first {
            self.out.push(b',');
        }
        self.out.extend_from_slice(block);
        if is_markable {
            self.markable = Some(self.out.len() - 1);
        }
    }

    fn end(mut self, mark: CacheMark, items: &mut JsonItems<'_>) {
        if self.out.len() == self.first {
            return;
        }
        if let Some(at) = self.markable.filter(|_| mark == CacheMark::LastBlock) {
            self.out.splice(at..at, CACHE_CONTROL.iter().copied());
        }
        self.out.extend_from_slice(b"]}");
        items.begin_item().append(&mut self.out);
    }
}

/// Returns `true` for a block of this protocol that belongs in the next request.
fn goes_back(item: &ProviderItem) -> bool {
    let is_block = match &item.kind {
        ItemKind::Citation(_) => false,
        // Truncated arguments are not an object, and the provider accepts nothing else.
        ItemKind::ServerToolCall { arguments, .. } => arguments.as_str().starts_with('{'),
        ItemKind::Other { name, .. } => {
            !FACTS.contains(&name.as_str()) && !name.ends_with("_delta")
        }
        ItemKind::ServerToolResult { .. } | ItemKind::Reasoning | ItemKind::Media { .. } => true,
        _ => true,
    };
    is_block
        && !item.is_unknown_event()
        && item.protocol == PROTOCOL
        && item.raw.as_str().starts_with('{')
}

/// Returns the id of the container in which the vendor's code runs or waits, if the last message of the model has calls.
pub(super) fn container(messages: &Transcript) -> Option<Text> {
    let last = messages.messages().iter().rev().find(|it| it.role == MessageRole::Assistant)?;
    last.tool_calls().next()?;
    let mut items = last.parts.iter().filter_map(Part::as_provider_item).rev();
    let is_container = |item: &&ProviderItem| {
        item.protocol == PROTOCOL
            && matches!(&item.kind, ItemKind::Other { name, .. } if name == CONTAINER)
    };
    let container = items.find(is_container)?;
    JsonEntries::parse(container.raw.as_str()).first_text(&["id"])
}

/// Returns `true` if the answer that the request continues, from the user's last question on, begins with something else than
/// reasoning that goes back: it was left out, or another provider's model began the answer.
///
/// With a budget for reasoning, the vendor rejects such a request, unless reasoning is turned off in it: a loop of calls and results is
/// one answer.
pub(super) fn continues_unreasoned(messages: &Transcript) -> bool {
    let messages = messages.messages();
    let asks = |pair: &[Arc<Message>]| matches!(pair, [before, next] if next.role == MessageRole::User && before.role != MessageRole::Tool);
    let question = messages.windows(2).rposition(asks).map_or(0, |before| before + 1);
    let answer = messages.iter().skip(question).find(|it| it.role == MessageRole::Assistant);
    let first = answer.and_then(|answer| answer.parts.iter().find_map(begins_with_reasoning));
    first == Some(false)
}

/// Returns `true` for a part that is written as reasoning, and `None` for one that is not written.
fn begins_with_reasoning(part: &Part) -> Option<bool> {
    match part {
        Part::Thinking { signature, .. } => {
            signature.as_ref().and_then(|proof| proof.for_protocol(PROTOCOL)).map(|_| true)
        }
        Part::ProviderItem(item) => goes_back(item).then_some(item.kind == ItemKind::Reasoning),
        Part::Text { text, .. } => (!text.trim().is_empty()).then_some(false),
        Part::ToolCall(_) | Part::Image { .. } | Part::Document { .. } => Some(false),
        Part::ToolResult(_) | _ => None,
    }
}

/// Begins a block of this type.
fn typed(kind: &str) -> JsonFields<'static> {
    JsonFields::object().with("type", kind)
}

/// Encodes a call. Arguments that could not be read are sent as an empty object. Ids from other providers may contain
/// characters that this one rejects.
fn tool_use(call: &ToolCall) -> JsonFields<'static> {
    let block = typed("tool_use").with("id", &tool_names::escape(&call.id));
    let block = block.with("name", &tool_names::encode(&call.name));
    let block = match call.arguments.as_ref().filter(|input| input.as_str().starts_with('{')) {
        Some(input) => block.with("input", input),
        None => block.nested("input", |none| none),
    };
    let more = call.signature.as_ref().map(|it| it.members(PROTOCOL)).unwrap_or_default();
    more.iter().fold(block, |block, (name, value)| block.with(name, value))
}

const NOT_TAKEN: &str = "[A document is left out: the provider does not take it.]";

fn tool_result(result: &ToolResult, found: FoundTools<'_>) -> JsonFields<'static> {
    let mut blocks = Vec::new();
    let mut list = JsonItems::new(&mut blocks, false);
    // The text of a text block must not be blank; a result may be empty.
    let text = |text: &str, list: &mut JsonItems<'_>| {
        if !text.trim().is_empty() {
            list.object(typed("text").with("text", text));
        }
    };
    for name in found.found_by(result) {
        list.object(typed("tool_reference").with("tool_name", &tool_names::encode(name)));
    }
    // The provider inserts the descriptions there, and accepts no text next to them.
    let has_words = found.found_by(result).next().is_none();
    if has_words {
        text(&result.content, &mut list);
    }
    for part in &result.parts {
        match part {
            Part::Text { text: words, .. } if has_words => text(words, &mut list),
            Part::Image { media_type, data, .. } => list.object(image(media_type, data)),
            Part::Document { media_type, data, name, .. } => {
                match document(media_type, data, name.as_deref()) {
                    Ok(document) => list.object(document),
                    // A stored conversation may contain one, and must not make the request fail.
                    Err(_) => text(NOT_TAKEN, &mut list),
                }
            }
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::ProviderItem(_) => {}
            Part::Framing { .. } | _ => {}
        }
    }
    let mut block = typed("tool_result").with("tool_use_id", &tool_names::escape(&result.call_id));
    if !blocks.is_empty() {
        block.raw("content", &[b"[", &*blocks, b"]"].concat());
    }
    block.with_some("is_error", result.is_error.then_some(true))
}

fn image(media_type: &str, data: &str) -> JsonFields<'static> {
    typed("image").nested("source", |it| source(it, media_type, data))
}

fn document(
    media_type: &str,
    data: &str,
    name: Option<&str>,
) -> Result<JsonFields<'static>, ProviderError> {
    let text = plain_text(media_type, data)?;
    let block = typed("document").nested("source", |it| match &text {
        None => source(it, media_type, data),
        Some(text) => it.with("type", "text").with("media_type", "text/plain").with("data", text),
    });
    Ok(block.with_some("title", name))
}

/// Adds the source of an image or a document.
fn source<'f>(source: JsonFields<'f>, media_type: &str, data: &str) -> JsonFields<'f> {
    if is_url(data) {
        source.with("type", "url").with("url", data)
    } else {
        source.with("type", "base64").with("media_type", media_type).with("data", data)
    }
}

/// Returns the text of a document that is not a PDF; the provider accepts no other kinds.
fn plain_text(media_type: &str, data: &str) -> Result<Option<String>, ProviderError> {
    if media_type == "application/pdf" {
        return Ok(None);
    }
    let unsupported = |feature: String| ProviderError::unsupported(PROTOCOL, feature);
    if !media_type.starts_with("text/") || is_url(data) {
        let kind = if is_url(data) { "by URL of type" } else { "of type" };
        return Err(unsupported(format!("documents {kind} {media_type}; send PDF or plain text")));
    }
    let text = media::base64::decode(data).and_then(|bytes| String::from_utf8(bytes).ok());
    let lacking = || unsupported("a text document whose data are not UTF-8 in base64".to_owned());
    text.ok_or_else(lacking).map(Some)
}
