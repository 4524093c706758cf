//! The arguments in a call's parentheses: Python literals in, JSON out.

use compact_str::CompactString;

use super::{
    name::is_name_start,
    number::Number,
    string::StringText,
    suspect::{Quoted, Role, Suspect},
};
use crate::{
    llm::parser::{
        RepairSet,
        grammar::{
            arguments::{ArgumentsWriter, JsonOut},
            reader::Plain,
            schema::{Tools, Types},
        },
    },
    types::{Repair, slice},
};

/// Deepest nesting, the parentheses of the call included.
const MAX_DEPTH: usize = 128;

const NO_VALUE: &str = "this starts no Python literal";

/// A mistake, and how many bytes before the current position it stands.
pub(super) type Mistake = (&'static str, usize);

/// The result of a step that a mistake may end.
pub(super) type Done<T = ()> = Result<T, Mistake>;

/// The reader of the arguments of one call, up to its closing parenthesis.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct Values {
    pub(super) tools: Tools,
    pub(super) arguments: ArgumentsWriter,
    /// Set by the first argument that has a name: the ones behind it must have one too.
    pub(super) has_named: bool,
    /// The types that the schema admits for the current argument.
    pub(super) wanted: Types,
    /// The JSON of the first item in braces, which is withheld: a key of a dict, or an item of a set.
    first_item: Option<String>,
    pub(super) state: State,
    /// The open brackets inside the parentheses of the call.
    pub(super) brackets: Vec<Bracket>,
    /// The current word.
    pub(super) word: CompactString,
    /// The repairs of the current call.
    pub(super) repairs: RepairSet,
    /// Set in a list in brackets.
    pub(super) is_list: bool,
    /// The last quote, until it is clear whether it ends its string.
    pub(super) suspect: Option<Suspect>,
    /// The quotes of the current string that were text.
    pub(super) quoted: Option<Quoted>,
    /// Set behind a string that may have ended at another quote, if another string follows.
    pub(super) is_unsure: bool,
    /// The bytes from the parenthesis on that ended the call.
    pub(super) behind_arguments: usize,
}

/// The last part that was read, and so what may follow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum State {
    /// The opening of a bracket: an item, or the bracket's end.
    #[default]
    First,
    /// A comma: the same.
    Next,
    /// A word that is the name of an argument, or a value.
    NameOrWord,
    /// A name or word, and whitespace.
    AfterNameOrWord,
    /// `=` or a colon: a value.
    Value,
    /// A word inside a value.
    Word(Role),
    Number(Role, Number),
    Text(Role, StringText),
    /// A quote that seems to end a string.
    Quote,
    /// A string, which another may continue; its JSON is still open.
    AfterText(Role),
    /// A word behind a string.
    WordAfterText(Role),
    /// A key of a dict.
    Colon,
    /// A value.
    AfterValue,
}

/// An open bracket, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    /// `(` behind a name: arguments.
    Call,
    List,
    Dict,
    Set,
    /// A tuple, which has a comma or nothing at all.
    Tuple,
    /// `(` and perhaps one value, without a comma so far.
    Parenthesis,
}

impl Values {
    /// Creates a reader; the schemas of `tools` name the arguments that come without a name.
    pub(super) fn new(tools: Tools) -> Self {
        Self { tools, ..Self::default() }
    }

    /// Begins the arguments of a call to `tool`; the repairs stay.
    pub(super) fn begin_call(&mut self, tool: &str) {
        self.tools.call(tool);
        self.arguments.clear();
        self.has_named = false;
        self.first_item = None;
        self.state = State::First;
        self.brackets.clear();
        (self.suspect, self.quoted, self.is_unsure) = (None, None, false);
    }

    /// Returns the text that was held from the parenthesis on that may end the call.
    pub(super) fn held_behind(&self) -> &str {
        self.suspect.as_ref().map(Suspect::behind_arguments).unwrap_or_default()
    }

