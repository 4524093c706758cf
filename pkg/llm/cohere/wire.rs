//! The JSON of Cohere's answers, read laxly: a field of an unexpected type is as good as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::decode::{
        item,
        lax_json::{Count, Few, Line, Number, Object, OneOrMany, Word, value},
    },
    types::{AgentEvent, Citation, ItemKind, Text, UsageInfo},
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
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) role: Word<'a>,
    pub(super) content: OneOrMany<Content>,
    pub(super) tool_plan: Line,
    pub(super) tool_calls: OneOrMany<Call>,
    pub(super) citations: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) text: Line,
    pub(super) thinking: Line,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    pub(super) id: Line,
    pub(super) function: Object<Function>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    pub(super) name: Line,
    pub(super) arguments: Line,
}

/// Returns the counts in a usage object: those of `tokens`, not what is billed.
pub(super) fn usage(raw: &RawValue) -> UsageInfo {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Usage {
        tokens: Object<Tokens>,
        cached_tokens: Count,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Tokens {
        input_tokens: Count,
        output_tokens: Count,
    }
    let usage: Usage = value(raw);
    let tokens = usage.tokens.0.unwrap_or_default();
    UsageInfo {
        input_tokens: tokens.input_tokens.0,
        output_tokens: tokens.output_tokens.0,
        cache_read_tokens: usage.cached_tokens.0,
        ..UsageInfo::default()
    }
}

/// Most bytes of items that are made of one citation. Each repeats the whole citation, so that a hostile
/// list of sources would make gigabytes of them; the first has all of them anyway.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// Returns one item for each source of each citation.
pub(super) fn citations(raw: &RawValue) -> Vec<AgentEvent> {
    let list: Few<&RawValue> = value(raw);
    let alone = Some(raw).filter(|_| list.is_empty());
    let all = list.into_members().chain(alone);
    all.filter(|raw| raw.get().starts_with('{')).flat_map(citation).collect()
}

fn citation(raw: &RawValue) -> Vec<AgentEvent> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Cited {
        start: Count,
        end: Count,
        sources: Few<Object<Source>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Source {
        document: Object<Document>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Document {
        url: Line,
        title: Line,
        snippet: Line,
        text: Line,
    }
    let cited: Cited = value(raw);
    let mut sources: Vec<_> = cited.sources.into_members().collect();
    if sources.is_empty() {
        sources.push(Object::default());
    }
    let most = (MAX_CITATION_BYTES / raw.get().len()).max(1);
    let items = sources.into_iter().take(most).filter_map(|source| {
        let document = source.0.and_then(|source| source.document.0).unwrap_or_default();
        let passage = document.snippet.non_empty().or(document.text.non_empty());
        let citation = Citation {
            url: document.url.non_empty(),
            title: document.title.non_empty(),
            cited_text: passage.map(Text::into_string),
            start: cited.start.0,
            end: cited.end.0,
            ..Citation::default()
        };
        item(PROTOCOL, ItemKind::Citation(citation), raw.get())
    });
    items.collect()
}
