//! Extraction of tool calls from message text.

mod beginning;
mod echo;
mod ends;
mod entering;
mod in_code;
mod next_marker;
mod plain;
mod settings;
mod span_call;
#[cfg(test)]
mod tests;
mod turn_end;
mod unwrapped;

use std::{mem, sync::Arc};

use self::turn_end::TurnEnd;
use super::{
    call::CallRegion,
    grammar::{KnownTools, PlainText},
    marker::MarkerSet,
};
use crate::{
    call::unmarked::{HeldStart, MessageStart},
    content::{
        mentions::MentionCount,
        parsed::{ContentSink, ParsedContent},
        token::TokenKind,
    },
    dialects::dialect::ToolDialect,
    scan::{code_spans::CodeSpans, search::MarkerScan, stop_bytes::StopBytes},
};
use forgeline_json::slice;

/// Default maximum length of the body of one call, in bytes: 4 MiB.
pub const DEFAULT_MAX_CALL_BYTES: usize = 4 << 20;

/// A parser that extracts tool calls from message text while it streams.
///
/// The input is text in pieces of any size; the output is text and calls in order, as slices of the input.
/// However the text is split, the joined pieces are the same. Only text that may still become a marker is
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
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct ToolCallParser {
    dialect: ToolDialect,
    tools: KnownTools,
    max_call_bytes: usize,
    stops: Arc<StopBytes>,
    scan: MarkerScan,
    code: CodeSpans,
    region: Option<Box<CallRegion>>,
    /// The allocation of the last call, reused for the next.
    spare: Option<Box<CallRegion>>,
    /// The start of a message in a dialect whose calls may begin without a marker.
    start: MessageStart,
    /// Text to be read before the next piece, which was held back by a call or at a start.
    pending: String,
    /// `true` once a call or a wrapper has begun: closers of wrappers count.
    may_unwrap: bool,
    is_in_wrapper: bool,
    /// `true` if there were only calls and whitespace since a wrapper of calls began.
    is_in_block: bool,
    /// The number of openers that were only mentioned: the same number of closers, if they are special tokens, are too.
    mentions: u8,
    /// `true` in text for a person, where no call begins.
    is_in_prose: bool,
    /// `true` if there was no text since the section or a wrapper began.
    is_before_text: bool,
    /// `true` if there was no text since the last call: closers are orphans of it.
    is_behind_call: bool,
    /// `true` if the last call had a closer: a list followed by another closer repeats it.
    may_echo: bool,
    /// A call in a code span that is still open.
    span: Option<Box<SpanCall>>,
    /// A call behind text that has lost the markers around it.
    unwrapped: Option<Box<UnwrappedCall>>,
    /// `true` if the next opener of such a call is one, whatever follows it.
    is_certain: bool,
    /// `true` if something other than text follows the current text.
    breaks: bool,
    /// `true` if the stream ended in a fence that hid a call.
    ends_in_code: bool,
    /// Tokens that end the turn, unless text follows.
    turn_end: TurnEnd,
    calls_in_code: bool,
    /// `true` if calls without a marker must name known tools.
    bare_of_known: bool,
    hidden_calls: u32,
    way: CallPath,
    /// The number of bytes that may take the fast path, and of those that took it but have not been counted.
    room: usize,
    passed: usize,
    /// The number of bytes of text so far, and the position at which the current call began.
    taken: u64,
    call_offset: u64,
    is_over_limit: bool,
}

/// Text from an opener in a code span on, held until it is known whether the span closes.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
struct SpanCall {
    held: String,
    dialect: ToolDialect,
    /// The parser of the held text, as if there were no span; not needed for the opener and backticks.
    calls: Option<Box<ToolCallParser>>,
    /// The number of bytes of the held text that the parser has read.
    read: usize,
    /// The number of backticks that opened the span, and the number of the last ones in a row.
    ticks: usize,
    run: usize,
    /// `true` if a string of the call contained the same number of backticks.
    has_run_in_string: bool,
    has_ended: bool,
}

/// Text from the opener of a call without markers around it on, held until it is known what follows the call: other
/// text makes it one that prose explains.
#[derive(Debug)]
struct UnwrappedCall {
    held: String,
    dialect: ToolDialect,
    /// The parser of the held text.
    calls: Box<ToolCallParser>,
    /// The position after the last tag.
    tag_end: usize,
    /// The position after the call, once it has ended.
    end: Option<usize>,
}

