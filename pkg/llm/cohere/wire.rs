//! The JSON of Cohere's answers, read tolerantly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::tolerant::{Count, Few, Line, Number, Object, Reads, Word, ignore_others, read},
    types::{Citation, FinishReason, ItemKind, Json, ProviderItem, Text, UsageInfo},
};

/// The data of an event, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    pub(super) index: Number,
    #[serde(borrow)]
    pub(super) delta: Object<Delta<'a>>,
    /// In errors its text, in whole answers what the model says.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Word<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) message: Object<Message<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Word<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What an event adds to the answer; a list of one member may stand for the member.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Word<'a>,
    pub(super) content: OneOrMany<Content>,
    pub(super) tool_plan: Line,
    pub(super) tool_calls: OneOrMany<Call>,
    #[serde(borrow)]
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

/// An object, as in a stream, or a list of such objects, as in a whole answer; anything else is empty.
#[derive(Debug, Default)]
pub(super) struct OneOrMany<T>(pub(super) Few<T>);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Reads<OneOrMany<T>> {
    type Value = OneOrMany<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| OneOrMany(Few::one(one)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrMany<T>, A::Error> {
        Few::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
    }

    ignore_others!(OneOrMany<T>, bool number null string);
}

/// The counts in a usage object: those of `tokens`, not what is billed.
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
    let usage: Usage = serde_json::from_str(raw.get()).unwrap_or_default();
    let tokens = usage.tokens.0.unwrap_or_default();
    UsageInfo {
        input_tokens: tokens.input_tokens.0,
        output_tokens: tokens.output_tokens.0,
        cache_read_tokens: usage.cached_tokens.0,
        ..UsageInfo::default()
    }
}

/// What the word for the end means.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
        "TOOL_CALL" => FinishReason::ToolCalls,
        "MAX_TOKENS" => FinishReason::Length,
        "ERROR_TOXIC" => FinishReason::ContentFilter,
        "ERROR_LIMIT" => FinishReason::ContextExceeded,
        _ => FinishReason::Other(Text::from(word)),
    }
}

/// Most bytes of items that are made of one citation. Each repeats the whole citation, so that a hostile
/// list of sources would make gigabytes of them; the first has all of them anyway.
const MAX_CITATION_BYTES: usize = 8 << 20;

/// One item for each source of each citation.
pub(super) fn citations(raw: &RawValue) -> Vec<ProviderItem> {
    let list: Vec<&RawValue> = if raw.get().starts_with('[') {
        serde_json::from_str(raw.get()).unwrap_or_default()
    } else {
        vec![raw]
    };
    list.into_iter().filter(|raw| raw.get().starts_with('{')).flat_map(citation).collect()
}

fn citation(raw: &RawValue) -> Vec<ProviderItem> {
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
    let cited: Cited = serde_json::from_str(raw.get()).unwrap_or_default();
    let Ok(raw) = Json::parse(raw.get()) else { return Vec::new() };
    let mut sources: Vec<_> = cited.sources.into_members().collect();
    if sources.is_empty() {
        sources.push(Object::default());
    }
    let most = (MAX_CITATION_BYTES / raw.as_str().len().max(1)).max(1);
    let items = sources.into_iter().take(most).map(|source| {
        let document = source.0.and_then(|source| source.document.0).unwrap_or_default();
        let said = |line: Line| Some(line.0).filter(|text| !text.is_empty());
        let citation = Citation {
            url: said(document.url),
            title: said(document.title),
            cited_text: said(document.snippet).or(said(document.text)).map(Text::into_string),
            start: cited.start.0,
            end: cited.end.0,
            ..Citation::default()
        };
        ProviderItem::new(PROTOCOL, ItemKind::Citation(citation), raw.clone())
    });
    items.collect()
}
