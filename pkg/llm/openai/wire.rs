//! The JSON of Chat Completions, read leniently: a field of an unexpected type is treated as absent.

use std::mem::take;

use serde::de::{IgnoredAny, SeqAccess};
use serde_json::value::RawValue;

use super::content::OpenAiContent;
use crate::decode::{
    CallDelta, FunctionDelta,
    lax_json::{FillInto, LaxList, LaxNumber, LaxObject, LaxText, LaxWord, fill_with},
    says,
    wire_struct::wire,
};

wire! {
    /// One chunk of a stream, or a whole answer.
    ///
    /// These structs are large, so they are filled in place instead of returned level by level.
    struct OpenAiChunk<'a> as chunk, map, ignoring [];
    id: LaxWord<'a>,
    model: LaxWord<'a>,
    object: LaxWord<'a>,
    choices: ChoiceMembers<'a> = map.next_value_seed(FillInto(&mut chunk.choices))?,
    usage: Option<&'a RawValue>,
    x_groq: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    citations: Option<&'a RawValue>,
    search_results: Option<&'a RawValue>,
    /// `MiniMax`'s status, which is present even if nothing has failed.
    base_resp: Option<&'a RawValue>,
    /// Sent by llama.cpp while it reads the prompt.
    prompt_progress: Option<&'a RawValue>,
    /// Members that are not part of the answer, or random bytes that hide its length.
    #[serde(
        rename = "created",
        alias = "system_fingerprint",
        alias = "service_tier",
        alias = "provider",
        alias = "stream_options",
        alias = "obfuscation",
        alias = "p"
    )]
    skipped: IgnoredAny,
}

/// The first choice, and the others.
#[derive(Debug, Default)]
pub(super) struct ChoiceMembers<'a> {
    pub(super) seen: ChoiceList,
    pub(super) first: OpenAiChoice<'a>,
    /// The choices besides the first, with their indexes.
    pub(super) others: Vec<(u32, OpenAiChoice<'a>)>,
}

/// The choices of a chunk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChoiceList {
    /// No list.
    #[default]
    Nothing,
    /// A list without the first choice.
    List,
    /// The first choice.
    First,
}

wire! {
    struct OpenAiChoice<'a> as choice, map, ignoring [bool number null string seq];
    index: LaxNumber,
    delta: OpenAiDelta<'a> = map.next_value_seed(FillInto(&mut choice.delta))?,
    /// Present in whole answers, and next to `delta` in some dialects.
    message: Option<Box<OpenAiDelta<'a>>> = {
        map.next_value_seed(FillInto(&mut **choice.message.get_or_insert_default()))?;
    },
    /// Present in legacy completions.
    text: LaxText,
    finish_reason: LaxText,
    usage: Option<&'a RawValue>,
    /// Usually null.
    logprobs: Option<&'a RawValue>,
    /// Of use only for training.
    token_ids: IgnoredAny,
}

wire! {
    struct OpenAiDelta<'a> as delta, map, ignoring [bool number null string seq];
    @ delta.present = true;
    role: LaxText,
    content: OpenAiContent<'a> = map.next_value_seed(FillInto(&mut delta.content))?,
    refusal: LaxText,
    /// The text of the first reasoning member that is not empty.
    reasoning: LaxText = delta.reasoning(REASONING, map.next_value()?),
    reasoning_details: Option<&'a RawValue>,
    annotations: Option<&'a RawValue>,
    executed_tools: Option<&'a RawValue>,
    tool_calls: LaxList<LaxObject<CallDelta<'a>>>,
    function_call: LaxObject<FunctionDelta<'a>>,
    // `true` if there was an object; the member that the reasoning came in.
    ; besides present: bool, member: &'static str
    ; also
        ReasoningContent => delta.reasoning(REASONING_CONTENT, map.next_value()?),
        ReasoningText => delta.reasoning(REASONING_TEXT, map.next_value()?)
}

/// The members of a delta or a message that contain readable reasoning, which differ between vendors. Their
/// names take the place of the signature that other vendors send.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
pub(super) const REASONING: &str = "reasoning";
/// Copilot's name for the member.
pub(super) const REASONING_TEXT: &str = "reasoning_text";

/// Members of a delta without a field of their own that are part of the answer.
const SAYING: [&str; 4] = ["audio", "images", "thinking_blocks", "reasoning_opaque"];

impl OpenAiChunk<'_> {
    /// Returns `true` if the delta may contain anything besides text.
    pub(super) fn says_more(&self) -> bool {
        let choice = &self.choices.first;
        let delta = &choice.delta;
        let raw = [delta.reasoning_details, delta.annotations, delta.executed_tools];
        let facts = [self.citations, self.search_results, self.prompt_progress];
        raw.into_iter().chain(facts).flatten().next().is_some()
            || choice.message.is_some()
            || delta.function_call.0.is_some()
            || !(delta.content.parts.is_empty() && delta.rest.is_empty())
    }
}

impl OpenAiDelta<'_> {
    /// Returns `true` if the delta contains anything besides the role.
    pub(super) fn says_something(&self) -> bool {
        !self.content.is_empty()
            || !self.refusal.0.is_empty()
            || !self.reasoning.0.is_empty()
            || !self.tool_calls.is_empty()
            || self.function_call.0.is_some()
            || [self.reasoning_details, self.annotations, self.executed_tools]
                .into_iter()
                .flatten()
                .any(says)
            || self.rest.present_members().any(|(name, _)| SAYING.contains(&name))
    }

    /// Keeps the first member that contains text: no vendor intends two to be joined.
    fn reasoning(&mut self, member: &'static str, text: LaxText) {
        if self.reasoning.0.is_empty() && !text.0.is_empty() {
            (self.member, self.reasoning) = (member, text);
        }
    }
}

fill_with! { ChoiceMembers<'a>, ignoring bool number null string map;
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let choices = self.0;
        choices.seen = ChoiceList::List;
        while choices.seen == ChoiceList::List {
            if seq.next_element_seed(FillInto(&mut choices.first))?.is_none() {
                return Ok(());
            }
            match choices.first.index.0 {
                None | Some(0) => choices.seen = ChoiceList::First,
                Some(other) => choices.others.push((other, take(&mut choices.first))),
            }
        }
        let mut other = OpenAiChoice::default();
        while seq.next_element_seed(FillInto(&mut other))?.is_some() {
            // One without an index of its own has its place in the list.
            let place = u32::try_from(choices.others.len() + 1).unwrap_or(u32::MAX);
            let index = other.index.0.filter(|index| *index > 0).unwrap_or(place);
            choices.others.push((index, take(&mut other)));
        }
        Ok(())
    }
}
