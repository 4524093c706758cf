//! The sources of an answer: citations from grounding and citation metadata.

use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::decode::{
    CitationPaths, JsonEntries, item,
    lax_json::{LaxList, LaxNumber, list, value},
};
use forgeline_types::{AgentEvent, Citation, ItemKind};

/// The paths of a place that the server found.
const PLACE: CitationPaths = CitationPaths {
    url: &["uri", "sourceUri"],
    title: &["title"],
    cited_text: &["text"],
    start: "",
    end: "",
};

/// The paths of a source that the model repeated.
const SOURCE: CitationPaths = CitationPaths {
    url: &["uri"],
    title: &["title"],
    cited_text: &[],
    start: "startIndex",
    end: "endIndex",
};

/// Maximum size of the citations made from one piece, in bytes. A citation repeats its passage and its place,
/// so malicious lists of numbers could amount to gigabytes; the metadata itself is kept whole.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// Returns one citation for each place that supports a passage, then one for each place that no passage names.
///
/// Gemini counts in bytes of UTF-8, and omits a start of 0.
pub(super) fn grounding(raw: &RawValue) -> Vec<AgentEvent> {
    let grounding = JsonEntries::from_raw(Some(raw));
    let found = members(&grounding, "groundingChunks");
    let mut is_named = vec![false; found.len()];
    let mut items = Vec::new();
    let mut left = MAX_CITATION_BYTES;
    for raw in members(&grounding, "groundingSupports") {
        let support = JsonEntries::from_raw(Some(raw));
        let (start, end) = (support.count("segment.startIndex"), support.count("segment.endIndex"));
        let indices: LaxList<LaxNumber> =
            support.get("groundingChunkIndices").map(value).unwrap_or_default();
        for index in indices.into_members().filter_map(|index| index.0) {
            let Some(chunk) = found.get(index as usize) else { continue };
            if let Some(named) = is_named.get_mut(index as usize) {
                *named = true;
            }
            let bytes = raw.get().len() + chunk.get().len();
            let Some(rest) = left.checked_sub(bytes) else { return items };
            left = rest;
            let mut citation = place(chunk);
            (citation.start, citation.end) = (start, end);
            items.extend(cited(citation, raw));
        }
    }
    let unnamed = found.iter().zip(is_named).filter(|(_, is_named)| !is_named);
    items.extend(unnamed.filter_map(|(chunk, _)| cited(place(chunk), chunk)));
    items
}

/// Returns one citation for each source that the model repeated.
pub(super) fn citations(raw: &RawValue) -> Vec<AgentEvent> {
    let citations = JsonEntries::from_raw(Some(raw));
    // The latter is Vertex AI's name for the same list.
    let lists = ["citationSources", "citations"].map(|name| members(&citations, name));
    let sources = lists.into_iter().flatten();
    sources
        .filter_map(|raw| cited(SOURCE.read_citation(&JsonEntries::from_raw(Some(raw))), raw))
        .collect()
}

fn members<'a>(entries: &JsonEntries<'a>, name: &str) -> Vec<&'a RawValue> {
    list(entries.get(name)).into_iter().filter(|raw| raw.get() != "null").collect()
}

fn place(chunk: &RawValue) -> Citation {
    // The key is the kind of the place.
    let found = JsonEntries::from_raw(Some(chunk));
    let kinds = ["web", "retrievedContext", "maps", "image"];
    PLACE.read_citation(&JsonEntries::from_raw(kinds.into_iter().find_map(|kind| found.get(kind))))
}

fn cited(mut citation: Citation, raw: &RawValue) -> Option<AgentEvent> {
    citation.start = citation.start.or(citation.end.map(|_| 0));
    item(PROTOCOL, ItemKind::Citation(citation), raw.get())
}
