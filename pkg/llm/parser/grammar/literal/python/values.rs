//! The arguments in a call's parentheses: Python literals in, JSON out.

use compact_str::CompactString;

use super::{
    name::is_name_start,
    number::NumberPhase,
    open_bracket::OpenBracket,
    string::StringText,
    suspect::{QuotedText, SuspectQuote, SuspectRole},
};
use crate::grammar::{
    arguments::{ArgumentsWriter, JsonOut},
    reader::PlainText,
    schema::{KnownTools, Types},
};
use forgeline_json::{RepairSet, slice};
use forgeline_types::Repair;

/// Maximum nesting depth, including the parentheses of the call.
const MAX_DEPTH: usize = 128;

const NO_VALUE: &str = "this starts no Python literal";

/// A mistake, and its distance before the current position, in bytes.
pub(super) type ValueMistake = (&'static str, usize);

/// The result of a step that may fail with a mistake.
pub(super) type StepResult<T = ()> = Result<T, ValueMistake>;

/// A reader of the arguments of one call, up to its closing parenthesis.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct PythonValues {
    pub(super) tools: KnownTools,
    pub(super) arguments: ArgumentsWriter,
    /// `true` once an argument has had a name: all later ones must have one too.
    pub(super) has_named: bool,
    /// The types that the schema allows for the current argument.
    pub(super) wanted: Types,
    /// The JSON of the first item in braces, withheld: it is a key of a dict, or an item of a set.
    first_item: Option<String>,
    pub(super) state: ValuesPhase,
    /// The open brackets inside the parentheses of the call.
    pub(super) brackets: Vec<OpenBracket>,
    /// The current word.
    pub(super) word: CompactString,
    /// The repairs of the current call.
    pub(super) repairs: RepairSet,
    /// `true` in a list in brackets.
    pub(super) is_list: bool,
    /// The last quote, until it is known whether it ends its string.
    pub(super) suspect: Option<SuspectQuote>,
    /// The quotes of the current string that were text.
    pub(super) quoted: Option<QuotedText>,
    /// `true` after a string that may have ended at another quote, if another string follows.
    pub(super) is_unsure: bool,
    /// The length of the text from the parenthesis that ended the call.
    pub(super) behind_arguments: usize,
}

/// The part that was read last, which determines what may follow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum ValuesPhase {
    /// An opening bracket: an item, or the end of the bracket, follows.
    #[default]
    First,
    /// A comma: the same follows.
    Next,
    /// A word that is the name of an argument, or a value.
    NameOrWord,
    /// A name or word, followed by whitespace.
    AfterNameOrWord,
    /// `=` or a colon: a value follows.
    Value,
    /// A word inside a value.
    Word(SuspectRole),
    Number(SuspectRole, NumberPhase),
    Text(SuspectRole, StringText),
    /// A quote that seems to end a string.
    Quote,
    /// A string, which another may continue; its JSON is still open.
    AfterText(SuspectRole),
    /// A word after a string.
    WordAfterText(SuspectRole),
    /// A key of a dict.
    Colon,
    /// A value.
    AfterValue,
}

impl PythonValues {
    /// Creates a reader; the schemas of `tools` determine the names of positional arguments.
    pub(super) fn new(tools: KnownTools) -> Self {
        Self { tools, ..Self::default() }
    }

    /// Begins the arguments of a call to `tool`; the repairs stay.
    pub(super) fn begin_call(&mut self, tool: &str) {
        self.tools.call(tool);
        self.arguments.clear();
        self.has_named = false;
        self.first_item = None;
        self.state = ValuesPhase::First;
        self.brackets.clear();
        (self.suspect, self.quoted, self.is_unsure) = (None, None, false);
    }

    /// Returns the text held from the parenthesis that may end the call.
    pub(super) fn held_behind(&self) -> &str {
        self.suspect.as_ref().map(SuspectQuote::behind_arguments).unwrap_or_default()
    }

