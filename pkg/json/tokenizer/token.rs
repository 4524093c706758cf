//! The output of the tokenizer.

use crate::json::RepairSet;

/// The treatment of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// The first mistake ends reading.
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
    /// The value was complete, and another one begins at byte `at`.
    Next { at: usize },
    /// The value ended before byte `at`, with the repairs made since the last such end.
    ValueEnd { depth: u32, at: usize, repairs: RepairSet },
}

/// The kind of a value, as determined by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Word,
}

/// A receiver of tokens.
///
/// The returned value for [`Token::ValueStart`] decides whether the tokens inside that value are wanted in addition to
/// its text; it is ignored for all other tokens.
pub(super) trait Sink: FnMut(Token<'_>) -> bool {}

impl<F: FnMut(Token<'_>) -> bool> Sink for F {}
