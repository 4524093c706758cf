//! The body of a call: its length, checked against the limit, and the grammar that reads it.

use super::body_call::BodyCall;
use crate::{
    ahead::name_check::NameCheck,
    builder::description::{CallGrammar, MarkupRules, TextRules},
    content::parsed::{ContentSink, ParseOutcome, ParsedContent},
    grammar::{
        ElementsCall, HeaderCall, JsonCall, JsonShape, KnownTools, MarkerGuard, ParamsCall,
        PayloadReader, PayloadSink, PlainText, PythonCalls, SyntaxCall, ValueTag, XmlCall,
    },
};
use forgeline_json::{RepairSet, slice};
use forgeline_types::Repair;

/// Maximum length of the text that is held because it contains no call yet, in bytes.
const MAX_BLANK_BYTES: usize = 4096;

/// The text between the markers of a call, which contains one call or several.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct CallBody {
    grammar: CallGrammar,
    tools: KnownTools,
    /// `true` if the call has no closer: its grammar determines where it ends.
    ends_itself: bool,
    state: BodyPhase,
    max_bytes: usize,
    call: BodyCall,
    /// Repairs outside of the grammar.
    repairs: RepairSet,
    /// `true` after a mistake in a call without a closer, which other calls may follow.
    is_lost: bool,
    /// The text so far, while it contains no call: whitespace, or an empty list.
    blank: Option<BlankBody>,
}

/// Text that contains no call.
#[derive(Debug, Default)]
struct BlankBody {
    text: String,
    /// The brackets of an empty list in the text.
    brackets: u8,
}

#[derive(Debug)]
enum BodyPhase {
    /// Only whitespace so far.
    Lookahead,
    /// In the line that opens a Markdown fence around the payload.
    Fence,
    Reading(Box<dyn PayloadReader>),
    /// In text that does not belong to this dialect.
    Unknown,
}

impl CallBody {
    /// Creates the body of a call in `grammar`, which `ends_itself` if there is no closer.
    pub(super) fn new(
        grammar: &CallGrammar,
        ends_itself: bool,
        tools: KnownTools,
        max_bytes: usize,
    ) -> Self {
        Self {
            grammar: *grammar,
            tools,
            ends_itself,
            state: BodyPhase::Lookahead,
            max_bytes,
            call: BodyCall::default(),
            repairs: RepairSet::default(),
            is_lost: false,
            blank: Some(BlankBody::default()),
        }
    }

    /// Begins the body of another call.
    pub(super) fn restart(&mut self) {
        self.state = BodyPhase::Lookahead;
        self.call = BodyCall::default();
        self.repairs = RepairSet::default();
        self.is_lost = false;
        self.blank = Some(BlankBody::default());
    }

    /// Returns the tools and the maximum length.
    pub(super) fn settings(&self) -> (&KnownTools, usize) {
        (&self.tools, self.max_bytes)
    }

    /// Returns `true` if a call with this name counts where it may be data.
    pub(super) fn counts(&self, name: &str) -> bool {
        self.tools.counts(name, NameCheck::IfKnown)
    }

    fn reader(&self) -> Option<&dyn PayloadReader> {
        if let BodyPhase::Reading(reader) = &self.state { Some(reader.as_ref()) } else { None }
    }

    /// Returns the length so far, in bytes.
    fn len(&self) -> usize {
        self.call.earlier_bytes + self.call.bytes
    }

    /// Returns `true` before the first byte.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the limit was exceeded, which ends the call.
    pub(super) fn is_too_long(&self) -> bool {
        self.len() > self.max_bytes
    }

    /// Returns `true` if the grammar determines where the call ends.
    pub(super) fn ends_itself(&self) -> bool {
        self.ends_itself
    }

    /// Returns which text may be [skipped](Self::skip), and how many bytes of it.
    pub(super) fn plain(&self) -> (PlainText, usize) {
        let plain = self.reader().map_or(PlainText::Nothing, PayloadReader::plain);
        (plain, self.max_bytes.saturating_sub(self.len()))
    }

    /// Emits the JSON of text that continues as markup; see [`PayloadReader::pass_escaped`].
    pub(super) fn pass_escaped(
        &mut self,
        text: &str,
        out: &mut dyn FnMut(&str),
    ) -> Option<PlainText> {
        let BodyPhase::Reading(reader) = &mut self.state else { return None };
        reader.pass_escaped(text, out)
    }

