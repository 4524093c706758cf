//! What stands between the markers of a call: one of the grammars, told by its first byte.

use std::sync::Arc;

use serde_json::Value;

use super::{
    description::{Grammar, JsonShape, Markup, Textual},
    json::JsonCall,
    named::NamedCall,
    params::ParamsCall,
    python::PythonCalls,
    reader::{Fault, Guard, PayloadOut, Plain, Reader},
    repairs::RepairSet,
    syntax::SyntaxCall,
    xml::{ElementsCall, XmlCall},
};
use crate::types::{Repair, Text};

/// The payload of one call, or of several.
#[derive(Debug)]
pub(super) struct Payload {
    grammar: Grammar,
    state: State,
    schemas: Arc<[(Text, Value)]>,
    /// Whether the call has no closer.
    ends_itself: bool,
    /// Bytes before the payload's own first byte.
    lead_bytes: usize,
    /// Bytes taken in all.
    taken: usize,
    repairs: RepairSet,
}

#[derive(Debug)]
enum State {
    /// Only blanks so far.
    Lead,
    /// In the line that opens a Markdown fence around the payload.
    Fence,
    Reading(Box<dyn Reader>),
    /// Nothing that the dialect knows.
    Unknown,
}

impl Payload {
    pub(super) fn new(grammar: &Grammar, ends_itself: bool, schemas: Arc<[(Text, Value)]>) -> Self {
        Self {
            grammar: grammar.clone(),
            state: State::Lead,
            schemas,
            ends_itself,
            lead_bytes: 0,
            taken: 0,
            repairs: RepairSet::default(),
        }
    }

    /// Begins another payload.
    pub(super) fn restart(&mut self) {
        self.state = State::Lead;
        self.lead_bytes = 0;
        self.taken = 0;
        self.repairs = RepairSet::default();
    }

    /// Whether the grammar itself says where the call ends.
    pub(super) fn ends_itself(&self) -> bool {
        self.ends_itself
    }

    /// What may matter in the next text.
    pub(super) fn plain(&self) -> Plain {
        match &self.state {
            State::Reading(reader) => reader.plain(),
            State::Lead | State::Fence | State::Unknown => Plain::Nothing,
        }
    }

