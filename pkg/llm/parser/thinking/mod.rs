//! Reasoning out of message text.

mod pieces;
#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use super::{
    compiled::{CompiledThinking, StopsOfBoth},
    content::ParsedContent,
    dialect::{ThinkingDialect, ToolDialect},
    found::{Ahead, Found},
    mentions::Mentions,
    scan::{NoTrack, Scan, Search},
    token::TokenKind,
    toolcall::{Foreign, ToolCallParser},
};

pub use self::pieces::ThinkingPiece;
use self::pieces::{Output, Pieces, Section, check_closer, give_message};
use crate::types::slice;

/// Most whitespace before an opener that repeats what the prompt opened, in bytes.
const MAX_OPENING_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the answer, perhaps in a call in it, where nothing is reasoning.
    Message,
    /// In reasoning that the opener of this number began; `None` when it began before the response.
    Thinking(Option<usize>),
}

/// Separates reasoning from answer in text that arrives in pieces of any size.
///
/// Gives one ordered sequence; however the text is cut, the pieces joined are the same. Tags inside
/// code spans, fences and tool calls are text. The first closer ends the reasoning; openers inside
/// it are part of it. Reasoning that is never closed stays reasoning.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{ThinkingDialect, ThinkingParser, ThinkingPiece, ToolDialect};
///
/// let mut parser = ThinkingParser::new(&ThinkingDialect::AUTO, &ToolDialect::AUTO);
/// let (mut thinking, mut answer) = (String::new(), String::new());
/// for piece in ["<thin", "king>6 × 7</thi", "nking>42"] {
///     parser.parse(piece, &mut |piece| match piece {
///         ThinkingPiece::Thinking(text) => thinking.push_str(text),
///         ThinkingPiece::Message(text) => answer.push_str(text),
///         _ => {}
///     });
/// }
/// parser.flush(&mut |_| {});
/// assert_eq!((thinking.as_str(), answer.as_str()), ("6 × 7", "42"));
/// ```
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct ThinkingParser {
    dialect: ThinkingDialect,
    tools: ToolDialect,
    calls: ToolCallParser,
    /// The bytes where markers of both dialects may begin: in the answer, and in reasoning.
    stops: Arc<StopsOfBoth>,
    scan: Scan,
    state: State,
    output: Output,
    /// Line ends that still belong to the marker before.
    framing_left: u8,
    /// A carriage return was read that may begin one of them.
    framing_return: bool,
    /// The openers that were text.
    mentions: Mentions,
    /// An opener inside a section, on which the next byte decides; with a `<` that was read since.
    undecided: Option<(usize, bool)>,
    /// A blank still belongs to the header before: some models write one behind each special token.
    skips_blank: bool,
    /// Bytes given as message before the first section.
    message_bytes: u64,
    late_thinking_bytes: u64,
    /// No reasoning yet: a lone closer would show that the response began inside it.
    may_close_late: bool,
    recovers_calls: bool,
    /// The next opener of a call in reasoning is the first there, and is reported.
    reports_opener: bool,
    /// The start of a response, while it may be an opener that counts only there.
    opening: Option<String>,
    way: Way,
}

/// The way of the next text. Almost all text takes a fast path: one look says that nothing in it
/// matters, and it passes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Anything: markers were held back, a section has not begun, a line begins.
    Markers,
    /// In the open section of the answer.
    Message,
    /// In a call; its parser knows.
    Call,
    /// In the open section of reasoning.
    Thinking,
}

impl ThinkingParser {
    /// Creates a parser of `dialect` that passes the calls of `tools` through.
    #[must_use]
    pub fn new(dialect: &ThinkingDialect, tools: &ToolDialect) -> Self {
        let recovers_calls = dialect.rules().recovers_calls;
        let mut parser = Self {
            dialect: dialect.clone(),
            tools: tools.clone(),
            calls: ToolCallParser::new(tools).bounds_only(),
            stops: dialect.stops_with(tools),
            scan: Scan::new(),
            state: State::Message,
            output: Output::default(),
            may_close_late: dialect.rules().finds_late_closer,
            framing_left: 0,
            framing_return: false,
            mentions: Mentions::default(),
            undecided: None,
            skips_blank: false,
            message_bytes: 0,
            late_thinking_bytes: 0,
            recovers_calls,
            reports_opener: false,
            opening: None,
            way: Way::Markers,
        };
        if dialect.rules().only_at_start {
            parser.opening = Some(String::new());
        }
        parser
    }

