//! Extraction of reasoning from message text.

mod pieces;
mod plain;
mod sections;
mod span_closer;
#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use super::toolcall::ToolCallParser;
use crate::{
    compiled::shared_stop_bytes::SharedStopBytes,
    content::{mentions::MentionCount, parsed::ResponsePiece, token::TokenKind},
    dialects::dialect::{ThinkingDialect, ToolDialect},
    scan::search::MarkerScan,
};

pub use self::pieces::ThinkingPiece;
use self::{
    pieces::{PieceSink, SectionKind, SectionOutput, give_message},
    span_closer::ClosedSpan,
};
use forgeline_json::slice;

/// Maximum length of the whitespace before an opener that repeats the prompt's, in bytes.
const MAX_OPENING_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingPhase {
    /// In the answer, possibly in a call in it, where nothing is reasoning.
    Message,
    /// In reasoning opened by the opener with this number; `None` if it began before the response.
    Thinking(Option<usize>),
}

/// A parser that separates reasoning from answer in text that arrives in pieces of any size.
///
/// The output is one ordered sequence; however the text is split, the joined pieces are the same. Tags inside
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
    calls: ToolCallParser,
    /// The bytes with which markers of both dialects may begin, in the answer and in reasoning.
    stops: Arc<SharedStopBytes>,
    scan: MarkerScan,
    state: ThinkingPhase,
    output: SectionOutput,
    /// The number of line ends that still belong to the previous marker.
    framing_left: u8,
    /// `true` if a carriage return was read that may begin one of them.
    framing_return: bool,
    /// The openers that were text.
    mentions: MentionCount,
    /// An opener inside a section that the next characters will decide, with the character that was read
    /// since.
    undecided: Option<(usize, &'static str)>,
    /// A closer in a code span that is still open.
    in_span: Option<ClosedSpan>,
    /// The families, as one bit each, whose markers have opened something.
    at_work: u64,
    /// `true` while a tag around the answer is open, until its closer.
    is_in_answer: bool,
    /// `true` if a space still belongs to the previous header: some models write one after each special token.
    skips_blank: bool,
    /// The number of bytes emitted as message before the first section.
    message_bytes: u64,
    late_thinking_bytes: u64,
    /// `true` before any reasoning: a lone closer would show that the response began inside it.
    may_close_late: bool,
    recovers_calls: bool,
    /// `true` if, at the end, a call whose payload is complete counts as complete.
    may_close_calls: bool,
    /// `true` if the next opener of a call in reasoning is the first there, to be reported.
    reports_opener: bool,
    /// The start of a response, while it may be an opener that counts only there.
    opening: Option<String>,
    way: ThinkingPath,
}

/// The path for the next text. Almost all text takes a fast path: a single check shows that nothing in it
/// matters, and it passes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingPath {
    /// Any state: markers were held back, a section has not begun, or a line begins.
    Markers,
    /// In the open section of the answer, possibly in a call, whose parser decides.
    Message,
    /// In the open section of reasoning, after at most a few bytes that are held.
    Thinking,
}

impl ThinkingParser {
    /// Creates a parser of `dialect` that leaves the calls of `tools` unchanged.
    #[must_use]
    pub fn new(dialect: &ThinkingDialect, tools: &ToolDialect) -> Self {
        let recovers_calls = dialect.rules().recovers_calls;
        let opening = dialect.rules().only_at_start.then(String::new);
        Self {
            dialect: dialect.clone(),
            calls: ToolCallParser::finding_ends(tools),
            stops: dialect.stops_with(tools),
            scan: MarkerScan::new(),
            state: ThinkingPhase::Message,
            output: SectionOutput::default(),
            may_close_late: dialect.rules().finds_late_closer,
            framing_left: 0,
            framing_return: false,
            mentions: MentionCount::default(),
            undecided: None,
            in_span: None,
            at_work: 0,
            is_in_answer: false,
            skips_blank: false,
            message_bytes: 0,
            late_thinking_bytes: 0,
            recovers_calls,
            may_close_calls: true,
            reports_opener: false,
            opening,
            way: ThinkingPath::Markers,
        }
    }

    /// Sets the parser of the calls in the answer, with its dialect.
    pub(super) fn set_calls(&mut self, calls: ToolCallParser) {
        if self.calls.dialect() != calls.dialect() {
            self.stops = self.dialect.stops_with(calls.dialect());
        }
        self.calls = calls;
    }

    /// Returns the parser of the calls in the answer.
    pub(super) fn calls(&self) -> &ToolCallParser {
        &self.calls
    }

    /// Sets whether openers of calls in reasoning are reported, see
    /// [`CallOpener`](ThinkingPiece::CallOpener). Default: set by the dialect; all built-in dialects
    /// report them.
    #[must_use]
    pub fn recover_calls(mut self, recovers: bool) -> Self {
        self.recovers_calls = recovers;
        self.reports_opener = recovers;
        self
    }

