//! Reasoning out of message text.

use super::{
    blanks::LeadingBlanks,
    dialect::{ThinkingDialect, ToolDialect},
    literal::Literal,
    marker::{Found, Marker, check_all},
    scan::{LiteralTrack, NoTrack, Scan, Stops, is_plain},
    toolcall::ToolCallParser,
};

/// One piece of a response, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingPiece<'a> {
    /// Part of the answer, never empty; calls in it are not looked at.
    Message(&'a str),
    /// Part of the reasoning, never empty.
    Thinking(&'a str),
    /// A marker: the section that was open, if any, ended.
    SectionEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the answer.
    Message,
    /// In a call inside the answer: nothing is reasoning there.
    Call,
    /// In reasoning that the opener of this number began; `None` when it began before the response.
    Thinking(Option<usize>),
}

/// Whether a section is open, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Message,
    Thinking,
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
pub struct ThinkingParser {
    dialect: ThinkingDialect,
    tools: ToolDialect,
    /// What may stand in the answer: openers of reasoning, openers of calls, closers of reasoning.
    markers: Vec<Marker>,
    calls: ToolCallParser,
    scan: Scan,
    literal: Literal,
    state: State,
    section: Section,
    blanks: LeadingBlanks,
    /// Line ends that still belong to the marker before.
    framing_left: u8,
    /// Bytes given as message before the first section.
    message_bytes: u64,
    late_thinking_bytes: u64,
    /// No reasoning yet: a lone closer would show that the response began inside it.
    may_close_late: bool,
    way: Way,
}

/// What may matter in the next text. Almost all text takes a plain way: one look says that nothing
/// in it matters, and it passes as it is.
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
    /// A parser of `dialect` that passes the calls of `tools` through.
    #[must_use]
    pub fn new(dialect: &ThinkingDialect, tools: &ToolDialect) -> Self {
        let description = dialect.description();
        Self {
            dialect: dialect.clone(),
            tools: tools.clone(),
            markers: [&description.openers, &tools.description().openers, &description.closers]
                .into_iter()
                .flat_map(|markers| markers.iter().cloned())
                .collect(),
            calls: ToolCallParser::new(tools).max_call_bytes(usize::MAX >> 1),
            scan: Scan::new(),
            literal: Literal::START,
            state: State::Message,
            section: Section::None,
            may_close_late: description.finds_late_closer,
            blanks: LeadingBlanks::default(),
            framing_left: 0,
            message_bytes: 0,
            late_thinking_bytes: 0,
            way: Way::Markers,
        }
    }

    /// Begins inside reasoning: the prompt already opened it.
    #[must_use]
    pub fn starting_inside(mut self) -> Self {
        if !self.dialect.is_none() {
            self.state = State::Thinking(None);
            self.may_close_late = false;
            self.framing_left = self.dialect.description().framing.after_opener;
        }
        self
    }

    /// Begins inside reasoning when `prompt`, or the end of it, opened it and did not close it.
    #[must_use]
    pub fn after_prompt(self, prompt: &str) -> Self {
        let mut reader = Self::new(&self.dialect, &ToolDialect::NONE);
        reader.may_close_late = false;
        reader.parse(prompt, &mut |_| {});
        let framing_left = reader.framing_left;
        match reader.state {
            State::Thinking(which) => {
                let mut inside = self.starting_inside();
                inside.state = State::Thinking(which);
                inside.framing_left = framing_left;
                inside
            }
            State::Message | State::Call => self,
        }
    }

    /// Takes the next piece of text and gives what it holds.
    #[inline]
    pub fn parse(&mut self, text: &str, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        match self.way {
            Way::Message if is_plain(text) && !text.is_empty() => {
                self.message_bytes += text.len() as u64;
                out(ThinkingPiece::Message(text));
            }
            Way::Call if self.calls.take_value(text) => {
                self.message_bytes += text.len() as u64;
                out(ThinkingPiece::Message(text));
            }
            Way::Thinking if is_plain(text) && !text.is_empty() => {
                out(ThinkingPiece::Thinking(text));
            }
            Way::Markers | Way::Message | Way::Call | Way::Thinking => {
                self.parse_markers(text, out);
                self.choose_way();
            }
        }
    }

    /// Chooses the way of the next text.
    fn choose_way(&mut self) {
        let is_open = self.framing_left == 0 && self.scan.is_idle();
        self.way = match (self.state, self.section) {
            (State::Message, Section::Message) if is_open && self.literal == Literal::Plain => {
                Way::Message
            }
            (State::Thinking(_), Section::Thinking) if is_open => Way::Thinking,
            (State::Call, Section::Message) if is_open => Way::Call,
            _ => Way::Markers,
        };
    }

    /// Takes text in which something may matter.
    #[inline(never)]
    fn parse_markers(&mut self, text: &str, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        if self.dialect.is_none() {
            if !text.is_empty() {
                out(ThinkingPiece::Message(text));
            }
            return;
        }
        let mut at = 0;
        while at < text.len() {
            if self.framing_left > 0 {
                if !text.get(at..).unwrap_or_default().starts_with('\n') {
                    self.framing_left = 0;
                    continue;
                }
                at += 1;
                self.framing_left -= 1;
                continue;
            }
            match self.state {
                State::Message => self.message(text, &mut at, out),
                State::Thinking(which) => self.thinking(which, text, &mut at, out),
                State::Call => {
                    let rest = text.get(at..).unwrap_or_default();
                    let length = self.calls.skip_call(rest);
                    self.give_message(rest.get(..length).unwrap_or_default(), out);
                    at += length;
                    if !self.calls.is_in_call() {
                        self.state = State::Message;
                        self.literal = Literal::START;
                    }
                }
            }
        }
    }

    fn message(&mut self, text: &str, at: &mut usize, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        let openers = self.dialect.description().openers.len();
        let first_closer = openers + self.tools.description().openers.len();
        let Self { markers, scan, literal, section, blanks, message_bytes, .. } = self;
        let end = if self.may_close_late { markers.len() } else { first_closer };
        let markers = markers.get(..end).unwrap_or_default();
        let check = |bytes: &[u8]| check_all(markers, bytes);
        let mut track =
            LiteralTrack { literal, on_hidden: |_| {}, never_hidden_from: first_closer };
        let passed = &mut |text: &str| message(section, blanks, message_bytes, text, out);
        let Some(which) = scan.next(text, at, Stops::one(b'<'), &check, &mut track, passed) else {
            return;
        };
        if which < openers {
            self.blanks.drop_held();
            out(ThinkingPiece::SectionEnd);
            self.section = Section::None;
            self.may_close_late = false;
            self.state = State::Thinking(Some(which));
            self.framing_left = self.dialect.description().framing.after_opener;
        } else if which < first_closer {
            let marker = self.scan.found().to_owned();
            self.blanks.drop_held();
            self.give_message(&marker, out);
            self.calls.begin_call();
            self.state = State::Call;
        } else {
            self.late_thinking_bytes = self.message_bytes;
            self.end_thinking(out);
        }
    }

    fn thinking(
        &mut self,
        which: Option<usize>,
        text: &str,
        at: &mut usize,
        out: &mut impl FnMut(ThinkingPiece<'_>),
    ) {
        let Self { dialect, scan, section, blanks, .. } = self;
        let description = dialect.description();
        let closers = match which {
            Some(which) => description.closers.get(which..=which).unwrap_or_default(),
            None => description.closers.as_ref(),
        };
        let newlines = usize::from(description.framing.before_closer);
        let check = |bytes: &[u8]| check_closer(closers, newlines, bytes);
        let stops = Stops::two(b'<', b'\n');
        let passed = &mut |text: &str| {
            if *section == Section::Thinking {
                out(ThinkingPiece::Thinking(text));
            } else if blanks.take(text, &mut |text| out(ThinkingPiece::Thinking(text))) {
                *section = Section::Thinking;
            }
        };
        if scan.next(text, at, stops, &check, &mut NoTrack, passed).is_some() {
            self.end_thinking(out);
        }
    }

    fn end_thinking(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.blanks.drop_held();
        out(ThinkingPiece::SectionEnd);
        self.state = State::Message;
        self.may_close_late = false;
        self.section = Section::None;
        self.literal = Literal::START;
        self.framing_left = self.dialect.description().framing.after_closer;
    }

    fn give_message(&mut self, text: &str, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        let Self { section, blanks, message_bytes, .. } = self;
        message(section, blanks, message_bytes, text, out);
    }

    /// Ends a stretch of message text without ending the stream: the provider sends something else.
    pub fn end_section(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        if self.state == State::Message {
            self.finish_scan(out);
            self.blanks.release(&mut |text| out(ThinkingPiece::Message(text)));
            self.literal = Literal::START;
        }
        self.choose_way();
    }

    /// Ends the stream: what was held back is given as what it is.
    pub fn flush(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        self.finish_scan(out);
        self.blanks.drop_held();
        self.way = Way::Markers;
    }

    fn finish_scan(&mut self, out: &mut impl FnMut(ThinkingPiece<'_>)) {
        let held = self.scan.take_held();
        if held.is_empty() {
            return;
        }
        match self.state {
            State::Message | State::Call => self.give_message(&held, out),
            State::Thinking(_) => {
                let Self { section, blanks, .. } = self;
                if *section == Section::Thinking {
                    out(ThinkingPiece::Thinking(&held));
                } else if blanks.take(&held, &mut |text| out(ThinkingPiece::Thinking(text))) {
                    *section = Section::Thinking;
                }
            }
        }
    }

    /// Forgets the stream: the parser is as new, with the same dialects, outside reasoning.
    pub fn reset(&mut self) {
        *self = Self::new(&self.dialect, &self.tools);
    }

    /// Whether the text so far ends inside reasoning.
    #[must_use]
    pub fn is_in_thinking(&self) -> bool {
        matches!(self.state, State::Thinking(_))
    }

    /// Bytes given as message before a lone closer showed that they had been reasoning.
    #[must_use]
    pub fn late_thinking_bytes(&self) -> u64 {
        self.late_thinking_bytes
    }
}

fn message(
    section: &mut Section,
    blanks: &mut LeadingBlanks,
    message_bytes: &mut u64,
    text: &str,
    out: &mut impl FnMut(ThinkingPiece<'_>),
) {
    *message_bytes += text.len() as u64;
    if *section == Section::Message {
        if !text.is_empty() {
            out(ThinkingPiece::Message(text));
        }
    } else if !text.is_empty() && blanks.take(text, &mut |text| out(ThinkingPiece::Message(text))) {
        *section = Section::Message;
    }
}

/// A closer at the front of `bytes`, behind at most so many line ends.
fn check_closer(closers: &[Marker], newlines: usize, bytes: &[u8]) -> (Found, usize) {
    let skipped = bytes.iter().take(newlines).take_while(|byte| **byte == b'\n').count();
    let rest = bytes.get(skipped..).unwrap_or_default();
    if rest.is_empty() {
        return (Found::Maybe, 0);
    }
    match check_all(closers, rest) {
        (Found::Yes(length), which) => (Found::Yes(skipped + length), which),
        other => other,
    }
}
