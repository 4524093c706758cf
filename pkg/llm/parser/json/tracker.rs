//! Whether a JSON text that arrives in pieces is whole.

use super::lenient::{Lenient, Strictness};

/// Follows one JSON value through its pieces, in constant memory, and tells whether it is whole.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::JsonTracker;
///
/// let mut tracker = JsonTracker::default();
/// tracker.push("{\"a\": [1, ");
/// assert!(!tracker.is_whole());
/// tracker.push("2]}");
/// assert!(tracker.is_whole());
/// ```
#[derive(Debug)]
pub struct JsonTracker {
    lexer: Lenient,
}

impl Default for JsonTracker {
    fn default() -> Self {
        Self { lexer: Lenient::new(Strictness::Strict) }
    }
}

impl JsonTracker {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        let _ = self.lexer.feed(piece, &mut |_| false);
    }

    /// Whether exactly one JSON value has arrived, and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lexer.is_whole()
    }

    /// What is wrong with a text that ended here and is not whole, and at which byte.
    #[must_use]
    pub fn fault(&self) -> (&'static str, usize) {
        self.lexer.fault()
    }
}
