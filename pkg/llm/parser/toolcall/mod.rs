//! Tool calls out of message text.

mod echo;
mod entering;
mod in_code;
mod plain;
mod settings;
mod span_call;
#[cfg(test)]
mod tests;
mod turn_end;

use std::{mem, sync::Arc};

use self::turn_end::TurnEnd;
use super::{
    call::Region,
    code_spans::CodeSpans,
    content::{Emit, ParsedContent},
    dialect::ToolDialect,
    found::{Ahead, Found},
    grammar::{Plain, Tools},
    marker::MarkerSet,
    mentions::Mentions,
    role::Role,
    scan::{LiteralTrack, Scan, Search, Stops},
    token::TokenKind,
    unmarked::{Start, Started, name_of},
};
use crate::types::slice;

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
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct ToolCallParser {
    dialect: ToolDialect,
    tools: Tools,
    max_call_bytes: usize,
    stops: Arc<Stops>,
    scan: Scan,
    literal: CodeSpans,
    region: Option<Box<Region>>,
    /// The place of the last call, for the next.
    spare: Option<Box<Region>>,
    /// The start of a message in a dialect whose calls may begin without a marker.
    start: Start,
    /// Text to be read before the next: what a call or a start had held back.
    pending: String,
    /// A call or a wrapper has begun: closers of wrappers count.
    may_unwrap: bool,
    is_in_wrapper: bool,
    /// The openers that were only mentioned: as many closers, if they are special tokens, are too.
    mentions: u8,
    /// `true` in text for a person, where no call begins.
    is_in_prose: bool,
    /// No text came since the last call: closers are orphans of it.
    is_behind_call: bool,
    /// The last call had a closer: a list that another one follows repeats it.
    may_echo: bool,
    /// A call in a code span that is still open.
    span: Option<SpanCall>,
    /// Something else than text follows what is read now.
    breaks: bool,
    /// The stream ended in a fence that hid a call.
    ends_in_code: bool,
    /// Tokens that end the turn unless text follows.
    turn_end: TurnEnd,
    calls_in_code: bool,
    /// Calls without a marker are calls of known tools only.
    bare_of_known: bool,
    hidden_calls: u32,
    way: Way,
    /// Bytes that may take the fast path, and those that took it and were not counted yet.
    room: usize,
    passed: usize,
    /// Bytes of text so far, and where the current call began.
    taken: u64,
    call_offset: u64,
    is_over_limit: bool,
}

/// Text from an opener in a code span on, held until it is known whether the span closes.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
struct SpanCall {
    held: String,
    /// Reads the held text, as if the span were none.
    calls: Box<ToolCallParser>,
    /// The number of backticks that opened the span, and that of the last ones in a row.
    ticks: usize,
    run: usize,
    /// As many backticks stood in a string of the call.
    has_run_in_string: bool,
    has_ended: bool,
}

/// Markers of another parser that are looked for in the same text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Foreign<'a> {
    pub(super) markers: &'a MarkerSet,
    /// Takes those that are text.
    pub(super) mentions: &'a Mentions,
    /// The number of them that count now.
    pub(super) count: usize,
    /// The number of them that open a section; the others are passed over.
    pub(super) openers: usize,
    /// The least number of bytes of a special token, cut at the end, that is framing.
    pub(super) min_cut_bytes: usize,
    /// The bytes where these and the dialect's own may begin.
    pub(super) stops: &'a Stops,
}

impl Foreign<'_> {
    /// The number of a special token that the end of the text has cut.
    pub(super) const CUT: usize = usize::MAX;
}

/// Numbers of markers from here on are those of the other parser.
const FOREIGN: usize = 1 << 16;
/// The number of a special token that the end of the text has cut.
const CUT: usize = FOREIGN - 1;

