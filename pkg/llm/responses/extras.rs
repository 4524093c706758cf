//! The items of an answer besides text, reasoning and calls, which are sent back unchanged.

use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::decode::{self, CitationPaths, JsonEntries, JsonMembers, lax_json::text};
use forgeline_types::{AgentEvent, ItemKind, Json, Signature, Text};

/// The vendor's name for the purpose of a message.
pub(super) const PHASE: &str = "phase";

/// The type of calls whose arguments are plain text.
pub(super) const CUSTOM: &str = "custom_tool_call";

/// The type of items that ask for approval of a call on a tool server known to the vendor.
pub(super) const APPROVAL: &str = "mcp_approval_request";

/// The type of calls that search for tools, whether the vendor or the program runs them.
pub(super) const SEARCH_CALL: &str = "tool_search_call";

/// The name of the tool for a search that the program runs itself; the item has no name.
pub(super) const SEARCH: &str = "tool_search";

/// Returns `true` for a search that the program runs itself.
pub(super) fn is_own_search(wire: &JsonEntries<'_>) -> bool {
    wire.text("type") == SEARCH_CALL && wire.text("execution") == "client"
}

/// Tools that the server runs itself, by the type of their items, and their names in
/// requests.
const SERVER_TOOLS: [(&str, &str); 9] = [
    ("web_search_call", "web_search"),
    ("file_search_call", "file_search"),
    ("code_interpreter_call", "code_interpreter"),
    ("mcp_call", "mcp"),
    ("image_generation_call", "image_generation"),
    // xAI's.
    ("x_search_call", "x_search"),
    ("collections_search_call", "collections_search"),
    ("code_execution_call", "code_execution"),
    // Calls for the agent are handled elsewhere.
    (CUSTOM, "custom_tool"),
];

const SOURCE: CitationPaths = CitationPaths {
    url: &["url"],
    title: &["title", "filename"],
    cited_text: &[],
    start: "start_index",
    end: "end_index",
};

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(PROTOCOL, kind, raw.get())
}

/// Returns a source of the preceding text.
pub(super) fn citation(raw: &RawValue) -> Option<AgentEvent> {
    item(ItemKind::Citation(SOURCE.read_citation(&JsonEntries::from_raw(Some(raw)))), raw)
}

/// Returns a reasoning item, which the next request must contain.
pub(super) fn reasoning(raw: &RawValue) -> Option<AgentEvent> {
    item(ItemKind::Reasoning, raw)
}

/// Returns the server's name for the purpose of the preceding message, such as `commentary`, which models
/// want back with the message.
pub(super) fn phase(wire: &JsonEntries<'_>) -> Option<AgentEvent> {
    item(ItemKind::other(PHASE), wire.get("phase")?)
}

/// Returns a call with plain text arguments as the vendor wrote it, which is the form in which it is sent back.
pub(super) fn custom_call(raw: &RawValue, wire: &JsonEntries<'_>) -> Option<AgentEvent> {
    wire.first_text(&["call_id"])?;
    item(ItemKind::other(CUSTOM), raw)
}

/// Returns the name of a call that needs approval: that of its server and that of its tool.
pub(super) fn hosted_name(wire: &JsonEntries<'_>) -> Option<Text> {
    let tool = wire.first_text(&["name"])?;
    Some(Text::from(format!("{}:{tool}", wire.text("server_label"))))
}

/// Returns the additional members of a call, which are sent back with it, such as the program that made it.
pub(super) fn more_of_call(wire: &JsonEntries<'_>) -> Option<Signature> {
    let known =
        ["type", "id", "call_id", "name", "arguments", "input", "status", "output", "object"];
    // Members of a search that are implied by its type, or that the vendor does not accept back.
    let of_search = ["execution", "created_by"];
    let is_search = is_own_search(wire);
    let mut more = JsonMembers::default();
    let rest = wire.present_members().filter(|(name, _)| !known.contains(name));
    let rest = rest.filter(|(name, _)| !(is_search && of_search.contains(name)));
    rest.for_each(|(name, raw)| more.set(name, raw.get().to_owned()));
    (more.bytes() > 0).then(|| Signature::new(PROTOCOL, more.to_json().as_str()))
}

/// Returns an item that is not a message, reasoning or a call for the agent.
///
/// For a server tool, the call contains the whole item, which is sent back; the result contains the tool's
/// output, or `null` if the server does not reveal it.
pub(super) fn other(raw: &RawValue, wire: &JsonEntries<'_>) -> Vec<AgentEvent> {
    let (kind, status) = (wire.text("type"), wire.text("status"));
    let Some((_, tool)) = SERVER_TOOLS.iter().find(|(known, _)| kind == *known) else {
        let name = if kind.is_empty() { Text::from("item") } else { kind };
        return Vec::from_iter(item(ItemKind::other(name), raw));
    };
    if kind == "image_generation_call" && status == "completed" {
        let format = wire.first_text(&["output_format"]).unwrap_or(Text::from("png"));
        let media_type = Text::from(format!("image/{format}"));
        return Vec::from_iter(item(ItemKind::media(media_type), raw));
    }
    let id = wire.text("id");
    let tool_name = wire.first_text(&["name"]).unwrap_or(Text::from(*tool));
    let call = ItemKind::server_tool_call(id.clone(), tool_name.clone(), arguments(wire));
    let mut events = Vec::from_iter(item(call, raw));
    let names = ["outputs", "output", "results", "error"];
    let answer = names.into_iter().find_map(|name| wire.get(name));
    let has_ended = matches!(status.as_str(), "completed" | "failed");
    if has_ended || answer.is_some() {
        let is_error = status == "failed" || wire.get("error").is_some();
        let result = ItemKind::server_tool_result(id, tool_name, is_error);
        events.extend(item(result, answer.unwrap_or(RawValue::NULL)));
    }
    events
}

/// Returns the input of a server tool; a string that contains JSON is parsed.
fn arguments(wire: &JsonEntries<'_>) -> Json {
    let names = ["action", "queries", "code", "arguments", "input"];
    let asked = names.into_iter().find_map(|name| wire.get(name)).unwrap_or(RawValue::NULL);
    Json::parse(&text(Some(asked)))
        .or_else(|_| Json::parse(asked.get()))
        .unwrap_or_else(|_| Json::from(&serde_json::Value::Null))
}
