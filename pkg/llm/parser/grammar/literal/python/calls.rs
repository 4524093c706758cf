//! Calls one after another: names, parentheses, and the text between calls.

use compact_str::CompactString;

use super::{
    name::{is_name_byte, is_name_start},
    values::Values,
};
use crate::{
    llm::parser::{
        RepairSet,
        grammar::{
            reader::{
                Fault, Guard, LONG_NAME, MAX_NAME_BYTES, PayloadOut, Plain, Reader, Sink,
                give_source, json_to,
            },
            schema::Tools,
            skip::{Skip, SkipEnd},
        },
    },
    types::{Repair, slice},
};

/// A reader of the calls of one payload, in pieces of any size.
///
/// A list in brackets ends itself; calls without brackets continue up to their closer. If there is no closer, the
/// first of them is the last.
#[derive(Debug, Default)]
pub(crate) struct PythonCalls {
    state: State,
    layout: Layout,
    name: CompactString,
    values: Values,
    /// The number of bytes before the current piece.
    taken: usize,
    fault: Option<Fault>,
    /// The search for the next call, after a mistake in one of several.
    skip: Option<Skip>,
    /// `true` if the payload ends at a mistake that cannot be repaired, because it has no closer.
    ends_itself: bool,
}

/// The arrangement of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Layout {
    /// In `[` and `]`, separated by commas.
    List,
    /// One per line.
    #[default]
    Lines,
}

/// The part that was read last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing but whitespace.
    #[default]
    Start,
    /// `[`: a call must follow.
    FirstCall,
    /// A comma after a call: another call or `]` follows.
    NextCall,
    /// Part of a name.
    Name,
    /// A name and whitespace.
    Named,
    /// Arguments.
    Arguments,
    /// A call ended.
    Behind,
    /// Text after a call that is not a call.
    Trailing,
    /// The list ended.
    Done,
    /// A mistake that cannot be repaired.
    Failed { is_in_arguments: bool },
}

impl PythonCalls {
    /// Creates a reader; the schemas of `tools` determine the names of positional arguments. A call
    /// that `ends_itself` has no closer.
    pub(crate) fn new(tools: Tools, ends_itself: bool) -> Self {
        Self { values: Values::new(tools), ends_itself, ..Self::default() }
    }

    fn is_in_arguments(&self) -> bool {
        matches!(self.state, State::Arguments | State::Failed { is_in_arguments: true })
    }

    /// Returns `true` after a parenthesis that ends the arguments, if a quote before it ended its string.
    fn is_behind_arguments(&self) -> bool {
        self.state == State::Arguments && !self.values.held_behind().is_empty()
    }

    /// Reads one byte between calls.
    fn between(&mut self, byte: u8, at: &mut usize, out: &mut Sink<'_>) {
        let offset = self.taken + *at;
        let is_next = matches!(self.state, State::NextCall | State::Behind);
        match (self.state, byte) {
            _ if byte.is_ascii_whitespace() => {}
            (State::Start, b'[') => {
                self.layout = Layout::List;
                self.state = State::FirstCall;
            }
            (State::FirstCall, b']') => return self.fail("the list holds no call", offset),
            (State::NextCall, b']') => self.state = State::Done,
            (State::NextCall, b',') => self.values.repairs.insert(Repair::ExtraComma),
            (State::Behind, b']') if self.layout == Layout::List => self.state = State::Done,
            (State::Behind, b',') if self.layout == Layout::List => self.state = State::NextCall,
            (State::Behind, _) if self.layout == Layout::List => {
                return self.fail("a comma or `]` is missing behind a call", offset);
            }
            (State::Behind, b',' | b';') => {}
            _ if is_name_start(byte) => {
                if is_next {
                    self.next_call(*at, out);
                }
                self.name.clear();
                self.state = State::Name;
                return;
            }
            (State::Behind, _) => {
                self.values.repairs.insert(Repair::TrailingText);
                self.state = State::Trailing;
            }
            _ => {
                if is_next {
                    self.next_call(*at, out);
                }
                return self.fail("this begins no call", offset);
            }
        }
        *at += 1;
    }

    /// Begins another call, which ends the previous one, complete or not.
    fn next_call(&mut self, at: usize, out: &mut Sink<'_>) {
        let (repairs, fault) = (self.values.repairs, self.fault.take());
        out(PayloadOut::NextCall { at, repairs, fault });
        self.values.repairs = RepairSet::default();
    }

    /// Reads part of a name, or its end.
    fn name(&mut self, text: &str, at: &mut usize, out: &mut Sink<'_>) {
        let rest = slice(text, *at..);
        let length = rest.bytes().take_while(|byte| is_name_byte(*byte)).count();
        let length = if self.state == State::Name { length } else { 0 };
        let room = MAX_NAME_BYTES - self.name.len();
        if length > room {
            *at += room;
            return self.fail(LONG_NAME, self.taken + *at);
        }
        self.name.push_str(slice(rest, ..length));
        *at += length;
        match rest.as_bytes().get(length) {
            None => {}
            Some(b'(') => {
                // Llama writes `tool.call(…)` for the tools that it was trained with.
                let name = self.name.strip_suffix(".call").unwrap_or(&self.name);
                out(PayloadOut::Name { name, at: *at });
                self.values.begin_call(name);
                self.values.is_list = self.layout == Layout::List;
                self.state = State::Arguments;
                *at += 1;
            }
            Some(byte) if byte.is_ascii_whitespace() => {
                self.state = State::Named;
                *at += 1;
            }
            Some(_) => self.fail("`(` is missing behind the name of a call", self.taken + *at),
        }
    }

