//! Words: names of arguments, literals, and the prefixes of strings.

use serde_json::Value;

use super::{Mistake, Quotes, Role, State, Values};
use crate::{
    llm::parser::grammar::literal::python::{
        start::is_word_byte,
        text::{Backslash, StringText},
    },
    types::Text,
};

/// Longest name of an argument, in bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Longest word that is a value or the prefix of a string: `False`.
const MAX_WORD_BYTES: usize = 5;

const NO_WORD: &str = "this word is no Python literal";

impl Values {
    /// Takes a part of a word, or finds its end.
    pub(super) fn take_word(
        &mut self,
        text: &str,
        at: &mut usize,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<(), Mistake> {
        let rest = text.get(*at..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| is_word_byte(*byte)).count();
        let is_name = matches!(self.state, State::NameOrWord);
        let limit = if is_name { MAX_NAME_BYTES } else { MAX_WORD_BYTES };
        let room = limit - self.word.len();
        if length > room {
            *at += room;
            let reason = if is_name { "a name is longer than 1024 bytes" } else { NO_WORD };
            return Err((reason, limit));
        }
        self.word.push_str(rest.get(..length).unwrap_or_default());
        *at += length;
        match rest.as_bytes().get(length) {
            None => Ok(()),
            Some(byte) if byte.is_ascii_whitespace() && is_name => {
                self.state = State::AfterNameOrWord;
                Ok(())
            }
            Some(byte) => self.end_word(*byte, at, schemas, out),
        }
    }

    /// A word ended before `byte`.
    pub(super) fn end_word(
        &mut self,
        byte: u8,
        at: &mut usize,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<(), Mistake> {
        let is_behind = matches!(self.state, State::AfterNameOrWord);
        let length = if is_behind { 0 } else { self.word.len() };
        let mut role = Role::Value;
        match self.state {
            State::NameOrWord | State::AfterNameOrWord if byte == b'=' => {
                self.arguments.begin_named(&self.word, out).map_err(|reason| (reason, length))?;
                self.state = State::Value;
                *at += 1;
                return Ok(());
            }
            State::NameOrWord | State::AfterNameOrWord => {
                self.arguments.begin_positional(schemas, out).map_err(|reason| (reason, length))?;
            }
            State::Word(known) | State::WordAfterText(known) => role = known,
            State::First
            | State::Next
            | State::Value
            | State::Number(..)
            | State::Text(..)
            | State::AfterText(_)
            | State::Colon
            | State::AfterValue => {}
        }
        if matches!(byte, b'"' | b'\'') {
            let backslash = string_prefix(&self.word).ok_or((NO_WORD, length))?;
            if !matches!(self.state, State::WordAfterText(_)) {
                out("\"");
            }
            self.state = State::Text(role, StringText::new(byte, backslash));
            *at += 1;
            return Ok(());
        }
        if matches!(self.state, State::WordAfterText(_)) {
            return Err(("a comma or a bracket is missing behind a value", length));
        }
        match literal(&self.word) {
            Some(json) if byte != b'(' => {
                if role == Role::Key {
                    out("\"");
                }
                out(json);
                self.end_value(role, Quotes::Keys, out);
                Ok(())
            }
            _ if byte == b'(' => Err(("a call stands inside an argument", length)),
            _ => Err((NO_WORD, length)),
        }
    }
}

/// JSON's word for a Python literal; models write JSON's as well.
fn literal(word: &str) -> Option<&'static str> {
    match word {
        "True" | "true" => Some("true"),
        "False" | "false" => Some("false"),
        "None" | "null" => Some("null"),
        _ => None,
    }
}

/// What a backslash is in a string with this prefix; `None` when it is no prefix.
fn string_prefix(word: &str) -> Option<Backslash> {
    const ESCAPES: [&str; 3] = ["b", "u", "f"];
    const IS_TEXT: [&str; 5] = ["r", "br", "rb", "fr", "rf"];
    let is_one_of =
        |prefixes: &[&str]| prefixes.iter().any(|known| known.eq_ignore_ascii_case(word));
    if is_one_of(&ESCAPES) {
        Some(Backslash::Escapes)
    } else {
        is_one_of(&IS_TEXT).then_some(Backslash::IsText)
    }
}
