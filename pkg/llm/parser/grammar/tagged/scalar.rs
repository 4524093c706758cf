//! A value that may still be a number, `true`, `false` or `null`.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::grammar::schema::Types;
use forgeline_json::Number;

/// Maximum length of a value that is withheld because it may still be a literal, in bytes.
const MAX_BYTES: usize = 64;

/// Words that are literals.
const WORDS: [&str; 3] = ["true", "false", "null"];
/// Words printed by templates and repeated by models; they are literals where nothing else is possible.
const PYTHON_WORDS: [&str; 6] = ["True", "False", "None", "TRUE", "FALSE", "NULL"];

/// The part of a literal that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScalarPhase {
    /// Nothing but whitespace.
    Blank,
    Number(Number),
    /// A plus before a number.
    Plus,
    /// This number of letters of the word.
    Word(&'static str, usize),
    /// Whitespace after a complete literal.
    Behind,
}

/// A value that is withheld while it may still be a literal of the allowed types.
#[derive(Debug)]
pub(super) struct ScalarValue {
    state: ScalarPhase,
    types: Types,
    held: CompactString,
}

impl ScalarValue {
    pub(super) const fn new(types: Types) -> Self {
        Self { state: ScalarPhase::Blank, types, held: CompactString::const_new("") }
    }

    pub(super) fn text(&self) -> &str {
        &self.held
    }

    /// Adds `text` as far as it may still be a literal; returns the rest if the value
    /// cannot be one.
    pub(super) fn take<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        for (at, byte) in text.bytes().enumerate() {
            let next = self.next(byte).filter(|_| self.held.len() < MAX_BYTES);
            let Some(state) = next else { return text.get(at..) };
            self.state = state;
            // Everything that may be in a literal is ASCII.
            self.held.push(char::from(byte));
        }
        None
    }

    /// Returns the JSON literal, if the value is an allowed one, and whether it was Python's.
    pub(super) fn whole(&self) -> Option<(Cow<'_, str>, bool)> {
        let text = self.held.trim_matches([' ', '\t', '\n', '\r']);
        let json = self.types.literal(text)?;
        Some((json, PYTHON_WORDS.contains(&text)))
    }

    fn is_whole(&self) -> bool {
        match self.state {
            ScalarPhase::Blank | ScalarPhase::Plus => false,
            ScalarPhase::Number(digits) => digits.may_end(),
            ScalarPhase::Word(word, seen) => seen == word.len(),
            ScalarPhase::Behind => true,
        }
    }

    fn next(&self, byte: u8) -> Option<ScalarPhase> {
        let is_lenient = self.types.are_no_strings();
        let is_blank = is_lenient && matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            ScalarPhase::Blank if is_blank => Some(ScalarPhase::Blank),
            ScalarPhase::Blank if is_lenient && byte == b'+' => Some(ScalarPhase::Plus),
            ScalarPhase::Blank => {
                let may_be_null = self.types.has(Types::NULL);
                let admits = |word: &&&str| is_lenient || (may_be_null && **word == "None");
                let python = PYTHON_WORDS.iter().filter(admits);
                let mut words = WORDS.iter().chain(python);
                match words.find(|word| word.as_bytes().first() == Some(&byte)) {
                    Some(word) => Some(ScalarPhase::Word(word, 1)),
                    None => Number::first(byte).map(ScalarPhase::Number),
                }
            }
            ScalarPhase::Plus => {
                Number::first(byte).filter(|_| byte != b'-').map(ScalarPhase::Number)
            }
            ScalarPhase::Number(_) | ScalarPhase::Word(..) | ScalarPhase::Behind if is_blank => {
                self.is_whole().then_some(ScalarPhase::Behind)
            }
            // Zeros may precede a number.
            ScalarPhase::Number(Number::Zero) if is_lenient && byte.is_ascii_digit() => {
                Number::first(byte).map(ScalarPhase::Number)
            }
            ScalarPhase::Number(digits) => digits.next(byte).map(ScalarPhase::Number),
            ScalarPhase::Word(word, seen) => {
                // Some words begin alike: `True` and `TRUE`.
                let front = word.get(..seen);
                let others =
                    PYTHON_WORDS.iter().filter(|other| is_lenient && other.get(..seen) == front);
                let mut words = [&word].into_iter().chain(others);
                let next = words.find(|word| word.as_bytes().get(seen) == Some(&byte));
                next.map(|word| ScalarPhase::Word(word, seen + 1))
            }
            ScalarPhase::Behind => None,
        }
    }
}
