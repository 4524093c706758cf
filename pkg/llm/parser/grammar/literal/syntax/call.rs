//! Reads calls in call syntax.
//!
//! Between its strings the syntax is lenient JSON, so [`Tokenizer`] reads it. A string between the
//! dialect's own delimiters goes past the lexer, escaped on the way; the lexer sees its two quotes
//! only. A bare word that is not a literal is malformed (R12), because its end is not known.

use compact_str::CompactString;

use crate::types::subslice;
use crate::{
    json::{Strictness, Token, Tokenizer, escape_into},
    llm::parser::{
        RepairSet,
        grammar::{
            json::{guard_of, take},
            reader::{
                Fault, Guard, NO_NAME, PayloadOut, Plain, Reader, Sink, give_source, json_to,
            },
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
}

/// The last part that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// This number of bytes of `call:`; before the first of them whitespace may stand.
    Start(usize),
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
    /// The arguments ended.
    Behind(Next),
    /// A mistake that cannot be repaired.
    Failed { is_in_arguments: bool },
}

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
    /// Reads strings between `delimiter`s, next to those of JSON.
    pub(crate) fn new(delimiter: &'static str) -> Self {
        Self {
            delimiter,
            state: State::Start(0),
            name: CompactString::const_new(""),
            lexer: new_lexer(),
            lexed: 0,
            taken: 0,
            repairs: RepairSet::default(),
            fault: None,
        }
    }

    fn is_in_arguments(&self) -> bool {
        matches!(
            self.state,
            State::Arguments
                | State::Opening(_)
                | State::Quoted(_)
                | State::Failed { is_in_arguments: true }
        )
    }

    /// Takes arguments up to where a delimiter may begin, or to their end.
    fn arguments(&mut self, text: &str, at: &mut usize, out: &mut Sink<'_>) {
        let rest = slice(text, *at..);
        let first = self.delimiter.as_bytes().first().copied();
        let is_data = self.lexer.string_quote().is_some() || self.lexer.is_in_comment();
        if !is_data && first.is_some() && rest.as_bytes().first() == first.as_ref() {
            self.state = State::Opening(0);
            return;
        }
        // What begins like a delimiter inside a string of JSON is data.
        let later = subslice(rest.as_bytes(), 1..);
        let stop = first.and_then(|first| memchr::memchr(first, later));
        let piece = slice(rest, ..stop.map_or(rest.len(), |stop| stop + 1));
        *at += self.lex(piece, self.taken + *at, out);
    }

    /// Gives `text`, which stands for the source at `offset`, to the lexer. How much it took.
    fn lex(&mut self, text: &str, offset: usize, out: &mut Sink<'_>) -> usize {
        let Self { lexer, repairs, state, .. } = self;
        let taken = lexer.feed(text, &mut |token| {
            if let Token::ValueEnd { .. } = token {
                *state = State::Behind(Next::Nothing);
            }
            take(token, repairs, &mut json_to(out))
        });
        if lexer.has_failed() {
            let (reason, place) = lexer.fault();
            self.fail(reason, (offset + place).saturating_sub(self.lexed));
        }
        self.lexed += taken;
        taken
    }

    /// Takes bytes that may open a string.
    fn opening(&mut self, seen: usize, text: &str, at: &mut usize, out: &mut Sink<'_>) {
        let matched = matched(self.delimiter, seen, text, *at);
        let offset = self.taken + *at - seen;
        *at += matched - seen;
        if matched == self.delimiter.len() {
            self.state = State::Quoted(0);
            self.lex("\"", offset, out);
        } else if *at < text.len() {
            self.state = State::Arguments;
            let begun = slice(self.delimiter, ..matched);
            self.lex(begun, offset, out);
        } else {
            self.state = State::Opening(matched);
        }
    }

    /// Takes the inside of a string between delimiters.
    fn quoted(&mut self, seen: usize, text: &str, at: &mut usize, out: &mut Sink<'_>) {
        let mut escape =
            |text: &str| escape_into(text, &mut |json| out(PayloadOut::Arguments(json)));
        let rest = slice(text, *at..);
        let first = self.delimiter.as_bytes().first().copied().unwrap_or_default();
        if seen == 0 && !rest.as_bytes().starts_with(&[first]) {
            let end = memchr::memchr(first, rest.as_bytes()).unwrap_or(rest.len());
            escape(slice(rest, ..end));
            *at += end;
            return;
        }
        let matched = matched(self.delimiter, seen, text, *at);
        *at += matched - seen;
        if matched == self.delimiter.len() {
            self.state = State::Arguments;
            self.lex("\"", self.taken + *at, out);
        } else if *at < text.len() {
            escape(slice(self.delimiter, ..matched));
            self.state = State::Quoted(0);
        } else {
            self.state = State::Quoted(matched);
        }
    }

    pub(super) fn fail(&mut self, reason: &'static str, offset: usize) {
        self.state = State::Failed { is_in_arguments: self.is_in_arguments() };
        self.fault.get_or_insert((reason, offset));
    }

    /// Ends arguments at the closer of the call: brackets that are missing are added.
    fn close_arguments(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        let Self { lexer, repairs, .. } = self;
        if lexer.close_at_end(&mut |token| take(token, repairs, &mut json_to(out))) {
            self.state = State::Behind(Next::Nothing);
            return Ok(());
        }
        let (reason, place) = lexer.fault();
        Err((reason, (self.taken + place).saturating_sub(self.lexed)))
    }
}

