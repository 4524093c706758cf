//! The fast path: text in which nothing matters, or that a single check decides.

use super::{Pieces, Section, State, ThinkingParser, Way};
use crate::content::{
    parsed::{ParsedContent, ResponsePiece},
    token::TokenKind,
};
use forgeline_json::{WIDE, slice};

impl ThinkingParser {
    /// Processes text for which the first check was not sufficient.
    #[inline(never)]
    pub(super) fn look(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.way == Way::Message {
            self.look_at_block(text, out);
        } else if self.way == Way::Call && self.calls.is_at_structure() {
            self.parse_slowly(text, out);
        } else if self.way == Way::Call && self.calls.take_value_block(text) {
            self.give_value(text, out);
        } else if self.way == Way::Call && self.calls.is_in_markup() {
            self.look_in_markup(text, out);
        } else if self.way == Way::Tail {
            self.look_behind_tail(text, out);
        } else if self.way == Way::Thinking {
            self.look_at_thinking(text, out);
        } else {
            self.look_further(text, out);
        }
    }

    /// Processes text of at most a wide block inside a string between tags of a call.
    #[inline(never)]
    fn look_in_markup(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        let Some(markup) = self.calls.look_at_markup(text) else {
            return self.parse_slowly(text, out);
        };
        if markup.is_verbatim() {
            self.calls.count_markup(text.len());
            return self.give_value(text, out);
        }
        let is_wanted = !self.calls.finds_bounds_only();
        let length = markup.give(&mut |json| {
            if is_wanted {
                out(ResponsePiece::Answer(ParsedContent::CallArguments(json)));
            }
        });
        self.calls.count_markup(length);
        let (front, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        self.give_source(front, out);
        if !rest.is_empty() && !self.calls.take_cut_entity(rest) {
            self.parse_slowly(rest, out);
        }
    }

    /// Emits the source of arguments whose JSON has been emitted.
    #[inline(always)]
    fn give_source(&mut self, source: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if source.is_empty() {
            return;
        }
        self.message_bytes += source.len() as u64;
        if !self.calls.finds_bounds_only() {
            out(ResponsePiece::Answer(ParsedContent::CallSource(source)));
        }
        out(ResponsePiece::Answer(ParsedContent::CallBody(source)));
    }

    #[inline(never)]
    fn look_at_block(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.calls.take_block(text, Some(&self.stops.in_message)) {
            self.give_text(text, out);
        } else {
            self.look_at_marks(text, out);
        }
    }

    #[inline(never)]
    fn look_at_marks(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        match self.calls.take_front(text, Some(&self.stops.in_message)) {
            Some(end) if end == text.len() => self.give_text(text, out),
            Some(end) => {
                self.way = Way::Tail;
                self.give_text(slice(text, ..end), out);
            }
            None => self.look_in_message(text, out),
        }
    }

    /// Processes one block of reasoning in which at most the last few bytes may begin a marker.
    #[inline(never)]
    fn look_at_thinking(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        let stops = &self.stops.in_thinking;
        match text.as_bytes().try_into().ok().and_then(|block| stops.end_in_block(block)) {
            Some(end) if end == text.len() => out(ResponsePiece::Thinking(text)),
            Some(end) => {
                self.scan.hold_end(text, text.len() - end);
                self.way = Way::Tail;
                out(ResponsePiece::Thinking(slice(text, ..end)));
            }
            None => self.look_further(text, out),
        }
    }

    /// Processes text after a few bytes that are held.
    #[inline(never)]
    fn look_behind_tail(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        let stops = &self.stops;
        if let State::Thinking(_) = self.state {
            if let Some(held) = self.scan.settle_few(text, &stops.in_thinking) {
                self.way = Way::Thinking;
                out(ResponsePiece::Thinking(held.as_str()));
                return self.look_at_thinking(text, out);
            }
        } else if let Some(held) = self.calls.settle(text, Some(&stops.in_message)) {
            self.way = Way::Message;
            self.give_text(held.as_str(), out);
            return self.look_at_block(text, out);
        }
        self.parse_slowly(text, out);
    }

    /// Processes text of more than a block, which the first check does not handle.
    #[inline(never)]
    pub(super) fn look_at_long(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.way == Way::Message && self.calls.take_halves(text, &self.stops.in_message) {
            self.give_text(text, out);
        } else {
            self.look_longer(text, out);
        }
    }

    #[inline(never)]
    fn look_longer(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.way == Way::Message {
            if self.calls.take_long(text, Some(&self.stops.in_message)) {
                return self.give_text(text, out);
            }
            self.look_in_message(text, out);
        } else if self.way == Way::Thinking && self.stops.in_thinking.are_far_in_long(text) {
            out(ResponsePiece::Thinking(text));
        } else {
            self.look_in_long_value(text, out);
        }
    }

    #[inline(never)]
    fn look_in_long_value(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.way != Way::Call {
            return self.look_further(text, out);
        }
        if self.calls.is_in_markup() && text.len() <= WIDE {
            return self.look_in_markup(text, out);
        }
        if self.calls.take_long_value(text) {
            return self.give_value(text, out);
        }
        let Some((front, mut rest)) = self.calls.split_markup(text) else {
            return self.look_further(text, out);
        };
        self.look_in_markup(front, out);
        while self.way == Way::Call
            && let Some((front, behind)) = self.calls.split_markup(rest)
        {
            self.look_in_markup(front, out);
            rest = behind;
        }
        self.take(rest, out);
    }

    #[inline(never)]
    fn look_in_message(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        if self.calls.take_lines(text, Some(&self.stops.in_message)) {
            return self.give_text(text, out);
        }
        self.parse_slowly(text, out);
    }

    /// Processes text of reasoning or of a call.
    #[inline(never)]
    fn look_further(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        match self.way {
            // Held text is emitted once its meaning is known.
            Way::Call if self.calls.hold(text) => {}
            Way::Call if self.calls.take_value_slowly(text) => self.give_value(text, out),
            Way::Call if let Some((entity, json, rest)) = self.calls.take_entity(text) => {
                out(ResponsePiece::Answer(ParsedContent::CallArguments(json)));
                self.give_source(entity, out);
                if !rest.is_empty() {
                    self.take(rest, out);
                }
            }
            Way::Call if let Some(length) = self.calls.take_cut_escape(text) => {
                if length > 0 {
                    self.give_value(slice(text, ..length), out);
                }
            }
            Way::Call if let Some(escape) = self.calls.take_escape(text) => {
                self.give_value(escape, out);
                if text.len() > 1 {
                    self.take(slice(text, 1..), out);
                }
            }
            Way::Thinking if self.stops.in_thinking.are_absent(text) && !text.is_empty() => {
                out(ResponsePiece::Thinking(text));
            }
            Way::Tail => self.look_behind_tail(text, out),
            Way::Markers | Way::Message | Way::Call | Way::Thinking => {
                self.parse_slowly(text, out);
            }
        }
    }

    /// Emits text of the answer outside calls.
    #[inline(always)]
    pub(super) fn give_text(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        self.message_bytes += text.len() as u64;
        out(ResponsePiece::Answer(ParsedContent::Text(text)));
    }

    /// Emits text that passes unchanged inside a value of a call.
    #[inline(always)]
    pub(super) fn give_value(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) {
        self.message_bytes += text.len() as u64;
        out(ResponsePiece::Answer(ParsedContent::CallVerbatim(text)));
    }

    /// Processes text that may contain something relevant.
    #[inline(never)]
    fn parse_slowly(&mut self, text: &str, out: &mut Pieces<'_>) {
        let is_taken = match (self.way, self.state) {
            (Way::Markers, _) => false,
            (Way::Call, _) => {
                let give = &mut |content: ParsedContent<'_>| out(ResponsePiece::Answer(content));
                let is_taken = self.calls.look_at_value(text, give);
                if is_taken {
                    self.message_bytes += text.len() as u64;
                    // The path of the calls is the path to continue on.
                    return;
                }
                false
            }
            (_, State::Message) => self.take_message(text, out),
            (_, State::Thinking(_)) => self.take_thinking(text, out),
        };
        if !is_taken {
            self.parse_markers(text, TokenKind::Unknown, out);
        }
        self.choose_way();
    }

    /// Processes text of the answer in which at most the last few bytes may begin a marker. Returns `false`
    /// if there is more to examine.
    fn take_message(&mut self, text: &str, out: &mut Pieces<'_>) -> bool {
        let Self { calls, stops, message_bytes, .. } = self;
        calls.take_text(text, Some(&stops.in_message), &mut |text| {
            *message_bytes += text.len() as u64;
            out(ResponsePiece::Answer(ParsedContent::Text(text)));
        })
    }

    /// Processes text of reasoning in which at most the last few bytes may begin a marker. Returns `false`
    /// if there is more to examine.
    fn take_thinking(&mut self, text: &str, out: &mut Pieces<'_>) -> bool {
        let Self { scan, stops, .. } = self;
        let give = &mut |text: &str| out(ResponsePiece::Thinking(text));
        if text.is_empty() || !scan.settle(text, &stops.in_thinking, give) {
            return false;
        }
        let end = stops.in_thinking.find(text.as_bytes(), 0);
        let (plain, tail) = text.split_at_checked(end).unwrap_or((text, ""));
        if !scan.hold_tail(tail, &stops.in_thinking) {
            return false;
        }
        if !plain.is_empty() {
            give(plain);
        }
        true
    }

    /// Chooses the path for the next text.
    pub(super) fn choose_way(&mut self) {
        let is_open = self.framing_left == 0
            && !self.skips_blank
            && self.scan.is_almost_idle()
            && self.opening.is_none()
            && self.undecided.is_none();
        let is_idle = self.scan.is_idle() && self.calls.is_idle();
        self.way = match (self.state, self.output.section) {
            (State::Message, Some(Section::Message)) if is_open && self.calls.is_in_call() => {
                Way::Call
            }
            (State::Message, Some(Section::Message))
                if is_open && self.calls.is_in_plain_text() =>
            {
                if is_idle {
                    Way::Message
                } else {
                    Way::Tail
                }
            }
            (State::Thinking(_), Some(Section::Thinking)) if is_open => {
                if is_idle {
                    Way::Thinking
                } else {
                    Way::Tail
                }
            }
            _ => Way::Markers,
        };
    }
}
