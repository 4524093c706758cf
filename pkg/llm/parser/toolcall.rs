//! Tool calls out of message text.

use std::{mem, sync::Arc};

use serde_json::Value;

use super::{
    content::ParsedContent,
    dialect::ToolDialect,
    json,
    literal::Literal,
    marker::check_all,
    region::Region,
    scan::{LiteralTrack, Scan, Stops, is_plain},
    xml,
};
use crate::types::Text;

/// Longest body of one call, in bytes, where the caller sets no other limit: 4 MiB.
pub const DEFAULT_MAX_CALL_BYTES: usize = 4 << 20;

/// Pulls tool calls out of message text while it streams.
///
/// Text goes in in pieces of any size; text and calls come out in order, as slices of what went in.
/// However the text is cut, the pieces joined are the same. Only what may still become a marker is
/// held back. An opener in a code span or fence is text.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{ParsedContent, ToolCallParser, ToolDialect};
///
/// let mut parser = ToolCallParser::new(&ToolDialect::FORGE);
/// let mut names = Vec::new();
/// for piece in ["Let me see. <to", "ol>{\"tool_name\":\"clo", "ck\"}</tool>"] {
///     parser.parse(piece, &mut |content| {
///         if let ParsedContent::CallName(name) = content {
///             names.push(name.to_owned());
///         }
///     });
/// }
/// parser.flush(true, &mut |_| {});
/// assert_eq!(names, ["clock"]);
/// ```
#[derive(Debug)]
pub struct ToolCallParser {
    dialect: ToolDialect,
    schemas: Arc<[(Text, Value)]>,
    max_call_bytes: usize,
    scan: Scan,
    literal: Literal,
    region: Option<Box<Region>>,
    /// The place of the last call, for the next.
    spare: Option<Box<Region>>,
    hidden_calls: u32,
    /// What code hides: markers below this number; none when calls in code are calls.
    hidden_below: usize,
    way: Way,
    /// Bytes that may pass the plain way, and those that did and were not told of.
    room: usize,
    passed: usize,
    /// Bytes of text taken in all, and where the call at hand began.
    taken: u64,
    call_offset: u64,
    is_over_limit: bool,
}

/// What may matter in the next text. Almost all text takes a plain way: one look says that nothing
/// in it matters, and it passes as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Anything: markers were held back, a structure is open, a line begins.
    Markers,
    /// In plain message text: openers, code.
    Text,
    /// In a JSON string of the arguments: its end, escapes, closers.
    JsonString,
    /// In an XML value that is a JSON string: markup, entities, and what JSON escapes.
    XmlText,
}

impl ToolCallParser {
    /// A parser of `dialect`.
    #[must_use]
    pub fn new(dialect: &ToolDialect) -> Self {
        Self {
            dialect: dialect.clone(),
            schemas: Arc::from([]),
            max_call_bytes: DEFAULT_MAX_CALL_BYTES,
            scan: Scan::new(),
            literal: Literal::START,
            region: None,
            spare: None,
            hidden_calls: 0,
            hidden_below: usize::MAX,
            way: Way::Markers,
            room: 0,
            passed: 0,
            taken: 0,
            call_offset: 0,
            is_over_limit: false,
        }
    }

    /// Sets names and JSON schemas of the known tools: arguments written as XML are typed by them.
    #[must_use]
    pub fn schemas(mut self, schemas: Arc<[(Text, Value)]>) -> Self {
        self.schemas = schemas;
        self
    }

    /// Sets the longest body of one call, in bytes. Default: 4 MiB. A longer call ends malformed and
    /// the parser takes nothing more; see [`over_limit_at`](Self::over_limit_at).
    #[must_use]
    pub fn max_call_bytes(mut self, bytes: usize) -> Self {
        self.max_call_bytes = bytes;
        self
    }

    /// Sets whether calls in Markdown code are calls. Default: no, a marker there is text.
    #[must_use]
    pub fn calls_in_code(mut self, are_calls: bool) -> Self {
        self.hidden_below = if are_calls { 0 } else { usize::MAX };
        self
    }