    /// Counts text that was passed on without being examined.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.call.bytes += bytes;
        if let BodyPhase::Reading(reader) = &mut self.state {
            reader.skip(bytes);
        }
    }

    /// Returns `true` if the payload is complete, so that a missing closer can be tolerated.
    pub(super) fn is_whole(&self) -> bool {
        self.reader().is_some_and(PayloadReader::is_whole)
    }

    /// Returns `true` if the payload is complete where the closer of a surrounding block
    /// follows.
    pub(super) fn is_whole_in_block(&self) -> bool {
        self.reader().is_some_and(PayloadReader::is_whole_in_block)
    }

    /// Returns `true` if the call has ended according to the grammar.
    pub(super) fn has_ended(&self) -> bool {
        self.reader().is_some_and(PayloadReader::has_ended)
    }

    /// Returns `true` if the call has ended according to the grammar, provided that no more text follows.
    pub(super) fn ends_with_text(&self) -> bool {
        self.reader().is_some_and(PayloadReader::ends_with_text)
    }

    /// Returns `true` after a mistake that cannot be repaired.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, BodyPhase::Unknown)
            || self.reader().is_some_and(PayloadReader::has_failed)
    }

    /// Returns `true` after a mistake in a call without a closer: markers are searched for while
    /// the grammar searches for the next call.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the meaning of a marker at the current position.
    pub(super) fn guard(&self) -> MarkerGuard {
        self.reader().map_or(MarkerGuard::Open, PayloadReader::guard)
    }

    /// Returns the tag that ends a value, if there is one in `text`, which follows an ambiguous closer inside a value.
    pub(super) fn value_tag(&self, text: &str, anywhere: bool) -> Option<ValueTag> {
        self.reader()?.value_tag(text, anywhere)
    }

    /// Adds a repair of the text around the body.
    pub(super) fn note(&mut self, repair: Repair) {
        self.repairs.insert(repair);
    }

    /// Returns the repairs of the current call.
    pub(super) fn repairs(&self) -> RepairSet {
        let mut repairs = self.repairs;
        repairs.extend(self.call.repairs);
        repairs.extend(self.reader().map(PayloadReader::repairs).unwrap_or_default());
        repairs
    }

    /// Emits the next piece and its content; returns the number of bytes that belong to the call.
    pub(super) fn pass(&mut self, text: &str, out: &mut ContentSink<'_>) -> usize {
        if text.is_empty() || self.is_too_long() {
            return text.len();
        }
        if let Some(blank) = &mut self.blank {
            let read = blank.take(text, lists_calls(&self.grammar), self.ends_itself);
            if read < text.len() && !(self.ends_itself && blank.is_list()) {
                self.begin(out);
                return read + self.pass(slice(text, read..), out);
            }
            return read;
        }
        let room = self.max_bytes - self.len();
        if text.len() <= room {
            return self.read_text(text, out);
        }
        let text = slice(text, ..text.floor_char_boundary(room));
        let read = self.read_text(text, out);
        if read == text.len() {
            let outcome = &self.broken("the call is longer than its limit");
            out(ParsedContent::CallEnd { outcome, repairs: RepairSet::default() });
            self.call.bytes = self.max_bytes + 1;
        }
        read
    }

    fn may_recover(&self) -> bool {
        self.reader().is_some_and(PayloadReader::may_recover)
    }

    /// Returns `true` once the text contains something; until then it is held.
    pub(super) fn has_begun(&self) -> bool {
        self.blank.is_none()
    }

    /// Begins the call once its text contains something.
    pub(super) fn begin(&mut self, out: &mut ContentSink<'_>) {
        if let Some(BlankBody { text, .. }) = self.blank.take() {
            out(ParsedContent::CallStart);
            self.pass(&text, out);
        }
    }

    /// Ends a block without a call, whose text is framing. Returns `true` if there is one.
    pub(super) fn end_blank(&mut self, out: &mut ContentSink<'_>) -> bool {
        let blank = self.blank.take_if(|blank| blank.brackets != 1);
        if let Some(BlankBody { text, .. }) = &blank
            && !text.is_empty()
        {
            out(ParsedContent::Marker(text));
        }
        blank.is_some()
    }

    /// Returns `true` for an empty list.
    pub(super) fn is_empty_list(&self) -> bool {
        self.blank.as_ref().is_some_and(BlankBody::is_list)
    }

    /// Emits body text before its content, so that both keep their order however the text is split.
    fn read_text(&mut self, text: &str, out: &mut ContentSink<'_>) -> usize {
        // All text before a closer belongs to the body.
        let is_read = self.ends_itself && (!self.has_failed() || self.may_recover());
        let is_known = !matches!(self.state, BodyPhase::Unknown);
        let lead = self.lead(text);
        let Self { ends_itself, state, call, tools, .. } = self;
        let mut given = 0;
        let read = match state {
            BodyPhase::Reading(reader) if lead < text.len() && (is_read || !*ends_itself) => {
                let read = reader.feed(slice(text, lead..), &mut |piece| {
                    if let Some(at) = piece.at() {
                        call.give_body(text, &mut given, lead + at, out);
                    }
                    call.give(piece, tools, out);
                });
                lead + read
            }
            BodyPhase::Unknown if is_known => lead,
            BodyPhase::Reading(_)
            | BodyPhase::Lookahead
            | BodyPhase::Fence
            | BodyPhase::Unknown => text.len(),
        };
        let read = if is_read { read } else { text.len() };
        call.give_body(text, &mut given, read, out);
        self.is_lost |= *ends_itself && self.may_recover();
        read
    }

    /// Returns the number of bytes of `text` before the payload, whose first byte selects the grammar.
    fn lead(&mut self, text: &str) -> usize {
        if !matches!(self.state, BodyPhase::Lookahead | BodyPhase::Fence) {
            return 0;
        }
        for (at, byte) in text.bytes().enumerate() {
            match (&self.state, byte) {
                (BodyPhase::Fence, b'\n') => self.state = BodyPhase::Lookahead,
                (BodyPhase::Fence, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => {}
                (_, b'`') if self.grammar.json.is_some() => {
                    self.repairs.insert(Repair::Fence);
                    self.state = BodyPhase::Fence;
                }
                _ => {
                    self.call.lead_bytes = self.len() + at;
                    self.state =
                        self.reader_of(byte).map_or(BodyPhase::Unknown, BodyPhase::Reading);
                    return at;
                }
            }
        }
        text.len()
    }

    /// Returns the reader for a payload that begins with `first`.
    fn reader_of(&self, first: u8) -> Option<Box<dyn PayloadReader>> {
        let CallGrammar { json, markup, text } = &self.grammar;
        let tools = || self.tools.clone();
        let python =
            || -> Box<dyn PayloadReader> { Box::new(PythonCalls::new(tools(), self.ends_itself)) };
        Some(match (first, json, markup, text) {
            (b'[', Some(JsonShape::OneCall), _, Some(TextRules::Python)) => python(),
            (b'{' | b'[', Some(shape), _, _) => {
                let is_fenced = !self.repairs.is_empty();
                let call = JsonCall::new(*shape).ending(is_fenced, self.ends_itself);
                Box::new(call.with_mode(self.tools.mode()))
            }
            (b'<', _, Some(MarkupRules::Forge), _) => Box::new(XmlCall::new(tools())),
            (b']', _, Some(MarkupRules::Elements), _) => Box::new(ElementsCall::new(tools())),
            (_, _, Some(MarkupRules::Tags(tags)), _) if tags.function_begins_with(first) => {
                Box::new(ParamsCall::new(*tags, tools()))
            }
            (_, _, _, Some(TextRules::Named(style))) => {
                Box::new(HeaderCall::new(*style, self.ends_itself, tools()))
            }
            (_, _, _, Some(TextRules::Tags(tags))) => {
                Box::new(ParamsCall::new(*tags, tools()).behind_name())
            }
            (_, _, _, Some(TextRules::Syntax { quote })) => {
                Box::new(SyntaxCall::new(quote, self.ends_itself, tools()))
            }
            (_, _, _, Some(TextRules::Python)) => python(),
            (_, _, _, None) => return None,
        })
    }

    /// Ends the current call at its closer, completing what is missing.
    pub(super) fn close(&mut self, out: &mut ContentSink<'_>) -> ParseOutcome {
        let fault = match &self.state {
            BodyPhase::Reading(_) => None,
            BodyPhase::Lookahead | BodyPhase::Fence => Some(("the call is empty", self.len())),
            BodyPhase::Unknown => Some(("the payload is not what this dialect writes", 0)),
        };
        let closed = self.tell(out, |reader, out| reader.close(out)).unwrap_or(Ok(()));
        self.call.end(fault.map_or(closed, Err))
    }

    /// Emits the opener of a call that may stand for that of a key.
    pub(super) fn begin_key(&mut self, opener: &str, out: &mut ContentSink<'_>) {
        self.call.give_body(opener, &mut 0, opener.len(), out);
        self.tell(out, |reader, out| reader.begin_key(opener.len(), out));
    }

    /// Tells the reader something, and emits its content, all of whose text has been emitted.
    pub(super) fn tell<T>(
        &mut self,
        out: &mut ContentSink<'_>,
        tell: impl FnOnce(&mut dyn PayloadReader, &mut PayloadSink<'_>) -> T,
    ) -> Option<T> {
        let Self { call, tools, .. } = self;
        let BodyPhase::Reading(reader) = &mut self.state else { return None };
        Some(tell(reader.as_mut(), &mut |piece| call.give(piece, tools, out)))
    }

    /// Returns the outcome of a call that is malformed at the current position.
    pub(super) fn broken(&self, reason: &'static str) -> ParseOutcome {
        ParseOutcome::Malformed { reason, offset: self.call.bytes }
    }
}

impl BlankBody {
    /// Counts text up to the first byte that is part of a call; if it `may_be_list`, the brackets of
    /// an empty list are not, except for the last one if the text `ends_itself`.
    fn take(&mut self, text: &str, may_be_list: bool, ends_itself: bool) -> usize {
        let mut read = 0;
        for byte in text.bytes().take(MAX_BLANK_BYTES.saturating_sub(self.text.len())) {
            match (byte, self.brackets) {
                (_, 2) if ends_itself => break,
                (b'[', 0) | (b']', 1) if may_be_list => self.brackets += 1,
                (b' ' | b'\t' | b'\n' | b'\r', _) => {}
                _ => break,
            }
            read += 1;
        }
        self.text.push_str(slice(text, ..read));
        read
    }

    fn is_list(&self) -> bool {
        self.brackets == 2
    }
}

/// Returns `true` for a grammar of calls listed in brackets.
fn lists_calls(grammar: &CallGrammar) -> bool {
    let is_json = grammar.json.is_some_and(|shape| shape != JsonShape::OneCall);
    is_json || grammar.text == Some(TextRules::Python)
}
