//! A value that may still be a number, `true`, `false` or `null`.

use compact_str::CompactString;

use crate::llm::parser::{json::Digits, schema::Types};

/// Longest value that is withheld because it may still be a literal, in bytes.
const MAX_BYTES: usize = 64;

/// What was seen of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but blanks.
    Blank,
    Number(Digits),
    /// So many letters of the word.
    Word(&'static str, usize),
    /// Blanks behind a whole literal.
    Behind,
}

/// Withholds a value while it may still be a literal of the types admitted.
#[derive(Debug)]
pub(super) struct Literal {
    state: State,
    types: Types,
    held: CompactString,
}

impl Literal {
    pub(super) const fn new(types: Types) -> Self {
        Self { state: State::Blank, types, held: CompactString::const_new("") }
    }

    /// Everything withheld.
    pub(super) fn text(&self) -> &str {
        &self.held
    }

    /// Takes `text` as far as all of it may still be a literal; gives the rest, with which the value
    /// cannot be one.
    pub(super) fn take<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        for (at, byte) in text.bytes().enumerate() {
            let next = self.next(byte).filter(|_| self.held.len() < MAX_BYTES);
            let Some(state) = next else { return text.get(at..) };
            self.state = state;
            // Whatever may be in a literal is ASCII.
            self.held.push(char::from(byte));
        }
        None
    }

    /// The literal, if the value is one that is admitted.
    pub(super) fn whole(&self) -> Option<&str> {
        let text = self.held.trim_matches([' ', '\t', '\n', '\r']);
        (self.is_whole() && self.types.admit_literal(text)).then_some(text)
    }

    fn is_whole(&self) -> bool {
        match self.state {
            State::Blank => false,
            State::Number(digits) => digits.may_end(),
            State::Word(word, seen) => seen == word.len(),
            State::Behind => true,
        }
    }

    /// Blanks around a literal count, unless no string is admitted.
    fn ignores_blanks(&self) -> bool {
        !self.types.is_unknown() && !self.types.has(Types::STRING)
    }

    fn next(&self, byte: u8) -> Option<State> {
        let is_blank = self.ignores_blanks() && matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Blank if is_blank => Some(State::Blank),
            State::Blank => match byte {
                b't' => Some(State::Word("true", 1)),
                b'f' => Some(State::Word("false", 1)),
                b'n' => Some(State::Word("null", 1)),
                _ => Digits::first(byte).map(State::Number),
            },
            State::Number(_) | State::Word(..) | State::Behind if is_blank => {
                self.is_whole().then_some(State::Behind)
            }
            State::Number(digits) => digits.next(byte).map(State::Number),
            State::Word(word, seen) => {
                (word.as_bytes().get(seen) == Some(&byte)).then_some(State::Word(word, seen + 1))
            }
            State::Behind => None,
        }
    }
}
