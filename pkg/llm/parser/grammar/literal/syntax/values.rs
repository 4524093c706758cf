//! The arguments of a call: lenient JSON, strings between delimiters, and unquoted words.

use std::{borrow::Cow, mem};

use super::call::{NextOpener, SyntaxCall, SyntaxPhase, TICK};
use crate::grammar::{
    json::take_token,
    reader::{PayloadFault, PayloadOut, PayloadSink, is_blank, json_to},
    schema::Types,
};
use forgeline_json::{Token, escape_into, is_number, slice, subslice};
use forgeline_types::Repair;

impl SyntaxCall {
    /// Reads part of the arguments: up to a word or a delimiter, or to their end.
    pub(super) fn arguments(&mut self, text: &str, at: &mut usize, out: &mut PayloadSink<'_>) {
        let rest = slice(text, *at..);
        let first = rest.bytes().next().unwrap_or_default();
        if let Some(quote) = self.lexer.string_quote() {
            // Text inside a JSON string that begins like a delimiter is data.
            let end = memchr::memchr(quote, rest.as_bytes()).map_or(rest.len(), |end| end + 1);
            *at += self.lex(slice(rest, ..end), self.taken + *at, out);
            return;
        }
        let is_value = self.lexer.wants_value();
        let ends_parentheses = first == b')' && self.ends_at_parenthesis();
        if is_value && (ends_parentheses || matches!(first, b'}' | b',')) {
            self.empty_value(self.taken + *at, out);
        }
        let is_equals = self.is_in_parentheses && first == b'=' && !is_value;
        if ends_parentheses || (is_equals && !self.lexer.wants_key()) {
            self.lex(if is_equals { ":" } else { "}" }, self.taken + *at, out);
            *at += 1;
            return;
        }
        self.state = match first {
            _ if self.lexer.is_at_comment() || is_blank(char::from(first)) => {
                SyntaxPhase::Arguments
            }
            _ if self.delimiter.as_bytes().first() == Some(&first) => SyntaxPhase::Opening(0),
            b'`' if is_value => {
                *at += 1;
                self.lex("\"", self.taken + *at, out);
                SyntaxPhase::Ticks
            }
            b'(' if is_value && self.types().has(Types::ARRAY) => SyntaxPhase::Arguments,
            b')' if self.lexer.is_in_tuple() => SyntaxPhase::Arguments,
            b'{' | b'[' | b'"' | b'\'' | b'}' | b']' | b',' => SyntaxPhase::Arguments,
            _ if is_value => SyntaxPhase::Word { is_key: false },
            b'/' | b'#' => SyntaxPhase::Arguments,
            _ if self.lexer.wants_key() => SyntaxPhase::Word { is_key: true },
            _ => SyntaxPhase::Arguments,
        };
        if self.state == SyntaxPhase::Arguments {
            let end = rest.chars().next().map_or(rest.len(), char::len_utf8);
            *at += self.lex(slice(rest, ..end), self.taken + *at, out);
        }
    }

    /// Passes `text`, which represents the source at `offset`, to the lexer. Returns the number of bytes read.
    pub(super) fn lex(&mut self, text: &str, offset: usize, out: &mut PayloadSink<'_>) -> usize {
        let Self { lexer, repairs, state, place, .. } = self;
        let taken = lexer.feed(text, &mut |token| {
            if let Token::ValueEnd { depth: 0, .. } = token {
                *state = SyntaxPhase::Behind(NextOpener::Nothing);
            }
            place.follow(token);
            take_token(token, repairs, &mut json_to(out));
            true
        });
        if lexer.has_failed() {
            let (reason, place) = lexer.fault();
            self.fail(reason, (offset + place).saturating_sub(self.lexed));
        }
        self.lexed += taken;
        taken
    }

    /// Returns `true` if `)` ends the arguments here.
    fn ends_at_parenthesis(&self) -> bool {
        self.is_in_parentheses && self.lexer.nesting() == (1, true)
    }

    /// Adds the value of a key that nothing follows: an empty string, if one is allowed.
    fn empty_value(&mut self, offset: usize, out: &mut PayloadSink<'_>) {
        let (_, is_of_key) = self.lexer.nesting();
        if is_of_key && !self.types().are_no_strings() {
            self.repairs.insert(Repair::UnquotedString);
            self.lex("\"\"", offset, out);
        }
    }

    /// Reads bytes that may open a string.
    pub(super) fn opening(
        &mut self,
        seen: usize,
        text: &str,
        at: &mut usize,
        out: &mut PayloadSink<'_>,
    ) {
        let matched = matched(self.delimiter, seen, text, *at);
        let offset = self.taken + *at - seen;
        *at += matched - seen;
        if matched == self.delimiter.len() {
            self.open_string(offset, out);
        } else if *at == text.len() {
            self.state = SyntaxPhase::Opening(matched);
        } else if self.lexer.wants_value() {
            self.word.clear();
            self.word.push_str(slice(self.delimiter, ..matched));
            self.state = SyntaxPhase::Word { is_key: false };
        } else {
            self.state = SyntaxPhase::Arguments;
            let begun = slice(self.delimiter, ..matched);
            self.lex(begun, offset, out);
        }
    }

