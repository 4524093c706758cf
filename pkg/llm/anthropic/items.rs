//! The items of an answer: everything besides text, reasoning and calls.

use serde_json::value::RawValue;

use crate::{
    llm::decode::{CitationPaths, Entries, Members, item},
    types::{AgentEvent, ItemKind, Json, ProviderItem, Signature, Text},
};

/// The name of the protocol in items.
pub(super) const PROTOCOL: &str = "anthropic";

/// Returns the item of a whole block.
pub(super) fn block(members: &Members) -> Option<AgentEvent> {
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
    item(PROTOCOL, kind, members.to_json().as_str())
}

/// Returns the further members of a call, which go back with it, such as the vendor's code that made it.
pub(super) fn more_of_call(call: &Members) -> Option<Signature> {
    let mut more = call.rest(&["type", "id", "name", "input", "cache_control"]);
    if Members::read(more.get("caller").unwrap_or_default()).text("type") == "direct" {
        // The model itself, as if nothing were said.
        more = more.without("caller");
    }
    (more.bytes() > 0).then(|| Signature::new(PROTOCOL, more.to_json().as_str()))
}

/// Returns `true` when a server's tool failed: a word of some results, the type of the content of
/// others.
fn is_error(result: &Members) -> bool {
    let content = Members::read(result.get("content").unwrap_or_default());
    result.get("is_error") == Some("true") || content.text("type").ends_with("_error")
}

/// Returns a signature that does not stand behind its reasoning, as a block of its own.
pub(super) fn signature(signature: &str) -> AgentEvent {
    let block = serde_json::json!({ "type": "thinking", "thinking": "", "signature": signature });
    let item = ProviderItem::new(PROTOCOL, ItemKind::Reasoning, Json::from(block));
    AgentEvent::ProviderItem(item)
}

/// Returns an item by the vendor's word; `None` for null.
pub(super) fn other(name: &str, raw: &str) -> Option<AgentEvent> {
    item(PROTOCOL, ItemKind::Other { name: Text::from(name) }, raw).filter(|_| raw != "null")
}

/// The source of a citation. The vendor places it in the answer by the block alone; its positions are
/// the source's, and stay in the raw value.
const SOURCE: CitationPaths = CitationPaths {
    url: &["url", "source"],
    title: &["title", "document_title"],
    cited_text: &["cited_text"],
    start: "",
    end: "",
};

/// Returns a citation.
pub(super) fn citation(raw: &RawValue) -> Option<AgentEvent> {
    let source = Entries::of(Some(raw));
    let mut citation = SOURCE.read(&source);
    citation.document_index = source.number("document_index");
    let is_object = raw.get().starts_with('{');
    item(PROTOCOL, ItemKind::Citation(citation), raw.get()).filter(|_| is_object)
}
