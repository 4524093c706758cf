//! The inside of a call's parentheses: Python literals in, JSON out.

mod words;

use compact_str::CompactString;
use serde_json::Value;

use super::{
    arguments::Arguments,
    number::Number,
    stack::{Bracket, Stack},
    start::is_name_start,
    text::{Backslash, StringText},
};
use crate::{
    llm::parser::repairs::RepairSet,
    types::{Repair, Text},
};

const NO_VALUE: &str = "this starts no Python literal";

/// What is wrong, and how many bytes before the place that was reached.
pub(super) type Mistake = (&'static str, usize);

/// Reads the arguments of one call, up to its closing parenthesis.
#[derive(Debug)]
pub(super) struct Values {
    arguments: Arguments,
    state: State,
    brackets: Stack,
    /// The word at hand.
    word: CompactString,
    /// What was mended in the call at hand.
    pub(super) repairs: RepairSet,
}

/// What was seen last.
#[derive(Debug, Clone, Copy)]
enum State {
    /// The bracket that is innermost: an item, or the bracket's end.
    First,
    /// A comma: the same.
    Next,
    /// A word that is an argument's name, or its value.
    NameOrWord,
    /// Such a word and a blank.
    AfterNameOrWord,
    /// `=` or a colon: a value must come.
    Value,
    /// A word inside a value.
    Word(Role),
    Number(Role, Number),
    Text(Role, StringText),
    /// A string, which another may continue; its JSON is still open.
    AfterText(Role),
    /// A word behind a string.
    WordAfterText(Role),
    /// A key of a dict.
    Colon,
    /// A value.
    AfterValue,
}

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Value,
    /// A key of a dict, which JSON has as a string.
    Key,
}

impl Values {
    pub(super) fn new(arguments: Arguments) -> Self {
        Self {
            arguments,
            state: State::First,
            brackets: Stack::default(),
            word: CompactString::const_new(""),
            repairs: RepairSet::default(),
        }
    }

    /// Begins another call behind its opening parenthesis; what was mended stays.
    pub(super) fn restart(&mut self, arguments: Arguments) {
        let repairs = self.repairs;
        *self = Self { repairs, ..Self::new(arguments) };
        self.brackets.push(Bracket::Call);
    }

    /// Whether the next byte is the inside of a string, and no escape.
    pub(super) fn is_in_plain_string(&self) -> bool {
        matches!(self.state, State::Text(_, text) if text.is_plain())
    }

