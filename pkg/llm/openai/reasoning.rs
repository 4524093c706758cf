//! The reasoning that must be sent back, and the member that it came in.

use serde_json::value::RawValue;

use super::PROTOCOL;
use crate::{
    StreamChunk,
    decode::{
        JsonMembers, item,
        lax_json::{LaxList, value},
    },
};
use forgeline_types::{ItemKind, Json, Text};

/// Maximum size of a list of reasoning that is kept, in bytes; a part of a longer one proves nothing.
const MAX_DETAILS_BYTES: usize = 8 << 20;

/// OpenRouter's list of reasoning.
pub(super) const DETAILS: &str = "reasoning_details";

/// `LiteLLM`'s list, in Anthropic's format.
pub(super) const BLOCKS: &str = "thinking_blocks";

/// The members of an answer that contained its reasoning.
#[derive(Debug, Default)]
pub(super) struct ReasoningMembers {
    /// The member of the current section of reasoning; empty if there is none.
    open: &'static str,
    /// `true` once a reasoning member has not been empty.
    has_member: bool,
    details: ReasoningDetails,
    blocks: ReasoningDetails,
    /// Databricks' summaries, which are part of the content.
    summary: ReasoningDetails,
    /// Members of deltas that are sent back as members of the message.
    members: JsonMembers,
}

/// A list of reasoning that is being assembled.
#[derive(Debug, Default)]
struct ReasoningDetails {
    list: Vec<JsonMembers>,
    bytes: usize,
}

impl ReasoningMembers {
    /// Records the member of a delta's reasoning.
    pub(super) fn saw(&mut self, member: &'static str) {
        if !member.is_empty() {
            (self.open, self.has_member) = (member, true);
        }
    }

    /// Reads a delta's `reasoning_details`; returns their text, if no other member contains it.
    pub(super) fn details(&mut self, raw: &RawValue) -> Text {
        let mut words = Text::new();
        let list: LaxList<&RawValue> = value(raw);
        for detail in list.into_members().filter(|raw| raw.get().starts_with('{')) {
            let detail = JsonMembers::parse(detail.get());
            if !self.has_member {
                words.push_str(&detail.text("text"));
                words.push_str(&detail.text("summary"));
            }
            self.details.add(detail);
        }
        words
    }

    /// Reads a delta's thinking blocks; returns their text, if no other member contains it.
    pub(super) fn blocks(&mut self, raw: &RawValue) -> Text {
        let list: LaxList<&RawValue> = value(raw);
        let blocks = list.into_members().filter(|raw| raw.get().starts_with('{'));
        let blocks: Vec<_> = blocks.map(|raw| JsonMembers::parse(raw.get())).collect();
        let words = if self.has_member { Text::new() } else { words(&blocks, "thinking") };
        for block in blocks {
            self.blocks.add(block);
        }
        words
    }

    /// Reads a part's summaries; returns their text.
    pub(super) fn summary(&mut self, entries: Vec<JsonMembers>) -> Text {
        let words = words(&entries, "text");
        for entry in entries {
            self.summary.add(entry);
        }
        words
    }

    /// Records a member that is sent back unchanged; the last one of a name counts.
    pub(super) fn member(&mut self, name: &str, raw: &RawValue) {
        if self.members.bytes() + raw.get().len() <= MAX_DETAILS_BYTES {
            self.members.set(name, raw.get().to_owned());
        }
    }

    /// Ends the reasoning; returns the signature that names its member, if there are no lists.
    pub(super) fn end(&mut self) -> Option<StreamChunk> {
        let member = std::mem::take(&mut self.open);
        let is_said = self.details.is_empty() && self.blocks.is_empty() && !member.is_empty();
        is_said.then(|| StreamChunk::signature(PROTOCOL, member))
    }

    /// Ends the answer; returns the part of its reasoning that must be sent back.
    pub(super) fn finish(&mut self) -> Vec<StreamChunk> {
        let mut members = std::mem::take(&mut self.members);
        let lists = [(DETAILS, &mut self.details), (BLOCKS, &mut self.blocks)];
        for (name, list) in lists {
            if let Some(list) = list.take() {
                members.set(name, list);
            }
        }
        if let Some(summary) = self.summary.take() {
            members.set("content", format!(r#"[{{"type":"reasoning","summary":{summary}}}]"#));
        }
        if members.bytes() == 0 {
            return Vec::new();
        }
        let item = item(PROTOCOL, ItemKind::Reasoning, members.to_json().as_str());
        Vec::from_iter(item.map(|item| StreamChunk::events(vec![item])))
    }
}

impl ReasoningDetails {
    fn is_empty(&self) -> bool {
        self.list.is_empty() || self.bytes > MAX_DETAILS_BYTES
    }

    /// Takes the list as JSON, unless it is empty.
    fn take(&mut self) -> Option<String> {
        let details = std::mem::take(self);
        let list: Vec<_> = details.list.iter().map(JsonMembers::to_json).collect();
        let list: Vec<_> = list.iter().map(Json::as_str).collect();
        (!details.is_empty()).then(|| format!("[{}]", list.join(",")))
    }

    fn add(&mut self, detail: JsonMembers) {
        self.bytes = self.bytes.saturating_add(detail.bytes());
        if self.bytes > MAX_DETAILS_BYTES {
            self.list = Vec::new();
            return;
        }
        match self.list.iter_mut().rfind(|known| is_continued(known, &detail)) {
            Some(known) => {
                known.merge(detail, |name| matches!(name, "text" | "summary" | "thinking"));
            }
            None => self.list.push(detail),
        }
    }
}

/// Returns the joined texts of `member`.
fn words(list: &[JsonMembers], member: &str) -> Text {
    let mut words = Text::new();
    for entry in list {
        words.push_str(&entry.text(member));
    }
    words
}

/// Returns `true` if `later` continues `known`: text comes in deltas, anything else whole.
fn is_continued(known: &JsonMembers, later: &JsonMembers) -> bool {
    let (ours, theirs) = (known.text("id"), later.text("id"));
    let is_same = |name| known.get(name).unwrap_or("null") == later.get(name).unwrap_or("null");
    let goes_on = match later.text("type").as_str() {
        "reasoning.text" | "reasoning.summary" => true,
        // These are not numbered: the signature marks the end.
        "thinking" | "summary_text" => known.text("signature").is_empty(),
        _ => false,
    };
    goes_on
        && is_same("index")
        && is_same("type")
        && (ours.is_empty() || theirs.is_empty() || ours == theirs)
}