    /// Begins inside reasoning, because the prompt already opened it. A response that opens it again with
    /// its first characters is handled.
    #[must_use]
    pub fn starting_inside(mut self) -> Self {
        if !self.dialect.is_none() {
            self.begin_thinking(None);
            self.opening = Some(String::new());
        }
        self
    }

    /// Begins inside reasoning if `prompt`, or the end of it, opened it and did not close it.
    #[must_use]
    pub fn after_prompt(self, prompt: &str) -> Self {
        let mut reader = Self::new(&self.dialect, &ToolDialect::NONE);
        reader.may_close_late = false;
        reader.parse(prompt, &mut |_| {});
        reader.end_opener(&mut |_| {});
        let Self { framing_left, skips_blank, .. } = reader;
        match reader.state {
            ThinkingPhase::Thinking(which) => {
                let mut inside = self.starting_inside();
                inside.begin_thinking(which);
                inside.opening = Some(String::new());
                inside.framing_left = framing_left;
                inside.skips_blank = skips_blank;
                inside
            }
            ThinkingPhase::Message => self,
        }
    }

    /// Parses the next piece of text and emits its content.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.take_text(text, &mut |piece| give(piece, out));
    }

    /// Does the same, and also emits the content of calls.
    #[inline(always)]
    pub(super) fn take_text(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if !self.pass(text, out) {
            self.take_token(text, TokenKind::Unknown, out);
        }
    }

    /// Parses the next piece of text, for which the caller knows the kind of tokens: markers then count
    /// only in special tokens, but anywhere in them. A piece must not mix both kinds.
    pub fn parse_token(
        &mut self,
        text: &str,
        token: TokenKind,
        out: &mut impl FnMut(ThinkingPiece<'_>),
    ) {
        self.take_token(text, token, &mut |piece| give(piece, out));
    }

    /// Does the same, and also emits the content of calls.
    pub(super) fn take_token(&mut self, text: &str, token: TokenKind, out: &mut PieceSink<'_>) {
        self.parse_markers(text, token, out);
        self.choose_way();
    }

    /// Parses text that may contain something relevant.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, token: TokenKind, out: &mut PieceSink<'_>) {
        if self.dialect.is_none() {
            if !text.is_empty() {
                self.calls.parse_token(text, token, &mut |content| {
                    out(ResponsePiece::Answer(content));
                });
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
                if slice(text, at..).starts_with(' ') {
                    at += 1;
                    out(ResponsePiece::Framing(" "));
                }
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
            if let Some(span) = &mut self.in_span {
                if let Some(is_text) = span.feed(text, &mut at) {
                    self.end_span(is_text, token, out);
                }
                continue;
            }
            match self.state {
                ThinkingPhase::Message => {
                    self.message(Some((text, &mut at)), token, out);
                }
                ThinkingPhase::Thinking(which) => self.thinking(which, text, &mut at, token, out),
            }
        }
    }

    /// Skips a line end that belongs to the previous marker.
    fn skip_framing(
        &mut self,
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) {
        let has_return = mem::take(&mut self.framing_return);
        match text.as_bytes().get(*at) {
            Some(b'\n') => {
                *at += 1;
                self.framing_left -= 1;
                out(ResponsePiece::Framing(if has_return { "\r\n" } else { "\n" }));
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

    /// Decides about an opener inside a section: it is text if followed by whitespace on its line, the end of a
    /// tag, or a character that ends a sentence, a quotation or a bracket.
    fn decide(
        &mut self,
        (which, read): (usize, &'static str),
        text: &str,
        at: &mut usize,
        token: TokenKind,
        out: &mut PieceSink<'_>,
    ) {
        let next = slice(text, *at..).chars().next();
        if which >= self.dialect.compiled().openers {
            return self.decide_on_token((which, read), next, at, token, out);
        }
        let is_typed = self.dialect.compiled().text.is_hidable(which);
        let is_text = match (read, next) {
            ("", Some(first @ ('<' | '.'))) => {
                *at += 1;
                self.undecided = Some((which, if first == '<' { "<" } else { "." }));
                return;
            }
            ("<", next) => next == Some('/'),
            (".", next) => next.is_some_and(char::is_whitespace) && is_typed,
            (_, Some(' ' | '\t')) => true,
            (_, next) => next.is_some_and(ends_mention) && is_typed,
        };
        if is_text {
            self.mentions.note(which);
            self.pass_found(out);
        } else {
            self.open(which, out);
        }
        if !read.is_empty() {
            self.parse_markers(read, token, out);
        }
    }

    /// Processes an opener, or a marker in the answer that is not part of it.
    fn open(&mut self, which: usize, out: &mut PieceSink<'_>) {
        self.output.end_section(out);
        out(ResponsePiece::Framing(self.calls.found()));
        self.at_work |= self.dialect.compiled().families_of(which);
        let begins_thinking = which < self.dialect.compiled().openers;
        let begins_prose = !begins_thinking && self.calls.found_begins_prose();
        self.calls.set_prose(begins_prose);
        if begins_thinking {
            return self.begin_thinking(Some(which));
        }
        if begins_prose {
            out(ResponsePiece::Prose);
        }
        self.calls.begin_section(false);
        self.framing_left = self.dialect.rules().after_ignored;
    }

    /// Ends a stretch of message text without ending the stream: the provider sends something else.
    pub fn end_section(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.take_end_of_section(&mut |piece| give(piece, out));
    }

    /// Does the same, and also emits the content of calls.
    pub(super) fn take_end_of_section(&mut self, out: &mut PieceSink<'_>) {
        self.end_opener(out);
        self.read_tail(out);
        if self.state == ThinkingPhase::Message {
            let Self { calls, output, message_bytes, .. } = self;
            calls.end_section(&mut |piece| give_message(piece, message_bytes, output, out));
            self.output.release(out);
        }
        self.choose_way();
    }

    /// Ends the text in which an opener, or the line end after a marker, may be undecided.
    fn end_opener(&mut self, out: &mut PieceSink<'_>) {
        if let Some((which, read)) = self.undecided.take() {
            self.open(which, out);
            self.parse_markers(read, TokenKind::Unknown, out);
        }
        if let Some(span) = &self.in_span {
            self.end_span(span.is_closed(), TokenKind::Unknown, out);
        }
        if mem::take(&mut self.framing_return) {
            self.framing_left = 0;
            self.parse_markers("\r", TokenKind::Unknown, out);
        }
    }

    /// Reads the end of reasoning that was only waiting for the next text.
    fn read_tail(&mut self, out: &mut PieceSink<'_>) {
        if self.way == ThinkingPath::Thinking {
            let held = self.scan.take_held();
            self.parse_markers(&held, TokenKind::Unknown, out);
        }
    }

    /// Ends the stream and emits the text that was held back.
    pub fn flush(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.take_end(true, &mut |piece| give(piece, out));
    }

    /// Does the same, and also emits the content of calls; with `may_close_calls`, a call whose payload is complete counts
    /// as complete.
    pub(super) fn take_end(&mut self, may_close_calls: bool, out: &mut PieceSink<'_>) {
        self.may_close_calls = may_close_calls;
        if let Some(held) = self.opening.take() {
            self.parse_markers(&held, TokenKind::Unknown, out);
        }
        self.end_opener(out);
        self.read_tail(out);
        loop {
            while self.state == ThinkingPhase::Message
                && self.message(None, TokenKind::Unknown, out)
            {}
            // The text after a closer in a span is read once that has been decided.
            let has_rest = self.in_span.is_some();
            self.end_opener(out);
            if !has_rest {
                break;
            }
        }
        if let ThinkingPhase::Thinking(_) = self.state {
            let held = self.scan.take_held();
            if self.dialect.compiled().is_cut_in_thinking(&held, self.calls.dialect().compiled()) {
                self.output.end_section(out);
                if !held.is_empty() {
                    out(ResponsePiece::Framing(&held));
                }
            } else {
                self.output.give_thinking(&held, out);
            }
        }
        self.output.finish(out);
        self.way = ThinkingPath::Markers;
    }

    /// Resets the parser to its initial state, with the same dialects, outside reasoning.
    pub fn reset(&mut self) {
        *self = Self::new(&self.dialect, self.calls.dialect()).recover_calls(self.recovers_calls);
    }

    /// Returns `true` if the text so far ends inside reasoning.
    #[must_use]
    pub fn is_in_thinking(&self) -> bool {
        matches!(self.state, ThinkingPhase::Thinking(_))
    }

    /// Returns the number of bytes emitted as message before a lone closer showed that they were reasoning.
    #[must_use]
    pub fn late_thinking_bytes(&self) -> u64 {
        self.late_thinking_bytes
    }
}

/// Emits a piece without examining its calls.
#[inline(always)]
fn give(piece: ResponsePiece<'_>, out: &mut impl FnMut(ThinkingPiece<'_>)) {
    if let Some(piece) = ThinkingPiece::from_response(piece) {
        out(piece);
    }
}

/// Returns `true` for a character after which an opener is only mentioned, in a sentence or in code.
fn ends_mention(next: char) -> bool {
    matches!(next, ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '>' | '"' | '\'' | '`' | '|')
        || matches!(
            next,
            '”' | '’' | '»' | '」' | '』' | '）' | '】' | '，' | '、' | '；' | '：' | '！' | '？'
        )
}
