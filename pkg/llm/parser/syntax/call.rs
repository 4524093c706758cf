//! Reads calls in call syntax.
//!
//! Between its strings the syntax is lenient JSON, so [`Lenient`] reads it. A string between the
//! dialect's own delimiters goes past the lexer, escaped on the way; the lexer sees its two quotes
//! only. A bare word that is no literal is malformed (R12): where such a value ends, nobody can say.

use compact_str::CompactString;

use super::next::{Next, OPENER};
use crate::{
    llm::parser::{
        json::{Lenient, Out, Strictness, escape_into},
        reader::{Fault, Guard, PayloadOut, Plain, Reader},
        repairs::RepairSet,
    },
    types::Repair,
};

/// Longest name of a tool, in bytes.
const MAX_NAME_BYTES: usize = 1024;

const NO_CALL: &str = "the payload begins with no `call:`";
const NO_NAME: &str = "the call names no tool";
const STRAY: &str = "this belongs in no call";

/// What keys without quotes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm::parser) enum Keys {
    /// The grammar itself.
    Bare,
    /// JSON keys that lost their quotes: a repair.
    Quoted,
}

/// Reads the calls of one payload in pieces of any size.
#[derive(Debug)]
pub(in crate::llm::parser) struct SyntaxCall {
    /// What stands on both sides of a string; ASCII, and its first byte stands nowhere else in it.
    delimiter: &'static str,
    keys: Keys,
    state: State,
    name: CompactString,
    lexer: Lenient,
    /// Bytes that the lexer took.
    lexed: usize,
    /// Bytes taken before the piece at hand.
    taken: usize,
    repairs: RepairSet,
    fault: Option<Fault>,
}

/// What was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes of `call:`; before the first of them blanks may stand.
    Start(usize),
    /// `call:`, and what there is of the name.
    Name,
    /// The name, and `()` if it is called: arguments may follow, or another call.
    Named { is_called: bool, next: Next },
    /// The name and `(`.
    Parenthesis,
    /// Arguments, outside the dialect's strings.
    Arguments,
    /// So many bytes of a delimiter that opens a string.
    Opening(usize),
    /// A string between delimiters, and so many bytes of the second.
    Quoted(usize),
    /// The arguments ended.
    Behind(Next),
    /// A mistake that cannot be mended.
    Failed { is_in_arguments: bool },
}