    /// Returns the text that passes through the open string unchanged.
    pub(super) fn plain(&self) -> PlainText {
        if let ValuesPhase::Text(role, text) = self.state
            && role != SuspectRole::KeyOrItem
            && self.quoted.is_none()
        {
            return text.plain();
        }
        PlainText::Nothing
    }

    /// Returns the number of open brackets inside the parentheses.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.brackets.len()).unwrap_or(u32::MAX)
    }

    /// Returns the text that ends the current string.
    pub(super) fn string_end(&self) -> Option<&'static str> {
        if let ValuesPhase::Text(_, text) = self.state { text.ends_at() } else { None }
    }

    /// Continues from `*at`; returns `true` if the call ended, with `*at` after its parenthesis.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult<bool> {
        while let Some(&byte) = text.as_bytes().get(*at) {
            if matches!(self.state, ValuesPhase::Quote) {
                if self.behind_quote(text, at, out)? {
                    return Ok(true);
                }
                continue;
            }
            let has_ended = match self.first_item.take() {
                Some(item)
                    if matches!(self.state, ValuesPhase::Colon) && !byte.is_ascii_whitespace() =>
                {
                    self.end_first_item(&item, byte, at, out)?;
                    false
                }
                Some(item) if matches!(self.state, ValuesPhase::First) && byte == b'}' => {
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

    /// Reads text after a quote that seems to end a string; returns `true` if it ended the call.
    fn behind_quote(
        &mut self,
        text: &str,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult<bool> {
        let Some(next) = slice(text, *at..).chars().next() else { return Ok(false) };
        let Some(held) = self.suspect(next)? else {
            *at += next.len_utf8();
            return Ok(false);
        };
        self.read_again(&held, out)
    }

    /// Reads held text again; returns `true` if it ended the call.
    fn read_again(&mut self, held: &str, out: &mut impl JsonOut) -> StepResult<bool> {
        let mut at = 0;
        let mut json: &mut dyn FnMut(&str) = out;
        let has_ended = self
            .feed(held, &mut at, &mut json)
            .map_err(|(reason, back)| (reason, back + held.len() - at))?;
        self.behind_arguments = held.len() - at + 1;
        Ok(has_ended)
    }

    /// Reads part of the text from `*at`, whose first byte is `byte`; returns `true` if it ended
    /// the call.
    fn step(
        &mut self,
        byte: u8,
        text: &str,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult<bool> {
        match &mut self.state {
            ValuesPhase::Text(role, string) => {
                let (role, start) = (*role, *at);
                let has_ended = string.feed(text, at, &mut self.repairs, out);
                if let Some(quoted) = &mut self.quoted {
                    quoted.push(slice(text, start..*at - usize::from(has_ended)));
                }
                if has_ended && string.is_short() {
                    self.suspect = Some(SuspectQuote::new(role, *string));
                    self.state = ValuesPhase::Quote;
                } else if has_ended {
                    self.state = ValuesPhase::AfterText(role);
                }
            }
            ValuesPhase::Number(role, number) => {
                let role = *role;
                if number.feed(text, at, out) {
                    number.end(text.as_bytes().get(*at).copied(), out).map_err(here)?;
                    self.end_value(role, false, out);
                }
            }
            ValuesPhase::NameOrWord | ValuesPhase::Word(_) | ValuesPhase::WordAfterText(_) => {
                self.take_word(text, at, out)?;
            }
            ValuesPhase::AfterText(role) => {
                let role = *role;
                self.after_text(role, byte, at, out);
            }
            ValuesPhase::Quote
            | ValuesPhase::First
            | ValuesPhase::Next
            | ValuesPhase::AfterNameOrWord
            | ValuesPhase::Value
            | ValuesPhase::Colon
            | ValuesPhase::AfterValue => {
                if !byte.is_ascii_whitespace() {
                    return self.between(byte, at, out);
                }
                *at += 1;
            }
        }
        Ok(false)
    }

    /// Decides by the byte after the first item in braces whether the item is a key of a dict, or an item of a
    /// set, which becomes a JSON list.
    fn end_first_item(
        &mut self,
        item: &str,
        byte: u8,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult {
        let quote = if item.starts_with('"') { "" } else { "\"" };
        match byte {
            b':' => {
                for json in ["{", quote, item, quote, ":"] {
                    out(json);
                }
                self.state = ValuesPhase::Value;
                *at += 1;
            }
            b',' | b'}' => {
                out("[");
                out(item);
                if let Some(bracket) = self.brackets.last_mut() {
                    *bracket = OpenBracket::Set;
                }
                self.state = ValuesPhase::AfterValue;
            }
            _ => return Err(here("a colon is missing behind a key")),
        }
        Ok(())
    }

    /// Reads a byte between values; returns `true` if it ended the call.
    fn between(&mut self, byte: u8, at: &mut usize, out: &mut impl JsonOut) -> StepResult<bool> {
        match (self.state, byte) {
            (
                ValuesPhase::First | ValuesPhase::Next | ValuesPhase::AfterValue,
                b')' | b']' | b'}',
            ) => {
                *at += 1;
                return self.close_bracket(byte, out).map_err(|reason| (reason, 1));
            }
            (ValuesPhase::First | ValuesPhase::Next, _) => self.item(byte, at, out)?,
            (ValuesPhase::AfterNameOrWord, _) => self.end_word(byte, at, out)?,
            (ValuesPhase::Value, _) => self.value(SuspectRole::Value, byte, at, out)?,
            (ValuesPhase::Colon, b':') => {
                out(":");
                self.state = ValuesPhase::Value;
                *at += 1;
            }
            (ValuesPhase::Colon, _) => return Err(here("a colon is missing behind a key")),
            (ValuesPhase::AfterValue, b',') => {
                if let Some(bracket @ OpenBracket::Parenthesis) = self.brackets.last_mut() {
                    *bracket = OpenBracket::Tuple;
                }
                self.state = ValuesPhase::Next;
                *at += 1;
            }
            _ => return Err(here("a comma or a bracket is missing behind a value")),
        }
        Ok(false)
    }

    /// Returns the innermost bracket.
    pub(super) fn innermost(&self) -> OpenBracket {
        self.brackets.last().copied().unwrap_or(OpenBracket::Call)
    }

    /// Begins an item of the innermost bracket.
    fn item(&mut self, byte: u8, at: &mut usize, out: &mut impl JsonOut) -> StepResult {
        let is_first = matches!(self.state, ValuesPhase::First);
        let bracket = self.innermost();
        match byte {
            b',' if is_first => return Err(here("a value is missing before a comma")),
            b',' => {
                self.repairs.insert(Repair::ExtraComma);
                *at += 1;
                return Ok(());
            }
            _ if bracket != OpenBracket::Call => {
                if !is_first {
                    out(",");
                }
                let key = if is_first { SuspectRole::KeyOrItem } else { SuspectRole::Key };
                let role = if bracket == OpenBracket::Dict { key } else { SuspectRole::Value };
                return self.value(role, byte, at, out);
            }
            b'*' => return Err(here("arguments are unpacked")),
            _ if is_name_start(byte) => {
                self.word.clear();
                self.state = ValuesPhase::NameOrWord;
                return Ok(());
            }
            _ => self.begin_positional(out).map_err(here)?,
        }
        self.value(SuspectRole::Value, byte, at, out)
    }

    /// Begins a positional argument, whose name follows from the order in the schema.
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
    fn value(
        &mut self,
        role: SuspectRole,
        byte: u8,
        at: &mut usize,
        out: &mut impl JsonOut,
    ) -> StepResult {
        let bracket = match byte {
            b'[' => OpenBracket::List,
            b'(' => OpenBracket::Parenthesis,
            b'{' => OpenBracket::Dict,
            _ if is_name_start(byte) => {
                self.word.clear();
                self.state = ValuesPhase::Word(role);
                return Ok(());
            }
            b'"' | b'\'' if self.is_unsure => {
                return Err(here("a quote in a string before is not escaped"));
            }
            b'"' | b'\'' => {
                out("\"");
                self.state = ValuesPhase::Text(role, StringText::new(byte, false));
                *at += 1;
                return Ok(());
            }
            _ => {
                if role == SuspectRole::Key {
                    out("\"");
                }
                let wants_text = self.wanted == Types::STRING && self.brackets.is_empty();
                let number = NumberPhase::new(byte, wants_text, out).ok_or(here(NO_VALUE))?;
                self.state = ValuesPhase::Number(role, number);
                *at += 1;
                return Ok(());
            }
        };
        if role != SuspectRole::Value {
            return Err(here("a key of a dict is not a string, number or word"));
        }
        if self.brackets.len() + 1 == MAX_DEPTH {
            return Err(here("the values nest deeper than 128 levels"));
        }
        self.brackets.push(bracket);
        if bracket == OpenBracket::Dict {
            self.first_item = Some(String::new());
        } else {
            out("[");
        }
        self.state = ValuesPhase::First;
        *at += 1;
        Ok(())
    }

    /// Reads the byte after a string, which another string may continue.
    fn after_text(&mut self, role: SuspectRole, byte: u8, at: &mut usize, out: &mut impl JsonOut) {
        if byte.is_ascii_whitespace() {
            *at += 1;
        } else if matches!(byte, b'"' | b'\'') {
            self.state = ValuesPhase::Text(role, StringText::new(byte, false));
            *at += 1;
        } else if is_name_start(byte) {
            self.word.clear();
            self.state = ValuesPhase::WordAfterText(role);
        } else {
            self.end_value(role, true, out);
        }
    }

    /// Ends a value; in JSON this closes a string, and a key of any type.
    pub(super) fn end_value(&mut self, role: SuspectRole, is_text: bool, out: &mut impl JsonOut) {
        if is_text || role == SuspectRole::Key {
            out("\"");
        }
        self.state =
            if role == SuspectRole::Value { ValuesPhase::AfterValue } else { ValuesPhase::Colon };
    }

    /// Ends the arguments at the closer of the call, adding missing brackets.
    pub(super) fn close(&mut self, out: &mut impl JsonOut) -> StepResult {
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
            ValuesPhase::NameOrWord | ValuesPhase::AfterNameOrWord | ValuesPhase::Word(_) => {
                self.end_word(b')', &mut 0, out)?;
            }
            ValuesPhase::Number(role, number) => {
                number.end(None, out).map_err(here)?;
                self.end_value(role, false, out);
            }
            ValuesPhase::Text(_, text) if text.ends_at().is_some() => {
                return Err(here("a string is not closed before the end of the call"));
            }
            ValuesPhase::Text(role, _) | ValuesPhase::AfterText(role) => {
                self.end_value(role, true, out);
            }
            ValuesPhase::First
            | ValuesPhase::Next
            | ValuesPhase::Value
            | ValuesPhase::WordAfterText(_)
            | ValuesPhase::Quote => {}
            ValuesPhase::Colon | ValuesPhase::AfterValue => {}
        }
        // After a bracket that was only opened, anything might have followed.
        while matches!(self.state, ValuesPhase::Next | ValuesPhase::AfterValue) {
            let bracket = match self.innermost() {
                OpenBracket::Call | OpenBracket::Tuple | OpenBracket::Parenthesis => b')',
                OpenBracket::List => b']',
                OpenBracket::Dict | OpenBracket::Set => b'}',
            };
            if self.close_bracket(bracket, out).map_err(here)? {
                return Ok(());
            }
        }
        Err(here("the arguments end too early"))
    }
}

fn here(reason: &'static str) -> ValueMistake {
    (reason, 0)
}
