//! Sources of an answer, tools run by the server, and media.

use serde_json::value::RawValue;

use crate::decode::{
    self, CitationPaths, JsonEntries, JsonMembers,
    lax_json::{LaxText, is_text, list, value},
};
use forgeline_types::{AgentEvent, Citation, ItemKind, Json, Text};

/// The protocol's name in items.
pub(super) const PROTOCOL: &str = "openai-chat";

const SOURCE: CitationPaths = CitationPaths {
    url: &["url"],
    title: &["title"],
    cited_text: &["content", "snippet"],
    start: "start_index",
    end: "end_index",
};

/// Maximum number of calls of the server's own tools that are reported.
const MAX_TOOLS: usize = 1024;

/// Maximum size of the data of one audio item, in bytes of base64; longer audio becomes several items.
const MAX_AUDIO_BYTES: usize = 8 << 20;

/// The sources, tools and audio so far.
#[derive(Debug, Default)]
pub(super) struct AnswerExtras {
    /// The latest list of sources; servers with such a list send it whole in every chunk.
    sources: Option<Box<RawValue>>,
    /// `true` if the list has more than URLs.
    has_titles: bool,
    /// The server's calls, and whether they have been answered.
    tools: Vec<(u32, bool)>,
    /// The audio whose pieces are still coming.
    audio: JsonMembers,
}

impl AnswerExtras {
    /// Reads a chunk's `citations` and `search_results`, of which the latter are more detailed.
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

    /// Ends the answer; returns its audio and its sources.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        let sources = self.sources.take().as_deref().map(annotations).unwrap_or_default();
        self.end_audio().into_iter().chain(sources).collect()
    }

    /// Reads a piece of audio; returns its transcript, and the audio item that it completes.
    pub(super) fn audio(&mut self, raw: &RawValue) -> (Text, Option<AgentEvent>) {
        let piece = JsonMembers::parse(raw.get());
        let known = self.audio.get("data").unwrap_or_default();
        // Base64 that ends with padding is a complete file.
        let has_ended = known.ends_with("=\"") || known.len() > MAX_AUDIO_BYTES;
        let is_next = has_ended && !piece.text("data").is_empty();
        let ended = if is_next { self.end_audio() } else { None };
        let transcript = piece.text("transcript");
        self.audio.merge(piece, |name| matches!(name, "data" | "transcript"));
        (transcript, ended)
    }

    fn end_audio(&mut self) -> Option<AgentEvent> {
        let audio = std::mem::take(&mut self.audio);
        if audio.bytes() == 0 {
            return None;
        }
        let format = Some(audio.text("format")).filter(|format| !format.is_empty());
        let media_type = Text::from(format!("audio/{}", format.as_deref().unwrap_or("*")));
        let raw = format!(r#"{{"audio":{}}}"#, audio.to_json().as_str());
        decode::item(PROTOCOL, ItemKind::media(media_type), &raw)
    }

    /// Reads the `executed_tools` of a delta or a message, which may report a call more than once.
    pub(super) fn executed(&mut self, raw: &RawValue) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for raw in list(Some(raw)) {
            let tool = JsonEntries::from_raw(Some(raw));
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
                events.extend(item(ItemKind::server_tool_call(id, tool_name, arguments), raw));
            }
            let call = self.tools.iter_mut().find(|(known, _)| *known == index);
            if let (Some((_, is_answered @ false)), Some(_)) = (call, tool.get("output")) {
                *is_answered = true;
                let kind = ItemKind::server_tool_result(id, tool_name, false);
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

/// Returns the item of a source: a URL alone, a search result or an annotation.
fn source(raw: &RawValue) -> Option<AgentEvent> {
    if is_text(raw) {
        let url = value::<LaxText>(raw).non_empty();
        return item(
            ItemKind::Citation({
                let mut it = Citation::default();
                it.url = url;
                it
            }),
            raw,
        );
    }
    if !raw.get().starts_with('{') {
        return None;
    }
    let mut source = JsonEntries::from_raw(Some(raw));
    let name = source.text("type");
    if !matches!(name.as_str(), "" | "url_citation" | "web") {
        return item(ItemKind::other(name), raw);
    }
    if let inner @ Some(_) = source.get("url_citation").filter(|raw| raw.get().starts_with('{')) {
        source = JsonEntries::from_raw(inner);
    }
    item(ItemKind::Citation(SOURCE.read_citation(&source)), raw)
}

/// Returns the item of an image that the model made.
pub(super) fn picture(raw: &RawValue) -> Option<AgentEvent> {
    let picture = JsonEntries::from_raw(Some(raw));
    let url = picture.first_text(&["image_url.url", "image_url", "url"]).unwrap_or_default();
    let media_type = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    let media_type = Text::from(media_type.filter(|it| !it.is_empty()).unwrap_or("image/*"));
    item(ItemKind::media(media_type), raw).filter(|_| decode::says(raw))
}

/// Returns one citation for each source that a part of the content refers to by number.
pub(super) fn references<'p>(
    part: &JsonEntries<'p>,
    raw: &'p RawValue,
) -> impl Iterator<Item = AgentEvent> + use<'p> {
    let numbers = list(part.get("reference_ids")).into_iter();
    let mut numbers: Vec<_> =
        numbers.map(|raw| value::<decode::lax_json::LaxNumber>(raw).0).collect();
    if numbers.is_empty() {
        numbers.push(None);
    }
    numbers.into_iter().take(MAX_TOOLS).filter_map(move |document_index| {
        let mut citation = Citation::default();
        citation.document_index = document_index;
        item(ItemKind::Citation(citation), raw)
    })
}

/// Returns the item of a part of the content that has no text.
pub(super) fn part(name: Text, raw: &RawValue) -> Option<AgentEvent> {
    item(ItemKind::other(name), raw)
}

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(PROTOCOL, kind, raw.get())
}