/// Markers of another parser that are searched for in the same text.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForeignMarkers<'a> {
    pub(super) markers: &'a MarkerSet,
    /// Records those that are text.
    pub(super) mentions: &'a MentionCount,
    /// The number of markers that currently count.
    pub(super) count: usize,
    /// The number of markers that open a section; the others are skipped.
    pub(super) openers: usize,
    /// The minimum length at which a special token truncated at the end of the text is framing, in bytes.
    pub(super) min_cut_bytes: usize,
    /// The bytes with which these markers and the dialect's own may begin.
    pub(super) stops: &'a StopBytes,
}

impl ForeignMarkers<'_> {
    /// The number for a special token that is truncated at the end of the text.
    pub(super) const CUT: usize = usize::MAX;
}

/// The first number of the other parser's markers.
const FOREIGN: usize = 1 << 16;
/// The number for a special token that is truncated at the end of the text.
const CUT: usize = FOREIGN - 1;

/// The path for the next text. Almost all text takes a fast path: a single check shows that nothing in it
/// matters, and it passes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPath {
    /// Any state: markers were held back, a structure is open, or a line begins.
    Markers,
    /// In plain message text, in which only openers and code matter, after at most a few bytes that are held.
    Text,
    /// In a value of a call's arguments.
    Value(PlainText),
}

impl ToolCallParser {
    /// Creates a parser of `dialect`.
    #[must_use]
    pub fn new(dialect: &ToolDialect) -> Self {
        Self::with_tools(dialect, KnownTools::default(), DEFAULT_MAX_CALL_BYTES)
    }

    /// Creates a parser of `dialect` for the calls of `tools`, each of which is at most this long.
    #[inline]
    fn with_tools(dialect: &ToolDialect, tools: KnownTools, max_call_bytes: usize) -> Self {
        Self {
            dialect: dialect.clone(),
            tools,
            max_call_bytes,
            stops: Arc::clone(&dialect.compiled().stops),
            scan: MarkerScan::new(),
            code: CodeSpans::START,
            region: None,
            spare: None,
            start: MessageStart::new(dialect.compiled(), false),
            pending: String::new(),
            may_unwrap: false,
            is_in_wrapper: false,
            is_in_block: false,
            mentions: 0,
            is_in_prose: false,
            is_before_text: true,
            is_behind_call: false,
            may_echo: false,
            span: None,
            unwrapped: None,
            is_certain: false,
            breaks: false,
            ends_in_code: false,
            turn_end: TurnEnd::default(),
            calls_in_code: false,
            bare_of_known: false,
            hidden_calls: 0,
            way: CallPath::Markers,
            room: 0,
            passed: 0,
            taken: 0,
            call_offset: 0,
            is_over_limit: false,
        }
    }

