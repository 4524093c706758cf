//! The JSON of Chat Completions, read laxly: a field of an unexpected type is as good as absent.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::content::Content;
use crate::{
    llm::decode::lax_json::{
        Few, Into, Line, Number, Object, Word, arguments, ignore_others, in_place,
    },
    types::Text,
};

/// One chunk of a stream, or a whole answer.
///
/// These structs are large, so they are filled in place instead of returned level by level.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Word<'a>,
    pub(super) model: Word<'a>,
    pub(super) object: Word<'a>,
    pub(super) choices: Choices<'a>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) x_groq: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) citations: Option<&'a RawValue>,
    pub(super) search_results: Option<&'a RawValue>,
}

/// The first choice, and how many others there were.
#[derive(Debug, Default)]
pub(super) struct Choices<'a> {
    pub(super) seen: Seen,
    pub(super) first: Choice<'a>,
    /// The highest index of a choice besides the first.
    pub(super) highest_other: u32,
}

/// The choices of a chunk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// No list.
    #[default]
    Nothing,
    /// A list without the first choice.
    List,
    /// The first choice.
    First,
}

#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    index: Number,
    pub(super) delta: Delta<'a>,
    /// In whole answers, and beside `delta` in some dialects.
    pub(super) message: Option<Box<Delta<'a>>>,
    /// In legacy completions.
    pub(super) text: Line,
    pub(super) finish_reason: Line,
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    /// `true` if there was an object.
    pub(super) present: bool,
    pub(super) role: Line,
    pub(super) content: Content,
    pub(super) refusal: Line,
    /// The text of the first reasoning member that is not empty.
    pub(super) reasoning: Line,
    /// The member that it is from.
    pub(super) member: Member,
    pub(super) reasoning_details: Option<&'a RawValue>,
    pub(super) annotations: Option<&'a RawValue>,
    pub(super) executed_tools: Option<&'a RawValue>,
    pub(super) tool_calls: Few<Object<CallDelta>>,
    pub(super) function_call: Object<FunctionDelta>,
}

/// The member of a delta or a message that holds the reasoning; every vendor has its own.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// There is no reasoning.
    #[default]
    None,
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
}

impl Delta<'_> {
    /// Keeps the first member that holds text: no vendor means two to be joined.
    fn reasoning(&mut self, member: Member, text: Line) {
        if self.reasoning.0.is_empty() && !text.0.is_empty() {
            (self.member, self.reasoning) = (member, text);
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta {
    pub(super) index: Number,
    pub(super) id: Line,
    pub(super) function: Object<FunctionDelta>,
}

impl CallDelta {
    /// Converts the single call of the API's first form.
    pub(super) fn legacy(function: FunctionDelta) -> Self {
        let function = Object(Some(function));
        Self { index: Number(Some(0)), id: Line::default(), function }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Line,
    pub(super) arguments: Arguments,
}

/// The arguments of a call: a text, or the JSON text of an object.
#[derive(Debug, Default)]
pub(super) struct Arguments(pub(super) Text);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(arguments(Some(raw))))
    }
}

in_place! { Chunk<'a> as chunk, map, ignoring [];
    Id => chunk.id = map.next_value()?,
    Model => chunk.model = map.next_value()?,
    Object => chunk.object = map.next_value()?,
    Choices => map.next_value_seed(Into(&mut chunk.choices))?,
    Usage => chunk.usage = map.next_value()?,
    XGroq => chunk.x_groq = map.next_value()?,
    Error => chunk.error = map.next_value()?,
    Citations => chunk.citations = map.next_value()?,
    SearchResults => chunk.search_results = map.next_value()?,
}

in_place! { Choice<'a> as choice, map, ignoring [bool number null string seq];
    Index => choice.index = map.next_value()?,
    Delta => map.next_value_seed(Into(&mut choice.delta))?,
    Message => {
        let mut message = Box::<Delta<'_>>::default();
        map.next_value_seed(Into(&mut *message))?;
        choice.message = Some(message);
    },
    Text => choice.text = map.next_value()?,
    FinishReason => choice.finish_reason = map.next_value()?,
    Usage => choice.usage = map.next_value()?,
}

in_place! { Delta<'a> as delta, map, ignoring [bool number null string seq];
    @ delta.present = true;
    Role => delta.role = map.next_value()?,
    Content => delta.content = map.next_value()?,
    Refusal => delta.refusal = map.next_value()?,
    ReasoningContent => delta.reasoning(Member::ReasoningContent, map.next_value()?),
    Reasoning => delta.reasoning(Member::Reasoning, map.next_value()?),
    ReasoningDetails => delta.reasoning_details = map.next_value()?,
    Annotations => delta.annotations = map.next_value()?,
    ExecutedTools => delta.executed_tools = map.next_value()?,
    ToolCalls => delta.tool_calls = map.next_value()?,
    FunctionCall => delta.function_call = map.next_value()?,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Into<'_, Choices<'a>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Into<'_, Choices<'a>> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let choices = self.0;
        choices.seen = Seen::List;
        while choices.seen == Seen::List {
            if seq.next_element_seed(Into(&mut choices.first))?.is_none() {
                return Ok(());
            }
            match choices.first.index.0 {
                None | Some(0) => choices.seen = Seen::First,
                Some(other) => {
                    choices.highest_other = choices.highest_other.max(other);
                    choices.first = Choice::default();
                }
            }
        }
        let mut other = Choice::default();
        while seq.next_element_seed(Into(&mut other))?.is_some() {
            let index = std::mem::take(&mut other).index.0.unwrap_or_default();
            choices.highest_other = choices.highest_other.max(index);
        }
        Ok(())
    }

    ignore_others!((), bool number null string map);
}
