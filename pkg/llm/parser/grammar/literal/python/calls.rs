//! Calls one after another: names, parentheses, and the text between calls.

use compact_str::CompactString;

use super::{
    name::{is_name_byte, is_name_start},
    values::PythonValues,
};
use crate::grammar::{
    reader::{
        LONG_NAME, MAX_NAME_BYTES, MarkerGuard, PayloadFault, PayloadOut, PayloadReader,
        PayloadSink, PlainText, give_source, json_to,
    },
    schema::KnownTools,
    skip::{ElementSkip, SkipEnd},
};
use forgeline_json::{RepairSet, slice};
use forgeline_types::Repair;

/// A reader of the calls of one payload, in pieces of any size.
///
/// A list in brackets ends itself; calls without brackets continue up to their closer. If there is no closer, the
/// first of them is the last.
#[derive(Debug, Default)]
pub(crate) struct PythonCalls {
    state: CallsPhase,
    layout: CallsLayout,
    name: CompactString,
    values: PythonValues,
    /// The number of bytes before the current piece.
    taken: usize,
    fault: Option<PayloadFault>,
    /// The search for the next call, after a mistake in one of several.
    skip: Option<ElementSkip>,
    /// `true` if the payload ends at a mistake that cannot be repaired, because it has no closer.
    ends_itself: bool,
}

/// The arrangement of several calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CallsLayout {
    /// In `[` and `]`, separated by commas.
    List,
    /// One per line.
    #[default]
    Lines,
}

/// The part that was read last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CallsPhase {
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
    pub(crate) fn new(tools: KnownTools, ends_itself: bool) -> Self {
        Self { values: PythonValues::new(tools), ends_itself, ..Self::default() }
    }

    fn is_in_arguments(&self) -> bool {
        matches!(self.state, CallsPhase::Arguments | CallsPhase::Failed { is_in_arguments: true })
    }

    /// Returns `true` after a parenthesis that ends the arguments, if a quote before it ended its string.
    fn is_behind_arguments(&self) -> bool {
        self.state == CallsPhase::Arguments && !self.values.held_behind().is_empty()
    }

    /// Reads one byte between calls.
    fn between(&mut self, byte: u8, at: &mut usize, out: &mut PayloadSink<'_>) {
        let offset = self.taken + *at;
        let is_next = matches!(self.state, CallsPhase::NextCall | CallsPhase::Behind);
        match (self.state, byte) {
            _ if byte.is_ascii_whitespace() => {}
            (CallsPhase::Start, b'[') => {
                self.layout = CallsLayout::List;
                self.state = CallsPhase::FirstCall;
            }
            (CallsPhase::FirstCall, b']') => return self.fail("the list holds no call", offset),
            (CallsPhase::NextCall, b']') => self.state = CallsPhase::Done,
            (CallsPhase::NextCall, b',') => self.values.repairs.insert(Repair::ExtraComma),
            (CallsPhase::Behind, b']') if self.layout == CallsLayout::List => {
                self.state = CallsPhase::Done;
            }
            (CallsPhase::Behind, b',') if self.layout == CallsLayout::List => {
                self.state = CallsPhase::NextCall;
            }
            (CallsPhase::Behind, _) if self.layout == CallsLayout::List => {
                return self.fail("a comma or `]` is missing behind a call", offset);
            }
            (CallsPhase::Behind, b',' | b';') => {}
            _ if is_name_start(byte) => {
                if is_next {
                    self.next_call(*at, out);
                }
                self.name.clear();
                self.state = CallsPhase::Name;
                return;
            }
            (CallsPhase::Behind, _) => {
                self.values.repairs.insert(Repair::TrailingText);
                self.state = CallsPhase::Trailing;
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
    fn next_call(&mut self, at: usize, out: &mut PayloadSink<'_>) {
        let (repairs, fault) = (self.values.repairs, self.fault.take());
        out(PayloadOut::NextCall { at, repairs, fault });
        self.values.repairs = RepairSet::default();
    }

    /// Reads part of a name, or its end.
    fn name(&mut self, text: &str, at: &mut usize, out: &mut PayloadSink<'_>) {
        let rest = slice(text, *at..);
        let length = rest.bytes().take_while(|byte| is_name_byte(*byte)).count();
        let length = if self.state == CallsPhase::Name { length } else { 0 };
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
                self.values.is_list = self.layout == CallsLayout::List;
                self.state = CallsPhase::Arguments;
                *at += 1;
            }
            Some(byte) if byte.is_ascii_whitespace() => {
                self.state = CallsPhase::Named;
                *at += 1;
            }
            Some(_) => self.fail("`(` is missing behind the name of a call", self.taken + *at),
        }
    }

    /// Reads arguments, and emits their source.
    fn arguments(&mut self, text: &str, at: &mut usize, out: &mut PayloadSink<'_>) {
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
            Ok(true) => self.state = CallsPhase::Behind,
            Err((reason, back)) => self.fail(reason, (self.taken + *at).saturating_sub(back)),
        }
    }

    /// Skips the rest of a call with a mistake; returns the number of bytes read.
    fn skip_call(&mut self, text: &str) -> usize {
        let Some(skip) = &mut self.skip else { return 0 };
        let (read, end) = skip.feed(text);
        if let Some(end) = end {
            let is_element = end == SkipEnd::Element;
            self.state = if is_element { CallsPhase::NextCall } else { CallsPhase::Done };
            self.skip = None;
        }
        read
    }

    fn fail(&mut self, reason: &'static str, offset: usize) {
        let is_in_arguments = self.is_in_arguments();
        self.fault.get_or_insert((reason, offset));
        if self.layout == CallsLayout::List {
            let depth = if is_in_arguments { 2 + self.values.depth() } else { 1 };
            self.skip = Some(ElementSkip::python(depth));
            self.state = CallsPhase::Failed { is_in_arguments: false };
        } else {
            self.state = CallsPhase::Failed { is_in_arguments };
        }
    }
}

