//! What servers say beside an answer: its sources, and the tools that they ran themselves.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    llm::{
        Protocol,
        tolerant::{Count, Few, Line, Number, Object},
    },
    types::{AgentEvent, Citation, ItemKind, Json, ProviderItem, Text},
};

/// Most calls of tools of the server's own that are told of.
const MAX_TOOLS: usize = 1024;

/// Sources and tools so far.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The latest list of sources; such servers send the whole list with every chunk.
    sources: Option<Box<RawValue>>,
    /// Whether the list has more than addresses.
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
#[serde(default)]
struct Executed<'a> {
    index: Number,
    r#type: Line,
    arguments: Line,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

impl Extras {
    /// Takes a chunk's `citations` and `search_results`; the latter say more.
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

    /// The sources, once the answer ended.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        let Some(sources) = self.sources.take() else { return Vec::new() };
        let list: Vec<&RawValue> = serde_json::from_str(sources.get()).unwrap_or_default();
        list.into_iter().filter_map(source).collect()
    }

    /// Takes the `executed_tools` of a delta or a message, which tell of a call once or more.
    pub(super) fn executed(&mut self, raw: &RawValue) -> Vec<AgentEvent> {
        let list: Few<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut events = Vec::new();
        for raw in list.into_members() {
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

/// The items of a list of annotations.
pub(super) fn annotations(raw: &RawValue) -> Vec<AgentEvent> {
    let list: Few<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    list.into_members().filter_map(source).collect()
}

/// The item of a source: an address alone, a search result or an annotation.
fn source(raw: &RawValue) -> Option<AgentEvent> {
    let text = |line: Line| Some(line.0).filter(|text| !text.is_empty());
    if raw.get().starts_with('"') {
        let url = text(serde_json::from_str(raw.get()).ok()?);
        return item(ItemKind::Citation(Citation { url, ..Citation::default() }), raw);
    }
    let mut source: Source = serde_json::from_str(raw.get()).ok()?;
    if !matches!(source.r#type.0.as_str(), "" | "url_citation" | "web") {
        return item(ItemKind::Other { name: source.r#type.0 }, raw);
    }
    if let Some(inner) = source.url_citation.0.take() {
        source = *inner;
    }
    let passage = text(source.content).or(text(source.snippet)).map(Text::into_string);
    let citation = Citation {
        url: text(source.url),
        title: text(source.title),
        cited_text: passage,
        start: source.start_index.0,
        end: source.end_index.0,
        ..Citation::default()
    };
    item(ItemKind::Citation(citation), raw)
}

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    let raw = Json::parse(raw.get()).ok()?;
    Some(AgentEvent::ProviderItem(ProviderItem::new(Protocol::OpenAiChat.name(), kind, raw)))
}