    /// Takes the next piece of text and gives what it holds.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.way == Way::Text {
            if is_plain(text) && !text.is_empty() {
                self.passed += text.len();
                return out(ParsedContent::Text(text));
            }
        } else if self.take_value(text) {
            return out(ParsedContent::CallVerbatim(text));
        }
        self.parse_markers(text, out);
    }

    /// Takes text inside a value of a call in which nothing matters. Whether it was taken.
    #[inline(always)]
    pub(super) fn take_value(&mut self, text: &str) -> bool {
        let is_plain = match self.way {
            Way::JsonString => json::is_plain(text.as_bytes()),
            Way::XmlText => xml::is_plain(text.as_bytes()),
            Way::Markers | Way::Text => false,
        };
        let is_taken = is_plain && !text.is_empty() && text.len() <= self.room - self.passed;
        if is_taken {
            self.passed += text.len();
        }
        is_taken
    }

    /// Takes text in which something may matter.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.leave_way();
        if self.dialect.is_none() {
            if !text.is_empty() {
                out(ParsedContent::Text(text));
            }
            return;
        }
        let mut at = 0;
        while at < text.len() && !self.is_over_limit {
            if let Some(region) = &mut self.region {
                if region.feed(text, &mut at, out) {
                    self.leave_call(out);
                }
            } else if self.next_opener(text, &mut at, out) {
                self.enter_call(self.taken + at as u64, out);
            }
        }
        self.taken += text.len() as u64;
        self.choose_way();
    }

    /// Tells everybody what passed the plain way; the next text takes the other.
    fn leave_way(&mut self) {
        let passed = mem::take(&mut self.passed);
        self.taken += passed as u64;
        if let Some(region) = &mut self.region {
            region.skip(passed);
        }
        self.way = Way::Markers;
        self.room = 0;
    }

    /// Chooses the way of the next text.
    fn choose_way(&mut self) {
        (self.way, self.room) = match &self.region {
            Some(region) => region.way(),
            None if self.literal == Literal::Plain && self.scan.is_idle() => (Way::Text, 0),
            None => (Way::Markers, 0),
        };
        if self.is_over_limit {
            self.way = Way::Markers;
        }
    }

    /// Passes text on up to the next opener; whether one was found.
    fn next_opener(
        &mut self,
        text: &str,
        at: &mut usize,
        out: &mut impl FnMut(ParsedContent<'_>),
    ) -> bool {
        let Self { dialect, scan, literal, hidden_calls, hidden_below, .. } = self;
        let mut track = LiteralTrack {
            literal,
            on_hidden: |_| *hidden_calls += 1,
            never_hidden_from: *hidden_below,
        };
        let openers = &dialect.description().openers;
        let stops = Stops::one(b'<');
        let passed = &mut |text: &str| out(ParsedContent::Text(text));
        scan.next(text, at, stops, &|bytes| check_all(openers, bytes), &mut track, passed).is_some()
    }

    fn enter_call(&mut self, offset: u64, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.call_offset = offset;
        self.region = Some(match self.spare.take() {
            Some(mut region) => {
                region.restart();
                region
            }
            None => Box::new(Region::new(&self.dialect, &self.schemas, self.max_call_bytes)),
        });
        out(ParsedContent::CallStart);
    }

    /// A call ended: the text behind it begins a section, and so a line.
    fn leave_call(&mut self, out: &mut impl FnMut(ParsedContent<'_>)) {
        let Some(mut region) = self.region.take() else { return };
        self.literal = Literal::START;
        if region.is_too_long() {
            self.is_over_limit = true;
            return;
        }
        let rest = region.take_rest();
        self.spare = Some(region);
        if !rest.is_empty() {
            let taken = self.taken;
            self.parse(&rest, out);
            self.taken = taken;
        }
    }

    /// Ends a section of message text without ending the stream: what was held back is text.
    pub fn end_section(&mut self, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.leave_way();
        if self.region.as_mut().is_some_and(|region| region.settle(out)) {
            self.leave_call(out);
        }
        if self.region.is_none() {
            let Self { scan, literal, .. } = self;
            let mut track =
                LiteralTrack { literal, on_hidden: |_| {}, never_hidden_from: usize::MAX };
            scan.finish(&mut track, &mut |text| out(ParsedContent::Text(text)));
            self.literal = Literal::START;
        }
        self.choose_way();
    }

    /// Ends the stream. A call that is still open is incomplete; with `may_close_calls`, one whose
    /// payload is whole is complete, with the repair
    /// [`ImplicitClose`](crate::types::Repair::ImplicitClose).
    pub fn flush(&mut self, may_close_calls: bool, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.leave_way();
        while let Some(region) = &mut self.region {
            region.finish(may_close_calls, out);
            self.leave_call(out);
        }
        self.end_section(out);
    }

    /// Forgets the stream: the parser is as new, with the same settings.
    pub fn reset(&mut self) {
        let schemas = mem::replace(&mut self.schemas, Arc::from([]));
        let fresh = Self::new(&self.dialect).schemas(schemas).max_call_bytes(self.max_call_bytes);
        *self = fresh.calls_in_code(self.hidden_below == 0);
    }

    /// Whether a call is open.
    #[must_use]
    pub fn is_in_call(&self) -> bool {
        self.region.is_some()
    }

    /// Openers that a code span or fence hid.
    #[must_use]
    pub fn hidden_calls(&self) -> u32 {
        self.hidden_calls
    }

    /// Where the call that passed [`max_call_bytes`](Self::max_call_bytes) began, in bytes of text
    /// from the start of the stream.
    #[must_use]
    pub fn over_limit_at(&self) -> Option<u64> {
        self.is_over_limit.then_some(self.call_offset)
    }

    /// Takes text that belongs to a call, as far as it does, without looking for openers: for a
    /// reader who only needs to know where calls end. Gives the bytes of `text` that belong to it.
    pub(super) fn skip_call(&mut self, text: &str) -> usize {
        self.leave_way();
        let mut at = 0;
        if let Some(region) = &mut self.region
            && region.feed(text, &mut at, &mut |_| {})
        {
            self.leave_call(&mut |_| {});
        }
        self.choose_way();
        at
    }

    /// Begins a call whose opener somebody else has read.
    pub(super) fn begin_call(&mut self) {
        self.enter_call(0, &mut |_| {});
    }
}