impl PayloadReader for PythonCalls {
    fn feed(&mut self, text: &str, out: &mut PayloadSink<'_>) -> usize {
        let mut at = 0;
        // If there is no closer, the reader of the call looks for markers after a mistake.
        let mut may_skip = self.skip.is_some();
        while let Some(&byte) = text.as_bytes().get(at) {
            match self.state {
                CallsPhase::Arguments => self.arguments(text, &mut at, out),
                CallsPhase::Name | CallsPhase::Named => self.name(text, &mut at, out),
                CallsPhase::Failed { .. }
                    if self.skip.is_some() && (may_skip || !self.ends_itself) =>
                {
                    at = text.floor_char_boundary(at);
                    at += self.skip_call(slice(text, at..));
                    may_skip = self.skip.is_some();
                }
                CallsPhase::Failed { .. } if self.ends_itself => break,
                CallsPhase::Done | CallsPhase::Behind if self.has_ended() => break,
                CallsPhase::Start
                | CallsPhase::FirstCall
                | CallsPhase::NextCall
                | CallsPhase::Behind => {
                    self.between(byte, &mut at, out);
                }
                CallsPhase::Trailing | CallsPhase::Done | CallsPhase::Failed { .. } => {
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

    fn plain(&self) -> PlainText {
        if self.state == CallsPhase::Arguments { self.values.plain() } else { PlainText::Nothing }
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    fn is_whole(&self) -> bool {
        let is_behind = matches!(self.state, CallsPhase::Behind | CallsPhase::Trailing)
            || self.is_behind_arguments();
        self.state == CallsPhase::Done || (is_behind && self.layout == CallsLayout::Lines)
    }

    fn has_ended(&self) -> bool {
        let is_last = self.ends_itself && self.layout == CallsLayout::Lines;
        self.state == CallsPhase::Done || is_last && self.state == CallsPhase::Behind
    }

    fn ends_with_text(&self) -> bool {
        self.ends_itself && self.is_whole()
    }

    fn has_failed(&self) -> bool {
        matches!(self.state, CallsPhase::Failed { .. })
    }

    fn may_recover(&self) -> bool {
        self.skip.is_some()
    }

    fn guard(&self) -> MarkerGuard {
        match self.values.string_end() {
            Some(end) if self.state == CallsPhase::Arguments => MarkerGuard::InString(end),
            Some(_) | None => MarkerGuard::Open,
        }
    }

    fn repairs(&self) -> RepairSet {
        self.values.repairs
    }

    fn close(&mut self, out: &mut PayloadSink<'_>) -> Result<(), PayloadFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match self.state {
            CallsPhase::Start => return Err(("the call is empty", self.taken)),
            CallsPhase::FirstCall | CallsPhase::Name | CallsPhase::Named => {
                return Err(("the list of calls ends too early", self.taken));
            }
            CallsPhase::Arguments => {
                let is_whole = self.is_whole();
                let json = &mut json_to(out);
                let closed = self.values.close(json);
                closed.map_err(|(reason, back)| (reason, self.taken.saturating_sub(back)))?;
                if !is_whole {
                    self.values.repairs.insert(Repair::MissingBracket);
                }
            }
            CallsPhase::Behind if self.layout == CallsLayout::Lines => {}
            CallsPhase::NextCall | CallsPhase::Behind => {
                self.values.repairs.insert(Repair::MissingBracket);
            }
            CallsPhase::Trailing | CallsPhase::Done | CallsPhase::Failed { .. } => {}
        }
        Ok(())
    }
}