impl SyntaxCall {
    /// Reads strings between `delimiter`s, next to those of JSON.
    pub(in crate::llm::parser) fn new(delimiter: &'static str, keys: Keys) -> Self {
        Self {
            delimiter,
            keys,
            state: State::Start(0),
            name: CompactString::const_new(""),
            lexer: Lenient::new(Strictness::Lenient),
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

    /// Takes a byte of `call:`, or of the blanks before it.
    fn start(&mut self, seen: usize, byte: u8, at: &mut usize) {
        match OPENER.get(seen) {
            _ if seen == 0 && byte.is_ascii_whitespace() => {}
            Some(wanted) if byte.eq_ignore_ascii_case(wanted) => {
                let is_all = seen + 1 == OPENER.len();
                self.state = if is_all { State::Name } else { State::Start(seen + 1) };
            }
            _ => return self.fail(NO_CALL, self.taken + *at),
        }
        *at += 1;
    }

    /// Takes a part of the name, or finds its end.
    fn name(&mut self, text: &str, at: &mut usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        let rest = text.get(*at..).unwrap_or_default();
        if self.name.is_empty() && rest.starts_with(|first: char| first.is_ascii_whitespace()) {
            *at += 1;
            return;
        }
        let end = rest.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(rest.len());
        let room = MAX_NAME_BYTES - self.name.len();
        if end > room {
            return self.fail("a name is longer than 1024 bytes", self.taken + *at + room);
        }
        self.name.push_str(rest.get(..end).unwrap_or_default());
        *at += end;
        if end == rest.len() {
            return;
        }
        if self.name.is_empty() {
            return self.fail(NO_NAME, self.taken + *at);
        }
        out(PayloadOut::Name { name: &self.name, at: *at });
        self.state = State::Named { is_called: false, next: Next::Nothing };
    }

    /// Takes the byte behind a name without arguments.
    fn named(
        &mut self,
        is_called: bool,
        next: Next,
        byte: u8,
        at: &mut usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        if byte == b'{' && next == Next::Nothing {
            self.state = State::Arguments;
            return;
        }
        *at += 1;
        self.state = match next.after(byte) {
            _ if byte == b'(' && next == Next::Nothing && !is_called => State::Parenthesis,
            next @ Next::Letters(_) if next.is_opener() => {
                out(PayloadOut::Arguments("{}"));
                return self.next_call(*at, out);
            }
            next @ Next::Letters(_) => State::Named { is_called, next },
            Next::Nothing if byte.is_ascii_whitespace() && next == Next::Nothing => self.state,
            Next::Nothing | Next::Word => return self.fail(STRAY, self.taken + *at - 1),
        };
    }

    /// Takes the byte behind a name and `(`.
    fn parenthesis(&mut self, byte: u8, at: &mut usize) {
        if byte == b')' {
            self.state = State::Named { is_called: true, next: Next::Nothing };
        } else if !byte.is_ascii_whitespace() {
            return self.fail("arguments stand in parentheses", self.taken + *at);
        }
        *at += 1;
    }

    /// Takes a byte behind the arguments: another call may follow.
    fn behind(
        &mut self,
        before: Next,
        byte: u8,
        at: &mut usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        *at += 1;
        let next = before.after(byte);
        if next.is_opener() {
            return self.next_call(*at, out);
        }
        self.state = State::Behind(next);
        let is_other = match next {
            Next::Letters(_) => false,
            Next::Nothing => !byte.is_ascii_whitespace() || before != Next::Nothing,
            Next::Word => true,
        };
        if is_other {
            self.repairs.insert(Repair::TrailingText);
        }
    }

    fn next_call(&mut self, at: usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        out(PayloadOut::NextCall { at, repairs: self.repairs() });
        self.state = State::Name;
        self.name.clear();
        self.lexer = Lenient::new(Strictness::Lenient);
        self.lexed = 0;
        self.repairs = RepairSet::default();
    }

    /// Takes arguments up to where a delimiter may begin, or to their end.
    fn arguments(&mut self, text: &str, at: &mut usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        let rest = text.get(*at..).unwrap_or_default();
        let first = self.delimiter.as_bytes().first().copied();
        let is_data = self.lexer.string_quote().is_some() || self.lexer.is_in_comment();
        if !is_data && first.is_some() && rest.as_bytes().first() == first.as_ref() {
            self.state = State::Opening(0);
            return;
        }
        // What begins like a delimiter inside a string of JSON is data.
        let later = rest.as_bytes().get(1..).unwrap_or_default();
        let stop = first.and_then(|first| memchr::memchr(first, later));
        let piece = rest.get(..stop.map_or(rest.len(), |stop| stop + 1)).unwrap_or_default();
        *at += self.lex(piece, self.taken + *at, out);
    }

    /// Gives `text`, which stands for the source at `offset`, to the lexer. How much it took.
    fn lex(&mut self, text: &str, offset: usize, out: &mut impl FnMut(PayloadOut<'_>)) -> usize {
        let Self { lexer, repairs, state, .. } = self;
        let taken = lexer.feed_value(text, &mut |token| {
            match token {
                Out::Text(json) => out(PayloadOut::Arguments(json)),
                Out::ValueEnd { repairs: mended, .. } => {
                    repairs.extend(mended);
                    *state = State::Behind(Next::Nothing);
                }
                Out::KeyStart { .. } | Out::KeyEnd { .. } | Out::ValueStart { .. } => {}
            }
            false
        });
        if lexer.has_failed() {
            let (reason, place) = lexer.fault();
            self.fail(reason, (offset + place).saturating_sub(self.lexed));
        }
        self.lexed += taken;
        taken
    }

    /// Takes bytes that may open a string.
    fn opening(
        &mut self,
        seen: usize,
        text: &str,
        at: &mut usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let matched = matched(self.delimiter, seen, text, *at);
        let offset = self.taken + *at - seen;
        *at += matched - seen;
        if matched == self.delimiter.len() {
            self.state = State::Quoted(0);
            self.lex("\"", offset, out);
        } else if *at < text.len() {
            self.state = State::Arguments;
            let begun = self.delimiter.get(..matched).unwrap_or_default();
            self.lex(begun, offset, out);
        } else {
            self.state = State::Opening(matched);
        }
    }

    /// Takes the inside of a string between delimiters.
    fn quoted(
        &mut self,
        seen: usize,
        text: &str,
        at: &mut usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let mut escape =
            |text: &str| escape_into(text, &mut |json| out(PayloadOut::Arguments(json)));
        let rest = text.get(*at..).unwrap_or_default();
        let first = self.delimiter.as_bytes().first().copied().unwrap_or_default();
        if seen == 0 && !rest.as_bytes().starts_with(&[first]) {
            let end = memchr::memchr(first, rest.as_bytes()).unwrap_or(rest.len());
            escape(rest.get(..end).unwrap_or_default());
            *at += end;
            return;
        }
        let matched = matched(self.delimiter, seen, text, *at);
        *at += matched - seen;
        if matched == self.delimiter.len() {
            self.state = State::Arguments;
            self.lex("\"", self.taken + *at, out);
        } else if *at < text.len() {
            escape(self.delimiter.get(..matched).unwrap_or_default());
            self.state = State::Quoted(0);
        } else {
            self.state = State::Quoted(matched);
        }
    }

    fn fail(&mut self, reason: &'static str, offset: usize) {
        self.state = State::Failed { is_in_arguments: self.is_in_arguments() };
        self.fault.get_or_insert((reason, offset));
    }

    /// Ends arguments at the closer of the call: brackets that are missing are added.
    fn close_arguments(&mut self, out: &mut impl FnMut(PayloadOut<'_>)) -> Result<(), Fault> {
        let Self { lexer, repairs, .. } = self;
        let is_whole = lexer.close_at_end(&mut |token| {
            match token {
                Out::Text(json) => out(PayloadOut::Arguments(json)),
                Out::ValueEnd { repairs: mended, .. } => repairs.extend(mended),
                Out::KeyStart { .. } | Out::KeyEnd { .. } | Out::ValueStart { .. } => {}
            }
            false
        });
        if is_whole {
            self.state = State::Behind(Next::Nothing);
            return Ok(());
        }
        let (reason, place) = lexer.fault();
        Err((reason, (self.taken + place).saturating_sub(self.lexed)))
    }
}

impl Reader for SyntaxCall {
    fn feed(&mut self, text: &str, out: &mut impl FnMut(PayloadOut<'_>)) -> usize {
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
                out(PayloadOut::Source(text.get(start..at).unwrap_or_default()));
                source = None;
            }
        }
        if let Some(start) = source {
            out(PayloadOut::Source(text.get(start..).unwrap_or_default()));
        }
        self.taken += text.len();
        text.len()
    }

    fn plain(&self) -> Plain {
        match self.state {
            State::Quoted(0) => Plain::RawText,
            State::Arguments if self.lexer.is_in_plain_string() => Plain::JsonString,
            State::Start(_)
            | State::Name
            | State::Named { .. }
            | State::Parenthesis
            | State::Arguments
            | State::Opening(_)
            | State::Quoted(_)
            | State::Behind(_)
            | State::Failed { .. } => Plain::Nothing,
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
        match self.state {
            State::Quoted(_) => Guard::InString(self.delimiter),
            State::Arguments if self.lexer.is_in_comment() => Guard::Closed,
            State::Arguments => match self.lexer.string_quote() {
                Some(b'\'') => Guard::InString("'"),
                Some(_) => Guard::InString("\""),
                None => Guard::Open,
            },
            State::Start(_)
            | State::Name
            | State::Named { .. }
            | State::Parenthesis
            | State::Opening(_)
            | State::Behind(_)
            | State::Failed { .. } => Guard::Open,
        }
    }

    fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.lexer.repairs());
        match self.keys {
            Keys::Bare => repairs.without(Repair::UnquotedKey),
            Keys::Quoted => repairs,
        }
    }

    fn close(&mut self, out: &mut impl FnMut(PayloadOut<'_>)) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.state {
            State::Start(_) => return Err((NO_CALL, self.taken)),
            State::Name if self.name.is_empty() => {
                return Err((NO_NAME, self.taken));
            }
            State::Name => {
                out(PayloadOut::Name { name: &self.name, at: 0 });
                out(PayloadOut::Arguments("{}"));
            }
            State::Named { next: Next::Letters(_), .. } => {
                return Err((STRAY, self.taken));
            }
            State::Named { .. } => out(PayloadOut::Arguments("{}")),
            State::Parenthesis => {
                self.repairs.insert(Repair::MissingBracket);
                out(PayloadOut::Arguments("{}"));
            }
            State::Arguments => return self.close_arguments(out),
            State::Opening(seen) => {
                return Err(("this starts no JSON value", self.taken - seen));
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

/// How many bytes of `delimiter` are seen, when `seen` were before byte `at` of `text`.
fn matched(delimiter: &str, seen: usize, text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let wanted = delimiter.as_bytes().get(seen..).unwrap_or_default();
    seen + wanted.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count()
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'$' | 0x80..)
}
