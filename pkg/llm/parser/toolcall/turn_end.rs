//! The special tokens with which a turn ends: framing at the end of the text, text elsewhere.

use crate::llm::parser::{
    content::{Emit, ParsedContent},
    role::Role,
};

/// Longest run of such tokens that is held, in bytes; a longer one is text.
const MAX_HELD_BYTES: usize = 256;

/// The tokens at the end of the text so far, and the whitespace behind each.
#[derive(Debug, Default)]
pub(super) struct TurnEnd {
    held: String,
}

impl TurnEnd {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes the marker `found` if it ends a turn, and not the call or wrapper that is open; returns
    /// `true` then.
    pub(super) fn take(
        &mut self,
        found: &str,
        role: Role,
        (may_unwrap, is_behind_call): (bool, bool),
        out: &mut Emit<'_>,
    ) -> bool {
        let Role::TurnEnd { closes_wrapper, closes_call, only_behind_call } = role else {
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

    /// Takes the next token.
    fn push(&mut self, token: &str, out: &mut Emit<'_>) {
        if !self.has_room(token) {
            self.release(out);
        }
        self.held.push_str(token);
    }

    /// Emits text behind the tokens, which shows that they were text too; whitespace does not.
    pub(super) fn pass(&mut self, text: &str, out: &mut Emit<'_>) {
        if !self.held.is_empty() {
            if text.trim_ascii_start().is_empty() && self.has_room(text) {
                return self.held.push_str(text);
            }
            self.release(out);
        }
        out(ParsedContent::Text(text));
    }

    /// Emits the tokens as text.
    pub(super) fn release(&mut self, out: &mut Emit<'_>) {
        if !self.held.is_empty() {
            out(ParsedContent::Text(&self.held));
            self.held.clear();
        }
    }

    /// Emits the tokens as what they are: nothing follows them.
    pub(super) fn end(&mut self, out: &mut Emit<'_>) {
        if !self.held.is_empty() {
            out(ParsedContent::Marker(&self.held));
            self.held.clear();
        }
    }

    fn has_room(&self, text: &str) -> bool {
        self.held.len() + text.len() <= MAX_HELD_BYTES
    }
}
