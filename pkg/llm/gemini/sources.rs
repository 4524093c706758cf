//! Where an answer's words are from: grounding and citation metadata become citations.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PROTOCOL, wire::read};
use crate::{
    llm::tolerant::{Count, Few, Line, Number, Object},
    types::{Citation, ItemKind, Json, ProviderItem, Text},
};

/// What the server found, and which words rest on it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Grounding<'a> {
    #[serde(borrow)]
    grounding_chunks: Few<Option<&'a RawValue>>,
    #[serde(borrow)]
    grounding_supports: Few<Option<&'a RawValue>>,
}

/// A place that was found; which kind of place names the key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Found {
    web: Object<Place>,
    retrieved_context: Object<Place>,
    maps: Object<Place>,
    image: Object<Place>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Place {
    uri: Line,
    source_uri: Line,
    title: Line,
    text: Line,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Support {
    segment: Object<Segment>,
    grounding_chunk_indices: Few<Number>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Segment {
    start_index: Count,
    end_index: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Citations<'a> {
    #[serde(borrow)]
    citation_sources: Few<Option<&'a RawValue>>,
    /// Vertex's name of the same list.
    #[serde(borrow)]
    citations: Few<Option<&'a RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Source {
    start_index: Count,
    end_index: Count,
    uri: Line,
    title: Line,
}

/// Most bytes of citations that are made of one piece. A citation repeats its passage and its place,
/// so that hostile lists of numbers would make gigabytes of them; the metadata stay whole beside them.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// One citation for each place that a passage rests on, then for each place that no passage names.
///
/// Gemini counts in bytes of UTF-8, and leaves out a start that is 0.
pub(super) fn grounding(raw: &RawValue) -> Vec<ProviderItem> {
    let grounding: Grounding<'_> = read(raw);
    let found: Vec<_> = grounding.grounding_chunks.into_members().flatten().collect();
    let mut is_named = vec![false; found.len()];
    let mut items = Vec::new();
    let mut left = MAX_CITATION_BYTES;
    for raw in grounding.grounding_supports.into_members().flatten() {
        let support: Support = read(raw);
        let segment = support.segment.0.unwrap_or_default();
        for index in support.grounding_chunk_indices.into_members().filter_map(|index| index.0) {
            let Some(chunk) = found.get(index as usize) else { continue };
            if let Some(named) = is_named.get_mut(index as usize) {
                *named = true;
            }
            let bytes = raw.get().len() + chunk.get().len();
            let Some(rest) = left.checked_sub(bytes) else { return items };
            left = rest;
            let mut citation = place(chunk);
            citation.end = segment.end_index.0;
            citation.start = segment.start_index.0.or(citation.end.map(|_| 0));
            items.extend(item(citation, raw));
        }
    }
    let unnamed = found.iter().zip(is_named).filter(|(_, is_named)| !is_named);
    items.extend(unnamed.filter_map(|(chunk, _)| item(place(chunk), chunk)));
    items
}

/// One citation for each source that the model repeated.
pub(super) fn citations(raw: &RawValue) -> Vec<ProviderItem> {
    let citations: Citations<'_> = read(raw);
    let sources =
        citations.citation_sources.into_members().chain(citations.citations.into_members());
    let items = sources.flatten().filter_map(|raw| {
        let source: Source = read(raw);
        let citation = Citation {
            url: text(source.uri),
            title: text(source.title),
            start: source.start_index.0.or(source.end_index.0.map(|_| 0)),
            end: source.end_index.0,
            ..Citation::default()
        };
        item(citation, raw)
    });
    items.collect()
}

fn place(chunk: &RawValue) -> Citation {
    let found: Found = read(chunk);
    let kinds = [found.web, found.retrieved_context, found.maps, found.image];
    let place = kinds.into_iter().find_map(|kind| kind.0).unwrap_or_default();
    Citation {
        url: text(place.uri).or(text(place.source_uri)),
        title: text(place.title),
        cited_text: text(place.text).map(Text::into_string),
        ..Citation::default()
    }
}

fn item(citation: Citation, raw: &RawValue) -> Option<ProviderItem> {
    let raw = Json::parse(raw.get()).ok()?;
    Some(ProviderItem::new(PROTOCOL, ItemKind::Citation(citation), raw))
}

fn text(line: Line) -> Option<Text> {
    Some(line.0).filter(|text| !text.is_empty())
}
