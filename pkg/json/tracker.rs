//! Completeness of a JSON text that arrives in pieces.

use super::{Strictness, Tokenizer};

/// Follows one strict JSON value through its pieces, in constant memory.
#[derive(Debug)]
pub(crate) struct JsonTracker {
    tokenizer: Tokenizer,
}

impl Default for JsonTracker {
    fn default() -> Self {
        Self { tokenizer: Tokenizer::new(Strictness::Strict) }
    }
}

impl JsonTracker {
    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.tokenizer.feed(piece, &mut |_| false);
    }

    /// Returns `true` once exactly one JSON value has arrived, and nothing else.
    pub(crate) fn is_whole(&self) -> bool {
        self.tokenizer.is_whole()
    }

    /// Returns what is wrong with a text that ended here and is not whole, and at which byte.
    pub(crate) fn fault(&self) -> (&'static str, usize) {
        self.tokenizer.fault()
    }
}