    /// Begins a string between delimiters, the first of which is at `offset`.
    fn open_string(&mut self, offset: usize, out: &mut PayloadSink<'_>) {
        let is_value = self.lexer.wants_value();
        self.word.clear();
        if is_value && self.types().are_no_strings() {
            self.state = SyntaxPhase::Held(0);
        } else {
            self.state = SyntaxPhase::Quoted(0);
            self.lex("\"", offset, out);
        }
    }

    /// Reads the content of a string between delimiters.
    pub(super) fn quoted(
        &mut self,
        seen: usize,
        text: &str,
        at: &mut usize,
        out: &mut PayloadSink<'_>,
    ) {
        let is_held = matches!(self.state, SyntaxPhase::Held(_));
        let state =
            |seen| if is_held { SyntaxPhase::Held(seen) } else { SyntaxPhase::Quoted(seen) };
        let rest = slice(text, *at..);
        let first = self.delimiter.as_bytes().first().copied().unwrap_or_default();
        if seen == 0 && !rest.as_bytes().starts_with(&[first]) {
            let end = memchr::memchr(first, rest.as_bytes()).unwrap_or(rest.len());
            *at += end;
            return self.string(slice(rest, ..end), out);
        }
        let matched = matched(self.delimiter, seen, text, *at);
        *at += matched - seen;
        self.state = state(matched);
        if matched == self.delimiter.len() {
            self.end_string(self.taken + *at, out);
        } else if *at < text.len() {
            self.string(slice(self.delimiter, ..matched), out);
            self.state = state(0);
        }
    }

    /// Adds text of a string, taken literally.
    fn string(&mut self, text: &str, out: &mut PayloadSink<'_>) {
        if let SyntaxPhase::Held(_) = self.state {
            return self.word.push_str(text);
        }
        let place = &mut self.place;
        escape_into(text, &mut |json| {
            place.push_key(json);
            out(PayloadOut::Arguments(json));
        });
    }

    /// Ends a string between delimiters before byte `offset`.
    fn end_string(&mut self, offset: usize, out: &mut PayloadSink<'_>) {
        let is_held = matches!(self.state, SyntaxPhase::Held(_));
        self.state = SyntaxPhase::Arguments;
        if !is_held {
            self.lex("\"", offset, out);
            return;
        }
        let word = mem::take(&mut self.word);
        let types = self.types();
        let value = word.trim();
        let is_nested = value.starts_with(['{', '['])
            && types.has(Types::beginning_with(value.bytes().next().unwrap_or_default()))
            && serde_json::from_str::<&serde_json::value::RawValue>(value).is_ok();
        match types.literal(value) {
            // The space ends a number, after which a comma may be missing.
            Some(json) => self.lex(&format!("{json} "), offset, out),
            None if is_nested => self.lex(value, offset, out),
            None => self.lex(&quoted(&word), offset, out),
        };
    }

    /// Reads the content of a string in backticks.
    pub(super) fn ticks(&mut self, text: &str, at: &mut usize, out: &mut PayloadSink<'_>) {
        let rest = slice(text, *at..);
        let end = rest.find(TICK);
        self.string(slice(rest, ..end.unwrap_or(rest.len())), out);
        *at += end.map_or(rest.len(), |end| end + TICK.len());
        if end.is_some() {
            self.state = SyntaxPhase::Arguments;
            self.lex("\"", self.taken + *at, out);
        }
    }

    /// Reads part of an unquoted word, or finds its end.
    pub(super) fn word(
        &mut self,
        is_key: bool,
        text: &str,
        at: &mut usize,
        out: &mut PayloadSink<'_>,
    ) {
        let rest = slice(text, *at..);
        let ends = |byte: &u8| match byte {
            b':' => is_key,
            b'=' => is_key && self.is_in_parentheses,
            b',' | b'}' | b']' => true,
            b')' => self.lexer.is_in_tuple() || self.ends_at_parenthesis(),
            _ => false,
        };
        let end = rest.as_bytes().iter().position(ends);
        let before = self.word.len();
        self.word.push_str(slice(rest, ..end.unwrap_or(rest.len())));
        if !is_key && let Some(start) = self.delimiter_in_word(before) {
            let behind = start + self.delimiter.len();
            *at += behind.saturating_sub(before);
            return self.string_behind_word(start, self.taken + *at, out);
        }
        *at += end.unwrap_or(rest.len());
        if end.is_some() {
            self.end_word(is_key, self.taken + *at, out);
        }
    }

    /// Returns the position of the first delimiter that ends after the first `before` bytes of the word.
    fn delimiter_in_word(&self, before: usize) -> Option<usize> {
        let from = before.saturating_sub(self.delimiter.len() - 1);
        let text = subslice(self.word.as_bytes(), from..);
        memchr::memmem::find(text, self.delimiter.as_bytes()).map(|at| from + at)
    }

