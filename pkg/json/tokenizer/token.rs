//! The output of the tokenizer.

use crate::RepairSet;

/// The treatment of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The first mistake ends reading.
    Strict,
    /// Known mistakes are repaired and reported.
    Lenient,
}

/// One token, in order. Offsets count bytes of the current piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// Strict JSON text.
    Text(&'a str),
    /// A key of an object begins.
    #[non_exhaustive]
    KeyStart {
        /// The number of open brackets around it.
        depth: u32,
        /// Its first byte.
        at: usize,
    },
    /// The key ended.
    #[non_exhaustive]
    KeyEnd {
        /// The number of open brackets around it.
        depth: u32,
        /// The byte after it.
        at: usize,
    },
    /// A value begins.
    #[non_exhaustive]
    ValueStart {
        /// The number of open brackets around it.
        depth: u32,
        /// Its kind.
        kind: Kind,
        /// Its first byte.
        at: usize,
    },
    /// The value was complete, and another one begins.
    #[non_exhaustive]
    Next {
        /// The first byte of the other one.
        at: usize,
    },
    /// The value ended.
    #[non_exhaustive]
    ValueEnd {
        /// The number of open brackets around it.
        depth: u32,
        /// The byte after it.
        at: usize,
        /// The repairs made since the last such end.
        repairs: RepairSet,
    },
}

/// The kind of a value, as determined by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// A word such as `true` or `null`.
    Word,
}

/// A receiver of tokens.
///
/// The returned value for [`Token::ValueStart`] decides whether the tokens inside that value are wanted in addition to
/// its text; it is ignored for all other tokens.
pub(super) trait Sink: FnMut(Token<'_>) -> bool {}

impl<F: FnMut(Token<'_>) -> bool> Sink for F {}