    /// What ends the string at hand.
    pub(super) fn string_end(&self) -> Option<&'static str> {
        if let State::Text(_, text) = self.state { text.ends_at() } else { None }
    }

    /// Goes on from `*at`; whether the call ended, with `*at` behind its parenthesis.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<bool, Mistake> {
        while let Some(&byte) = text.as_bytes().get(*at) {
            match &mut self.state {
                State::Text(role, string) => {
                    let role = *role;
                    if string.feed(text, at, &mut self.repairs, out) {
                        self.state = State::AfterText(role);
                    }
                }
                State::Number(role, number) => {
                    let role = *role;
                    if number.feed(text, at, out) {
                        number.end(Some(byte_at(text, *at)), out).map_err(here)?;
                        self.end_value(role, Quotes::Keys, out);
                    }
                }
                State::NameOrWord | State::Word(_) | State::WordAfterText(_) => {
                    self.take_word(text, at, schemas, out)?;
                }
                State::AfterText(role) => {
                    let role = *role;
                    self.after_text(role, byte, at, out);
                }
                State::First
                | State::Next
                | State::AfterNameOrWord
                | State::Value
                | State::Colon
                | State::AfterValue => {
                    if byte.is_ascii_whitespace() {
                        *at += 1;
                    } else if self.between(byte, at, schemas, out)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Takes a byte between values; whether the call ended.
    fn between(
        &mut self,
        byte: u8,
        at: &mut usize,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<bool, Mistake> {
        match (self.state, byte) {
            (State::First | State::Next | State::AfterValue, b')' | b']' | b'}') => {
                *at += 1;
                return self.close_bracket(byte, out).map_err(behind);
            }
            (State::First | State::Next, _) => self.item(byte, at, schemas, out)?,
            (State::AfterNameOrWord, _) => self.end_word(byte, at, schemas, out)?,
            (State::Value, _) => self.value(Role::Value, byte, at, out)?,
            (State::Colon, b':') => {
                out(":");
                self.state = State::Value;
                *at += 1;
            }
            (State::Colon, b',' | b'}') => return Err(here("a set is no JSON value")),
            (State::Colon, _) => return Err(here("a colon is missing behind a key")),
            (State::AfterValue, b',') => {
                if self.brackets.top() == Bracket::Parenthesis {
                    self.brackets.set_top(Bracket::Tuple);
                }
                self.state = State::Next;
                *at += 1;
            }
            _ => return Err(here("a comma or a bracket is missing behind a value")),
        }
        Ok(false)
    }

    /// Begins an item of the innermost bracket.
    fn item(
        &mut self,
        byte: u8,
        at: &mut usize,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<(), Mistake> {
        if byte == b',' {
            if matches!(self.state, State::First) {
                return Err(here("a value is missing before a comma"));
            }
            self.repairs.insert(Repair::ExtraComma);
            *at += 1;
            return Ok(());
        }
        let bracket = self.brackets.top();
        if bracket != Bracket::Call {
            if matches!(self.state, State::Next) {
                out(",");
            }
            let role = if bracket == Bracket::Dict { Role::Key } else { Role::Value };
            return self.value(role, byte, at, out);
        }
        if is_name_start(byte) {
            self.word.clear();
            self.state = State::NameOrWord;
            return Ok(());
        }
        if byte == b'*' {
            return Err(here("arguments are unpacked"));
        }
        self.arguments.begin_positional(schemas, out).map_err(here)?;
        self.value(Role::Value, byte, at, out)
    }

    /// Begins a value.
    fn value(
        &mut self,
        role: Role,
        byte: u8,
        at: &mut usize,
        out: &mut impl FnMut(&str),
    ) -> Result<(), Mistake> {
        let bracket = match byte {
            b'[' => Bracket::List,
            b'(' => Bracket::Parenthesis,
            b'{' => Bracket::Dict,
            _ if is_name_start(byte) => {
                self.word.clear();
                self.state = State::Word(role);
                return Ok(());
            }
            b'"' | b'\'' => {
                out("\"");
                self.state = State::Text(role, StringText::new(byte, Backslash::Escapes));
                *at += 1;
                return Ok(());
            }
            _ => {
                if role == Role::Key {
                    out("\"");
                }
                let number = Number::new(byte, out).ok_or(here(NO_VALUE))?;
                self.state = State::Number(role, number);
                *at += 1;
                return Ok(());
            }
        };
        if role == Role::Key {
            return Err(here("a key of a dict is no string, number or word"));
        }
        if !self.brackets.push(bracket) {
            return Err(here("the values nest deeper than 128 levels"));
        }
        out(if bracket == Bracket::Dict { "{" } else { "[" });
        self.state = State::First;
        *at += 1;
        Ok(())
    }

    /// Closes the innermost bracket at `byte`; whether that was the call's.
    fn close_bracket(
        &mut self,
        byte: u8,
        out: &mut impl FnMut(&str),
    ) -> Result<bool, &'static str> {
        let is_empty = matches!(self.state, State::First);
        match (self.brackets.top(), byte) {
            (Bracket::Call, b')') => {
                out(if self.arguments.is_empty() { "{}" } else { "}" });
                self.brackets.pop();
                return Ok(true);
            }
            (Bracket::Dict, b'}') => out("}"),
            (Bracket::List, b']') | (Bracket::Tuple, b')') => out("]"),
            (Bracket::Parenthesis, b')') if is_empty => out("]"),
            (Bracket::Parenthesis, b')') => {
                return Err("parentheses around one value make no tuple");
            }
            _ => return Err("this bracket closes another"),
        }
        self.brackets.pop();
        self.state = State::AfterValue;
        Ok(false)
    }

    /// Takes the byte behind a string: a string may follow that continues it.
    fn after_text(&mut self, role: Role, byte: u8, at: &mut usize, out: &mut impl FnMut(&str)) {
        if byte.is_ascii_whitespace() {
            *at += 1;
        } else if matches!(byte, b'"' | b'\'') {
            self.state = State::Text(role, StringText::new(byte, Backslash::Escapes));
            *at += 1;
        } else if is_name_start(byte) {
            self.word.clear();
            self.state = State::WordAfterText(role);
        } else {
            self.end_value(role, Quotes::All, out);
        }
    }

    fn end_value(&mut self, role: Role, quotes: Quotes, out: &mut impl FnMut(&str)) {
        if quotes == Quotes::All || role == Role::Key {
            out("\"");
        }
        self.state = if role == Role::Key { State::Colon } else { State::AfterValue };
    }

    /// Ends the arguments at the closer of the call: brackets that are missing are added.
    pub(super) fn close(
        &mut self,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<(), Mistake> {
        match self.state {
            State::NameOrWord | State::AfterNameOrWord | State::Word(_) => {
                self.end_word(b')', &mut 0, schemas, out)?;
            }
            State::Number(role, number) => {
                number.end(None, out).map_err(here)?;
                self.end_value(role, Quotes::Keys, out);
            }
            State::Text(role, text) if text.ends_at().is_none() => {
                self.end_value(role, Quotes::All, out);
            }
            State::Text(..) => {
                return Err(here("a string is not closed before the end of the call"));
            }
            State::AfterText(role) => self.end_value(role, Quotes::All, out),
            State::First
            | State::Next
            | State::Value
            | State::WordAfterText(_)
            | State::Colon
            | State::AfterValue => {}
        }
        while matches!(self.state, State::First | State::Next | State::AfterValue) {
            let bracket = match self.brackets.top() {
                Bracket::Call | Bracket::Tuple | Bracket::Parenthesis => b')',
                Bracket::List => b']',
                Bracket::Dict => b'}',
            };
            if self.close_bracket(bracket, out).map_err(here)? {
                return Ok(());
            }
        }
        Err(here("the arguments end too early"))
    }
}

/// Which JSON texts end with a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    All,
    Keys,
}

fn here(reason: &'static str) -> Mistake {
    (reason, 0)
}

fn behind(reason: &'static str) -> Mistake {
    (reason, 1)
}

fn byte_at(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or_default()
}