    /// Sets whether openers of calls in reasoning are reported, see
    /// [`CallOpener`](ThinkingPiece::CallOpener). Default: as the dialect says; all built-in ones say
    /// yes.
    #[must_use]
    pub fn recover_calls(mut self, recovers: bool) -> Self {
        self.recovers_calls = recovers;
        self.reports_opener = recovers;
        self
    }

    /// Begins inside reasoning: the prompt already opened it. A response that opens it once more, with
    /// its first characters, is understood.
    #[must_use]
    pub fn starting_inside(mut self) -> Self {
        if !self.dialect.is_none() {
            self.begin_thinking(None);
            self.opening = Some(String::new());
        }
        self
    }

    /// Begins inside reasoning when `prompt`, or the end of it, opened it and did not close it.
    #[must_use]
    pub fn after_prompt(self, prompt: &str) -> Self {
        let mut reader = Self::new(&self.dialect, &ToolDialect::NONE);
        reader.may_close_late = false;
        reader.parse(prompt, &mut |_| {});
        reader.end_opener(&mut |_| {});
        let Self { framing_left, skips_blank, .. } = reader;
        match reader.state {
            State::Thinking(which) => {
                let mut inside = self.starting_inside();
                inside.begin_thinking(which);
                inside.opening = Some(String::new());
                inside.framing_left = framing_left;
                inside.skips_blank = skips_blank;
                inside
            }
            State::Message => self,
        }
    }

