//! What an answer holds besides text, reasoning and calls, as items.

use serde::Deserialize;

use super::members::Members;
use crate::{
    llm::tolerant::{Line, Number},
    types::{Citation, ItemKind, Json, ProviderItem, Text},
};

/// The name of the protocol in items.
pub(super) const PROTOCOL: &str = "anthropic";

/// The item that a whole block is.
pub(super) fn block(members: &Members) -> ProviderItem {
    let word = members.text("type");
    let kind = if word.ends_with("tool_use") {
        ItemKind::ServerToolCall {
            id: members.text("id"),
            tool_name: members.text("name"),
            arguments: Json::parse(members.get("input").unwrap_or("{}")).unwrap_or_default(),
        }
    } else if let Some(tool) = word.strip_suffix("_tool_result") {
        ItemKind::ServerToolResult {
            id: members.text("tool_use_id"),
            tool_name: Text::from(tool),
            is_error: is_error(members),
        }
    } else if word == "redacted_thinking" {
        ItemKind::Reasoning
    } else {
        ItemKind::Other { name: word }
    };
    ProviderItem::new(PROTOCOL, kind, members.to_json())
}

/// Whether a server's tool failed: a word of some results, the type of the content of others.
fn is_error(result: &Members) -> bool {
    let content = Members::read(result.get("content").unwrap_or_default());
    result.get("is_error") == Some("true") || content.text("type").ends_with("_error")
}

/// A signature that does not stand behind its reasoning, as a block of its own.
pub(super) fn signature(signature: &str) -> ProviderItem {
    let block = serde_json::json!({ "type": "thinking", "thinking": "", "signature": signature });
    ProviderItem::new(PROTOCOL, ItemKind::Reasoning, Json::from(block))
}

/// Something by the vendor's word; `None` for null.
pub(super) fn other(name: &str, raw: &str) -> Option<ProviderItem> {
    let raw = Json::parse(raw).ok().filter(|raw| raw.as_str() != "null")?;
    Some(ProviderItem::new(PROTOCOL, ItemKind::Other { name: Text::from(name) }, raw))
}

/// A citation. Where it stands in the answer the vendor tells by the block alone; its positions are
/// the source's, and stay in the raw value.
pub(super) fn citation(raw: &str) -> Option<ProviderItem> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Wire {
        url: Line,
        source: Line,
        title: Line,
        document_title: Line,
        cited_text: Line,
        document_index: Number,
    }
    let json = Json::parse(raw).ok().filter(|json| json.as_str().starts_with('{'))?;
    let wire: Wire = serde_json::from_str(json.as_str()).unwrap_or_default();
    let either =
        |one: Line, other: Line| [one.0, other.0].into_iter().find(|text| !text.is_empty());
    let citation = Citation {
        url: either(wire.url, wire.source),
        title: either(wire.title, wire.document_title),
        cited_text: Some(wire.cited_text.0.into_string()).filter(|text| !text.is_empty()),
        document_index: wire.document_index.0,
        ..Citation::default()
    };
    Some(ProviderItem::new(PROTOCOL, ItemKind::Citation(citation), json))
}