    /// Parses the next piece of text and emits its content.
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if !self.pass(text, None, out) {
            self.parse_markers(text, TokenKind::Unknown, out);
        }
    }

    /// Parses the next piece of text, for which the caller knows the kind of tokens: markers then count
    /// only in special tokens, but anywhere in them. A piece must not mix both kinds.
    pub fn parse_token(
        &mut self,
        text: &str,
        token: TokenKind,
        out: &mut impl FnMut(ParsedContent<'_>),
    ) {
        let may_pass = token != TokenKind::Special && self.way == CallPath::Text && self.is_idle();
        if may_pass && !text.is_empty() && self.pass_whole(text, None) {
            self.passed += text.len();
            return out(ParsedContent::Text(text));
        }
        self.parse_markers(text, token, out);
    }

    /// Parses text that may contain something relevant.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, token: TokenKind, out: &mut ContentSink<'_>) {
        let mut at = 0;
        self.parse_until(text, &mut at, token, None, out);
    }

    /// Parses text from `*at` up to the first foreign marker; returns its number, with `*at`
    /// after it. Text held back after the marker is then [pending](Self::take_pending).
    pub(super) fn parse_until(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        self.leave_way();
        let start = *at;
        let found = loop {
            if !self.pending.is_empty() {
                let pending = mem::take(&mut self.pending);
                let mut to = 0;
                let found = self.run(&pending, &mut to, token, foreign, out);
                self.pending.push_str(slice(&pending, to..));
                if found.is_some() {
                    break found;
                }
            } else if *at < text.len() {
                let found = self.run(text, at, token, foreign, out);
                if found.is_some() {
                    break found;
                }
            } else {
                break None;
            }
        };
        self.taken += (*at - start) as u64;
        self.choose_way();
        found
    }

    /// Parses text until it ends, a foreign marker is found, or text becomes pending.
    fn run(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        while *at < text.len() && self.pending.is_empty() {
            if self.is_over_limit {
                *at = text.len();
            } else if let Some(span) = &mut self.span {
                if let Some(is_call) = span.feed(text, at) {
                    self.settle_span(is_call, out);
                }
            } else if let Some(call) = &mut self.unwrapped {
                if let Some(is_call) = call.feed(text, at) {
                    self.settle_unwrapped(is_call, out);
                }
            } else if let Some(region) = &mut self.region {
                if region.feed(text, at, token, out) {
                    self.leave_call();
                }
            } else if let MessageStart::Open { .. } = self.start {
                self.look_at_start(text, at, out);
            } else if let MessageStart::Echo(_) = self.start {
                self.look_at_echo(text, at, out);
            } else if !self.take_beginning((text, at), token, foreign, out)
                && let Some(which) = self.next_marker(Some((text, at)), token, foreign, out)
            {
                return Some(which);
            }
        }
        None
    }

    /// Commits the fast-path byte count and leaves the fast path.
    fn leave_way(&mut self) {
        let passed = mem::take(&mut self.passed);
        self.taken += passed as u64;
        if let Some(region) = self.region.as_mut().filter(|_| passed > 0) {
            region.skip(passed);
        }
        self.way = CallPath::Markers;
        self.room = 0;
    }

    /// Chooses the path for the next text.
    fn choose_way(&mut self) {
        (self.way, self.room) = match &self.region {
            Some(region) => {
                let (plain, room) = region.plain();
                (CallPath::Value(plain), room)
            }
            None if self.is_in_plain_text() => (CallPath::Text, 0),
            None => (CallPath::Markers, 0),
        };
        if self.is_over_limit || !self.pending.is_empty() {
            self.way = CallPath::Markers;
        }
    }

    /// Returns `true` if no text is held that may become a marker.
    fn is_idle(&self) -> bool {
        self.scan.is_idle()
    }

    /// Returns `true` if the next text is message text in which only markers and code matter, after
    /// at most a few bytes that are held.
    fn is_in_plain_text(&self) -> bool {
        self.region.is_none()
            && self.span.is_none()
            && self.unwrapped.is_none()
            && self.scan.is_almost_idle()
            && !self.is_behind_call
            && !self.is_before_text
            && !self.is_in_block
            && self.turn_end.is_empty()
            && matches!(self.start, MessageStart::Past)
            && self.pending.is_empty()
    }

    fn begin_call(&mut self, form: usize, offset: u64) {
        self.call_offset = offset;
        let spare = self.spare.take().filter(|region| region.is_of_form(form));
        self.region = Some(match spare {
            Some(mut region) => {
                region.restart();
                region
            }
            None => {
                Box::new(CallRegion::new(&self.dialect, form, &self.tools, self.max_call_bytes))
            }
        });
    }

    /// Ends a call: the text after it begins a section, and therefore a line.
    fn leave_call(&mut self) {
        let Some(mut region) = self.region.take() else { return };
        self.begin_section(true);
        if region.is_too_long() {
            self.is_over_limit = true;
            return;
        }
        self.may_unwrap = true;
        self.is_behind_call = true;
        self.may_echo = region.has_closers();
        self.pending.insert_str(0, &region.take_rest());
        self.spare = Some(region);
    }

    /// Emits the last marker as text.
    pub(super) fn pass_found(&mut self, out: &mut ContentSink<'_>) {
        let found = self.scan.found();
        self.code.pass(found.as_bytes());
        self.is_behind_call = false;
        self.is_before_text = false;
        self.is_in_block = false;
        out(ParsedContent::Text(found));
    }

    /// Begins a section of message text, and therefore a line.
    pub(super) fn begin_section(&mut self, after_call: bool) {
        self.code = CodeSpans::START;
        self.is_before_text = true;
        if let start @ MessageStart::Open { .. } =
            MessageStart::new(self.dialect.compiled(), after_call)
        {
            self.start = start;
        }
    }

    /// Returns the marker that was found last.
    pub(super) fn found(&self) -> &str {
        self.scan.found()
    }

    /// Takes text that was held back after a foreign marker, which the marker's owner must read next.
    pub(super) fn take_pending(&mut self) -> String {
        mem::take(&mut self.pending)
    }
}
