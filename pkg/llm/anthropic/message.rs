//! One message in the words of Anthropic Messages.

use std::sync::Arc;

use serde::Serialize;

use super::{base64, items::PROTOCOL, wire::FACTS};
use crate::{
    llm::{
        ProviderError,
        http::{JsonItems, chat::is_url, write_json},
        tool_names,
    },
    types::{ItemKind, Json, Message, MessageRole, Part, ProviderItem, Text, ToolCall, ToolResult},
};

/// The member that makes the provider keep the prompt up to and with its block.
const CACHE_CONTROL: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// The part of a message that is marked for the prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Nothing,
    LastBlock,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: Text,
        name: Text,
        input: &'a Json,
    },
    ToolResult {
        tool_use_id: Text,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<[Said<'a>; 1]>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
}

/// The text of a tool's result.
#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
struct Said<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
    Text { media_type: &'static str, data: String },
}

/// Writes a message, or neighbouring tool messages as one; what says nothing that the provider takes
/// is left out.
///
/// Results of tools come first, as the provider wants them; blank texts, which it refuses, are left
/// out. Reasoning goes back only with a signature of this protocol's. Instructions have a place of
/// their own in the body.
pub(super) fn encode(
    run: &[Arc<Message>],
    mark: Mark,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let Some(first) = run.first() else { return Ok(()) };
    let role = match first.role {
        MessageRole::System => return Ok(()),
        MessageRole::Assistant => "assistant",
        MessageRole::User | MessageRole::Tool => "user",
    };
    let none = Json::from(serde_json::json!({}));
    let mut content = Content::new(role);
    for result in run.iter().flat_map(|message| message.tool_results()) {
        content.block(&tool_result(result));
    }
    for part in run.iter().flat_map(|message| &message.parts) {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => content.block(&Block::Text { text }),
            Part::Thinking { text, signature } => {
                let own = signature.as_ref().and_then(|proof| proof.for_protocol(PROTOCOL));
                if let Some(signature) = own {
                    content.block(&Block::Thinking { thinking: text, signature });
                }
            }
            Part::ToolCall(call) => content.block(&tool_use(call, &none)),
            Part::ProviderItem(item) if goes_back(item) => content.item(item),
            Part::Image { media_type, data } => {
                content.block(&Block::Image { source: source(media_type, data) });
            }
            Part::Document { media_type, data, name } => {
                let source = document(media_type, data)?;
                content.block(&Block::Document { source, title: name.as_deref() });
            }
            Part::ProviderItem(_) | Part::ToolResult(_) => {}
        }
    }
    content.end(mark, items);
    Ok(())
}

/// The content of a message, written block by block.
struct Content {
    out: Vec<u8>,
    /// The start of its first block.
    first: usize,
    /// The closing bracket of the last block that may be marked.
    markable: Option<usize>,
}

impl Content {
    fn new(role: &str) -> Self {
        let out = format!(r#"{{"role":"{role}","content":["#).into_bytes();
        Self { first: out.len(), out, markable: None }
    }

    fn block(&mut self, block: &Block<'_>) {
        self.separate();
        write_json(&mut self.out, block);
        if !matches!(block, Block::Thinking { .. }) {
            self.markable = Some(self.out.len() - 1);
        }
    }

    fn item(&mut self, item: &ProviderItem) {
        self.separate();
        self.out.extend_from_slice(item.raw.as_str().as_bytes());
        if item.kind != ItemKind::Reasoning {
            self.markable = Some(self.out.len() - 1);
        }
    }

    fn separate(&mut self) {
        if self.out.len() > self.first {
            self.out.push(b',');
        }
    }

    fn end(mut self, mark: Mark, items: &mut JsonItems<'_>) {
        if self.out.len() == self.first {
            return;
        }
        if let Some(at) = self.markable.filter(|_| mark == Mark::LastBlock) {
            self.out.splice(at..at, CACHE_CONTROL.iter().copied());
        }
        self.out.extend_from_slice(b"]}");
        items.begin_item().append(&mut self.out);
    }
}

/// Returns `true` for a block of this protocol that belongs into the next request.
fn goes_back(item: &ProviderItem) -> bool {
    let is_block = match &item.kind {
        ItemKind::Citation(_) => false,
        // Arguments that were truncated are not an object, and the provider takes no other.
        ItemKind::ServerToolCall { arguments, .. } => arguments.as_str().starts_with('{'),
        ItemKind::Other { name } => !FACTS.contains(&name.as_str()) && !name.ends_with("_delta"),
        ItemKind::ServerToolResult { .. } | ItemKind::Reasoning | ItemKind::Media { .. } => true,
    };
    is_block
        && !item.is_unknown_event()
        && item.protocol == PROTOCOL
        && item.raw.as_str().starts_with('{')
}

/// Returns a call. Arguments that could not be read are sent as none. Ids of other providers may have
/// characters that this one refuses.
fn tool_use<'a>(call: &'a ToolCall, none: &'a Json) -> Block<'a> {
    let input = call.arguments.as_ref().filter(|input| input.as_str().starts_with('{'));
    Block::ToolUse {
        id: tool_names::encode(&call.id),
        name: tool_names::encode(&call.name),
        input: input.unwrap_or(none),
    }
}

fn tool_result(result: &ToolResult) -> Block<'_> {
    let text = result.content.as_str();
    Block::ToolResult {
        tool_use_id: tool_names::encode(&result.call_id),
        // A text block must not be blank; a result may be.
        content: (!text.trim().is_empty()).then_some([Said { text }]),
        is_error: result.is_error,
    }
}

fn source<'a>(media_type: &'a str, data: &'a str) -> Source<'a> {
    if is_url(data) { Source::Url { url: data } } else { Source::Base64 { media_type, data } }
}

/// Returns a document: the provider takes PDF, by bytes or address, and plain text.
fn document<'a>(media_type: &'a str, data: &'a str) -> Result<Source<'a>, ProviderError> {
    if media_type == "application/pdf" {
        return Ok(source(media_type, data));
    }
    let unsupported = |feature: String| ProviderError::unsupported(PROTOCOL, feature);
    if !media_type.starts_with("text/") || is_url(data) {
        let kind = if is_url(data) { "by URL of type" } else { "of type" };
        return Err(unsupported(format!("documents {kind} {media_type}; send PDF or plain text")));
    }
    let text = base64::decode(data).and_then(|bytes| String::from_utf8(bytes).ok());
    let data = text.ok_or_else(|| {
        unsupported("a text document whose data are not UTF-8 in base64".to_owned())
    })?;
    Ok(Source::Text { media_type: "text/plain", data })
}
