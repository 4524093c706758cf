//! The JSON of Cohere's answers, read leniently: a field of an unexpected type is treated as absent.

use serde_json::value::RawValue;

use crate::decode::{
    CallDelta, CitationPaths, JsonEntries, OutSink, item,
    lax_json::{FillInto, LaxList, LaxNumber, LaxText, LaxWord, OneOrMany, list, value},
    wire_struct::{by_filling, wire},
};
use forgeline_types::ItemKind;

/// The protocol's name in items.
pub(super) const PROTOCOL: &str = "cohere";

wire! {
    /// The data of an event, or a whole answer. It is large, so it is filled in place instead of returned
    /// level by level.
    struct CohereEvent<'a> as event, map, ignoring [];
    #[serde(rename = "type")]
    kind: LaxWord<'a>,
    id: LaxWord<'a>,
    index: LaxNumber,
    delta: CohereDelta<'a> = map.next_value_seed(FillInto(&mut event.delta))?,
    /// In errors, the text of the error; in whole answers, the model's message.
    message: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    finish_reason: LaxWord<'a>,
    usage: Option<&'a RawValue>,
}

wire! {
    struct CohereDelta<'a> as delta, map, ignoring [bool number null string seq];
    message: CohereMessage<'a> = map.next_value_seed(FillInto(&mut delta.message))?,
    finish_reason: LaxWord<'a>,
    usage: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

wire! {
    /// The part of the answer that an event adds; a single member may replace a list of one.
    struct CohereMessage<'a> as message, map, ignoring [bool number null string seq];
    role: LaxWord<'a>,
    content: OneOrMany<CohereContent<'a>>,
    tool_plan: LaxText,
    tool_calls: OneOrMany<CallDelta<'a>>,
    citations: Option<&'a RawValue>,
}

wire! {
    /// A part of the content.
    struct CohereContent<'a> as content, map, ignoring [bool number null string seq];
    #[serde(rename = "type")]
    kind: LaxWord<'a>,
    text: LaxText,
    thinking: LaxText,
}

by_filling!(CohereContent);

impl CohereMessage<'_> {
    /// Returns `true` if there is anything besides the role.
    pub(super) fn says_something(&self) -> bool {
        !self.content.0.is_empty()
            || !self.tool_plan.0.is_empty()
            || !self.tool_calls.0.is_empty()
            || self.citations.is_some()
            || !self.rest.is_empty()
    }
}

/// A source of a citation.
const SOURCE: CitationPaths = CitationPaths {
    url: &["document.url"],
    title: &["document.title"],
    cited_text: &["document.snippet", "document.text"],
    start: "",
    end: "",
};

/// Maximum size of the items made from one citation, in bytes. Each repeats the whole citation, so a malicious
/// list of sources could amount to gigabytes; the first item has all of them anyway.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// Emits one item for each source of each citation; a single citation may come without a list.
pub(super) fn citations(raw: &RawValue, sink: &mut OutSink<'_>) {
    let citations: LaxList<&RawValue> = value(raw);
    let alone = Some(raw).filter(|_| citations.is_empty());
    let mut items = Vec::new();
    for raw in citations.into_members().chain(alone).filter(|raw| raw.get().starts_with('{')) {
        let cited = JsonEntries::from_raw(Some(raw));
        let most = (MAX_CITATION_BYTES / raw.get().len()).max(1);
        let sources = list(cited.get("sources"));
        let sources = sources.iter().filter(|source| source.get().starts_with('{'));
        let mut sources: Vec<_> =
            sources.map(|source| JsonEntries::from_raw(Some(source))).collect();
        sources.truncate(most);
        if sources.is_empty() {
            sources.push(JsonEntries::default());
        }
        for source in sources {
            let mut citation = SOURCE.read_citation(&source);
            (citation.start, citation.end) = (cited.count("start"), cited.count("end"));
            items.extend(item(PROTOCOL, ItemKind::Citation(citation), raw.get()));
        }
    }
    sink.events(items);
}