/// The way of the next text. Almost all text takes a fast path: one look says that nothing in it
/// matters, and it passes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Anything: markers were held back, a structure is open, a line begins.
    Markers,
    /// In plain message text: openers, code.
    Text,
    /// The same behind a few bytes that are held.
    Tail,
    /// In a value of a call's arguments.
    Value(Plain),
}

impl ToolCallParser {
    /// Creates a parser of `dialect`.
    #[must_use]
    pub fn new(dialect: &ToolDialect) -> Self {
        let mut parser = Self {
            dialect: dialect.clone(),
            tools: Tools::default(),
            max_call_bytes: DEFAULT_MAX_CALL_BYTES,
            stops: Arc::clone(&dialect.compiled().stops),
            scan: Scan::new(),
            literal: CodeSpans::START,
            region: None,
            spare: None,
            start: Start::Past,
            pending: String::new(),
            may_unwrap: false,
            is_in_wrapper: false,
            mentions: 0,
            is_in_prose: false,
            is_behind_call: false,
            may_echo: false,
            span: None,
            breaks: false,
            ends_in_code: false,
            turn_end: TurnEnd::default(),
            calls_in_code: false,
            bare_of_known: false,
            hidden_calls: 0,
            way: Way::Markers,
            room: 0,
            passed: 0,
            taken: 0,
            call_offset: 0,
            is_over_limit: false,
        };
        parser.begin_section(false);
        parser
    }

