//! One message in the words of Anthropic Messages.

use std::sync::Arc;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::Serialize;

use super::{items::PROTOCOL, wire::FACTS};
use crate::{
    llm::{ProviderError, http::write_json, tool_names},
    types::{ItemKind, Json, Message, MessageRole, Part, ProviderItem, Text, ToolCall, ToolResult},
};

/// What makes the provider keep the prompt up to and with the block that has it.
const CACHE_CONTROL: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// What of a message is marked for the prompt cache.
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
/// out. Reasoning goes back only with a signature of this protocol's. Instructions have a place of their own in the body.
pub(super) fn encode(
    run: &[Arc<Message>],
    has_before: bool,
    mark: Mark,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let Some(first) = run.first() else { return Ok(()) };
    let role = match first.role {
        MessageRole::System => return Ok(()),
        MessageRole::Assistant => "assistant",
        MessageRole::User | MessageRole::Tool => "user",
    };
    let mut content = Content::begin(role, has_before, out);
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
            Part::ToolCall(call) => tool_use(call, &mut content),
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
    content.end(mark);
    Ok(())
}

/// The content of a message, written block by block.
struct Content<'o> {
    out: &'o mut Vec<u8>,
    /// Where the message starts.
    start: usize,
    /// Where its first block starts.
    first: usize,
    /// The closing bracket of the last block that may be marked.
    markable: Option<usize>,
}

impl<'o> Content<'o> {
    fn begin(role: &str, has_before: bool, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        if has_before {
            out.push(b',');
        }
        for piece in [r#"{"role":""#, role, r#"","content":["#] {
            out.extend_from_slice(piece.as_bytes());
        }
        let first = out.len();
        Self { out, start, first, markable: None }
    }

    fn block(&mut self, block: &Block<'_>) {
        self.separate();
        write_json(self.out, block);
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

    fn end(self, mark: Mark) {
        if self.out.len() == self.first {
            self.out.truncate(self.start);
            return;
        }
        if let Some(at) = self.markable.filter(|_| mark == Mark::LastBlock) {
            self.out.splice(at..at, CACHE_CONTROL.iter().copied());
        }
        self.out.extend_from_slice(b"]}");
    }
}

/// Whether an item is a block of this protocol that belongs into the next request.
fn goes_back(item: &ProviderItem) -> bool {
    let is_block = match &item.kind {
        ItemKind::Citation(_) => false,
        // Arguments that were cut are no object, and the provider takes no other.
        ItemKind::ServerToolCall { arguments, .. } => arguments.as_str().starts_with('{'),
        ItemKind::Other { name } => !FACTS.contains(&name.as_str()) && !name.ends_with("_delta"),
        ItemKind::ServerToolResult { .. } | ItemKind::Reasoning | ItemKind::Media { .. } => true,
    };
    is_block
        && !item.is_unknown_event()
        && item.protocol == PROTOCOL
        && item.raw.as_str().starts_with('{')
}

/// A call; arguments that could not be read are sent as none. Ids of other providers may have
/// characters that this one refuses.
fn tool_use(call: &ToolCall, content: &mut Content<'_>) {
    let none = Json::from(serde_json::json!({}));
    let input = call.arguments.as_ref().filter(|input| input.as_str().starts_with('{'));
    let input = input.unwrap_or(&none);
    let (id, name) = (tool_names::encode(&call.id), tool_names::encode(&call.name));
    content.block(&Block::ToolUse { id, name, input });
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

fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

fn source<'a>(media_type: &'a str, data: &'a str) -> Source<'a> {
    if is_url(data) { Source::Url { url: data } } else { Source::Base64 { media_type, data } }
}

/// The provider takes PDF, by bytes or address, and plain text.
fn document<'a>(media_type: &'a str, data: &'a str) -> Result<Source<'a>, ProviderError> {
    if media_type == "application/pdf" {
        return Ok(source(media_type, data));
    }
    if !media_type.starts_with("text/") || is_url(data) {
        let kind = if is_url(data) { "by URL of type" } else { "of type" };
        return Err(unsupported(format!("documents {kind} {media_type}; send PDF or plain text")));
    }
    let data = decoded(data).ok_or_else(|| {
        unsupported("a text document whose data are not UTF-8 in base64".to_owned())
    })?;
    Ok(Source::Text { media_type: "text/plain", data })
}

/// Returns the text in `base64`, which may have line breaks, and padding or not.
fn decoded(base64: &str) -> Option<String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let letters: Vec<_> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    String::from_utf8(LENIENT.decode(letters).ok()?).ok()
}

pub(super) fn unsupported(feature: String) -> ProviderError {
    ProviderError::Unsupported { provider: Text::from(PROTOCOL), feature: Text::from(feature) }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn text_comes_back_and_what_is_not_base64_is_refused() {
        #[rustfmt::skip]
        let cases = [
            ("",          Some("")),
            ("TQ==",      Some("M")),
            ("TQ",        Some("M")),
            ("TWE=",      Some("Ma")),
            ("TWFu",      Some("Man")),
            ("TW\nFu\n",  Some("Man")),
            ("4pyT",      Some("✓")),
            ("+/+/",      None),
            ("T",         None),
            ("T-==",      None),
        ];
        for (text, want) in cases {
            assert_eq!(decoded(text).as_deref(), want, "{text:?}");
        }
    }
}
