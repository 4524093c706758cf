//! The items of the output, to which events are assigned, and the parts of each that were already reported.
//!
//! The protocol sends everything up to four times: as deltas, at the end of the part, at the end of
//! the item and at the end of the response. Servers may omit any of these.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::extras::{APPROVAL, CUSTOM};
use crate::{ContentType, decode::CallInput};
use forgeline_types::Text;

/// The items of a response so far, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct OutputItems {
    list: Vec<OutputItem>,
    calls: u32,
}

#[derive(Debug)]
pub(super) struct OutputItem {
    output_index: Option<u32>,
    id: Text,
    pub(super) kind: OutputItemKind,
    /// The parts of the content that have been reported.
    pub(super) content: PartSet,
    /// The parts of the summary that have been reported.
    pub(super) summary: PartSet,
    /// `true` once sources of its text have been reported.
    pub(super) is_cited: bool,
    pub(super) progress: ItemProgress,
}

/// The progress of an item.
#[derive(Debug)]
pub(super) enum ItemProgress {
    /// Begun. The first event is kept in case nothing else about the item follows.
    Begun(Option<Box<RawValue>>),
    /// Completely reported.
    Done,
}

/// The kind of an item, as far as the decoder distinguishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputItemKind {
    Message,
    Reasoning,
    Call(CallProgress),
    Other,
}

/// The state of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that come in any order")]
pub(super) struct CallProgress {
    pub(super) index: u32,
    pub(super) has_id: bool,
    pub(super) has_name: bool,
    pub(super) has_arguments: bool,
    /// `true` once the members that are sent back with it have been reported.
    pub(super) has_more: bool,
    pub(super) input: CallInput,
    /// `true` for a call that the vendor runs itself once it is allowed.
    pub(super) is_hosted: bool,
    /// `true` for a tool search that the program runs.
    pub(super) is_search: bool,
}

/// Returns the kind of an item by the vendor's type name.
pub(super) fn kind(word: &str) -> OutputItemKind {
    match word {
        "message" => OutputItemKind::Message,
        "reasoning" => OutputItemKind::Reasoning,
        "function_call" => OutputItemKind::Call(CallProgress::default()),
        CUSTOM => OutputItemKind::custom_call(),
        APPROVAL => {
            OutputItemKind::Call(CallProgress { is_hosted: true, ..CallProgress::default() })
        }
        _ => OutputItemKind::Other,
    }
}

impl OutputItemKind {
    /// Returns the kind of a call with plain text arguments.
    pub(super) fn custom_call() -> Self {
        Self::Call(CallProgress { input: CallInput::TextAhead, ..CallProgress::default() })
    }

