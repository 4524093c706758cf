//! The reasoning that has to go back, and the member that it came in.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::Member;
use crate::{
    llm::{
        Protocol, StreamChunk,
        decode::{
            Members, item,
            lax_json::{Few, Line, Number, Word, value},
        },
    },
    types::{ItemKind, Json, Text},
};

/// Most bytes of `reasoning_details` that are kept; a part of more proves nothing.
const MAX_DETAILS_BYTES: usize = 8 << 20;

/// The members that hold reasoning in words; their names stand for the signature of other vendors.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
pub(super) const REASONING: &str = "reasoning";

/// The members of an answer that held its reasoning.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// The member of the reasoning that has not ended yet.
    open: Member,
    /// `true` once a reasoning member was not empty.
    has_member: bool,
    details: Details,
}

/// `reasoning_details`, put together.
#[derive(Debug, Default)]
struct Details {
    list: Vec<(Head, Members)>,
    bytes: usize,
}

/// The members that distinguish one detail from another.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    index: Number,
    r#type: Line,
    id: Line,
}

impl Reasoning {
    /// Notes the member of a delta's reasoning.
    pub(super) fn saw(&mut self, member: Member) {
        if member != Member::None {
            (self.open, self.has_member) = (member, true);
        }
    }

    /// Takes a delta's `reasoning_details`; returns the words of them, where no other member says them.
    pub(super) fn details(&mut self, raw: &RawValue) -> Text {
        let list: Few<&RawValue> = value(raw);
        for detail in list.into_members().filter(|raw| raw.get().starts_with('{')) {
            self.details.add(detail);
        }
        if self.has_member { Text::new() } else { words(raw) }
    }

    /// Ends the reasoning; returns the signature that names its member.
    pub(super) fn end(&mut self) -> Option<StreamChunk> {
        let member = std::mem::take(&mut self.open);
        if !self.details.is_empty() {
            return None;
        }
        let member = match member {
            Member::None => return None,
            Member::ReasoningContent => REASONING_CONTENT,
            Member::Reasoning => REASONING,
        };
        Some(StreamChunk::signature(Protocol::OpenAiChat.name(), member))
    }

    /// Ends the answer; returns what has to go back of its reasoning.
    pub(super) fn finish(&mut self) -> Option<StreamChunk> {
        let details = std::mem::take(&mut self.details);
        if details.is_empty() {
            return None;
        }
        let details: Vec<_> = details.list.iter().map(|(_, detail)| detail.to_json()).collect();
        let details: Vec<_> = details.iter().map(Json::as_str).collect();
        let raw = format!(r#"{{"reasoning_details":[{}]}}"#, details.join(","));
        let item = item(Protocol::OpenAiChat.name(), ItemKind::Reasoning, &raw)?;
        Some(StreamChunk::events(vec![item]))
    }
}

/// Returns the words in a list of details.
fn words(raw: &RawValue) -> Text {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Words<'a> {
        text: Word<'a>,
        summary: Word<'a>,
    }
    let mut text = Text::new();
    let list: Few<Words<'_>> = value(raw);
    for words in list.into_members() {
        text.push_str(&words.text.0);
        text.push_str(&words.summary.0);
    }
    text
}

impl Details {
    fn is_empty(&self) -> bool {
        self.list.is_empty() || self.bytes > MAX_DETAILS_BYTES
    }

    fn add(&mut self, raw: &RawValue) {
        self.bytes = self.bytes.saturating_add(raw.get().len());
        if self.bytes > MAX_DETAILS_BYTES {
            self.list = Vec::new();
            return;
        }
        let (head, later) = (value::<Head>(raw), Members::read(raw.get()));
        match self.list.iter_mut().rfind(|(known, _)| known.is_continued_by(&head)) {
            Some((_, detail)) => detail.merge(later, |name| matches!(name, "text" | "summary")),
            None => self.list.push((head, later)),
        }
    }
}

impl Head {
    /// Returns `true` when `later` continues this detail: words come in deltas, anything else whole.
    fn is_continued_by(&self, later: &Self) -> bool {
        let has_deltas = matches!(later.r#type.0.as_str(), "reasoning.text" | "reasoning.summary");
        let (ours, theirs) = (&self.id.0, &later.id.0);
        has_deltas
            && self.index.0 == later.index.0
            && self.r#type.0 == later.r#type.0
            && (ours.is_empty() || theirs.is_empty() || ours == theirs)
    }
}
