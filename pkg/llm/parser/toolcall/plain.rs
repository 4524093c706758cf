//! The fast path: text in which nothing matters, or only what one look settles.

use super::{ToolCallParser, Way};
use crate::{
    json::equal,
    llm::parser::{
        code_spans::CodeSpans,
        content::{Emit, ParsedContent},
        scan::Stops,
        token::TokenKind,
    },
};

impl ToolCallParser {
    /// Takes message text that is not empty, and in which no marker and no code begins.
    #[inline(always)]
    pub(in crate::llm::parser) fn pass_text(&mut self, text: &str) {
        self.pass_plain(text, false);
    }

    /// Takes text in which something may matter.
    #[inline(never)]
    pub(super) fn parse_slowly(&mut self, text: &str, out: &mut Emit<'_>) {
        let is_taken = match self.way {
            Way::Value(_) => self.look_at_value(text, out),
            Way::Text | Way::Tail => {
                let is_taken =
                    self.take_text(text, None, &mut |text| out(ParsedContent::Text(text)));
                self.way = if self.scan.is_idle() { Way::Text } else { Way::Tail };
                is_taken
            }
            Way::Markers => false,
        };
        if !is_taken {
            self.parse_markers(text, TokenKind::Unknown, out);
        }
    }

    /// Counts text in which no marker begins.
    ///
    /// Line ends matter only near the end, unless code does: four bytes on, the line has begun as plain
    /// text.
    #[inline(always)]
    fn pass_plain(&mut self, text: &str, has_code: bool) {
        const LINE_HEAD: usize = 4;
        self.passed += text.len();
        let is_near = match text.as_bytes().last_chunk::<LINE_HEAD>() {
            Some(tail) => {
                let tail = u64::from(u32::from_le_bytes(*tail));
                equal(tail, b'\n') & 0x8080_8080 != 0
            }
            None => text.contains('\n'),
        };
        if is_near || has_code || self.literal != CodeSpans::Plain {
            self.literal = self.literal.after_all(text.as_bytes());
        }
    }

    /// Takes message text of which at most the last few bytes may begin a marker, behind what was held.
    /// The markers are those of the dialect, or begin at `stops`. Returns `false` where there is more to
    /// see: then the text has to be read.
    pub(in crate::llm::parser) fn take_text(
        &mut self,
        text: &str,
        stops: Option<&Stops>,
        out: &mut dyn FnMut(&str),
    ) -> bool {
        if text.is_empty() {
            return false;
        }
        let Self { scan, stops: own, literal, .. } = self;
        let stops = stops.unwrap_or(own);
        let give = &mut |held: &str| {
            *literal = literal.after_all(held.as_bytes());
            out(held);
        };
        if !scan.settle(text, stops, give) {
            return false;
        }
        let (length, has_code) = stops.plain_front(text);
        let (plain, tail) = text.split_at_checked(length).unwrap_or((text, ""));
        if !scan.hold_tail(tail, stops) {
            return false;
        }
        if !plain.is_empty() {
            self.pass_plain(plain, has_code);
            out(plain);
        }
        self.passed += tail.len();
        true
    }

    /// Takes text inside a value of a call in which nothing matters. Whether it was taken.
    #[inline(always)]
    pub(in crate::llm::parser) fn take_value(&mut self, text: &str) -> bool {
        let Way::Value(plain) = self.way else { return false };
        let is_taken = plain.passes(text.as_bytes())
            && !text.is_empty()
            && text.len() <= self.room - self.passed;
        if is_taken {
            self.passed += text.len();
        }
        is_taken
    }

    /// Takes text inside a value which needs escapes, or holds what looks like a marker and is none.
    /// Whether it was taken.
    pub(in crate::llm::parser) fn look_at_value(&mut self, text: &str, out: &mut Emit<'_>) -> bool {
        let (Way::Value(plain), Some(region)) = (self.way, &self.region) else { return false };
        let has_room = !text.is_empty() && text.len() <= self.room - self.passed;
        let is_taken = has_room && region.pass_plain(plain, text, out);
        if is_taken {
            self.passed += text.len();
        }
        is_taken
    }
}
