//! Reads a payload of functions with named parameters.

use std::{mem, sync::Arc};

use compact_str::CompactString;
use serde_json::Value;

use super::{
    arguments::{Arguments, Want},
    marks::{Class, Mark, Marks},
    tag::Attributes,
    tags::Tags,
};
use crate::{
    llm::parser::{
        reader::{Fault, Guard, PayloadOut, Plain, Reader},
        repairs::RepairSet,
        schema::Schema,
    },
    types::{Repair, Text},
};

/// Longest name of a tool and longest key that is text, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// What was seen last, and so what may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: a function tag.
    Start,
    /// The beginning of a payload that begins with a plain name: more of the name, or its end.
    Name,
    /// A function's name, or a whole parameter: a parameter, or the end of the function.
    Between,
    /// The opening of a key that is text.
    Key,
    /// A key: the start of its value.
    Gap,
    /// The start of a value; nothing of it yet.
    ValueStart,
    /// A part of a value, and a line end at its end that may be framing.
    Value { has_line_end: bool },
    /// The end of a function: another one.
    Done,
    /// The end of the function that ends the call.
    Ended,
    /// A mistake that cannot be mended: the end of the function, if that ends the call.
    Failed,
}

/// What became of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    All,
    /// From this byte on, more text decides.
    Upto(usize),
    /// The call ended before this byte.
    Ended(usize),
}

/// The text at hand: the piece that was fed, or what was withheld and the next of its characters.
struct Piece<'t> {
    text: &'t str,
    /// This byte of the text stands at byte `start` of the piece that was fed.
    back: usize,
    start: usize,
    /// Where source begins that was not yet given.
    source: usize,
}

impl Piece<'_> {
    /// Which byte of the piece that was fed stands at `at`.
    fn fed(&self, at: usize) -> usize {
        (self.start + at).saturating_sub(self.back)
    }
}

/// Reads functions with named parameters in pieces of any size.
#[derive(Debug)]
pub(in crate::llm::parser) struct ParamsCall {
    marks: Marks,
    schemas: Arc<[(Text, Value)]>,
    state: State,
    /// Text that may become a mark; bounded by the longest mark that is looked for.
    held: String,
    /// A plain name or a key; bounded by [`MAX_NAME_BYTES`].
    name: CompactString,
    /// Which of the schemas is the tool's.
    tool: Option<usize>,
    arguments: Arguments,
    repairs: RepairSet,
    fault: Option<Fault>,
    /// Bytes of the payload before the piece at hand.
    taken: usize,
}

impl ParamsCall {
    /// Reads calls with `tags`; values are typed by `schemas`, the tools' names and JSON schemas.
    pub(in crate::llm::parser) fn new(tags: &Tags, schemas: Arc<[(Text, Value)]>) -> Self {
        let marks = Marks::new(tags);
        let state = if tags.function.is_empty() { State::Name } else { State::Start };
        Self {
            marks,
            schemas,
            state,
            held: String::new(),
            name: CompactString::const_new(""),
            tool: None,
            arguments: Arguments::new(),
            repairs: RepairSet::default(),
            fault: None,
            taken: 0,
        }
    }

    /// Begins another payload.
    pub(in crate::llm::parser) fn restart(&mut self) {
        let is_plain = self.marks.tags().function.is_empty();
        self.state = if is_plain { State::Name } else { State::Start };
        self.held.clear();
        self.name.clear();
        self.tool = None;
        self.arguments.restart();
        self.repairs = RepairSet::default();
        self.fault = None;
        self.taken = 0;
    }

    fn is_in_value(&self) -> bool {
        matches!(self.state, State::ValueStart | State::Value { .. })
    }

    /// Whether text here is source of the arguments.
    fn is_in_function(&self) -> bool {
        match self.state {
            State::Between | State::Key | State::Gap | State::ValueStart | State::Value { .. } => {
                true
            }
            State::Start | State::Name | State::Done | State::Ended | State::Failed => false,
        }
    }

    /// A mistake in byte `at` of the payload, after which nothing is read.
    fn fail(&mut self, reason: &'static str, at: usize) {
        self.fault.get_or_insert((reason, at));
        self.state = State::Failed;
    }

