//! Completeness of a JSON text that arrives in pieces.

use super::{Strictness, Tokenizer};

/// A tracker of one strict JSON value through its pieces, in constant memory.
#[derive(Debug)]
pub struct JsonTracker {
    tokenizer: Tokenizer,
}

impl Default for JsonTracker {
    fn default() -> Self {
        Self { tokenizer: Tokenizer::new(Strictness::Strict) }
    }
}

impl JsonTracker {
    /// Reads the next piece.
    #[doc(hidden)]
    pub fn push(&mut self, piece: &str) {
        self.tokenizer.feed(piece, &mut |_| false);
    }

    /// Returns `true` once exactly one JSON value has arrived, and nothing else.
    #[doc(hidden)]
    pub fn is_whole(&self) -> bool {
        self.tokenizer.is_whole()
    }

    /// Returns the fault of a text that ended here and is incomplete, and its byte offset.
    #[doc(hidden)]
    pub fn fault(&self) -> (&'static str, usize) {
        self.tokenizer.fault()
    }
}
