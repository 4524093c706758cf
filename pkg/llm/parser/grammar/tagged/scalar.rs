//! A value that may still be a number, `true`, `false` or `null`.

use compact_str::CompactString;

use crate::{json::Number, llm::parser::grammar::schema::Types};

/// Longest value that is withheld because it may still be a literal, in bytes.
const MAX_BYTES: usize = 64;

/// Words that are literals, and what they are in JSON.
const WORDS: [(&str, &str); 6] = [
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
    // Templates print what models then repeat; it is repaired where it can be nothing else.
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
];

/// The part of a literal that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but whitespace.
    Blank,
    Number(Number),
    /// This number of letters of the word.
    Word(&'static str, usize),
    /// Whitespace behind a whole literal.
    Behind,
}

/// Withholds a value while it may still be a literal of the types admitted.
#[derive(Debug)]
pub(super) struct Scalar {
    state: State,
    types: Types,
    held: CompactString,
}

impl Scalar {
    pub(super) const fn new(types: Types) -> Self {
        Self { state: State::Blank, types, held: CompactString::const_new("") }
    }

    /// Returns the types that are admitted.
    pub(super) fn types(&self) -> Types {
        self.types
    }

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

    /// Returns the JSON literal, if the value is one that is admitted, and whether it was Python's.
    pub(super) fn whole(&self) -> Option<(&str, bool)> {
        let text = self.held.trim_matches([' ', '\t', '\n', '\r']);
        let json = WORDS.iter().find(|(word, _)| *word == text).map_or(text, |(_, json)| *json);
        let is_admitted = self.is_whole() && self.types.admit_literal(json);
        is_admitted.then_some((json, json != text))
    }

    fn is_whole(&self) -> bool {
        match self.state {
            State::Blank => false,
            State::Number(digits) => digits.may_end(),
            State::Word(word, seen) => seen == word.len(),
            State::Behind => true,
        }
    }

    /// Returns `true` when no string is admitted, so that whitespace around a literal does not
    /// count.
    fn is_lenient(&self) -> bool {
        !self.types.is_unknown() && !self.types.has(Types::STRING)
    }

    fn next(&self, byte: u8) -> Option<State> {
        let is_blank = self.is_lenient() && matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Blank if is_blank => Some(State::Blank),
            State::Blank => {
                let mut words =
                    WORDS.iter().filter(|(word, json)| self.is_lenient() || word == json);
                match words.find(|(word, _)| word.as_bytes().first() == Some(&byte)) {
                    Some((word, _)) => Some(State::Word(word, 1)),
                    None => Number::first(byte).map(State::Number),
                }
            }
            State::Number(_) | State::Word(..) | State::Behind if is_blank => {
                self.is_whole().then_some(State::Behind)
            }
            State::Number(digits) => digits.next(byte).map(State::Number),
            State::Word(word, seen) => {
                let is_next = word.as_bytes().get(seen) == Some(&byte);
                is_next.then_some(State::Word(word, seen + 1))
            }
            State::Behind => None,
        }
    }
}
