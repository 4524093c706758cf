//! The items of an answer: everything other than text, reasoning and calls.

use serde_json::value::RawValue;

use crate::decode::{CitationPaths, JsonEntries, JsonMembers, item};
use forgeline_types::{AgentEvent, ItemKind, Json, ProviderItem, Signature};

/// The name of the protocol in items.
pub(super) const PROTOCOL: &str = "anthropic";

/// Returns the item of a whole block.
pub(super) fn block(members: &JsonMembers) -> Option<AgentEvent> {
    let word = members.text("type");
    let kind = if word.ends_with("tool_use") {
        ItemKind::server_tool_call(
            members.text("id"),
            members.text("name"),
            Json::parse(members.get("input").unwrap_or("{}")).unwrap_or_default(),
        )
    } else if let Some(tool) = word.strip_suffix("_tool_result") {
        ItemKind::server_tool_result(members.text("tool_use_id"), tool, is_error(members))
    } else if word == "redacted_thinking" {
        ItemKind::Reasoning
    } else {
        ItemKind::other(word)
    };
    item(PROTOCOL, kind, members.to_json().as_str())
}

/// Returns the additional members of a call, which are sent back with it, such as the vendor's code that made it.
pub(super) fn more_of_call(call: &JsonMembers) -> Option<Signature> {
    let mut more = call.rest(&["type", "id", "name", "input", "cache_control"]);
    if JsonMembers::parse(more.get("caller").unwrap_or_default()).text("type") == "direct" {
        // Made by the model itself, which is also the meaning of an absent member.
        more = more.without("caller");
    }
    (more.bytes() > 0).then(|| Signature::new(PROTOCOL, more.to_json().as_str()))
}

/// Returns `true` if a server tool failed, as shown by a member of some results and by the type of the content of
/// others.
fn is_error(result: &JsonMembers) -> bool {
    let content = JsonMembers::parse(result.get("content").unwrap_or_default());
    result.get("is_error") == Some("true") || content.text("type").ends_with("_error")
}

/// Returns a signature that does not follow its reasoning, as a block of its own.
pub(super) fn signature(signature: &str) -> AgentEvent {
    let block = serde_json::json!({ "type": "thinking", "thinking": "", "signature": signature });
    let item = ProviderItem::new(PROTOCOL, ItemKind::Reasoning, Json::from(block));
    AgentEvent::ProviderItem(item)
}

/// Returns an item with the vendor's name; `None` for null.
pub(super) fn other(name: &str, raw: &str) -> Option<AgentEvent> {
    item(PROTOCOL, ItemKind::other(name), raw).filter(|_| raw != "null")
}

/// The source of a citation. The vendor places it in the answer only by its block; its positions refer to
/// the source, and stay in the raw value.
const SOURCE: CitationPaths = CitationPaths {
    url: &["url", "source"],
    title: &["title", "document_title"],
    cited_text: &["cited_text"],
    start: "",
    end: "",
};

/// Returns a citation.
pub(super) fn citation(raw: &RawValue) -> Option<AgentEvent> {
    let source = JsonEntries::from_raw(Some(raw));
    let mut citation = SOURCE.read_citation(&source);
    citation.document_index = source.number("document_index");
    let is_object = raw.get().starts_with('{');
    item(PROTOCOL, ItemKind::Citation(citation), raw.get()).filter(|_| is_object)
}