    /// Reads what is certain of the piece.
    fn read(&mut self, piece: &mut Piece<'_>, out: &mut impl FnMut(PayloadOut<'_>)) -> Taken {
        let mut at = piece.source;
        loop {
            at += self.pass(piece, at, out);
            let rest = piece.text.get(at..).unwrap_or_default();
            let Some(first) = rest.chars().next() else { break };
            match self.marks.classify(self.state, rest) {
                Class::Mark(mark, bytes) => {
                    self.mark(mark, at, bytes, piece, out);
                    at += bytes;
                    if self.state == State::Ended {
                        return Taken::Ended(at);
                    }
                }
                Class::Maybe => {
                    self.give_source(piece, at, out);
                    return Taken::Upto(at);
                }
                Class::TooLong => {
                    self.fail("a tag is longer than 512 bytes", self.place(piece, at))
                }
                Class::Nothing => {
                    let end = at + first.len_utf8();
                    self.text(piece, at, end, out);
                    at = end;
                }
            }
        }
        self.give_source(piece, at, out);
        Taken::All
    }

    /// Which byte of the payload stands at `at`.
    fn place(&self, piece: &Piece<'_>, at: usize) -> usize {
        (self.taken + piece.start + at).saturating_sub(piece.back)
    }

    fn give_source(&self, piece: &mut Piece<'_>, to: usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        let source = piece.text.get(piece.source..to).unwrap_or_default();
        if self.is_in_function() && !source.is_empty() {
            out(PayloadOut::Source(source));
        }
        piece.source = to;
    }

    /// Takes the text from `at` on in which no mark can begin; how many bytes.
    fn pass(
        &mut self,
        piece: &mut Piece<'_>,
        at: usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) -> usize {
        let rest = piece.text.get(at..).unwrap_or_default();
        let mut plain = self.marks.find_first(rest.as_bytes());
        if self.state == State::Name {
            // A line end ends the name.
            let line = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            plain = plain.min(line);
        }
        if plain > 0 {
            self.text(piece, at, at + plain, out);
        }
        plain
    }

    /// Text that is no mark.
    fn text(
        &mut self,
        piece: &mut Piece<'_>,
        from: usize,
        to: usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let text = piece.text.get(from..to).unwrap_or_default();
        let place = self.place(piece, from);
        match self.state {
            State::ValueStart => {
                let is_framed = self.marks.tags().framing && text.starts_with('\n');
                let skipped = usize::from(is_framed);
                self.state = State::Value { has_line_end: false };
                self.value(text.get(skipped..).unwrap_or_default(), false, place + skipped, out);
            }
            State::Value { has_line_end } => self.value(text, has_line_end, place, out),
            State::Name if text == "\n" => {
                if !self.name.trim().is_empty() {
                    self.announce(piece.fed(to), out);
                    piece.source = to;
                }
            }
            State::Name | State::Key => {
                if self.name.len() + text.len() > MAX_NAME_BYTES {
                    self.fail("a name is longer than 1024 bytes", place);
                } else {
                    self.name.push_str(text);
                }
            }
            State::Start | State::Between | State::Gap => {
                if let Some(stray) = text.find(|letter| !is_blank(letter)) {
                    let reason = match self.state {
                        State::Start => "the payload begins with no function",
                        State::Gap => "a key has no value",
                        _ => "text stands where only parameters can",
                    };
                    self.fail(reason, place + stray);
                }
            }
            State::Done => {
                if !text.trim_matches(is_blank).is_empty() {
                    self.repairs.insert(Repair::TrailingText);
                }
            }
            State::Ended | State::Failed => {}
        }
    }

    /// Text of a value; a line end at its end waits, for it may be framing.
    fn value(
        &mut self,
        text: &str,
        had_line_end: bool,
        place: usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        if text.is_empty() {
            return;
        }
        let arguments = &mut self.arguments;
        let mut out = |json: &str| out(PayloadOut::Arguments(json));
        if had_line_end {
            arguments.text("\n", place.saturating_sub(1), &mut out);
        }
        let (body, has_line_end) = match text.strip_suffix('\n') {
            Some(body) => (body, true),
            None => (text, false),
        };
        if !body.is_empty() {
            arguments.text(body, place, &mut out);
        }
        self.state = State::Value { has_line_end };
    }

    /// A mark stands at `at`.
    fn mark(
        &mut self,
        mark: Mark,
        at: usize,
        bytes: usize,
        piece: &mut Piece<'_>,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let end = at + bytes;
        let place = self.place(piece, at);
        if mark == Mark::FunctionEnd {
            self.give_source(piece, at, out);
        }
        match mark {
            Mark::Function => {
                let tag = piece.text.get(at..end).unwrap_or_default();
                let name = self.marks.attributes(Mark::Function, tag).name;
                self.begin_function(name, place, piece.fed(end), out);
                piece.source = end;
            }
            Mark::NameEnd => {
                if self.name.trim().is_empty() {
                    return self.fail("the call names no tool", place);
                }
                self.announce(piece.fed(end), out);
                piece.source = end;
            }
            Mark::FunctionEnd => {
                self.end_value_without_tag(out);
                self.arguments.finish(&mut |json| out(PayloadOut::Arguments(json)));
                let ends_call = self.marks.tags().ends_itself;
                self.state = match (ends_call, self.fault) {
                    (true, _) => State::Ended,
                    (false, None) => State::Done,
                    (false, Some(_)) => State::Failed,
                };
            }
            Mark::Parameter => self.begin_parameter(at, end, piece, out),
            Mark::ParameterEnd => {
                let keeps = !self.marks.tags().framing;
                self.end_value(keeps, out);
            }
            Mark::KeyEnd if self.marks.tags().value_start.is_empty() => {
                self.begin_pair(place, out);
            }
            Mark::KeyEnd => self.state = State::Gap,
            Mark::ValueStart => self.begin_pair(place, out),
        }
    }

    fn begin_function(
        &mut self,
        name: &str,
        place: usize,
        at: usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        if self.state == State::Done {
            out(PayloadOut::NextCall { at, repairs: mem::take(&mut self.repairs) });
        }
        if name.is_empty() {
            return self.fail("the call names no tool", place);
        }
        self.name.clear();
        self.name.push_str(name);
        self.announce(at, out);
    }

    /// The name is whole and ended before byte `at` of the piece.
    fn announce(&mut self, at: usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        let name = self.name.trim();
        out(PayloadOut::Name { name, at });
        self.tool = self.schemas.iter().position(|(known, _)| known == name);
        self.state = State::Between;
    }

    fn begin_parameter(
        &mut self,
        at: usize,
        end: usize,
        piece: &mut Piece<'_>,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let place = self.place(piece, at);
        if self.state == State::Name {
            if self.name.trim().is_empty() {
                return self.fail("the call names no tool", place);
            }
            self.announce(piece.fed(end), out);
            piece.source = at;
        }
        self.end_value_without_tag(out);
        if self.marks.has_text_keys() {
            self.name.clear();
            self.state = State::Key;
            return;
        }
        let tag = piece.text.get(at..end).unwrap_or_default();
        let attributes = self.marks.attributes(Mark::Parameter, tag);
        if attributes.name.is_empty() {
            return self.fail("a parameter has no name", place);
        }
        self.begin_value(attributes, place, out);
    }

    /// The value of a key that is text begins.
    fn begin_pair(&mut self, place: usize, out: &mut impl FnMut(PayloadOut<'_>)) {
        let key = mem::take(&mut self.name);
        let attributes = Attributes { name: key.trim(), ..Attributes::default() };
        if attributes.name.is_empty() {
            return self.fail("a parameter has no name", place);
        }
        self.begin_value(attributes, place, out);
    }

    fn begin_value(
        &mut self,
        attributes: Attributes<'_>,
        place: usize,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) {
        let schema = self.tool.and_then(|tool| self.schemas.get(tool)).map(|(_, schema)| schema);
        let want =
            Want::of(&attributes, || Want::of_schema(Schema::new(schema).member(attributes.name)));
        let json = &mut |json: &str| out(PayloadOut::Arguments(json));
        if !self.arguments.begin(attributes.name, want, json) {
            self.fault.get_or_insert(("duplicate_argument", place));
        }
        self.state = State::ValueStart;
    }

    /// A value whose own tag is missing ends where the next thing begins.
    fn end_value_without_tag(&mut self, out: &mut impl FnMut(PayloadOut<'_>)) {
        if self.is_in_value() {
            self.repairs.insert(Repair::ImplicitClose);
            self.end_value(false, out);
        }
    }

    /// The value ends; a line end before the end belongs to it, or is framing.
    fn end_value(&mut self, keeps_line_end: bool, out: &mut impl FnMut(PayloadOut<'_>)) {
        let json = &mut |json: &str| out(PayloadOut::Arguments(json));
        if self.state == (State::Value { has_line_end: true }) && keeps_line_end {
            self.arguments.text("\n", self.taken, json);
        }
        match self.arguments.end(json) {
            Ok(repairs) => self.repairs.extend(repairs),
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
        self.state = State::Between;
    }
}

impl Reader for ParamsCall {
    fn feed(&mut self, text: &str, out: &mut impl FnMut(PayloadOut<'_>)) -> usize {
        let mut at = 0;
        if self.state == State::Ended {
            return 0;
        }
        // What an earlier piece left undecided grows until it is decided.
        while !self.held.is_empty()
            && let Some(next) = text.get(at..).and_then(|rest| rest.chars().next())
        {
            at += next.len_utf8();
            let mut held = mem::take(&mut self.held);
            held.push(next);
            let mut piece = Piece { text: &held, back: held.len(), start: at, source: 0 };
            match self.read(&mut piece, out) {
                Taken::All => held.clear(),
                Taken::Upto(upto) => drop(held.drain(..upto)),
                Taken::Ended(_) => {
                    self.taken += at;
                    return at;
                }
            }
            self.held = held;
        }
        if at < text.len() {
            match self.read(&mut Piece { text, back: 0, start: 0, source: at }, out) {
                Taken::All => {}
                Taken::Upto(upto) => self.held.push_str(text.get(upto..).unwrap_or_default()),
                Taken::Ended(end) => {
                    self.taken += end;
                    return end;
                }
            }
        }
        self.taken += text.len();
        text.len()
    }

    fn plain(&self) -> Plain {
        let is_plain = self.held.is_empty()
            && self.state == (State::Value { has_line_end: false })
            && self.marks.begin_with_angle();
        if is_plain { self.arguments.plain() } else { Plain::Nothing }
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        self.arguments.skip(bytes);
    }

    fn is_whole(&self) -> bool {
        let has_ended = matches!(self.state, State::Done | State::Ended)
            || (self.is_in_value() && self.marks.is_function_end(&self.held));
        has_ended && self.fault.is_none()
    }

    fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    fn guard(&self) -> Guard {
        if self.is_in_value() && !self.marks.is_function_end(&self.held) {
            Guard::InValue
        } else {
            Guard::Open
        }
    }

    fn ends_value(&self, text: &str) -> bool {
        self.marks.ends_value(text)
    }

    fn repairs(&self) -> RepairSet {
        self.repairs
    }

    fn close(&mut self, out: &mut impl FnMut(PayloadOut<'_>)) -> Result<(), Fault> {
        // More text was wanted to decide what is held: there is none.
        let held = mem::take(&mut self.held);
        let end = self.taken;
        if !held.is_empty() {
            let mut piece = Piece { text: &held, back: held.len(), start: 0, source: 0 };
            if self.is_in_value() && self.marks.is_function_end(&held) {
                let bytes = self.marks.tags().function_end.len();
                self.mark(Mark::FunctionEnd, 0, bytes, &mut piece, out);
            } else {
                self.text(&mut piece, 0, held.len(), out);
                self.give_source(&mut piece, held.len(), out);
            }
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let is_plain = self.marks.tags().function_end.is_empty();
        match self.state {
            State::Done | State::Ended => Ok(()),
            State::Start => Err(("the call is empty", end)),
            State::Name if self.name.trim().is_empty() => Err(("the call names no tool", end)),
            State::Name | State::Between => {
                if self.state == State::Name {
                    self.announce(0, out);
                }
                if !is_plain {
                    self.repairs.insert(Repair::ImplicitClose);
                }
                self.arguments.finish(&mut |json| out(PayloadOut::Arguments(json)));
                self.state = State::Done;
                Ok(())
            }
            State::Key | State::Gap => Err(("a key has no value", end)),
            State::ValueStart | State::Value { .. } => {
                Err(("a value is not closed before the end of the call", end))
            }
            State::Failed => Err(("the call cannot be read", end)),
        }
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}
