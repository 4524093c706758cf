//! The parts of a conversation that a provider refused: images and documents become notes, and signatures are left out.

use std::sync::Arc;

use super::{ContextWindow, SeenMessage, WriteResults};
use crate::prompts::feedback;
use forgeline_types::{ItemKind, Message, Part};

impl ContextWindow {
    /// Leaves out of the messages what the marks list.
    pub(super) fn leave_out_refused(&mut self, write: Option<WriteResults<'_>>) {
        let media = self.marks.media.clone();
        for at in media.into_iter().chain(0..self.marks.proofs) {
            let Some(SeenMessage { sent, is_reduced: false, .. }) = self.seen.get(at) else {
                continue;
            };
            let is_media = self.marks.media.binary_search(&at).is_ok();
            let without = without_refused(sent, is_media, at < self.marks.proofs);
            let tokens = without.as_ref().map(|without| self.tokens_as_sent(without, write));
            let Some(seen) = self.seen.get_mut(at) else { continue };
            // A message that is refused for one reason may be refused for another later.
            seen.is_reduced = is_media || without.is_none();
            if let Some((without, tokens)) = without.zip(tokens) {
                (seen.sent, seen.tokens) = (Arc::new(without), tokens);
            }
        }
    }

    /// Leaves out the results that the model has yet to read; returns their number.
    pub(super) fn leave_out_unread(&mut self, write: Option<WriteResults<'_>>) -> usize {
        let mut count = 0;
        for at in self.marks.results.max(self.marks.first)..self.seen.len() {
            if self.marks.unread.contains(&at) {
                continue;
            }
            self.marks.unread.push(at);
            if self.shorten(at, write).is_some() {
                let seen = self.seen.get(at);
                count += seen.map_or(0, |seen| seen.kept.tool_results().count());
            } else {
                self.marks.unread.pop();
            }
        }
        count
    }
}

/// Returns the message without its images and documents, without its signatures, or without both; `None` if it has none.
fn without_refused(message: &Message, media: bool, proofs: bool) -> Option<Message> {
    if !(media && has_media(message) || proofs && has_proofs(message)) {
        return None;
    }
    let mut without = message.clone();
    if media {
        without.parts.iter_mut().for_each(note_media);
    }
    if proofs {
        without.parts.retain(|part| !is_encrypted(part));
        without.parts.iter_mut().for_each(remove_proof);
    }
    Some(without)
}

/// Returns `true` for a message with images or documents.
pub(crate) fn has_media(message: &Message) -> bool {
    media(message).next().is_some()
}

/// Returns the size of the images and documents of a message, in bytes as they are sent.
pub(crate) fn media_bytes(message: &Message) -> usize {
    media(message).map(|medium| medium.data.len()).sum()
}

/// Returns `true` for a message with signatures of reasoning, or with encrypted reasoning.
pub(crate) fn has_proofs(message: &Message) -> bool {
    let is_signed = |part: &Part| {
        matches!(part, Part::Thinking { signature: Some(_), .. })
            || matches!(part, Part::ToolCall(call) if call.signature.is_some())
    };
    message.parts.iter().any(|part| is_signed(part) || is_encrypted(part))
}

/// An image or a document.
struct Medium<'p> {
    kind: &'static str,
    media_type: &'p str,
    data: &'p str,
}

impl<'p> Medium<'p> {
    fn of(part: &'p Part) -> Option<Self> {
        if let Part::Image { media_type, data, .. } = part {
            return Some(Self { kind: "picture", media_type, data });
        }
        let Part::Document { media_type, data, .. } = part else { return None };
        Some(Self { kind: "document", media_type, data })
    }

    /// Returns the text that replaces it.
    fn note(&self) -> String {
        feedback::refused_media(self.kind, self.media_type)
    }
}

/// Returns the images and documents of a message, those of its results too.
fn media(message: &Message) -> impl Iterator<Item = Medium<'_>> {
    let results = message.tool_results().flat_map(|result| &result.parts);
    message.parts.iter().chain(results).filter_map(Medium::of)
}

fn is_encrypted(part: &Part) -> bool {
    matches!(part, Part::ProviderItem(item) if item.kind == ItemKind::Reasoning)
}

fn remove_proof(part: &mut Part) {
    if let Part::Thinking { signature, .. } = part {
        *signature = None;
    } else if let Part::ToolCall(call) = part {
        call.signature = None;
    }
}

/// Replaces an image or a document, or those of a result, with a note.
fn note_media(part: &mut Part) {
    if let Some(text) = Medium::of(part).map(|medium| medium.note()) {
        *part = Part::text(text);
    } else if let Part::ToolResult(result) = part {
        for note in result.parts.iter().filter_map(Medium::of).map(|medium| medium.note()) {
            result.content.push('\n');
            result.content.push_str(&note);
        }
        result.parts.retain(|part| Medium::of(part).is_none());
    }
}
