//! Numbers and words.

use super::{
    machine::Tokenizer,
    piece::Piece,
    state::JsonState,
    structure::is_key_byte,
    token::{Sink, Strictness},
};
use crate::{Number, Repair};

const WORDS: [&str; 3] = ["true", "false", "null"];

/// The number of bytes after which a word is too long.
const MAX_WORD_BYTES: usize = 6;

impl Tokenizer {
    pub(super) fn in_number(&mut self, byte: u8, number: Number, piece: &mut Piece<'_, impl Sink>) {
        match number.next(byte) {
            Some(number) => {
                self.state = JsonState::Number(number);
                piece.at += 1;
            }
            None => self.end_number(number, piece),
        }
    }

    /// Ends a number before the next byte. Strict readers receive a complete number even if
    /// the text after it is invalid.
    pub(super) fn end_number(&mut self, number: Number, piece: &mut Piece<'_, impl Sink>) {
        let is_clean = piece.peek().is_none_or(|byte| !is_key_byte(byte));
        if number.may_end() && (is_clean || self.strictness == Strictness::Strict) {
            self.end_value(piece);
        }
        if !number.may_end() || !is_clean {
            self.fail("invalid JSON number", piece);
        }
    }

    /// Reads a letter of a word. Strict readers receive a word at its last letter.
    pub(super) fn in_word(&mut self, byte: u8, piece: &mut Piece<'_, impl Sink>) {
        let is_strict = self.strictness == Strictness::Strict;
        if !byte.is_ascii_alphabetic() || self.word.len() == MAX_WORD_BYTES {
            return self.end_word(piece);
        }
        let follows = |word: &&str| word.as_bytes().get(self.word.len()) == Some(&byte);
        let is_word = |word: &&str| word.starts_with(self.word.as_str()) && follows(word);
        if is_strict && !WORDS.iter().any(is_word) {
            return self.fail(NOT_A_WORD, piece);
        }
        self.word.push(char::from(byte));
        piece.skip();
        if is_strict && self.word_value().is_some() {
            self.end_word(piece);
        }
    }

    pub(super) fn end_word(&mut self, piece: &mut Piece<'_, impl Sink>) {
        let Some(value) = self.word_value() else { return self.fail(NOT_A_WORD, piece) };
        if value != self.word && !self.repair(Repair::PythonLiteral, piece) {
            return;
        }
        self.word.clear();
        piece.emit_text(value);
        self.end_value(piece);
    }

    /// Returns the JSON literal for the current word of JSON or Python.
    pub(super) fn word_value(&self) -> Option<&'static str> {
        match self.word.as_str() {
            "true" | "True" => Some("true"),
            "false" | "False" => Some("false"),
            "null" | "None" => Some("null"),
            _ => None,
        }
    }
}

const NOT_A_WORD: &str = "this word is not a JSON value";
