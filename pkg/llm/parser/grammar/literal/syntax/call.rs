//! Reads calls in call syntax.
//!
//! Between its strings the syntax is lenient JSON, so [`Tokenizer`] reads it. A string between the
//! dialect's own delimiters goes past the lexer, escaped on the way; the lexer sees its two quotes
//! only. A word without quotes reaches it as the literal or the string that it is (R12).

use compact_str::CompactString;

use super::place::Place;
use crate::{
    json::{Strictness, Tokenizer, escape_into},
    llm::parser::{
        RepairSet,
        grammar::{
            json::guard_of,
            reader::{
                Fault, Guard, NO_NAME, PayloadOut, Plain, Reader, Sink, give_source, is_free_of,
            },
            schema::Tools,
        },
    },
    types::{Repair, slice},
};

pub(super) const NO_CALL: &str = "the payload begins with no `call:`";
pub(super) const STRAY: &str = "this belongs in no call";

/// Reads the calls of one payload in pieces of any size.
#[derive(Debug)]
pub(crate) struct SyntaxCall {
    /// The text on both sides of a string; ASCII, and its first byte stands nowhere else in it.
    pub(super) delimiter: &'static str,
    pub(super) state: State,
    pub(super) name: CompactString,
    pub(super) lexer: Tokenizer,
    /// Bytes that the lexer took.
    pub(super) lexed: usize,
    /// Bytes taken before the current piece.
    pub(super) taken: usize,
    pub(super) repairs: RepairSet,
    pub(super) fault: Option<Fault>,
    /// Set when no closer follows the arguments.
    ends_itself: bool,
    /// The tools, by whose schemas values are typed, and the place of the current value in them.
    pub(super) tools: Tools,
    pub(super) place: Place,
    /// The current word without quotes, or a string that may be a literal; bounded by the limit of a
    /// call's body.
    pub(super) word: String,
}

/// The last part that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// This number of bytes of `call:`; before the first of them whitespace may stand.
    Start(usize),
    /// This number of bytes of the tag that stands for it.
    Tag(usize),
    /// `call:`, and what there is of the name.
    Name,
    /// The name, and `()` if it is called: arguments may follow, or another call.
    Named { is_called: bool, next: Next },
    /// The name and `(`.
    Parenthesis,
    /// Arguments, outside the dialect's strings.
    Arguments,
    /// This number of bytes of a delimiter that opens a string.
    Opening(usize),
    /// A string between delimiters, and this number of bytes of the second.
    Quoted(usize),
    /// A string between delimiters that waits for its end, because the schema asks for another type.
    Held(usize),
    /// A string in back-ticks.
    Ticks,
    /// A value or a key without quotes.
    Word { is_key: bool },
    /// The arguments ended.
    Behind(Next),
    /// A mistake that cannot be repaired.
    Failed { is_in_arguments: bool },
}

/// The text on both sides of a string that is data as it stands.
pub(super) const TICK: &str = "`";

/// The text that begins every call, in any ASCII case.
pub(super) const OPENER: &[u8] = b"call:";

/// The part of another call's opener that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing, and it may begin here.
    Nothing,
    /// This number of bytes.
    Letters(usize),
    /// Nothing, and this word is another.
    Word,
}

impl Next {
    pub(super) fn after(self, byte: u8) -> Self {
        let seen = match self {
            Self::Nothing => 0,
            Self::Letters(seen) => seen,
            Self::Word => usize::MAX,
        };
        match OPENER.get(seen) {
            Some(wanted) if byte.eq_ignore_ascii_case(wanted) => Self::Letters(seen + 1),
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..) => Self::Word,
            _ => Self::Nothing,
        }
    }

    pub(super) fn is_opener(self) -> bool {
        self == Self::Letters(OPENER.len())
    }
}

impl SyntaxCall {
    /// Reads strings between `delimiter`s, next to those of JSON, in a call that `ends_itself` where no
    /// closer follows the arguments; values are typed by the schemas of `tools`.
    pub(crate) fn new(delimiter: &'static str, ends_itself: bool, tools: Tools) -> Self {
        Self {
            delimiter,
            ends_itself,
            state: State::Start(0),
            name: CompactString::const_new(""),
            lexer: new_lexer(),
            lexed: 0,
            taken: 0,
            repairs: RepairSet::default(),
            fault: None,
            tools,
            place: Place::default(),
            word: String::new(),
        }
    }

    fn is_in_arguments(&self) -> bool {
        matches!(
            self.state,
            State::Arguments
                | State::Opening(_)
                | State::Quoted(_)
                | State::Held(_)
                | State::Ticks
                | State::Word { .. }
                | State::Failed { is_in_arguments: true }
        )
    }