    /// So many bytes passed as they are.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        if let State::Reading(reader) = &mut self.state {
            reader.skip(bytes);
        }
    }

    /// Takes the next piece; gives how many bytes of it belong to the payload.
    pub(super) fn feed(&mut self, text: &str, out: &mut dyn FnMut(PayloadOut<'_>)) -> usize {
        let lead = match self.state {
            State::Lead | State::Fence => self.lead(text),
            State::Reading(_) | State::Unknown => 0,
        };
        let rest = text.get(lead..).unwrap_or_default();
        let taken = match &mut self.state {
            State::Reading(reader) if !rest.is_empty() => {
                if lead == 0 {
                    reader.feed(rest, out)
                } else {
                    lead + reader.feed(rest, &mut |piece| out(piece.behind(lead)))
                }
            }
            State::Unknown if self.ends_itself => lead,
            State::Reading(_) | State::Lead | State::Fence | State::Unknown => text.len(),
        };
        self.taken += taken;
        taken
    }

    /// Bytes of `text` before the payload begins; the first byte of it tells the grammar.
    fn lead(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            self.lead_bytes = self.taken + at;
            match (&self.state, byte) {
                (State::Fence, b'\n') => self.state = State::Lead,
                (State::Fence, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => {}
                (_, b'`') if self.grammar.json.is_some() => {
                    self.repairs.insert(Repair::Fence);
                    self.state = State::Fence;
                }
                _ => {
                    self.state = self.reader(byte).map_or(State::Unknown, State::Reading);
                    return at;
                }
            }
        }
        text.len()
    }

    /// The reader of what begins with `first`.
    fn reader(&self, first: u8) -> Option<Box<dyn Reader>> {
        let Grammar { json, markup, text } = &self.grammar;
        let schemas = || Arc::clone(&self.schemas);
        Some(match (first, json, markup, text) {
            (b'[', Some(JsonShape::OneCall), _, Some(Textual::Python)) => self.python(),
            (b'{' | b'[', Some(shape), _, _) => Box::new(self.json(*shape)),
            (b'<', _, Some(Markup::Forge), _) => Box::new(XmlCall::new(schemas())),
            (b']', _, Some(Markup::Elements), _) => Box::new(ElementsCall::new(schemas())),
            (_, _, Some(Markup::Tags(tags)), _) if tags.function_begins_with(first) => {
                Box::new(ParamsCall::new(*tags, schemas()))
            }
            (_, _, _, Some(Textual::Named(style))) => {
                Box::new(NamedCall::new(*style, self.ends_itself))
            }
            (_, _, _, Some(Textual::Tags(tags))) => Box::new(ParamsCall::new(*tags, schemas())),
            (_, _, _, Some(Textual::Syntax { quote })) => Box::new(SyntaxCall::new(quote)),
            (_, _, _, Some(Textual::Python)) => self.python(),
            (_, _, _, None) => return None,
        })
    }

    fn python(&self) -> Box<dyn Reader> {
        let calls = PythonCalls::new(Arc::clone(&self.schemas));
        Box::new(if self.ends_itself { calls.ending_itself() } else { calls })
    }

    fn json(&self, shape: JsonShape) -> JsonCall {
        let mut call = JsonCall::new(shape);
        if self.repairs != RepairSet::default() {
            call = call.fenced();
        }
        if self.ends_itself {
            call = call.ending_itself();
        }
        call
    }

    /// Whether the payload is whole, so that a missing closer can be forgiven.
    pub(super) fn is_whole(&self) -> bool {
        match &self.state {
            State::Reading(reader) => reader.is_whole(),
            State::Lead | State::Fence | State::Unknown => false,
        }
    }

    /// Whether the grammar says that the payload has ended.
    pub(super) fn has_ended(&self) -> bool {
        match &self.state {
            State::Reading(reader) => reader.has_ended(),
            State::Lead | State::Fence | State::Unknown => false,
        }
    }

    /// Whether a mistake was seen that cannot be mended.
    pub(super) fn has_failed(&self) -> bool {
        match &self.state {
            State::Reading(reader) => reader.has_failed(),
            State::Unknown => true,
            State::Lead | State::Fence => false,
        }
    }

    /// What a marker means here.
    pub(super) fn guard(&self) -> Guard {
        match &self.state {
            State::Reading(reader) => reader.guard(),
            State::Lead | State::Fence | State::Unknown => Guard::Open,
        }
    }

    /// Whether `text`, which follows a suspect closer inside a value, holds a tag that ends it.
    pub(super) fn ends_value(&self, text: &str) -> bool {
        match &self.state {
            State::Reading(reader) => reader.ends_value(text),
            State::Lead | State::Fence | State::Unknown => false,
        }
    }

    /// Adds a repair that its surroundings made.
    pub(super) fn note(&mut self, repair: Repair) {
        self.repairs.insert(repair);
    }

    pub(super) fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        if let State::Reading(reader) = &self.state {
            repairs.extend(reader.repairs());
        }
        repairs
    }

    /// Ends the payload at its closer; an error says what is wrong, and at which byte.
    pub(super) fn close(&mut self, out: &mut dyn FnMut(PayloadOut<'_>)) -> Result<(), Fault> {
        let lead = self.lead_bytes;
        match &mut self.state {
            State::Reading(reader) => {
                reader.close(out).map_err(|(reason, offset)| (reason, offset + lead))
            }
            State::Lead | State::Fence => Err(("the call is empty", self.taken)),
            State::Unknown => Err(("the payload is not what this dialect writes", lead)),
        }
    }
}