    /// Takes the next piece of text and gives what it holds.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        match self.way {
            Way::Message if self.stops.in_message.and_code_are_absent(text) && !text.is_empty() => {
                self.calls.pass_plain(text);
                self.message_bytes += text.len() as u64;
                out(ThinkingPiece::Message(text));
            }
            Way::Call if self.calls.take_value(text) => {
                self.message_bytes += text.len() as u64;
                out(ThinkingPiece::Message(text));
            }
            Way::Thinking if self.stops.in_thinking.are_absent(text) && !text.is_empty() => {
                out(ThinkingPiece::Thinking(text));
            }
            Way::Markers | Way::Message | Way::Call | Way::Thinking => {
                self.parse_token(text, TokenKind::Unknown, out);
            }
        }
    }

    /// Takes the next piece of text, of which the caller knows what tokens it was: markers then count
    /// in special tokens only, and there always. Pieces must not mix both.
    pub fn parse_token(
        &mut self,
        text: &str,
        token: TokenKind,
        out: &mut impl FnMut(ThinkingPiece<'_>),
    ) {
        self.parse_markers(text, token, out);
        self.choose_way();
    }

    /// Chooses the way of the next text.
    fn choose_way(&mut self) {
        let is_open = self.framing_left == 0
            && !self.skips_blank
            && self.scan.is_idle()
            && self.opening.is_none()
            && self.undecided.is_none();
        self.way = match (self.state, self.output.section) {
            (State::Message, Some(Section::Message)) if is_open && self.calls.is_in_call() => {
                Way::Call
            }
            (State::Message, Some(Section::Message))
                if is_open && self.calls.is_in_plain_text() =>
            {
                Way::Message
            }
            (State::Thinking(_), Some(Section::Thinking)) if is_open => Way::Thinking,
            _ => Way::Markers,
        };
    }

    /// Takes text in which something may matter.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, token: TokenKind, out: &mut Pieces<'_>) {
        if self.dialect.is_none() {
            if !text.is_empty() {
                out(ThinkingPiece::Message(text));
            }
            return;
        }
        let mut at = 0;
        while at < text.len() {
            if self.opening.is_some() {
                self.look_for_opener(text, &mut at, token, out);
                continue;
            }
            if self.skips_blank {
                self.skips_blank = false;
                at += usize::from(slice(text, at..).starts_with(' '));
                continue;
            }
            if self.framing_left > 0 {
                self.skip_framing(text, &mut at, token, out);
                continue;
            }
            if let Some(opener) = self.undecided.take() {
                self.decide(opener, text, &mut at, token, out);
                continue;
            }
            match self.state {
                State::Message => {
                    self.message(Some((text, &mut at)), token, out);
                }
                State::Thinking(which) => self.thinking(which, text, &mut at, token, out),
            }
        }
    }

    /// Skips a line end that belongs to the marker before.
    fn skip_framing(&mut self, text: &str, at: &mut usize, token: TokenKind, out: &mut Pieces<'_>) {
        let has_return = mem::take(&mut self.framing_return);
        match text.as_bytes().get(*at) {
            Some(b'\n') => {
                *at += 1;
                self.framing_left -= 1;
            }
            Some(b'\r') if !has_return => {
                *at += 1;
                self.framing_return = true;
            }
            _ => {
                self.framing_left = 0;
                if has_return {
                    self.parse_markers("\r", token, out);
                }
            }
        }
    }

    /// Decides on an opener inside a section: text when whitespace follows on its line, or the end of
    /// a tag.
    fn decide(
        &mut self,
        (which, has_angle): (usize, bool),
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut Pieces<'_>,
    ) {
        let is_text = match text.as_bytes().get(*at) {
            Some(b'<') if !has_angle => {
                *at += 1;
                self.undecided = Some((which, true));
                return;
            }
            Some(b'/') => has_angle,
            Some(b' ' | b'\t') => !has_angle,
            _ => false,
        };
        if is_text {
            self.mentions.note(which);
            let Self { calls, output, message_bytes, .. } = self;
            calls.pass_found(&mut |piece| give_message(piece, message_bytes, output, out));
        } else {
            self.open(which, out);
        }
        if has_angle {
            self.parse_markers("<", token, out);
        }
    }

    /// Takes an opener, or a marker in the answer that is not part of it.
    fn open(&mut self, which: usize, out: &mut Pieces<'_>) {
        self.output.end_section(out);
        if which < self.dialect.compiled().openers {
            return self.begin_thinking(Some(which));
        }
        self.calls.begin_section(false);
        self.framing_left = self.dialect.rules().after_ignored;
    }

    /// Reads the answer, up to the first marker; returns `true` when there was one. Without `text` the
    /// stream has ended.
    fn message(
        &mut self,
        text: Option<(&str, &mut usize)>,
        token: TokenKind,
        out: &mut Pieces<'_>,
    ) -> bool {
        let Self { dialect, calls, stops, output, message_bytes, mentions, .. } = self;
        let compiled = dialect.compiled();
        let CompiledThinking { text: markers, openers, first_closer, .. } = compiled;
        let (openers, first_closer) = (*openers, *first_closer);
        let foreign = Foreign {
            markers,
            mentions,
            count: if self.may_close_late { usize::MAX } else { first_closer },
            stops: &stops.in_message,
        };
        let give = &mut |piece: ParsedContent<'_>| {
            give_message(piece, message_bytes, output, out);
        };
        let found = match text {
            Some((text, at)) => calls.parse_until(text, at, token, Some(&foreign), give),
            None => calls.flush_until(true, Some(&foreign), give),
        };
        let Some(which) = found else { return false };
        let is_text = if which < openers {
            false
        } else if which < first_closer {
            !markers.is_hidable(which)
                && markers.is_typeable(which)
                && (openers..first_closer).any(|opener| mentions.take(opener))
        } else {
            mentions.take(compiled.section_of_closer(which))
        };
        if is_text {
            calls.pass_found(give);
        } else if which >= first_closer {
            self.late_thinking_bytes = self.message_bytes;
            self.end_thinking(None, out);
        } else {
            let is_inside = output.section == Some(Section::Message) && !calls.is_behind_call();
            let may_be_text =
                markers.is_hidable(which) || (which < openers && markers.may_be_mention(which));
            if is_inside && may_be_text && token != TokenKind::Special {
                self.undecided = Some((which, false));
            } else {
                self.open(which, out);
            }
        }
        let marker = self.calls.found();
        self.skips_blank = marker.ends_with("<|message|>") && marker.contains("|> ");
        // What a call had held back stands behind the marker, before the rest of the text.
        let pending = self.calls.take_pending();
        self.parse_markers(&pending, token, out);
        true
    }

    fn thinking(
        &mut self,
        which: Option<usize>,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut Pieces<'_>,
    ) {
        /// The kinds of markers that matter in reasoning.
        const CLOSER: usize = 0;
        const HEADER: usize = 1;
        const OPENER: usize = 2;
        let Self { dialect, tools, stops, scan, output, .. } = self;
        let compiled = dialect.compiled().section(which);
        let tools = tools.compiled();
        let reports_opener = self.reports_opener;
        let newlines = usize::from(compiled.framing.before_closer);
        let closers = &compiled.closers;
        let counts = token.counts();
        let check = |bytes: &[u8], is_last| {
            // Line ends before a special token come in ordinary ones.
            let are_line_ends = || bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
            if !counts && (bytes.len() > 2 * newlines || !are_line_ends()) {
                return (Found::No, 0);
            }
            let closer = check_closer(closers, newlines, bytes, is_last);
            if closer.0 != Found::No {
                return (closer.0, CLOSER);
            }
            let header = compiled.headers.check_below(usize::MAX, bytes, Ahead::of(is_last));
            if header.0 != Found::No || !reports_opener {
                return (header.0, HEADER);
            }
            (tools.text.check_below(tools.openers, bytes, token.ahead(is_last)).0, OPENER)
        };
        let counts = counts || newlines > 0;
        let search = Search { stops: &stops.in_thinking, check, counts };
        let passed = &mut |text: &str| output.give(Section::Thinking, text, out);
        let Some(found) = scan.next(text, at, &search, &mut NoTrack, passed) else { return };
        let behind = scan.take_behind();
        if found == CLOSER {
            self.end_thinking(which, out);
        } else if found == HEADER {
            // What begins another section is read again there.
            let header = scan.found().to_owned();
            self.end_thinking(which, out);
            self.framing_left = 0;
            self.parse_markers(&header, token, out);
        } else {
            self.reports_opener = false;
            out(ThinkingPiece::CallOpener);
            output.give(Section::Thinking, scan.found(), out);
        }
        self.parse_markers(&behind, token, out);
    }

    fn begin_thinking(&mut self, which: Option<usize>) {
        self.may_close_late = false;
        self.state = State::Thinking(which);
        self.reports_opener = self.recovers_calls;
        let compiled = self.dialect.compiled().section(which);
        self.framing_left = compiled.framing.after_opener;
    }

    /// Looks for an opener at the start of a response that is plain words, or that repeats what the
    /// prompt opened.
    fn look_for_opener(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut Pieces<'_>,
    ) {
        let Some(held) = &mut self.opening else { return };
        let compiled = self.dialect.compiled();
        for next in slice(text, *at..).chars() {
            *at += next.len_utf8();
            held.push(next);
            let rest = held.trim_ascii_start();
            let found = match rest.is_empty() {
                _ if !token.counts() => (Found::No, 0),
                true if held.len() <= MAX_OPENING_BYTES => (Found::Maybe, 0),
                _ => compiled.starts.check(rest.as_bytes()),
            };
            match found {
                (Found::Maybe, _) => {}
                (Found::Yes(_), which) => {
                    self.opening = None;
                    self.output.end_section(out);
                    return self.begin_thinking(Some(which));
                }
                (Found::No | Found::Mention(_), _) => {
                    let held = mem::take(held);
                    self.opening = None;
                    return self.parse_markers(&held, token, out);
                }
            }
        }
    }

    fn end_thinking(&mut self, which: Option<usize>, out: &mut Pieces<'_>) {
        self.output.end_section(out);
        self.state = State::Message;
        self.may_close_late = false;
        self.calls.begin_section(false);
        self.framing_left = self.dialect.compiled().section(which).framing.after_closer;
    }

    /// Ends a stretch of message text without ending the stream: the provider sends something else.
    pub fn end_section(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.end_opener(out);
        if self.state == State::Message {
            let Self { calls, output, message_bytes, .. } = self;
            calls.end_section(&mut |piece| give_message(piece, message_bytes, output, out));
            self.output.release(out);
        }
        self.choose_way();
    }

    /// Ends the text in which an opener, or the line end behind a marker, may be undecided.
    fn end_opener(&mut self, out: &mut Pieces<'_>) {
        if let Some((which, has_angle)) = self.undecided.take() {
            self.open(which, out);
            self.parse_markers(if has_angle { "<" } else { "" }, TokenKind::Unknown, out);
        }
        if mem::take(&mut self.framing_return) {
            self.framing_left = 0;
            self.parse_markers("\r", TokenKind::Unknown, out);
        }
    }

    /// Ends the stream: what was held back is given as what it is.
    pub fn flush(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        if let Some(held) = self.opening.take() {
            self.parse_markers(&held, TokenKind::Unknown, out);
        }
        self.end_opener(out);
        while self.state == State::Message && self.message(None, TokenKind::Unknown, out) {}
        self.end_opener(out);
        if let State::Thinking(_) = self.state {
            self.output.give(Section::Thinking, &self.scan.take_held(), out);
        }
        self.output.finish();
        self.way = Way::Markers;
    }

    /// Forgets the stream: the parser is as new, with the same dialects, outside reasoning.
    pub fn reset(&mut self) {
        *self = Self::new(&self.dialect, &self.tools).recover_calls(self.recovers_calls);
    }

    /// Returns `true` when the text so far ends inside reasoning.
    #[must_use]
    pub fn is_in_thinking(&self) -> bool {
        matches!(self.state, State::Thinking(_))
    }

    /// Returns the bytes given as message before a lone closer showed that they had been reasoning.
    #[must_use]
    pub fn late_thinking_bytes(&self) -> u64 {
        self.late_thinking_bytes
    }
}
