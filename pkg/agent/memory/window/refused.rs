//! What a provider refused of the conversation: images and documents become notes, and signatures are left out.

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
    message.parts.iter().any(|part| match part {
        Part::ToolResult(result) => result.parts.iter().any(is_media),
        other => is_media(other),
    })
}

/// Returns the size of the images and documents of a message, in bytes as they are sent.
pub(crate) fn media_bytes(message: &Message) -> usize {
    let size = |part: &Part| match part {
        Part::Image { data, .. } | Part::Document { data, .. } => data.len(),
        _ => 0,
    };
    let sizes = message.parts.iter().map(|part| match part {
        Part::ToolResult(result) => result.parts.iter().map(size).sum(),
        other => size(other),
    });
    sizes.sum()
}

/// Returns `true` for a message with signatures of reasoning, or with encrypted reasoning.
pub(crate) fn has_proofs(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Thinking { signature, .. } => signature.is_some(),
        Part::ToolCall(call) => call.signature.is_some(),
        other => is_encrypted(other),
    })
}

fn is_media(part: &Part) -> bool {
    matches!(part, Part::Image { .. } | Part::Document { .. })
}

fn is_encrypted(part: &Part) -> bool {
    matches!(part, Part::ProviderItem(item) if item.kind == ItemKind::Reasoning)
}

fn remove_proof(part: &mut Part) {
    match part {
        Part::Thinking { signature, .. } => *signature = None,
        Part::ToolCall(call) => call.signature = None,
        _ => {}
    }
}

/// Replaces an image or a document with a note.
fn note_media(part: &mut Part) {
    match part {
        Part::Image { media_type, .. } => {
            *part = Part::Text { text: feedback::refused_media("picture", media_type) };
        }
        Part::Document { media_type, .. } => {
            *part = Part::Text { text: feedback::refused_media("document", media_type) };
        }
        Part::ToolResult(result) => {
            for part in std::mem::take(&mut result.parts) {
                match part {
                    Part::Image { media_type, .. } => {
                        result.content.push_str("\n");
                        result.content.push_str(&feedback::refused_media("picture", &media_type));
                    }
                    Part::Document { media_type, .. } => {
                        result.content.push_str("\n");
                        result.content.push_str(&feedback::refused_media("document", &media_type));
                    }
                    other => result.parts.push(other),
                }
            }
        }
        _ => {}
    }
}
