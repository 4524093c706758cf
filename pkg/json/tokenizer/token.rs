//! The output of the tokenizer.

use crate::json::RepairSet;

/// Handling of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// The first mistake ends the reading.
    Strict,
    /// Known mistakes are repaired and reported.
    Lenient,
}

/// One token, in order. Offsets count bytes of the current piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Strict JSON text.
    Text(&'a str),
    /// A key of an object begins at byte `at`, at nesting `depth`.
    KeyStart { depth: u32, at: usize },
    /// The key ended before byte `at`.
    KeyEnd { depth: u32, at: usize },
    /// A value begins at byte `at`, inside `depth` brackets.
    ValueStart { depth: u32, kind: Kind, at: usize },
    /// The value was whole, and another one begins at byte `at`.
    Next { at: usize },
    /// The value ended before byte `at`, with what was repaired since the last such end.
    ValueEnd { depth: u32, at: usize, repairs: RepairSet },
}

/// Kind of a value, as its first byte tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Word,
}

/// Receiver of the tokens.
///
/// Its answer to [`Token::ValueStart`] tells whether the tokens inside that value are wanted beside
/// its text; the answers to all other tokens are ignored.
pub(super) trait Sink: FnMut(Token<'_>) -> bool {}

impl<F: FnMut(Token<'_>) -> bool> Sink for F {}
