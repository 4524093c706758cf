//! What stands between the markers of a call: JSON or XML, told by its first byte.

use std::sync::Arc;

use serde_json::Value;

use super::{
    json::{JsonCall, JsonOut},
    repairs::RepairSet,
    toolcall::Way,
    xml::{XmlCall, XmlOut},
};
use crate::types::{Repair, Text};

/// What a payload gives, in order. `at` counts bytes of the piece at hand.
#[derive(Debug, Clone, Copy)]
pub(super) enum PayloadOut<'a> {
    Name { name: &'a str, at: usize },
    Server(&'a str),
    Arguments(&'a str),
    Source(&'a str),
    NextCall { at: usize, repairs: RepairSet },
}

/// The payload of one call.
#[derive(Debug)]
pub(super) struct Payload {
    grammar: Grammar,
    schemas: Arc<[(Text, Value)]>,
    /// Bytes before the payload's own first byte.
    lead_bytes: usize,
    /// Bytes taken in all.
    taken: usize,
    repairs: RepairSet,
}

#[derive(Debug)]
enum Grammar {
    /// Only blanks so far.
    Unknown,
    /// In the line that opens a Markdown fence around the payload.
    Fence,
    Json(Box<JsonCall>),
    Xml(Box<XmlCall>),
    /// Neither.
    Neither,
}

impl Payload {
    pub(super) fn new(schemas: Arc<[(Text, Value)]>) -> Self {
        Self {
            grammar: Grammar::Unknown,
            schemas,
            lead_bytes: 0,
            taken: 0,
            repairs: RepairSet::default(),
        }
    }

    /// Begins another payload.
    pub(super) fn restart(&mut self) {
        self.grammar = Grammar::Unknown;
        self.lead_bytes = 0;
        self.taken = 0;
        self.repairs = RepairSet::default();
    }

    /// The way of the next text.
    pub(super) fn way(&self) -> Way {
        match &self.grammar {
            Grammar::Json(call) if call.is_in_plain_string() => Way::JsonString,
            Grammar::Xml(call) if call.is_in_plain_text() => Way::XmlText,
            Grammar::Json(_)
            | Grammar::Xml(_)
            | Grammar::Unknown
            | Grammar::Fence
            | Grammar::Neither => Way::Markers,
        }
    }

    /// So many bytes took the plain way.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
        if let Grammar::Json(call) = &mut self.grammar {
            call.skip(bytes);
        }
    }

    /// Takes the next piece.
    pub(super) fn feed(&mut self, text: &str, out: &mut impl FnMut(PayloadOut<'_>)) {
        let lead = if self.is_known() { 0 } else { self.lead(text) };
        self.taken += text.len();
        let rest = text.get(lead..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        match &mut self.grammar {
            Grammar::Json(call) => call.feed(rest, &mut |piece| out(from_json(piece, lead))),
            Grammar::Xml(call) => call.feed(rest, &mut |piece| out(from_xml(piece, lead))),
            Grammar::Unknown | Grammar::Fence | Grammar::Neither => {}
        }
    }

    fn is_known(&self) -> bool {
        matches!(self.grammar, Grammar::Json(_) | Grammar::Xml(_) | Grammar::Neither)
    }

    /// Bytes of `text` before the payload begins; the first byte of it tells the grammar.
    fn lead(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            self.lead_bytes = self.taken + at;
            match (&self.grammar, byte) {
                (_, b'{' | b'[') => {
                    let is_fenced = self.repairs != RepairSet::default();
                    self.grammar = Grammar::Json(Box::new(JsonCall::new(is_fenced)));
                    return at;
                }
                (Grammar::Fence, b'\n') => self.grammar = Grammar::Unknown,
                (Grammar::Fence, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => {}
                (_, b'`') => {
                    self.repairs.insert(Repair::Fence);
                    self.grammar = Grammar::Fence;
                }
                (_, b'<') => {
                    self.grammar = Grammar::Xml(Box::new(XmlCall::new(Arc::clone(&self.schemas))));
                    return at;
                }
                _ => {
                    self.grammar = Grammar::Neither;
                    return at;
                }
            }
        }
        text.len()
    }

    /// Whether the payload is whole, so that a missing closer can be forgiven.
    pub(super) fn is_whole(&self) -> bool {
        match &self.grammar {
            Grammar::Json(call) => call.is_whole(),
            Grammar::Xml(call) => call.is_whole(),
            Grammar::Unknown | Grammar::Fence | Grammar::Neither => false,
        }
    }

    /// Whether a mistake was seen that cannot be mended.
    pub(super) fn has_failed(&self) -> bool {
        match &self.grammar {
            Grammar::Json(call) => call.has_failed(),
            Grammar::Neither => true,
            Grammar::Xml(_) | Grammar::Unknown | Grammar::Fence => false,
        }
    }

    /// Whether no marker counts here: in CDATA or a comment.
    pub(super) fn is_protected(&self) -> bool {
        match &self.grammar {
            Grammar::Json(call) => call.is_in_comment(),
            Grammar::Xml(call) => call.is_protected(),
            Grammar::Unknown | Grammar::Fence | Grammar::Neither => false,
        }
    }

    pub(super) fn is_in_string(&self) -> bool {
        self.string_quote().is_some()
    }

    /// The quote of the JSON string that the payload is in.
    pub(super) fn string_quote(&self) -> Option<u8> {
        match &self.grammar {
            Grammar::Json(call) => call.string_quote(),
            Grammar::Xml(_) | Grammar::Unknown | Grammar::Fence | Grammar::Neither => None,
        }
    }

    /// Whether an opener here begins the next call: XML may hold an element of that name.
    pub(super) fn yields_to_opener(&self) -> bool {
        match &self.grammar {
            Grammar::Xml(call) => call.is_whole(),
            Grammar::Json(_) | Grammar::Unknown | Grammar::Fence | Grammar::Neither => true,
        }
    }

    /// Adds a repair that its surroundings made.
    pub(super) fn note(&mut self, repair: Repair) {
        self.repairs.insert(repair);
    }

    pub(super) fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        if let Grammar::Json(call) = &self.grammar {
            repairs.extend(call.repairs());
        }
        repairs
    }

    /// Ends the payload at its closer; an error says what is wrong, and at which byte.
    pub(super) fn close(
        &mut self,
        out: &mut impl FnMut(PayloadOut<'_>),
    ) -> Result<(), (&'static str, usize)> {
        let lead = self.lead_bytes;
        match &mut self.grammar {
            Grammar::Json(call) => call
                .close(&mut |piece| out(from_json(piece, 0)))
                .map_err(|(reason, offset)| (reason, offset + lead)),
            Grammar::Xml(call) => call
                .close(&mut |piece| out(from_xml(piece, 0)))
                .map_err(|reason| (reason, self.taken)),
            Grammar::Unknown | Grammar::Fence => Err(("the call is empty", self.taken)),
            Grammar::Neither => Err(("the payload is neither JSON nor XML", lead)),
        }
    }
}

fn from_json(piece: JsonOut<'_>, lead: usize) -> PayloadOut<'_> {
    match piece {
        JsonOut::Name { name, at } => PayloadOut::Name { name, at: at + lead },
        JsonOut::Server(name) => PayloadOut::Server(name),
        JsonOut::Arguments(json) => PayloadOut::Arguments(json),
        JsonOut::Source(source) => PayloadOut::Source(source),
        JsonOut::NextCall { at, repairs } => PayloadOut::NextCall { at: at + lead, repairs },
    }
}

fn from_xml(piece: XmlOut<'_>, lead: usize) -> PayloadOut<'_> {
    match piece {
        XmlOut::Name { name, at } => PayloadOut::Name { name, at: at + lead },
        XmlOut::Server(name) => PayloadOut::Server(name),
        XmlOut::Arguments(json) => PayloadOut::Arguments(json),
        XmlOut::Source(source) => PayloadOut::Source(source),
    }
}
