//! The reasoning that has to go back, and the member that it came in.

use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    llm::{
        StreamChunk,
        decode::{
            Members, item,
            lax_json::{Few, value},
        },
    },
    types::{ItemKind, Json, Text},
};

/// Most bytes of `reasoning_details` that are kept; a part of more proves nothing.
const MAX_DETAILS_BYTES: usize = 8 << 20;

/// The members of an answer that held its reasoning.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// The member of the reasoning that has not ended yet; empty without one.
    open: &'static str,
    /// `true` once a reasoning member was not empty.
    has_member: bool,
    details: Details,
}

/// `reasoning_details`, put together.
#[derive(Debug, Default)]
struct Details {
    list: Vec<Members>,
    bytes: usize,
}

impl Reasoning {
    /// Notes the member of a delta's reasoning.
    pub(super) fn saw(&mut self, member: &'static str) {
        if !member.is_empty() {
            (self.open, self.has_member) = (member, true);
        }
    }

    /// Takes a delta's `reasoning_details`; returns the words of them, where no other member says them.
    pub(super) fn details(&mut self, raw: &RawValue) -> Text {
        let mut words = Text::new();
        let list: Few<&RawValue> = value(raw);
        for detail in list.into_members().filter(|raw| raw.get().starts_with('{')) {
            let detail = Members::read(detail.get());
            if !self.has_member {
                words.push_str(&detail.text("text"));
                words.push_str(&detail.text("summary"));
            }
            self.details.add(detail);
        }
        words
    }

    /// Ends the reasoning; returns the signature that names its member.
    pub(super) fn end(&mut self) -> Option<StreamChunk> {
        let member = std::mem::take(&mut self.open);
        let is_said = self.details.is_empty() && !member.is_empty();
        is_said.then(|| StreamChunk::signature(PROTOCOL, member))
    }

    /// Ends the answer; returns what has to go back of its reasoning.
    pub(super) fn finish(&mut self) -> Option<StreamChunk> {
        let details = std::mem::take(&mut self.details);
        if details.is_empty() {
            return None;
        }
        let details: Vec<_> = details.list.iter().map(Members::to_json).collect();
        let details: Vec<_> = details.iter().map(Json::as_str).collect();
        let raw = format!(r#"{{"reasoning_details":[{}]}}"#, details.join(","));
        let item = item(PROTOCOL, ItemKind::Reasoning, &raw)?;
        Some(StreamChunk::events(vec![item]))
    }
}

impl Details {
    fn is_empty(&self) -> bool {
        self.list.is_empty() || self.bytes > MAX_DETAILS_BYTES
    }

    fn add(&mut self, detail: Members) {
        self.bytes = self.bytes.saturating_add(detail.bytes());
        if self.bytes > MAX_DETAILS_BYTES {
            self.list = Vec::new();
            return;
        }
        match self.list.iter_mut().rfind(|known| is_continued(known, &detail)) {
            Some(known) => known.merge(detail, |name| matches!(name, "text" | "summary")),
            None => self.list.push(detail),
        }
    }
}

/// Returns `true` when `later` continues a detail: words come in deltas, anything else whole.
fn is_continued(known: &Members, later: &Members) -> bool {
    let (ours, theirs) = (known.text("id"), later.text("id"));
    let is_same = |name| known.get(name).unwrap_or("null") == later.get(name).unwrap_or("null");
    matches!(later.text("type").as_str(), "reasoning.text" | "reasoning.summary")
        && is_same("index")
        && is_same("type")
        && (ours.is_empty() || theirs.is_empty() || ours == theirs)
}
