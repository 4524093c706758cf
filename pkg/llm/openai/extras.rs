//! Sources of an answer, and tools that the server ran itself.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    llm::{
        Protocol,
        decode::{
            self,
            lax_json::{Count, Line, Number, Object, is_text, list, value},
        },
    },
    types::{AgentEvent, Citation, ItemKind, Json, Text},
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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    r#type: Line,
    url: Line,
    title: Line,
    content: Line,
    snippet: Line,
    start_index: Count,
    end_index: Count,
    url_citation: Object<Box<Source>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Executed<'a> {
    index: Number,
    r#type: Line,
    arguments: Line,
    output: Option<&'a RawValue>,
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
            let Ok(tool) = serde_json::from_str::<Executed<'_>>(raw.get()) else { continue };
            let index = tool.index.0.unwrap_or_default();
            let known = self.tools.iter().position(|(known, _)| *known == index);
            let id = Text::from(index.to_string());
            if known.is_none() {
                if self.tools.len() >= MAX_TOOLS {
                    continue;
                }
                self.tools.push((index, false));
                let kind = ItemKind::ServerToolCall {
                    id: id.clone(),
                    tool_name: tool.r#type.0.clone(),
                    arguments: Json::parse(&tool.arguments.0).unwrap_or_default(),
                };
                events.extend(item(kind, raw));
            }
            let call = self.tools.iter_mut().find(|(known, _)| *known == index);
            if let (Some((_, is_answered @ false)), Some(_)) = (call, tool.output) {
                *is_answered = true;
                let kind =
                    ItemKind::ServerToolResult { id, tool_name: tool.r#type.0, is_error: false };
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
    let mut source: Source = serde_json::from_str(raw.get()).ok()?;
    if !matches!(source.r#type.0.as_str(), "" | "url_citation" | "web") {
        return item(ItemKind::Other { name: source.r#type.0 }, raw);
    }
    if let Some(inner) = source.url_citation.0.take() {
        source = *inner;
    }
    let passage = source.content.non_empty().or(source.snippet.non_empty());
    let citation = Citation {
        url: source.url.non_empty(),
        title: source.title.non_empty(),
        cited_text: passage.map(Text::into_string),
        start: source.start_index.0,
        end: source.end_index.0,
        ..Citation::default()
    };
    item(ItemKind::Citation(citation), raw)
}

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(Protocol::OpenAiChat.name(), kind, raw.get())
}