impl Reader for SyntaxCall {
    fn feed(&mut self, text: &str, out: &mut Sink<'_>) -> usize {
        let mut at = 0;
        let mut source = self.is_in_arguments().then_some(0);
        while let Some(&byte) = text.as_bytes().get(at) {
            match self.state {
                State::Start(seen) => self.start(seen, byte, &mut at),
                State::Name => self.name(text, &mut at, out),
                State::Named { is_called, next } => {
                    self.named(is_called, next, byte, &mut at, out);
                    source = self.is_in_arguments().then_some(at);
                }
                State::Parenthesis => self.parenthesis(byte, &mut at),
                State::Arguments => self.arguments(text, &mut at, out),
                State::Opening(seen) => self.opening(seen, text, &mut at, out),
                State::Quoted(seen) => self.quoted(seen, text, &mut at, out),
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
        if let Some(start) = source {
            give_source(slice(text, start..), out);
        }
        self.taken += text.len();
        text.len()
    }

    fn plain(&self) -> Plain {
        if self.state == State::Quoted(0) {
            Plain::MARKUP
        } else if self.state == State::Arguments && self.lexer.is_in_plain_string() {
            Plain::JsonString
        } else {
            Plain::Nothing
        }
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

    fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    fn guard(&self) -> Guard {
        if let State::Quoted(_) = self.state {
            return Guard::InString(self.delimiter);
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
            State::Start(_) => return Err((NO_CALL, self.taken)),
            State::Name if self.name.is_empty() => return Err((NO_NAME, self.taken)),
            State::Name => {
                out(PayloadOut::Name { name: &self.name, at: 0 });
                out(PayloadOut::Arguments("{}"));
            }
            State::Named { next: Next::Letters(_), .. } => return Err((STRAY, self.taken)),
            State::Named { .. } => out(PayloadOut::Arguments("{}")),
            State::Parenthesis => return Err(("the arguments end too early", self.taken)),
            State::Arguments => return self.close_arguments(out),
            State::Opening(seen) => {
                return Err(("expected a JSON value", self.taken - seen));
            }
            State::Quoted(_) => {
                return Err(("a string is not closed before the end of the call", self.taken));
            }
            State::Behind(Next::Letters(_)) => self.repairs.insert(Repair::TrailingText),
            State::Behind(_) | State::Failed { .. } => {}
        }
        Ok(())
    }
}

pub(super) fn new_lexer() -> Tokenizer {
    let mut lexer = Tokenizer::new(Strictness::Lenient);
    lexer.end_itself();
    lexer
}

/// Returns the number of bytes of `delimiter` that were seen, `seen` of them before byte `at` of
/// `text`.
fn matched(delimiter: &str, seen: usize, text: &str, at: usize) -> usize {
    let rest = subslice(text.as_bytes(), at..);
    let wanted = subslice(delimiter.as_bytes(), seen..);
    seen + wanted.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count()
}
