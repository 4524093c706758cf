//! The current piece of the text.

use super::token::{Sink, Token};
use crate::json::slice;

/// The position in the current piece, and the receiver of what it holds.
pub(super) struct Piece<'a, S> {
    pub(super) text: &'a str,
    /// `text[run..at]` passed unchanged and was not yet emitted.
    pub(super) run: usize,
    pub(super) at: usize,
    /// Position of the withheld comma, when it is in this piece.
    pub(super) comma: usize,
    sink: S,
}

impl<'a, S: Sink> Piece<'a, S> {
    pub(super) fn new(text: &'a str, sink: S) -> Self {
        Self { text, run: 0, at: 0, comma: 0, sink }
    }

    pub(super) fn emit(&mut self, token: Token<'_>) -> bool {
        (self.sink)(token)
    }

    pub(super) fn emit_text(&mut self, json: &str) {
        self.emit(Token::Text(json));
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Emits what passed, up to here.
    pub(super) fn flush(&mut self) {
        self.flush_to(self.at);
    }

    pub(super) fn flush_to(&mut self, to: usize) {
        if self.run < to {
            self.emit(Token::Text(slice(self.text, self.run..to)));
        }
        self.run = to;
    }

    /// Takes one byte without passing it on.
    pub(super) fn skip(&mut self) {
        self.flush();
        self.discard();
    }

    /// Takes one byte and drops it, with what passed before it.
    pub(super) fn discard(&mut self) {
        self.at += 1;
        self.run = self.at;
    }
}
