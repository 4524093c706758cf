//! Words: names of arguments, literals, and the prefixes of strings.

use super::{
    name::is_word_byte,
    string::StringText,
    suspect::SuspectRole,
    values::{PythonValues, StepResult, ValuesPhase},
};
use crate::grammar::{
    arguments::JsonOut,
    reader::{LONG_NAME, MAX_NAME_BYTES},
};
use forgeline_json::slice;

/// Maximum length of a word that is a value or the prefix of a string: `False`.
const MAX_WORD_BYTES: usize = 5;

const NO_WORD: &str = "this word is not a Python literal";

impl PythonValues {
    /// Reads part of a word, or finds its end.
    pub(super) fn take_word(
        &mut self,
        text: &str,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult {
        let rest = slice(text, *at..);
        let length = rest.bytes().take_while(|byte| is_word_byte(*byte)).count();
        let is_name = matches!(self.state, ValuesPhase::NameOrWord);
        let limit = if is_name { MAX_NAME_BYTES } else { MAX_WORD_BYTES };
        let room = limit - self.word.len();
        if length > room {
            *at += room;
            let reason = if is_name { LONG_NAME } else { NO_WORD };
            return Err((reason, limit));
        }
        self.word.push_str(slice(rest, ..length));
        *at += length;
        match rest.as_bytes().get(length) {
            None => Ok(()),
            Some(byte) if byte.is_ascii_whitespace() && is_name => {
                self.state = ValuesPhase::AfterNameOrWord;
                Ok(())
            }
            Some(byte) => self.end_word(*byte, at, out),
        }
    }

    /// Processes a word that ended before `byte`.
    pub(super) fn end_word(
        &mut self,
        byte: u8,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult {
        let is_behind = matches!(self.state, ValuesPhase::AfterNameOrWord);
        let length = if is_behind { 0 } else { self.word.len() };
        let at_word = |reason| (reason, length);
        let is_after_text = matches!(self.state, ValuesPhase::WordAfterText(_));
        let role = if let ValuesPhase::Word(role) | ValuesPhase::WordAfterText(role) = self.state {
            role
        } else if byte == b'=' {
            self.has_named = true;
            self.wanted = self.tools.schema().member(&self.word).types();
            if !self.arguments.begin(&self.word, out) {
                return Err(at_word("duplicate_argument"));
            }
            self.state = ValuesPhase::Value;
            *at += 1;
            return Ok(());
        } else {
            self.begin_positional(out).map_err(at_word)?;
            SuspectRole::Value
        };
        if matches!(byte, b'"' | b'\'') {
            let is_raw = is_raw_prefix(&self.word).ok_or(at_word(NO_WORD))?;
            if !is_after_text {
                out("\"");
            }
            self.state = ValuesPhase::Text(role, StringText::new(byte, is_raw));
            *at += 1;
            return Ok(());
        }
        if is_after_text {
            return Err(at_word("a comma or a bracket is missing behind a value"));
        }
        if byte == b'(' {
            return Err(at_word("a call stands inside an argument"));
        }
        let json = literal(&self.word).ok_or(at_word(NO_WORD))?;
        if role == SuspectRole::Key {
            out("\"");
        }
        out(json);
        self.end_value(role, false, out);
        Ok(())
    }
}

/// Returns the JSON literal for a Python literal; models write those of JSON as well.
fn literal(word: &str) -> Option<&'static str> {
    match word {
        "True" | "true" => Some("true"),
        "False" | "false" => Some("false"),
        "None" | "null" => Some("null"),
        _ => None,
    }
}

/// Returns `true` for the prefix of a raw string, and `None` for a word that is not a prefix and for the prefix of
/// bytes, which have no JSON value.
fn is_raw_prefix(word: &str) -> Option<bool> {
    match &*word.to_ascii_lowercase() {
        "u" | "f" => Some(false),
        "r" | "fr" | "rf" => Some(true),
        _ => None,
    }
}
