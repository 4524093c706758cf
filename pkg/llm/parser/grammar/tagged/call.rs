//! Reads a payload of functions with named parameters.

use std::{mem, sync::Arc};

use compact_str::CompactString;
use serde_json::Value;

use super::{
    arguments::Arguments,
    tag_match::{Class, Marks},
    tags::Tags,
};
use crate::{
    llm::parser::{
        grammar::reader::{Fault, Guard, PayloadOut, Plain, Reader, Sink},
        repairs::RepairSet,
    },
    types::Text,
};

/// Why a call without a name cannot be read.
pub(super) const NO_NAME: &str = "the call names no tool";

/// Why arguments that should be one object cannot be read.
pub(super) const NO_OBJECT: &str = "the arguments are no JSON object";

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
    /// A key, or the type of its value: the start of the value.
    Gap,
    /// The opening of a type of a value.
    Kind,
    /// The start of a value; nothing of it yet.
    ValueStart,
    /// A part of a value, and a line end at its end that may be framing.
    Value { has_line_end: bool },
    /// The start of a CDATA section that is a value.
    Cdata,
    /// The end of one: the end of the value.
    CdataDone,
    /// The tag of an object that holds all arguments: the object.
    ObjectStart,
    /// The start of an object that holds all arguments.
    Object,
    /// The end of a function: another one.
    Done,
    /// The end of the function that ends the call.
    Ended,
    /// A mistake in a function whose end ends the call: that end.
    Lost,
    /// A mistake that cannot be mended.
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
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// This byte of the text stands at byte `start` of the piece that was fed.
    pub(super) back: usize,
    pub(super) start: usize,
    /// Where source begins that was not yet given.
    pub(super) source: usize,
}

impl Piece<'_> {
    pub(super) fn from(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Which byte of the piece that was fed stands at `at`.
    pub(super) fn fed(&self, at: usize) -> usize {
        (self.start + at).saturating_sub(self.back)
    }
}

/// Reads functions with named parameters in pieces of any size.
#[derive(Debug)]
pub(crate) struct ParamsCall {
    pub(super) marks: Marks,
    pub(super) schemas: Arc<[(Text, Value)]>,
    pub(super) state: State,
    /// Text that may become a mark; bounded by the longest mark that is looked for.
    pub(super) held: String,
    /// A plain name or a key; bounded by `MAX_NAME_BYTES`.
    pub(super) name: CompactString,
    /// The type that stands before a value; longer ones are unknown.
    pub(super) kind: CompactString,
    /// Which of the schemas is the tool's.
    pub(super) tool: Option<usize>,
    pub(super) arguments: Arguments,
    pub(super) repairs: RepairSet,
    pub(super) fault: Option<Fault>,
    /// Bytes of the payload before the piece at hand.
    pub(super) taken: usize,
}

impl ParamsCall {
    /// Reads calls with `tags`; values are typed by `schemas`, the tools' names and JSON schemas.
    pub(crate) fn new(tags: Tags, schemas: Arc<[(Text, Value)]>) -> Self {
        let state = if tags.function.is_empty() { State::Name } else { State::Start };
        let marks = Marks::new(tags);
        Self {
            marks,
            schemas,
            state,
            held: String::new(),
            name: CompactString::const_new(""),
            kind: CompactString::const_new(""),
            tool: None,
            arguments: Arguments::new(),
            repairs: RepairSet::default(),
            fault: None,
            taken: 0,
        }
    }

    pub(super) fn is_in_value(&self) -> bool {
        match self.state {
            State::ValueStart | State::Value { .. } | State::Cdata | State::CdataDone => true,
            State::Start
            | State::Name
            | State::Between
            | State::Key
            | State::Gap
            | State::Kind
            | State::ObjectStart
            | State::Object
            | State::Done
            | State::Ended
            | State::Lost
            | State::Failed => false,
        }
    }

    /// Whether text here is source of the arguments.
    fn is_in_function(&self) -> bool {
        match self.state {
            State::Between | State::Key | State::Gap | State::Kind => true,
            State::ObjectStart | State::Object => true,
            State::Start | State::Name | State::Done => false,
            State::Ended | State::Lost | State::Failed => false,
            State::ValueStart | State::Value { .. } | State::Cdata | State::CdataDone => true,
        }
    }

