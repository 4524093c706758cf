//! The special tokens that end a turn: framing at the end of the text, text elsewhere.

use crate::{
    builder::role::MarkerRole,
    content::parsed::{ContentSink, ParsedContent},
};

/// Maximum length of a sequence of such tokens that is held, in bytes; a longer one is text.
const MAX_HELD_BYTES: usize = 256;

/// The tokens at the end of the text so far, and the whitespace after each.
#[derive(Debug, Default)]
pub(super) struct TurnEnd {
    held: String,
}

impl TurnEnd {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Processes the marker `found` if it ends a turn, and not the open call or wrapper; returns
    /// `true` if so.
    pub(super) fn take(
        &mut self,
        found: &str,
        role: MarkerRole,
        (may_unwrap, is_behind_call): (bool, bool),
        out: &mut ContentSink<'_>,
    ) -> bool {
        let MarkerRole::TurnEnd { closes_wrapper, closes_call, only_behind_call } = role else {
            return false;
        };
        if closes_wrapper && may_unwrap || closes_call && is_behind_call {
            return false;
        }
        if only_behind_call && !is_behind_call {
            self.pass(found, out);
        } else {
            self.push(found, out);
        }
        true
    }

    /// Adds the next token.
    fn push(&mut self, token: &str, out: &mut ContentSink<'_>) {
        if !self.has_room(token) {
            self.release(out);
        }
        self.held.push_str(token);
    }

    /// Emits text after the tokens, which shows that they were text too, unless it is whitespace.
    pub(super) fn pass(&mut self, text: &str, out: &mut ContentSink<'_>) {
        if !self.held.is_empty() {
            if text.trim_ascii_start().is_empty() && self.has_room(text) {
                return self.held.push_str(text);
            }
            self.release(out);
        }
        out(ParsedContent::Text(text));
    }

    /// Emits the tokens as text.
    pub(super) fn release(&mut self, out: &mut ContentSink<'_>) {
        if !self.held.is_empty() {
            out(ParsedContent::Text(&self.held));
            self.held.clear();
        }
    }

    /// Emits the tokens as framing, because nothing follows them.
    pub(super) fn end(&mut self, out: &mut ContentSink<'_>) {
        if !self.held.is_empty() {
            out(ParsedContent::Marker(&self.held));
            self.held.clear();
        }
    }

    fn has_room(&self, text: &str) -> bool {
        self.held.len() + text.len() <= MAX_HELD_BYTES
    }
}