    /// Reads arguments, and emits their source.
    fn arguments(&mut self, text: &str, at: &mut usize, out: &mut Sink<'_>) {
        let start = *at;
        let held = CompactString::from(self.values.held_behind());
        self.values.behind_arguments = 1;
        let read = self.values.feed(text, at, &mut json_to(out));
        // The last parenthesis is not part of them, nor is the whitespace after it.
        let mut end = text.floor_char_boundary(*at);
        if matches!(read, Ok(true)) {
            end = end.saturating_sub(self.values.behind_arguments).max(start);
        } else {
            end -= self.values.held_behind().len().min(end - start);
        }
        if end > start || read.is_err() {
            give_source(&held, out);
        }
        give_source(slice(text, start..end), out);
        match read {
            Ok(false) => {}
            Ok(true) => self.state = State::Behind,
            Err((reason, back)) => self.fail(reason, (self.taken + *at).saturating_sub(back)),
        }
    }

    /// Skips the rest of a call with a mistake; returns the number of bytes read.
    fn skip_call(&mut self, text: &str) -> usize {
        let Some(skip) = &mut self.skip else { return 0 };
        let (read, end) = skip.feed(text);
        if let Some(end) = end {
            let is_element = end == SkipEnd::Element;
            self.state = if is_element { State::NextCall } else { State::Done };
            self.skip = None;
        }
        read
    }

    fn fail(&mut self, reason: &'static str, offset: usize) {
        let is_in_arguments = self.is_in_arguments();
        self.fault.get_or_insert((reason, offset));
        if self.layout == Layout::List {
            let depth = if is_in_arguments { 2 + self.values.depth() } else { 1 };
            self.skip = Some(Skip::python(depth));
            self.state = State::Failed { is_in_arguments: false };
        } else {
            self.state = State::Failed { is_in_arguments };
        }
    }
}

impl Reader for PythonCalls {
    fn feed(&mut self, text: &str, out: &mut Sink<'_>) -> usize {
        let mut at = 0;
        // If there is no closer, the reader of the call looks for markers after a mistake.
        let mut may_skip = self.skip.is_some();
        while let Some(&byte) = text.as_bytes().get(at) {
            match self.state {
                State::Arguments => self.arguments(text, &mut at, out),
                State::Name | State::Named => self.name(text, &mut at, out),
                State::Failed { .. } if self.skip.is_some() && (may_skip || !self.ends_itself) => {
                    at = text.floor_char_boundary(at);
                    at += self.skip_call(slice(text, at..));
                    may_skip = self.skip.is_some();
                }
                State::Failed { .. } if self.ends_itself => break,
                State::Done | State::Behind if self.has_ended() => break,
                State::Start | State::FirstCall | State::NextCall | State::Behind => {
                    self.between(byte, &mut at, out);
                }
                State::Trailing | State::Done | State::Failed { .. } => {
                    if self.is_in_arguments() {
                        give_source(slice(text, text.floor_char_boundary(at)..), out);
                    }
                    at = text.len();
                }
            }
        }
        // A mistake inside a character is reported at its start.
        let at = text.floor_char_boundary(at);
        self.taken += at;
        at
    }

    fn plain(&self) -> Plain {
        if self.state == State::Arguments { self.values.plain() } else { Plain::Nothing }
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    fn is_whole(&self) -> bool {
        let is_behind =
            matches!(self.state, State::Behind | State::Trailing) || self.is_behind_arguments();
        self.state == State::Done || (is_behind && self.layout == Layout::Lines)
    }

    fn has_ended(&self) -> bool {
        let is_last = self.ends_itself && self.layout == Layout::Lines;
        self.state == State::Done || is_last && self.state == State::Behind
    }

    fn ends_with_text(&self) -> bool {
        self.ends_itself && self.is_whole()
    }

    fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. })
    }

    fn may_recover(&self) -> bool {
        self.skip.is_some()
    }

    fn guard(&self) -> Guard {
        match self.values.string_end() {
            Some(end) if self.state == State::Arguments => Guard::InString(end),
            Some(_) | None => Guard::Open,
        }
    }

    fn repairs(&self) -> RepairSet {
        self.values.repairs
    }

    fn close(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.state {
            State::Start => return Err(("the call is empty", self.taken)),
            State::FirstCall | State::Name | State::Named => {
                return Err(("the list of calls ends too early", self.taken));
            }
            State::Arguments => {
                let is_whole = self.is_whole();
                let json = &mut json_to(out);
                let closed = self.values.close(json);
                closed.map_err(|(reason, back)| (reason, self.taken.saturating_sub(back)))?;
                if !is_whole {
                    self.values.repairs.insert(Repair::MissingBracket);
                }
            }
            State::Behind if self.layout == Layout::Lines => {}
            State::NextCall | State::Behind => self.values.repairs.insert(Repair::MissingBracket),
            State::Trailing | State::Done | State::Failed { .. } => {}
        }
        Ok(())
    }
}