    /// Takes the next piece of text and gives what it holds.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if matches!(self.way, Way::Text) {
            if self.stops.and_code_are_absent(text) && !text.is_empty() {
                self.pass_text(text);
                return out(ParsedContent::Text(text));
            }
        } else if self.take_value(text) {
            return out(ParsedContent::CallVerbatim(text));
        }
        self.parse_slowly(text, out);
    }

    /// Takes the next piece of text, of which the caller knows what tokens it was: markers then count
    /// in special tokens only, and there always. Pieces must not mix both.
    pub fn parse_token(
        &mut self,
        text: &str,
        token: TokenKind,
        out: &mut impl FnMut(ParsedContent<'_>),
    ) {
        let is_plain = token != TokenKind::Special
            && matches!(self.way, Way::Text)
            && !text.is_empty()
            && self.stops.and_code_are_absent(text);
        if is_plain {
            self.pass_text(text);
            return out(ParsedContent::Text(text));
        }
        self.parse_markers(text, token, out);
    }

    /// Takes text in which something may matter.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, token: TokenKind, out: &mut Emit<'_>) {
        let mut at = 0;
        self.parse_until(text, &mut at, token, None, out);
    }

    /// Takes text from `*at` on, up to the first foreign marker: its number, with `*at`
    /// behind it. What was held back behind the marker is then [pending](Self::take_pending).
    pub(super) fn parse_until(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        foreign: Option<&Foreign<'_>>,
        out: &mut Emit<'_>,
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

    /// Takes text until it ends, a foreign marker was found or something became pending.
    fn run(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        foreign: Option<&Foreign<'_>>,
        out: &mut Emit<'_>,
    ) -> Option<usize> {
        while *at < text.len() && self.pending.is_empty() {
            if self.is_over_limit {
                *at = text.len();
            } else if let Some(span) = &mut self.span {
                if let Some(is_call) = span.feed(text, at) {
                    self.settle_span(is_call, out);
                }
            } else if let Some(region) = &mut self.region {
                if region.feed(text, at, token, out) {
                    self.leave_call();
                }
            } else if let Start::Open { .. } = self.start {
                self.look_at_start(text, at, out);
            } else if let Start::Echo(_) = self.start {
                self.look_at_echo(text, at, out);
            } else if let Some(which) = self.next_marker(Some((text, at)), token, foreign, out) {
                return Some(which);
            }
        }
        None
    }

    /// Takes text at the start of a message, where a call may begin without a marker.
    fn look_at_start(&mut self, text: &str, at: &mut usize, out: &mut Emit<'_>) {
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            let Some(started) = self.start.push(next, &self.dialect.compiled().bare) else {
                continue;
            };
            let call =
                started.call.filter(|(_, lead)| self.may_call(slice(&started.text, *lead..)));
            let call = call.filter(|(form, _)| self.counts(*form, &started.text));
            let Some(call) = call else { return self.pending.push_str(&started.text) };
            if self.may_echo && self.is_behind_call && self.is_python(call.0) {
                return self.hold_echo(&started);
            }
            return self.begin_unmarked(&started.text, call, self.taken + *at as u64, out);
        }
    }

    /// Returns `true` when `text`, a call without a marker, may be one by its name.
    fn may_call(&self, text: &str) -> bool {
        let name = name_of(text).filter(|_| self.bare_of_known);
        name.is_none_or(|name| self.tools.may_be_called(name))
    }

    /// Begins a call without a marker in `text`, in this form and behind this number of bytes.
    fn begin_unmarked(
        &mut self,
        text: &str,
        (form, lead): (usize, usize),
        offset: u64,
        out: &mut Emit<'_>,
    ) {
        let (lead, rest) = text.split_at_checked(lead).unwrap_or_default();
        if !lead.is_empty() {
            out(ParsedContent::Marker(lead));
        }
        let ends_itself = self.dialect.compiled().form(form).closers == 0;
        self.begin_call(form, offset);
        let mut to = rest.len();
        if let Some(region) = &mut self.region {
            if ends_itself {
                to = 0;
                if region.feed(rest, &mut to, TokenKind::Unknown, out) {
                    self.leave_call();
                }
            } else {
                region.pass(rest, out);
            }
        }
        self.pending.push_str(slice(rest, to..));
    }

    /// Passes text on up to the next marker; returns the number of a foreign one. Without `text`
    /// the stream has ended and held text is read.
    fn next_marker(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        foreign: Option<&Foreign<'_>>,
        out: &mut Emit<'_>,
    ) -> Option<usize> {
        let Self { dialect, scan, literal, hidden_calls, stops, is_behind_call, turn_end, .. } =
            self;
        let own_mentions = &mut self.mentions;
        let compiled = dialect.compiled();
        let may_hide = token != TokenKind::Special;
        let (hides_calls, breaks) = (may_hide && !self.calls_in_code, self.breaks);
        let min_cut_bytes = foreign.map_or(compiled.min_cut_bytes, |it| it.min_cut_bytes);
        let is_in_prose = self.is_in_prose;
        let mut track = LiteralTrack {
            literal,
            on_text: |which, is_hidden| match which {
                FOREIGN.. => {
                    if let Some(foreign) = foreign {
                        foreign.mentions.note(which - FOREIGN);
                    }
                }
                _ if is_hidden && matches!(compiled.role(which), Role::Call(_)) => {
                    *hidden_calls += u32::from(!is_in_prose);
                }
                _ if which < compiled.openers => *own_mentions = own_mentions.saturating_add(1),
                _ => {}
            },
            is_hidden: |which, code: CodeSpans| {
                if which < FOREIGN {
                    let is_opener = which < compiled.openers && compiled.text.is_hidable(which);
                    return hides_calls && is_opener && code.is_in_fence_of_opener();
                }
                may_hide
                    && foreign.is_some_and(|foreign| foreign.markers.is_hidable(which - FOREIGN))
            },
        };
        let end = match (*is_behind_call, self.may_unwrap) {
            (true, _) => usize::MAX,
            (false, true) => compiled.first_orphan,
            (false, false) => compiled.first_closer,
        };
        let check = |bytes: &[u8], is_last| {
            let ahead = if is_last && breaks { Ahead::Break } else { token.ahead(is_last) };
            if let Some(foreign) = foreign {
                let (found, which) = foreign.markers.check_below(foreign.count, bytes, ahead);
                if found != Found::No {
                    let header = match found {
                        Found::Yes(length) if which >= foreign.openers => {
                            compiled.longer_header(length, bytes, ahead)
                        }
                        Found::No | Found::Maybe | Found::Yes(_) | Found::Mention(_) => None,
                    };
                    return header.unwrap_or((found, which + FOREIGN));
                }
            }
            let found = compiled.text.check_below(end, bytes, ahead);
            let may_be_cut = ahead == Ahead::Nothing && bytes.len() >= min_cut_bytes;
            let is_stray = || compiled.role(found.1) == Role::Stray;
            if !may_be_cut || found.0 != Found::No && !is_stray() {
                return found;
            }
            match foreign {
                _ if compiled.text.is_cut_token(bytes) => (Found::Yes(bytes.len()), CUT),
                Some(foreign) if foreign.markers.is_cut_token(bytes) => {
                    (Found::Yes(bytes.len()), Foreign::CUT)
                }
                _ => found,
            }
        };
        let stops = foreign.map_or(&**stops, |foreign| foreign.stops);
        let search = Search { stops, check, counts: token.counts() };
        let passed = &mut |text: &str| {
            *is_behind_call &= text.trim_ascii_start().is_empty();
            turn_end.pass(text, out);
        };
        let (which, at) = match text {
            Some((text, at)) => (scan.next(text, at, &search, &mut track, passed)?, *at),
            None => (scan.finish(&search, &mut track, passed)?, 0),
        };
        self.pending.insert_str(0, &self.scan.take_behind());
        self.at_marker(which, at, hides_calls, out)
    }

    /// Takes marker `which`, found before byte `at`; returns the number of a foreign one.
    fn at_marker(
        &mut self,
        which: usize,
        at: usize,
        hides_calls: bool,
        out: &mut Emit<'_>,
    ) -> Option<usize> {
        if which == Foreign::CUT {
            return Some(which);
        }
        let compiled = self.dialect.compiled();
        let role = if which == CUT { Role::Stray } else { compiled.role(which) };
        let found = self.scan.found();
        let behind = (self.may_unwrap, self.is_behind_call);
        if which < FOREIGN && self.turn_end.take(found, role, behind, out) {
            self.literal = self.literal.after_all(found.as_bytes());
            return None;
        }
        self.turn_end.release(out);
        if which >= FOREIGN {
            return Some(which - FOREIGN);
        }
        self.take_marker(which, at, hides_calls, out);
        None
    }

    /// Commits the fast-path byte count and leaves the fast path.
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
            Some(region) => {
                let (plain, room) = region.plain();
                (Way::Value(plain), room)
            }
            None if !self.is_in_plain_text() => (Way::Markers, 0),
            None if self.scan.is_idle() => (Way::Text, 0),
            None => (Way::Tail, 0),
        };
        if self.is_over_limit || !self.pending.is_empty() {
            self.way = Way::Markers;
        }
    }

    /// Returns `true` when no text is held that may become a marker.
    pub(super) fn is_idle(&self) -> bool {
        self.scan.is_idle()
    }

    /// Returns `true` when the next text is message text in which only markers and code matter, behind
    /// at most a few bytes that are held.
    pub(super) fn is_in_plain_text(&self) -> bool {
        self.region.is_none()
            && self.span.is_none()
            && self.scan.is_almost_idle()
            && !self.is_behind_call
            && self.turn_end.is_empty()
            && matches!(self.start, Start::Past)
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
            None => Box::new(Region::new(&self.dialect, form, &self.tools, self.max_call_bytes)),
        });
    }

    /// Ends a call: the text behind it begins a section, and so a line.
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
    pub(super) fn pass_found(&mut self, out: &mut Emit<'_>) {
        let found = self.scan.found();
        self.literal = self.literal.after_all(found.as_bytes());
        self.is_behind_call = false;
        out(ParsedContent::Text(found));
    }

    /// Begins a section of message text, and so a line.
    pub(super) fn begin_section(&mut self, after_call: bool) {
        self.literal = CodeSpans::START;
        if !self.dialect.compiled().bare.is_empty() {
            self.start = Start::Open { held: String::new(), after_call };
        }
    }

    /// Returns the marker that was found last.
    pub(super) fn found(&self) -> &str {
        self.scan.found()
    }

    /// Takes text that was held back behind a foreign marker, whose owner has to read it next.
    pub(super) fn take_pending(&mut self) -> String {
        mem::take(&mut self.pending)
    }

    /// Ends a section of message text without ending the stream: what was held back is text.
    pub fn end_section(&mut self, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.end_section_where(false, out);
    }

    /// Ends a section as [`end_section`](Self::end_section) does; where `is_outside`, a parser before
    /// this one knows that the text has left the call that is open here.
    pub(crate) fn end_section_where(&mut self, is_outside: bool, out: &mut Emit<'_>) {
        self.leave_way();
        self.end_span(out);
        if self.region.as_mut().is_some_and(|region| region.settle(is_outside, out)) {
            self.leave_call();
        }
        self.parse_until("", &mut 0, TokenKind::Unknown, None, out);
        if self.region.is_none() {
            self.breaks = true;
            self.finish_text(None, out);
            while self.span.is_some() {
                self.end_span(out);
                self.finish_text(None, out);
            }
            self.breaks = false;
        }
        self.turn_end.release(out);
        self.is_in_prose &= !is_outside;
        if self.region.is_none() {
            self.begin_section(false);
        }
        self.choose_way();
    }

    /// Ends what may begin without a marker. Returns `true` when something was held for it.
    fn end_start(&mut self, out: &mut Emit<'_>) -> bool {
        let is_echo = matches!(self.start, Start::Echo(_));
        self.call_echo(0, out);
        let Start::Open { held, .. } = &mut self.start else { return is_echo };
        let has_held = !held.is_empty();
        self.pending.push_str(held);
        self.start = Start::Past;
        has_held || is_echo
    }

    /// Gives held text, up to the first foreign marker in it.
    fn finish_text(&mut self, foreign: Option<&Foreign<'_>>, out: &mut Emit<'_>) -> Option<usize> {
        self.end_start(out);
        loop {
            let found = self.parse_until("", &mut 0, TokenKind::Unknown, foreign, out);
            if found.is_some() {
                return found;
            }
            if self.region.is_some() || self.span.is_some() {
                return None;
            }
            if self.scan.is_idle() {
                // Behind a call that has ended here, text may be held for what may begin.
                if self.end_start(out) {
                    continue;
                }
                return None;
            }
            let found = self.next_marker(None, TokenKind::Unknown, foreign, out);
            let held = self.scan.take_held();
            self.pending.push_str(&held);
            if found.is_some() {
                return found;
            }
        }
    }

    /// Ends the stream. A call that is still open is incomplete; with `may_close_calls`, one whose
    /// payload is whole is complete, with the repair
    /// [`ImplicitClose`](crate::types::Repair::ImplicitClose).
    pub fn flush(&mut self, may_close_calls: bool, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.flush_until(may_close_calls, None, out);
    }

    /// Ends the stream, up to the first foreign marker in what was held back.
    pub(super) fn flush_until(
        &mut self,
        may_close_calls: bool,
        foreign: Option<&Foreign<'_>>,
        out: &mut Emit<'_>,
    ) -> Option<usize> {
        self.leave_way();
        loop {
            self.end_span(out);
            if let Some(region) = &mut self.region {
                region.finish(may_close_calls, out);
                self.leave_call();
            }
            let found = self.finish_text(foreign, out);
            if found.is_some() {
                return found;
            }
            if self.region.is_none() && self.span.is_none() {
                break;
            }
        }
        self.ends_in_code = self.literal.is_in_fence_of_opener();
        self.turn_end.end(out);
        self.begin_section(false);
        self.choose_way();
        None
    }
}