    pub(super) fn fail(&mut self, reason: &'static str, offset: usize) {
        self.state = State::Failed { is_in_arguments: self.is_in_arguments() };
        self.fault.get_or_insert((reason, offset));
    }
}

impl Reader for SyntaxCall {
    fn feed(&mut self, text: &str, out: &mut Sink<'_>) -> usize {
        let mut at = 0;
        let mut source = self.is_in_arguments().then_some(0);
        while let Some(&byte) = text.as_bytes().get(at).filter(|_| !self.has_ended()) {
            match self.state {
                State::Start(seen) => self.start(seen, byte, &mut at),
                State::Tag(seen) => self.tag(seen, byte, &mut at),
                State::Name => self.name(text, &mut at, out),
                State::Named { is_called, next } => {
                    self.named(is_called, next, byte, &mut at, out);
                    source = self.is_in_arguments().then_some(at);
                }
                State::Parenthesis => self.parenthesis(byte, &mut at),
                State::Arguments => self.arguments(text, &mut at, out),
                State::Opening(seen) => self.opening(seen, text, &mut at, out),
                State::Quoted(seen) | State::Held(seen) => self.quoted(seen, text, &mut at, out),
                State::Ticks => self.ticks(text, &mut at, out),
                State::Word { is_key } => self.word(is_key, text, &mut at, out),
                State::Behind(next) => self.behind(next, byte, &mut at, out),
                State::Failed { .. } => break,
            }
            if let Some(start) = source
                && !self.is_in_arguments()
            {
                give_source(slice(text, start..at), out);
                source = None;
            }
        }
        let read = if self.ends_itself { at } else { text.len() };
        if let Some(start) = source {
            give_source(slice(text, start..read), out);
        }
        self.taken += read;
        read
    }

    fn plain(&self) -> Plain {
        if self.state == State::Quoted(0) && !self.place.is_key() {
            // Other delimiters than tags stand in text that passes as markup.
            if self.delimiter.starts_with('<') { Plain::Markup } else { Plain::Nothing }
        } else if self.state == State::Arguments && self.lexer.is_in_plain_string() {
            Plain::JsonString
        } else {
            Plain::Nothing
        }
    }

    fn pass_escaped(&mut self, text: &str, mut out: &mut dyn FnMut(&str)) -> Option<Plain> {
        if self.state != State::Quoted(0) || !is_free_of(b'<', text) {
            return None;
        }
        escape_into(text, &mut out);
        Some(Plain::Markup)
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.state == State::Arguments {
            self.lexer.skip(bytes);
            self.lexed += bytes;
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self.state, State::Behind(_) | State::Named { is_called: true, .. })
    }

    fn has_ended(&self) -> bool {
        self.ends_itself && matches!(self.state, State::Behind(_))
    }

    fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    fn guard(&self) -> Guard {
        if let State::Quoted(_) | State::Held(_) = self.state {
            return Guard::InString(self.delimiter);
        }
        if self.state == State::Ticks {
            return Guard::InString(TICK);
        }
        if self.state == State::Arguments { guard_of(&self.lexer) } else { Guard::Open }
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.lexer.repairs());
        // Such keys are the grammar itself.
        repairs.without(Repair::UnquotedKey).without(Repair::PythonLiteral)
    }

    fn close(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.state {
            State::Start(_) | State::Tag(_) => return Err((NO_CALL, self.taken)),
            State::Name if self.name.is_empty() => return Err((NO_NAME, self.taken)),
            State::Name => {
                out(PayloadOut::Name { name: &self.name, at: 0 });
                out(PayloadOut::Arguments("{}"));
            }
            State::Named { next: Next::Letters(_), .. } => return Err((STRAY, self.taken)),
            State::Named { .. } => out(PayloadOut::Arguments("{}")),
            State::Parenthesis => return Err(("the arguments end too early", self.taken)),
            State::Arguments => return self.close_arguments(out),
            State::Word { is_key } => {
                self.end_word(is_key, self.taken, out);
                return self.close_arguments(out);
            }
            State::Opening(seen) => {
                return Err(("expected a JSON value", self.taken - seen));
            }
            State::Quoted(_) | State::Held(_) | State::Ticks => {
                return Err(("a string is not closed before the end of the call", self.taken));
            }
            State::Behind(Next::Letters(_)) => self.repairs.insert(Repair::TrailingText),
            State::Behind(_) | State::Failed { .. } => {}
        }
        Ok(())
    }
}

pub(super) fn new_lexer() -> Tokenizer {
    let mut lexer = Tokenizer::new(Strictness::Lenient).mark_all();
    lexer.end_itself();
    lexer
}