    /// Returns the kind of a call that searches for tools.
    pub(super) fn search_call() -> Self {
        Self::Call(CallProgress { is_search: true, ..CallProgress::default() })
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A set of parts by their index.
#[derive(Debug, Clone, Default)]
pub(super) struct PartSet {
    /// The first 64 parts, as a bit set; a part without an index sets all bits, because it may be any of them.
    first: u64,
    /// The further parts.
    others: BTreeSet<u32>,
}

/// Maximum number of parts of an item beyond the first 64; all later ones count as one.
const MAX_OTHER_PARTS: u32 = 4096;

impl PartSet {
    /// Adds a part.
    pub(super) fn add(&mut self, index: Option<u32>) {
        match index {
            None => {
                self.first = u64::MAX;
                self.others.insert(MAX_OTHER_PARTS);
            }
            Some(index @ 0..64) => self.first |= 1 << index,
            Some(index) => drop(self.others.insert(index.min(MAX_OTHER_PARTS))),
        }
    }

    /// Returns `true` if the part has been reported; without an index, if any part has.
    pub(super) fn has(&self, index: Option<u32>) -> bool {
        let all = self.first == u64::MAX && self.others.contains(&MAX_OTHER_PARTS);
        all || match index {
            None => self.first != 0 || !self.others.is_empty(),
            Some(index @ 0..64) => self.first & (1 << index) != 0,
            Some(index) => self.others.contains(&index.min(MAX_OTHER_PARTS)),
        }
    }
}

impl OutputItems {
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut OutputItem> {
        self.list.get_mut(at)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns `true` if an item of an unknown kind has begun at this place.
    pub(super) fn is_other(&self, output_index: Option<u32>, id: &str) -> bool {
        let is_there = |item: &OutputItem| {
            item.kind == OutputItemKind::Other
                && ((output_index.is_some() && item.output_index == output_index)
                    || (!id.is_empty() && item.id == id))
        };
        self.list.iter().rev().any(is_there)
    }

    /// Returns the item that an event belongs to; begins a new one if there is none.
    ///
    /// The place in the output decides, because some servers change the id from event to event. The id
    /// helps if servers give several items the same place, or none.
    pub(super) fn at(
        &mut self,
        output_index: Option<u32>,
        id: &str,
        kind: &OutputItemKind,
    ) -> usize {
        let Some(at) = self.find(output_index, id, kind) else {
            return self.begin(output_index, id, kind);
        };
        if let Some(item) = self.list.get_mut(at).filter(|item| item.id.is_empty()) {
            item.id = Text::from(id);
        }
        at
    }

    fn find(&self, output_index: Option<u32>, id: &str, kind: &OutputItemKind) -> Option<usize> {
        let last = |wanted: &dyn Fn(&OutputItem) -> bool| {
            self.list.iter().rposition(|item| item.kind.is_like(kind) && wanted(item))
        };
        let same_id = |item: &OutputItem| !id.is_empty() && item.id == id;
        let may_be = |item: &OutputItem| {
            let is_over = matches!(item.progress, ItemProgress::Done);
            id.is_empty() || item.id.is_empty() || !is_over
        };
        if output_index.is_some() {
            let same_place = |item: &OutputItem| item.output_index == output_index;
            return last(&|item| same_place(item) && same_id(item))
                .or_else(|| last(&|item| same_place(item) && may_be(item)))
                .or_else(|| last(&|item| item.output_index.is_none() && same_id(item)));
        }
        last(&same_id).or_else(|| last(&|item| id.is_empty() || item.id.is_empty()))
    }

    /// Returns the item that begins with this event, unless the same event was sent before.
    pub(super) fn added(
        &mut self,
        output_index: Option<u32>,
        id: &str,
        kind: &OutputItemKind,
    ) -> usize {
        let known = self.list.iter().rposition(|item| {
            item.output_index == output_index
                && item.id == id
                && item.kind.is_like(kind)
                && (output_index.is_some() || !id.is_empty())
        });
        known.unwrap_or_else(|| self.begin(output_index, id, kind))
    }

    fn begin(&mut self, output_index: Option<u32>, id: &str, kind: &OutputItemKind) -> usize {
        let mut kind = kind.clone();
        if let OutputItemKind::Call(call) = &mut kind {
            call.index = self.calls;
            self.calls += 1;
        }
        self.list.push(OutputItem {
            output_index,
            id: Text::from(id),
            kind,
            content: PartSet::default(),
            summary: PartSet::default(),
            is_cited: false,
            progress: ItemProgress::Begun(None),
        });
        self.list.len() - 1
    }

    /// Returns the items listed in the whole output, by their `kinds`: the n-th of a kind is the n-th known item of that kind,
    /// because ids and places in the list may differ from those in earlier events.
    pub(super) fn listed(&mut self, kinds: &[OutputItemKind]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|at| self.list.get(*at).and_then(|item| item.output_index));
        kinds
            .iter()
            .zip(0..)
            .map(|(kind, place)| {
                let is_like =
                    |at: &usize| self.list.get(*at).is_some_and(|item| item.kind.is_like(kind));
                match order.iter().position(is_like) {
                    Some(known) => order.remove(known),
                    None => self.begin(Some(place), "", kind),
                }
            })
            .collect()
    }
}

/// The place of a text in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPlace {
    Text,
    Refusal,
    Reasoning,
    Summary,
}

impl TextPlace {
    /// Returns the place of a part with this type.
    pub(super) fn from_part_type(part: &str) -> Option<Self> {
        Some(match part {
            "output_text" | "text" => Self::Text,
            "refusal" => Self::Refusal,
            "reasoning_text" => Self::Reasoning,
            "summary_text" => Self::Summary,
            _ => return None,
        })
    }

    /// Returns the kind of item that contains such texts.
    pub(super) fn item(self) -> OutputItemKind {
        match self {
            Self::Text | Self::Refusal => OutputItemKind::Message,
            Self::Reasoning | Self::Summary => OutputItemKind::Reasoning,
        }
    }

    /// Returns the content type of such a text.
    pub(super) fn content_type(self) -> ContentType {
        match self {
            Self::Text => ContentType::Message,
            Self::Refusal => ContentType::Refusal,
            Self::Reasoning | Self::Summary => ContentType::Thinking,
        }
    }
}