    /// Begins a string after the first `length` bytes of a word: the comma is missing, and
    /// the word consists of a literal and the key of the string.
    fn string_behind_word(&mut self, length: usize, offset: usize, out: &mut PayloadSink<'_>) {
        let mut word = mem::take(&mut self.word);
        word.truncate(length);
        let start = offset.saturating_sub(length + self.delimiter.len());
        let Some((literal, key)) = split_word(&word) else {
            return self.fail("a string begins inside a word without quotes", start + length);
        };
        let json = self.value_word(literal);
        self.state = SyntaxPhase::Arguments;
        for text in [json.as_str(), " ", &quoted(key), ":"] {
            self.lex(text, start, out);
        }
        self.open_string(offset, out);
    }

    /// Ends an unquoted word before byte `offset`.
    pub(super) fn end_word(&mut self, is_key: bool, offset: usize, out: &mut PayloadSink<'_>) {
        let whole = mem::take(&mut self.word);
        let word = whole.trim_matches(is_blank);
        let blanks = slice(&whole, word.len()..);
        let start = offset.saturating_sub(whole.len());
        self.state = SyntaxPhase::Arguments;
        let json = if is_key { self.key_word(word) } else { self.value_word(word) };
        self.lex(&json, start, out);
        if self.state == SyntaxPhase::Arguments {
            self.lex(blanks, offset, out);
        }
    }

    /// Returns the JSON of a key.
    fn key_word(&mut self, word: &str) -> String {
        if word.contains(is_blank) {
            self.repairs.insert(Repair::UnquotedString);
        }
        quoted(word)
    }

    /// Returns the JSON of a value: the literal that the schema allows or that the word spells, or else a
    /// string.
    fn value_word(&mut self, word: &str) -> String {
        let types = self.types();
        let whole =
            word.strip_suffix('.').filter(|whole| Types::default().literal(whole).is_some());
        let whole = whole.map(|whole| format!("{whole}.0"));
        let word = whole.as_deref().filter(|whole| is_number(whole)).unwrap_or(word);
        let spelled = match word {
            "True" => Some("true".into()),
            "False" => Some("false".into()),
            "None" => Some("null".into()),
            _ => Types::default().literal(word),
        };
        let is_text = types == Types::STRING && spelled.as_deref() != Some("null");
        let is_bare = spelled.is_none();
        let json = types.literal(word).or(spelled).filter(|_| !is_text);
        if is_bare && json.is_none() {
            self.repairs.insert(Repair::UnquotedString);
        }
        json.map_or_else(|| quoted(word), Cow::into_owned)
    }

    /// Returns the types that the schema allows for the value that begins here.
    fn types(&self) -> Types {
        let (depth, is_object) = self.lexer.nesting();
        let Some(outer) = (depth as usize).checked_sub(1) else { return Types::default() };
        let mut schema = self.tools.schema();
        for at in 0..=outer {
            // For an item of a list, no token has been read yet.
            let key = self.place.key(at).filter(|_| at < outer || is_object);
            schema = key.map_or_else(|| schema.items(), |key| schema.member(key));
        }
        schema.types()
    }

    /// Ends the arguments at the closer of the call, adding missing brackets.
    pub(super) fn close_arguments(
        &mut self,
        out: &mut PayloadSink<'_>,
    ) -> Result<(), PayloadFault> {
        let Self { lexer, repairs, .. } = self;
        if lexer.close_at_end(&mut |token| take_token(token, repairs, &mut json_to(out))) {
            self.state = SyntaxPhase::Behind(NextOpener::Nothing);
            return Ok(());
        }
        let (reason, place) = lexer.fault();
        Err((reason, (self.taken + place).saturating_sub(self.lexed)))
    }
}

/// Splits a word into a literal and a key that ends with a colon.
fn split_word(word: &str) -> Option<(&str, &str)> {
    let key = word.trim_end_matches(is_blank).strip_suffix(':')?;
    let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.".contains(&byte);
    let number = key.bytes().take_while(|byte| is_number(*byte)).count();
    let words = ["true", "false", "null", "True", "False", "None"];
    let word = words.iter().find(|word| key.starts_with(**word)).map_or(0, |word| word.len());
    let (literal, key) = key.split_at_checked(number.max(word))?;
    let key = key.trim_matches(is_blank);
    let is_key = !key.is_empty() && !key.contains([':', '{', '[', '"']);
    (!literal.is_empty() && is_key).then_some((literal, key))
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    escape_into(text, &mut |piece| json.push_str(piece));
    json.push('"');
    json
}

/// Returns the number of bytes of `delimiter` that have been read, `seen` of them before byte `at` of
/// `text`.
fn matched(delimiter: &str, seen: usize, text: &str, at: usize) -> usize {
    let rest = subslice(text.as_bytes(), at..);
    let wanted = subslice(delimiter.as_bytes(), seen..);
    seen + wanted.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count()
}