    /// Returns the text that passes unchanged through the open string.
    pub(super) fn plain(&self) -> Plain {
        if let State::Text(role, text) = self.state
            && role != Role::KeyOrItem
            && self.quoted.is_none()
        {
            return text.plain();
        }
        Plain::Nothing
    }

    /// Returns the number of open brackets inside the parentheses.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.brackets.len()).unwrap_or(u32::MAX)
    }

    /// Returns the text that ends the current string.
    pub(super) fn string_end(&self) -> Option<&'static str> {
        if let State::Text(_, text) = self.state { text.ends_at() } else { None }
    }

    /// Reads on from `*at`; returns `true` when the call ended, with `*at` behind its parenthesis.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> Done<bool> {
        while let Some(&byte) = text.as_bytes().get(*at) {
            if matches!(self.state, State::Quote) {
                if self.behind_quote(text, at, out)? {
                    return Ok(true);
                }
                continue;
            }
            let has_ended = match self.first_item.take() {
                Some(item) if matches!(self.state, State::Colon) && !byte.is_ascii_whitespace() => {
                    self.end_first_item(&item, byte, at, out)?;
                    false
                }
                Some(item) if matches!(self.state, State::First) && byte == b'}' => {
                    out("{");
                    out(&item);
                    self.step(byte, text, at, out)?
                }
                Some(mut item) => {
                    let has_ended =
                        self.step(byte, text, at, &mut |json: &str| item.push_str(json))?;
                    self.first_item = Some(item);
                    has_ended
                }
                None => self.step(byte, text, at, out)?,
            };
            if has_ended {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes text behind a quote that seems to end a string; returns `true` when it ended the call.
    fn behind_quote(&mut self, text: &str, at: &mut usize, out: &mut impl JsonOut) -> Done<bool> {
        let Some(next) = slice(text, *at..).chars().next() else { return Ok(false) };
        let Some(held) = self.suspect(next)? else {
            *at += next.len_utf8();
            return Ok(false);
        };
        self.read_again(&held, out)
    }

    /// Reads held text; returns `true` when it ended the call.
    fn read_again(&mut self, held: &str, out: &mut impl JsonOut) -> Done<bool> {
        let mut at = 0;
        let mut json: &mut dyn FnMut(&str) = out;
        let has_ended = self
            .feed(held, &mut at, &mut json)
            .map_err(|(reason, back)| (reason, back + held.len() - at))?;
        self.behind_arguments = held.len() - at + 1;
        Ok(has_ended)
    }

    /// Takes a part of the text from `*at` on, whose first byte is `byte`; returns `true` when it ended
    /// the call.
    fn step(&mut self, byte: u8, text: &str, at: &mut usize, out: &mut impl JsonOut) -> Done<bool> {
        match &mut self.state {
            State::Text(role, string) => {
                let (role, start) = (*role, *at);
                let has_ended = string.feed(text, at, &mut self.repairs, out);
                if let Some(quoted) = &mut self.quoted {
                    quoted.push(slice(text, start..*at - usize::from(has_ended)));
                }
                if has_ended && string.is_short() {
                    self.suspect = Some(Suspect::new(role, *string));
                    self.state = State::Quote;
                } else if has_ended {
                    self.state = State::AfterText(role);
                }
            }
            State::Number(role, number) => {
                let role = *role;
                if number.feed(text, at, out) {
                    number.end(text.as_bytes().get(*at).copied(), out).map_err(here)?;
                    self.end_value(role, false, out);
                }
            }
            State::NameOrWord | State::Word(_) | State::WordAfterText(_) => {
                self.take_word(text, at, out)?;
            }
            State::AfterText(role) => {
                let role = *role;
                self.after_text(role, byte, at, out);
            }
            State::Quote
            | State::First
            | State::Next
            | State::AfterNameOrWord
            | State::Value
            | State::Colon
            | State::AfterValue => {
                if !byte.is_ascii_whitespace() {
                    return self.between(byte, at, out);
                }
                *at += 1;
            }
        }
        Ok(false)
    }

    /// Tells by the byte behind the first item in braces whether it is a key of a dict, or an item of a
    /// set, which JSON writes as a list.
    fn end_first_item(
        &mut self,
        item: &str,
        byte: u8,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> Done {
        let quote = if item.starts_with('"') { "" } else { "\"" };
        match byte {
            b':' => {
                for json in ["{", quote, item, quote, ":"] {
                    out(json);
                }
                self.state = State::Value;
                *at += 1;
            }
            b',' | b'}' => {
                out("[");
                out(item);
                if let Some(bracket) = self.brackets.last_mut() {
                    *bracket = Bracket::Set;
                }
                self.state = State::AfterValue;
            }
            _ => return Err(here("a colon is missing behind a key")),
        }
        Ok(())
    }

    /// Takes a byte between values; returns `true` when it ended the call.
    fn between(&mut self, byte: u8, at: &mut usize, out: &mut impl JsonOut) -> Done<bool> {
        match (self.state, byte) {
            (State::First | State::Next | State::AfterValue, b')' | b']' | b'}') => {
                *at += 1;
                return self.close_bracket(byte, out).map_err(|reason| (reason, 1));
            }
            (State::First | State::Next, _) => self.item(byte, at, out)?,
            (State::AfterNameOrWord, _) => self.end_word(byte, at, out)?,
            (State::Value, _) => self.value(Role::Value, byte, at, out)?,
            (State::Colon, b':') => {
                out(":");
                self.state = State::Value;
                *at += 1;
            }
            (State::Colon, _) => return Err(here("a colon is missing behind a key")),
            (State::AfterValue, b',') => {
                if let Some(bracket @ Bracket::Parenthesis) = self.brackets.last_mut() {
                    *bracket = Bracket::Tuple;
                }
                self.state = State::Next;
                *at += 1;
            }
            _ => return Err(here("a comma or a bracket is missing behind a value")),
        }
        Ok(false)
    }

    /// Returns the innermost bracket.
    pub(super) fn innermost(&self) -> Bracket {
        self.brackets.last().copied().unwrap_or(Bracket::Call)
    }

    /// Begins an item of the innermost bracket.
    fn item(&mut self, byte: u8, at: &mut usize, out: &mut impl JsonOut) -> Done {
        let is_first = matches!(self.state, State::First);
        let bracket = self.innermost();
        match byte {
            b',' if is_first => return Err(here("a value is missing before a comma")),
            b',' => {
                self.repairs.insert(Repair::ExtraComma);
                *at += 1;
                return Ok(());
            }
            _ if bracket != Bracket::Call => {
                if !is_first {
                    out(",");
                }
                let key = if is_first { Role::KeyOrItem } else { Role::Key };
                let role = if bracket == Bracket::Dict { key } else { Role::Value };
                return self.value(role, byte, at, out);
            }
            b'*' => return Err(here("arguments are unpacked")),
            _ if is_name_start(byte) => {
                self.word.clear();
                self.state = State::NameOrWord;
                return Ok(());
            }
            _ => self.begin_positional(out).map_err(here)?,
        }
        self.value(Role::Value, byte, at, out)
    }

    /// Begins an argument that is known by its position: the schema says in which order they come.
    pub(super) fn begin_positional(&mut self, out: &mut impl JsonOut) -> Result<(), &'static str> {
        if self.has_named {
            return Err("an argument without a name follows one with a name");
        }
        let Some(properties) = self.tools.schema().properties() else {
            return Err("an argument has no name, and no schema gives it one");
        };
        let Some(name) = properties.keys().nth(self.arguments.len()) else {
            return Err("there are more arguments than the schema has");
        };
        self.arguments.begin(name, out);
        Ok(())
    }

    /// Begins a value.
    fn value(&mut self, role: Role, byte: u8, at: &mut usize, out: &mut impl JsonOut) -> Done {
        let bracket = match byte {
            b'[' => Bracket::List,
            b'(' => Bracket::Parenthesis,
            b'{' => Bracket::Dict,
            _ if is_name_start(byte) => {
                self.word.clear();
                self.state = State::Word(role);
                return Ok(());
            }
            b'"' | b'\'' if self.is_unsure => {
                return Err(here("a quote in a string before is not escaped"));
            }
            b'"' | b'\'' => {
                out("\"");
                self.state = State::Text(role, StringText::new(byte, false));
                *at += 1;
                return Ok(());
            }
            _ => {
                if role == Role::Key {
                    out("\"");
                }
                let wants_text = self.wanted == Types::STRING && self.brackets.is_empty();
                let number = Number::new(byte, wants_text, out).ok_or(here(NO_VALUE))?;
                self.state = State::Number(role, number);
                *at += 1;
                return Ok(());
            }
        };
        if role != Role::Value {
            return Err(here("a key of a dict is not a string, number or word"));
        }
        if self.brackets.len() + 1 == MAX_DEPTH {
            return Err(here("the values nest deeper than 128 levels"));
        }
        self.brackets.push(bracket);
        if bracket == Bracket::Dict {
            self.first_item = Some(String::new());
        } else {
            out("[");
        }
        self.state = State::First;
        *at += 1;
        Ok(())
    }

    /// Takes the byte behind a string, which another string may continue.
    fn after_text(&mut self, role: Role, byte: u8, at: &mut usize, out: &mut impl JsonOut) {
        if byte.is_ascii_whitespace() {
            *at += 1;
        } else if matches!(byte, b'"' | b'\'') {
            self.state = State::Text(role, StringText::new(byte, false));
            *at += 1;
        } else if is_name_start(byte) {
            self.word.clear();
            self.state = State::WordAfterText(role);
        } else {
            self.end_value(role, true, out);
        }
    }

    /// Ends a value; JSON closes a string, and a key of any kind.
    pub(super) fn end_value(&mut self, role: Role, is_text: bool, out: &mut impl JsonOut) {
        if is_text || role == Role::Key {
            out("\"");
        }
        self.state = if role == Role::Value { State::AfterValue } else { State::Colon };
    }

    /// Ends the arguments at the closer of the call, adding the brackets that are missing.
    pub(super) fn close(&mut self, out: &mut impl JsonOut) -> Done {
        if let Some(held) = self.settle(true)?
            && self.read_again(&held, out)?
        {
            return Ok(());
        }
        if let Some(item) = self.first_item.take() {
            out("{");
            out(&item);
        }
        match self.state {
            State::NameOrWord | State::AfterNameOrWord | State::Word(_) => {
                self.end_word(b')', &mut 0, out)?;
            }
            State::Number(role, number) => {
                number.end(None, out).map_err(here)?;
                self.end_value(role, false, out);
            }
            State::Text(_, text) if text.ends_at().is_some() => {
                return Err(here("a string is not closed before the end of the call"));
            }
            State::Text(role, _) | State::AfterText(role) => self.end_value(role, true, out),
            State::First | State::Next | State::Value | State::WordAfterText(_) | State::Quote => {}
            State::Colon | State::AfterValue => {}
        }
        // Behind a bracket that was only opened, anything might have followed.
        while matches!(self.state, State::Next | State::AfterValue) {
            let bracket = match self.innermost() {
                Bracket::Call | Bracket::Tuple | Bracket::Parenthesis => b')',
                Bracket::List => b']',
                Bracket::Dict | Bracket::Set => b'}',
            };
            if self.close_bracket(bracket, out).map_err(here)? {
                return Ok(());
            }
        }
        Err(here("the arguments end too early"))
    }
}

fn here(reason: &'static str) -> Mistake {
    (reason, 0)
}
