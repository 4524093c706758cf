//! The current piece of the text.

use super::token::{Sink, Token};
use crate::slice;

/// The position in the current piece, and the receiver of its tokens.
pub(super) struct Piece<'a, S> {
    pub(super) text: &'a str,
    /// The start of the text that passed unchanged but has not been emitted: `text[run..at]`.
    pub(super) run: usize,
    pub(super) at: usize,
    /// The position of the withheld comma, if it is in this piece.
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

    /// Emits the text that passed, up to the current position.
    pub(super) fn flush(&mut self) {
        self.flush_to(self.at);
    }

    pub(super) fn flush_to(&mut self, to: usize) {
        if self.run < to {
            self.emit(Token::Text(slice(self.text, self.run..to)));
        }
        self.run = to;
    }

    /// Consumes one byte without emitting it.
    pub(super) fn skip(&mut self) {
        self.flush();
        self.discard();
    }

    /// Consumes one byte and drops it, together with the text that passed before it.
    pub(super) fn discard(&mut self) {
        self.at += 1;
        self.run = self.at;
    }
}
