//! Sources of an answer, and tools that the server ran itself.

use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::decode::{
        self, CitationPaths, Entries,
        lax_json::{Line, is_text, list, value},
    },
    types::{AgentEvent, Citation, ItemKind, Json, Text},
};

const SOURCE: CitationPaths = CitationPaths {
    url: &["url"],
    title: &["title"],
    cited_text: &["content", "snippet"],
    start: "start_index",
    end: "end_index",
};

/// Most calls of the server's own tools that are reported.
const MAX_TOOLS: usize = 1024;

/// Sources and tools so far.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The latest list of sources; such servers send the whole list with every chunk.
    sources: Option<Box<RawValue>>,
    /// `true` if the list has more than addresses.
    has_titles: bool,
    /// The server's calls, and whether they were answered.
    tools: Vec<(u32, bool)>,
}

impl Extras {
    /// Takes a chunk's `citations` and `search_results`, of which the latter have more.
    pub(super) fn sources(&mut self, citations: Option<&RawValue>, results: Option<&RawValue>) {
        let is_list = |raw: &&RawValue| raw.get().starts_with('[') && raw.get() != "[]";
        let results = results.filter(is_list);
        let Some(raw) = results.or(citations.filter(|_| !self.has_titles).filter(is_list)) else {
            return;
        };
        self.has_titles |= results.is_some();
        if self.sources.as_ref().is_none_or(|known| known.get() != raw.get()) {
            self.sources = Some(raw.to_owned());
        }
    }

    /// Ends the answer; returns its sources.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        self.sources.take().as_deref().map(annotations).unwrap_or_default()
    }

    /// Takes the `executed_tools` of a delta or a message, which report a call once or more.
    pub(super) fn executed(&mut self, raw: &RawValue) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for raw in list(Some(raw)) {
            let tool = Entries::of(Some(raw));
            let index = tool.number("index").unwrap_or_default();
            let (id, tool_name) = (Text::from(index.to_string()), tool.text("type"));
            let known = self.tools.iter().position(|(known, _)| *known == index);
            if known.is_none() {
                if self.tools.len() >= MAX_TOOLS || !raw.get().starts_with('{') {
                    continue;
                }
                self.tools.push((index, false));
                let arguments = Json::parse(&tool.text("arguments")).unwrap_or_default();
                let (id, tool_name) = (id.clone(), tool_name.clone());
                events.extend(item(ItemKind::ServerToolCall { id, tool_name, arguments }, raw));
            }
            let call = self.tools.iter_mut().find(|(known, _)| *known == index);
            if let (Some((_, is_answered @ false)), Some(_)) = (call, tool.get("output")) {
                *is_answered = true;
                let kind = ItemKind::ServerToolResult { id, tool_name, is_error: false };
                events.extend(item(kind, raw));
            }
        }
        events
    }
}

/// Returns the items of a list of annotations.
pub(super) fn annotations(raw: &RawValue) -> Vec<AgentEvent> {
    list(Some(raw)).into_iter().filter_map(source).collect()
}

/// Returns the item of a source: an address alone, a search result or an annotation.
fn source(raw: &RawValue) -> Option<AgentEvent> {
    if is_text(raw) {
        let url = value::<Line>(raw).non_empty();
        return item(ItemKind::Citation(Citation { url, ..Citation::default() }), raw);
    }
    if !raw.get().starts_with('{') {
        return None;
    }
    let mut source = Entries::of(Some(raw));
    let name = source.text("type");
    if !matches!(name.as_str(), "" | "url_citation" | "web") {
        return item(ItemKind::Other { name }, raw);
    }
    if let inner @ Some(_) = source.get("url_citation").filter(|raw| raw.get().starts_with('{')) {
        source = Entries::of(inner);
    }
    item(ItemKind::Citation(SOURCE.read(&source)), raw)
}

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(PROTOCOL, kind, raw.get())
}
