//! Native answers, put together from their chunks: a call's arguments, a message's parts.

use super::{ContentType, StreamChunk, parser::JsonTracker};
use crate::types::{AgentEvent, CallOutcome, Json, Part, ProviderItem, Signature, Text, ToolCall};

/// Follows the arguments of one native call without keeping them.
#[derive(Debug, Default)]
pub(crate) struct NativeArguments {
    tracker: JsonTracker,
    /// The first bytes, enough to tell `null` and `"null"`.
    head: Text,
}

/// Longest text that still stands for "no arguments": `"null"` with some blanks.
const EMPTY_FORMS_BYTES: usize = 16;

impl NativeArguments {
    /// Takes the next piece of the arguments.
    pub(crate) fn push(&mut self, piece: &str) {
        if self.head.len() <= EMPTY_FORMS_BYTES {
            self.head.push_str(piece);
        }
        self.tracker.push(piece);
    }

    /// Whether one whole JSON value has arrived.
    pub(crate) fn is_whole(&self) -> bool {
        self.tracker.is_whole()
    }

    /// What became of the call, when its protocol says that it ended (`cut` when it was cut off).
    pub(crate) fn outcome(&self, cut: bool) -> CallOutcome {
        if self.is_absent() || (self.tracker.is_whole() && self.head.trim_start().starts_with('{'))
        {
            return CallOutcome::Complete;
        }
        if self.tracker.is_whole() {
            let reason = "the arguments are no JSON object".into();
            return CallOutcome::Malformed { reason, offset: 0 };
        }
        if cut {
            return CallOutcome::Incomplete;
        }
        let (reason, offset) = self.tracker.fault();
        CallOutcome::Malformed { reason: reason.into(), offset }
    }

    /// The value of the arguments whose whole text is `raw`.
    pub(crate) fn value(&self, raw: &str) -> Option<Json> {
        Json::parse(if self.is_absent() { "{}" } else { raw }).ok()
    }

    /// Whether the arguments are empty, `null` or `"null"`, which all mean `{}`.
    fn is_absent(&self) -> bool {
        matches!(self.head.trim(), "" | "null" | "\"null\"")
    }
}

/// The parts of an answer in the order in which it says them.
#[derive(Debug, Default)]
pub(crate) struct NativeParts(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Thinking { text: String, signature: Option<Signature> },
    Text(String),
    Call { signature: Option<Signature> },
    Item(ProviderItem),
}

impl NativeParts {
    /// Takes a chunk's content.
    pub(crate) fn content(&mut self, chunk: &StreamChunk) {
        let more = chunk.content.as_str();
        if more.is_empty() {
            return;
        }
        match (chunk.content_type, self.0.last_mut()) {
            (ContentType::Thinking, Some(Piece::Thinking { text, signature: None })) => {
                text.push_str(more);
            }
            (ContentType::Thinking, _) => {
                self.0.push(Piece::Thinking { text: more.to_owned(), signature: None });
            }
            (ContentType::Message | ContentType::Refusal, Some(Piece::Text(text))) => {
                text.push_str(more);
            }
            (ContentType::Message | ContentType::Refusal, _) => {
                self.0.push(Piece::Text(more.to_owned()));
            }
        }
    }

    /// The next call begins.
    pub(crate) fn call(&mut self) {
        self.0.push(Piece::Call { signature: None });
    }

    /// Takes what stands behind a chunk's content and calls.
    pub(crate) fn details(&mut self, chunk: &StreamChunk) {
        let Some(details) = chunk.details.as_deref() else { return };
        if let Some(proof) = &details.signature {
            match self.0.last_mut() {
                Some(Piece::Call { signature, .. } | Piece::Thinking { signature, .. })
                    if signature.is_none() =>
                {
                    *signature = Some(proof.clone());
                }
                _ => self
                    .0
                    .push(Piece::Thinking { text: String::new(), signature: Some(proof.clone()) }),
            }
        }
        for event in &details.events {
            if let AgentEvent::ProviderItem(item) = event
                && !item.is_unknown_event()
            {
                self.0.push(Piece::Item(item.clone()));
            }
        }
    }

    /// The parts; the calls, which are in the order in which they began, get their proofs too.
    pub(crate) fn finish(self, calls: &mut [ToolCall]) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.0.len());
        let mut calls = calls.iter_mut();
        for piece in self.0 {
            parts.extend(match piece {
                Piece::Thinking { text, signature } => Some(Part::Thinking { text, signature }),
                Piece::Text(text) => Some(Part::Text { text }),
                Piece::Item(item) => Some(Part::ProviderItem(item)),
                Piece::Call { signature } => calls.next().map(|call| {
                    call.signature = signature;
                    Part::ToolCall(call.clone())
                }),
            });
        }
        parts
    }
}
