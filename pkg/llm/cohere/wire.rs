//! The JSON of Cohere's answers, read laxly: a field of an unexpected type is as good as absent.

use serde::{Deserialize, de::MapAccess};
use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::decode::{
        CallDelta, CitationPaths, Entries, Sink, item,
        lax_json::{Few, Line, Number, Object, OneOrMany, Word, ignore_others, lax, list, value},
    },
    types::ItemKind,
};

/// The data of an event, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Word<'a>,
    pub(super) id: Word<'a>,
    pub(super) index: Number,
    pub(super) delta: Object<Delta<'a>>,
    /// In errors its text, in whole answers what the model says.
    pub(super) message: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) finish_reason: Word<'a>,
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    pub(super) message: Object<Message<'a>>,
    pub(super) finish_reason: Word<'a>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

/// The part of the answer that an event adds; a list of one member may stand for the member.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) role: Word<'a>,
    pub(super) content: OneOrMany<Content>,
    pub(super) tool_plan: Line,
    pub(super) tool_calls: OneOrMany<CallDelta>,
    pub(super) citations: Option<&'a RawValue>,
    /// All other members.
    pub(super) rest: Entries<'a>,
}

lax! { ['de: 'a, 'a] Message<'a>, ignoring bool number null string seq;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message<'a>, A::Error> {
        let mut message = Message::default();
        while let Some(Word(name)) = map.next_key()? {
            match &*name {
                "role" => message.role = map.next_value()?,
                "content" => message.content = map.next_value()?,
                "tool_plan" => message.tool_plan = map.next_value()?,
                "tool_calls" => message.tool_calls = map.next_value()?,
                "citations" => message.citations = map.next_value()?,
                _ => message.rest.push(name, map.next_value()?),
            }
        }
        Ok(message)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) text: Line,
    pub(super) thinking: Line,
}

/// A source of a citation.
const SOURCE: CitationPaths = CitationPaths {
    url: &["document.url"],
    title: &["document.title"],
    cited_text: &["document.snippet", "document.text"],
    start: "",
    end: "",
};

/// Most bytes of items that are made of one citation. Each repeats the whole citation, so that a hostile
/// list of sources would make gigabytes of them; the first has all of them anyway.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// Emits one item for each source of each citation; of one citation there may be no list.
pub(super) fn citations(raw: &RawValue, sink: &mut Sink<'_>) {
    let citations: Few<&RawValue> = value(raw);
    let alone = Some(raw).filter(|_| citations.is_empty());
    let mut items = Vec::new();
    for raw in citations.into_members().chain(alone).filter(|raw| raw.get().starts_with('{')) {
        let cited = Entries::of(Some(raw));
        let most = (MAX_CITATION_BYTES / raw.get().len()).max(1);
        let sources = list(cited.get("sources"));
        let sources = sources.iter().filter(|source| source.get().starts_with('{'));
        let mut sources: Vec<_> = sources.map(|source| Entries::of(Some(source))).collect();
        sources.truncate(most);
        if sources.is_empty() {
            sources.push(Entries::default());
        }
        for source in sources {
            let mut citation = SOURCE.read(&source);
            (citation.start, citation.end) = (cited.count("start"), cited.count("end"));
            items.extend(item(PROTOCOL, ItemKind::Citation(citation), raw.get()));
        }
    }
    sink.events(items);
}
