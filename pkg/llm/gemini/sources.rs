//! The sources of an answer: grounding and citation metadata become citations.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::decode::{
        self,
        lax_json::{Count, Few, Line, Number, Object, value},
    },
    types::{AgentEvent, Citation, ItemKind, Text},
};

/// The places that the server found, and the passages that rest on them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Grounding<'a> {
    grounding_chunks: Few<Option<&'a RawValue>>,
    grounding_supports: Few<Option<&'a RawValue>>,
}

/// A place that was found; the key names its kind.
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
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Citations<'a> {
    citation_sources: Few<Option<&'a RawValue>>,
    /// Vertex's name of the same list.
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

/// Returns one citation for each place that a passage rests on, then for each place that no passage names.
///
/// Gemini counts in bytes of UTF-8, and leaves out a start that is 0.
pub(super) fn grounding(raw: &RawValue) -> Vec<AgentEvent> {
    let grounding: Grounding<'_> = value(raw);
    let found: Vec<_> = grounding.grounding_chunks.into_members().flatten().collect();
    let mut is_named = vec![false; found.len()];
    let mut items = Vec::new();
    let mut left = MAX_CITATION_BYTES;
    for raw in grounding.grounding_supports.into_members().flatten() {
        let support: Support = value(raw);
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

/// Returns one citation for each source that the model repeated.
pub(super) fn citations(raw: &RawValue) -> Vec<AgentEvent> {
    let citations: Citations<'_> = value(raw);
    let sources =
        citations.citation_sources.into_members().chain(citations.citations.into_members());
    let items = sources.flatten().filter_map(|raw| {
        let source: Source = value(raw);
        let citation = Citation {
            url: source.uri.non_empty(),
            title: source.title.non_empty(),
            start: source.start_index.0.or(source.end_index.0.map(|_| 0)),
            end: source.end_index.0,
            ..Citation::default()
        };
        item(citation, raw)
    });
    items.collect()
}

fn place(chunk: &RawValue) -> Citation {
    let found: Found = value(chunk);
    let kinds = [found.web, found.retrieved_context, found.maps, found.image];
    let place = kinds.into_iter().find_map(|kind| kind.0).unwrap_or_default();
    Citation {
        url: place.uri.non_empty().or(place.source_uri.non_empty()),
        title: place.title.non_empty(),
        cited_text: place.text.non_empty().map(Text::into_string),
        ..Citation::default()
    }
}

fn item(citation: Citation, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(PROTOCOL, ItemKind::Citation(citation), raw.get())
}