    /// Reads what is certain of the piece.
    fn read(&mut self, piece: &mut Piece<'_>, out: &mut Sink<'_>) -> Taken {
        let mut at = piece.source;
        loop {
            let plain = self.marks.find_in(self.state, piece.from(at).as_bytes());
            if plain > 0 {
                self.text(piece, at, at + plain, out);
                at += plain;
            }
            let rest = piece.from(at);
            let Some(first) = rest.chars().next() else { break };
            let is_quoted = self.state == State::Object && self.arguments.string_quote().is_some();
            let class =
                if is_quoted { Class::Nothing } else { self.marks.classify(self.state, rest) };
            match class {
                Class::Mark(mark, bytes) => {
                    self.mark(mark, at, at + bytes, piece, out);
                    at += bytes;
                    if self.state == State::Ended {
                        return Taken::Ended(at);
                    }
                }
                Class::Maybe => {
                    self.give_source(piece, at, out);
                    return Taken::Upto(at);
                }
                Class::TooLong => self.fail("a tag is longer than 512 bytes", piece, at, out),
                Class::Nothing => {
                    let end = at + first.len_utf8();
                    self.text(piece, at, end, out);
                    at = end;
                }
            }
            if self.has_failed() && self.marks.tags().ends_itself {
                // Who reads calls looks for the next one behind the mistake.
                return Taken::Ended(at);
            }
        }
        self.give_source(piece, at, out);
        Taken::All
    }

    /// Whether the piece is nothing but the inside of a value: almost all of them are.
    #[inline]
    fn is_all_value(&self, text: &str) -> bool {
        matches!(self.state, State::Value { .. })
            && self.held.is_empty()
            && self.marks.find_first(text.as_bytes()) == text.len()
    }

    pub(super) fn give_source(&self, piece: &mut Piece<'_>, to: usize, out: &mut Sink<'_>) {
        let source = piece.text.get(piece.source..to).unwrap_or_default();
        if self.is_in_function() && !source.is_empty() {
            out(PayloadOut::Source(source));
        }
        piece.source = to;
    }

    /// A mistake at `at`, behind which nothing is read.
    pub(super) fn fail(
        &mut self,
        reason: &'static str,
        piece: &mut Piece<'_>,
        at: usize,
        out: &mut Sink<'_>,
    ) {
        self.give_source(piece, at, out);
        self.fault.get_or_insert((reason, self.place(piece, at)));
        let may_end = self.is_in_function() && self.marks.tags().ends_itself;
        self.state = if may_end { State::Lost } else { State::Failed };
    }

    /// Which byte of the payload stands at `at`.
    pub(super) fn place(&self, piece: &Piece<'_>, at: usize) -> usize {
        (self.taken + piece.start + at).saturating_sub(piece.back)
    }
}

impl Reader for ParamsCall {
    fn feed(&mut self, text: &str, out: &mut Sink<'_>) -> usize {
        let mut at = 0;
        if self.state == State::Ended {
            return 0;
        }
        if self.is_all_value(text) {
            self.pass_value(text, out);
            return text.len();
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
                Taken::Ended(end) => {
                    // What told that the payload had ended is no part of it.
                    let taken = at.saturating_sub(held.len() - end);
                    self.taken += taken;
                    return taken;
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
        let is_inside = matches!(self.state, State::Value { has_line_end: false } | State::Object);
        let is_plain = is_inside && self.held.is_empty() && self.marks.begin_with_angle();
        if is_plain { self.arguments.plain() } else { Plain::Nothing }
    }

    fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        self.arguments.skip(bytes);
    }

    fn is_whole(&self) -> bool {
        let is_done = self.state == State::Done
            || (self.is_in_value() && self.marks.is_function_end(&self.held));
        // A call that ended itself ended, whatever is wrong with it.
        self.state == State::Ended || (is_done && self.fault.is_none())
    }

    fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// A call that ends itself has not failed as long as its end is looked for.
    fn has_failed(&self) -> bool {
        self.fault.is_some() && (self.state == State::Failed || !self.marks.tags().ends_itself)
    }

    fn guard(&self) -> Guard {
        if self.is_in_value() && !self.marks.is_function_end(&self.held) {
            return Guard::InValue;
        }
        match self.arguments.string_quote() {
            Some(b'\'') if self.state == State::Object => Guard::InString("'"),
            Some(_) if self.state == State::Object => Guard::InString("\""),
            _ => Guard::Open,
        }
    }

    fn ends_value(&self, text: &str) -> bool {
        self.marks.ends_value(text)
    }

    fn repairs(&self) -> RepairSet {
        self.repairs
    }

    fn close(&mut self, out: &mut Sink<'_>) -> Result<(), Fault> {
        self.settle_held(out);
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let fault = match self.state {
            State::Done | State::Ended => return Ok(()),
            State::Name | State::Between | State::Object if !self.is_nameless() => {
                return self.close_function(out);
            }
            State::Start => "the call is empty",
            State::Name | State::Between | State::Object => NO_NAME,
            State::Key | State::Gap | State::Kind => "a key has no value",
            State::ObjectStart => NO_OBJECT,
            State::ValueStart | State::Value { .. } | State::Cdata | State::CdataDone => {
                "a value is not closed before the end of the call"
            }
            State::Lost | State::Failed => "the call cannot be read",
        };
        Err((fault, self.taken))
    }
}
