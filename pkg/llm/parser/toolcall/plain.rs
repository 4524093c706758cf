//! The fast path: text in which nothing matters, or that a single check decides.

use std::mem;

use super::{ToolCallParser, Way};
use crate::{
    content::{
        parsed::{Emit, ParsedContent},
        token::TokenKind,
    },
    grammar::{CutEntity, Escapable, Plain},
    scan::stop_bytes::StopBytes,
};
use forgeline_json as json;
use forgeline_json::{BLOCK, Halves, WIDE, simple_escape, slice, subslice};

impl ToolCallParser {
    /// Returns `true` in a state that text without markers, code and line ends does not change.
    #[inline(always)]
    pub(crate) fn is_still(&self) -> bool {
        self.literal.is_still()
    }

    /// Processes message text in which no marker and no code begins, in a state that it [does not
    /// change](Self::is_still); returns `false` if it contains a line end
    /// that matters.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, text: &str) -> bool {
        let is_taken = !text.is_empty() && !has_line_end(text);
        if is_taken {
            self.passed += text.len();
        }
        is_taken
    }

    /// Processes text inside a value of a call; returns `false` if it may contain something relevant.
    #[inline(always)]
    pub(crate) fn take_value(&mut self, text: &str) -> bool {
        let Way::Value(plain) = self.way else { return false };
        plain.passes_at_once(text.as_bytes()) && self.has_room(text)
    }

    /// Processes one block inside a JSON string, including escapes; returns `false` for text of another length or
    /// place, and if more in it may matter.
    #[inline(always)]
    pub(crate) fn take_value_block(&mut self, text: &str) -> bool {
        let Way::Value(plain) = self.way else { return false };
        let block = text.as_bytes().try_into();
        block.is_ok_and(|block| plain.block_passes(block)) && self.has_room(text)
    }

    /// Processes text of more than a block inside a value; returns `false` if more in it may matter.
    #[inline(always)]
    pub(crate) fn take_long_value(&mut self, text: &str) -> bool {
        let Way::Value(plain) = self.way else { return false };
        // Markup of this length usually needs escapes, which cost no more than the check for them.
        !self.is_in_markup() && plain.passes(text.as_bytes()) && self.has_room(text)
    }

    /// Processes message text of between half a wide block and a whole one in which nothing that begins at `stops`, and no
    /// code, begins, in a state that it [does not change](Self::is_still); returns `false` for other text. Calls
    /// no functions and needs no stack.
    #[inline(always)]
    pub(crate) fn take_halves(&mut self, text: &str, stops: &StopBytes) -> bool {
        let Some(halves) = Halves::of(text.as_bytes()) else { return false };
        let is_taken = self.is_still()
            && !halves.ends_in_line_end()
            && stops.and_code_are_far_in_halves(halves);
        self.passed += if is_taken { text.len() } else { 0 };
        is_taken
    }

    /// Processes message text of more than a block in which no marker of the dialect, or one that begins at
    /// `stops`, begins; returns `false` if a single check does not show that.
    #[inline(always)]
    pub(crate) fn take_long(&mut self, text: &str, stops: Option<&StopBytes>) -> bool {
        let stops = stops.unwrap_or(&self.stops);
        let Some(halves) = Halves::of(text.as_bytes()) else {
            return self.is_still()
                && stops.and_code_are_far_in_long(text)
                && self.take_plain(text);
        };
        let is_taken = stops.are_far_in_halves(halves) && self.literal.pass_halves(halves);
        self.passed += if is_taken { text.len() } else { 0 };
        is_taken
    }

    /// Does the same with a second check, which handles escapes in text of other lengths.
    #[inline]
    pub(crate) fn take_value_slowly(&mut self, text: &str) -> bool {
        let Way::Value(plain) = self.way else { return false };
        // The previous check has already handled escapes in a block.
        let is_new = text.len() < BLOCK || text.len() == BLOCK && plain != Plain::JsonString;
        is_new && plain.has_second_look() && plain.passes(text.as_bytes()) && self.has_room(text)
    }

    /// Checks text of at most a wide block inside a string between tags; returns `None` for other text, and if it
    /// may contain a tag.
    #[inline(always)]
    pub(crate) fn look_at_markup<'t>(&self, text: &'t str) -> Option<Escapable<'t>> {
        let Way::Value(plain) = self.way else { return None };
        let may_pass =
            self.has_angles_only && !text.is_empty() && text.len() <= self.room - self.passed;
        if may_pass { Escapable::of(plain, text) } else { None }
    }

    /// Returns `true` in a part of a call where no text passes unchanged, usually between its values.
    #[inline(always)]
    pub(crate) fn is_at_structure(&self) -> bool {
        self.way == Way::Value(Plain::Nothing)
    }

    /// Returns `true` inside a string between tags if markers begin with `<`.
    #[inline(always)]
    pub(crate) fn is_in_markup(&self) -> bool {
        self.has_angles_only && matches!(self.way, Way::Value(plain) if plain.is_markup())
    }

    /// Splits longer text inside a string between tags: the first part is at most a wide block, and does not split
    /// a named entity.
    #[inline]
    pub(crate) fn split_markup<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        if text.len() <= WIDE || !self.is_in_markup() {
            return None;
        }
        let end = text.floor_char_boundary(WIDE);
        let last = subslice(text.as_bytes(), end - CutEntity::MAX_BYTES..end);
        let cut = last.iter().rev().position(|byte| *byte == b'&');
        text.split_at_checked(end - cut.map_or(0, |behind| behind + 1))
    }

    /// Counts text inside a string between tags that was emitted as JSON.
    #[inline(always)]
    pub(crate) fn count_markup(&mut self, bytes: usize) {
        self.passed += bytes;
    }

    /// Holds the beginning of an entity at the end of a piece; returns `false` for other text.
    #[inline]
    pub(crate) fn take_cut_entity(&mut self, text: &str) -> bool {
        let cut = CutEntity::of(text).filter(|_| self.way == Way::Value(Plain::Entities));
        if let Some(cut) = cut {
            self.way = Way::Entity(cut);
        }
        cut.is_some()
    }

    /// Completes an entity, whose beginning is held, from the beginning of `text`; returns the entity, its
    /// meaning in JSON, and the text after it.
    #[inline]
    pub(crate) fn take_entity<'t>(
        &mut self,
        text: &'t str,
    ) -> Option<(&'static str, &'static str, &'t str)> {
        let Way::Entity(cut) = self.way else { return None };
        let (entity, json) = cut.whole(text)?;
        if entity.len() > self.room - self.passed {
            return None;
        }
        self.way = Way::Value(Plain::Entities);
        self.passed += entity.len();
        Some((entity, json, slice(text, entity.len() - cut.text().len()..)))
    }

    /// Processes text inside a JSON string that ends with the backslash of an escape, which is held; returns
    /// the number of bytes before it.
    #[inline]
    pub(crate) fn take_cut_escape(&mut self, text: &str) -> Option<usize> {
        let front = text.strip_suffix('\\').filter(|_| text.len() <= self.room - self.passed)?;
        let is_cut =
            self.way == Way::Value(Plain::JsonString) && Plain::JsonString.passes(front.as_bytes());
        if !is_cut {
            return None;
        }
        self.way = Way::Escape;
        self.passed += front.len();
        Some(front.len())
    }

    /// Completes an escape, whose backslash is held, with the letter at the beginning of `text`; returns both.
    #[inline]
    pub(crate) fn take_escape(&mut self, text: &str) -> Option<&'static str> {
        let has_room = self.way == Way::Escape && self.room - self.passed >= 2;
        let letter = text.as_bytes().first().filter(|_| has_room)?;
        let escape = simple_escape(*letter)?;
        self.way = Way::Value(Plain::JsonString);
        self.passed += escape.len();
        Some(escape)
    }

    /// Processes more of a string that is held because its call may have ended; returns `false` if it may
    /// end.
    #[inline]
    pub(crate) fn hold(&mut self, text: &str) -> bool {
        let is_held =
            self.way == Way::Held && self.region.as_mut().is_some_and(|region| region.hold(text));
        if is_held {
            self.taken += text.len() as u64;
        }
        is_held
    }

    /// Counts text of a value; returns `false` if it is empty or exceeds the limit.
    #[inline(always)]
    fn has_room(&mut self, text: &str) -> bool {
        let has_room = !text.is_empty() && text.len() <= self.room - self.passed;
        self.passed += if has_room { text.len() } else { 0 };
        has_room
    }

    /// Processes text for which the first check was not sufficient.
    #[inline(never)]
    pub(super) fn look(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.way == Way::Text {
            self.look_at_block(text, out);
        } else if self.is_at_structure() {
            self.look_at_structure(text, out);
        } else if self.take_value_block(text) {
            out(ParsedContent::CallVerbatim(text));
        } else if self.is_in_markup() {
            self.look_in_markup(text, out);
        } else if self.way == Way::Tail {
            self.look_behind_tail(text, out);
        } else {
            self.look_further(text, out);
        }
    }

    /// Processes text of at most a wide block inside a string between tags.
    #[inline(never)]
    fn look_in_markup(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        let Some(markup) = self.look_at_markup(text) else { return self.parse_slowly(text, out) };
        if markup.is_verbatim() {
            self.count_markup(text.len());
            return out(ParsedContent::CallVerbatim(text));
        }
        let length = markup.give(&mut |json| out(ParsedContent::CallArguments(json)));
        self.count_markup(length);
        let (front, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        if !front.is_empty() {
            out(ParsedContent::CallSource(front));
            out(ParsedContent::CallBody(front));
        }
        if !rest.is_empty() && !self.take_cut_entity(rest) {
            self.parse_slowly(rest, out);
        }
    }

    /// Processes text of a call between its values.
    #[inline(never)]
    fn look_at_structure(&mut self, text: &str, out: &mut Emit<'_>) {
        if !self.look_at_value(text, out) {
            self.parse_markers(text, TokenKind::Unknown, out);
        }
    }

    #[inline(never)]
    fn look_at_block(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.take_block(text, None) {
            out(ParsedContent::Text(text));
        } else {
            self.look_at_marks(text, out);
        }
    }

    #[inline(never)]
    fn look_at_marks(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        match self.take_front(text, None) {
            Some(end) if end == text.len() => out(ParsedContent::Text(text)),
            Some(end) => {
                self.way = Way::Tail;
                out(ParsedContent::Text(slice(text, ..end)));
            }
            None => self.look_in_text(text, out),
        }
    }

    /// Processes text after a few bytes that are held.
    #[inline(never)]
    fn look_behind_tail(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        let Some(held) = self.settle(text, None) else { return self.parse_slowly(text, out) };
        self.way = Way::Text;
        out(ParsedContent::Text(held.as_str()));
        self.look_at_block(text, out);
    }

    /// Processes text of more than a block, which the first check does not handle.
    #[inline(never)]
    pub(super) fn look_at_long(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.way == Way::Text {
            if self.take_long(text, None) {
                return out(ParsedContent::Text(text));
            }
            self.look_in_text(text, out);
        } else if self.is_in_markup() && text.len() <= WIDE {
            self.look_in_markup(text, out);
        } else {
            self.look_in_long_value(text, out);
        }
    }

    #[inline(never)]
    fn look_in_long_value(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.take_long_value(text) {
            return out(ParsedContent::CallVerbatim(text));
        }
        let Some((front, mut rest)) = self.split_markup(text) else {
            return self.look_further(text, out);
        };
        self.look_in_markup(front, out);
        while let Some((front, behind)) = self.split_markup(rest) {
            self.look_in_markup(front, out);
            rest = behind;
        }
        self.parse(rest, out);
    }

    #[inline(never)]
    fn look_further(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        match self.way {
            Way::Value(Plain::Nothing) => self.parse_slowly(text, out),
            Way::Value(_) | Way::Escape | Way::Held => self.look_in_value(text, out),
            Way::Entity(_) => self.look_behind_entity(text, out),
            Way::Tail => self.look_behind_tail(text, out),
            Way::Markers | Way::Text => self.parse_slowly(text, out),
        }
    }

    #[inline(never)]
    fn look_in_text(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.take_lines(text, None) {
            return out(ParsedContent::Text(text));
        }
        self.parse_slowly(text, out);
    }

    #[inline(never)]
    fn look_in_value(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        if self.take_value_slowly(text) {
            return out(ParsedContent::CallVerbatim(text));
        }
        if let Some(length) = self.take_cut_escape(text) {
            if length > 0 {
                out(ParsedContent::CallVerbatim(slice(text, ..length)));
            }
        } else if let Some(escape) = self.take_escape(text) {
            out(ParsedContent::CallVerbatim(escape));
            if text.len() > 1 {
                self.parse(slice(text, 1..), out);
            }
        } else if !self.hold(text) {
            self.parse_slowly(text, out);
        }
    }

    #[inline(never)]
    fn look_behind_entity(&mut self, text: &str, out: &mut impl FnMut(ParsedContent<'_>)) {
        let Some((entity, json, rest)) = self.take_entity(text) else {
            return self.parse_slowly(text, out);
        };
        out(ParsedContent::CallArguments(json));
        out(ParsedContent::CallSource(entity));
        out(ParsedContent::CallBody(entity));
        if !rest.is_empty() {
            self.parse(rest, out);
        }
    }

    /// Processes text that may contain something relevant.
    #[inline(never)]
    fn parse_slowly(&mut self, text: &str, out: &mut Emit<'_>) {
        let is_taken = match self.way {
            Way::Value(_) => self.look_at_value(text, out),
            Way::Text | Way::Tail => {
                let is_taken =
                    self.take_text(text, None, &mut |text| out(ParsedContent::Text(text)));
                self.way = if self.scan.is_idle() { Way::Text } else { Way::Tail };
                is_taken
            }
            Way::Markers | Way::Escape | Way::Entity(_) | Way::Held => false,
        };
        if !is_taken {
            self.parse_markers(text, TokenKind::Unknown, out);
        }
    }

    /// Processes one block of message text; returns `false` for text of another length, and if a single check does
    /// not show that no marker begins in it. The markers are those of the dialect, or begin at `stops`.
    #[inline(always)]
    pub(crate) fn take_block(&mut self, text: &str, stops: Option<&StopBytes>) -> bool {
        let stops = stops.unwrap_or(&self.stops);
        let is_taken = stops.are_far_in_block(text, &mut self.literal);
        self.passed += if is_taken { text.len() } else { 0 };
        is_taken
    }

    /// Processes message text; returns `false` if a marker may begin in it: one of the dialect, or one
    /// that begins at `stops`.
    #[inline(always)]
    pub(crate) fn take_lines(&mut self, text: &str, stops: Option<&StopBytes>) -> bool {
        let stops = stops.unwrap_or(&self.stops);
        let is_taken = !text.is_empty() && stops.plain_front(text, &mut self.literal) == text.len();
        self.passed += if is_taken { text.len() } else { 0 };
        is_taken
    }

    /// Processes message text in which at most the last few bytes may begin a marker, after the held text.
    /// The markers are those of the dialect, or begin at `stops`. Returns `false` if there is more to
    /// examine; the text must then be read.
    pub(crate) fn take_text(
        &mut self,
        text: &str,
        stops: Option<&StopBytes>,
        out: &mut dyn FnMut(&str),
    ) -> bool {
        if text.is_empty() {
            return false;
        }
        let Self { scan, stops: own, literal, .. } = self;
        let stops = stops.unwrap_or(own);
        let give = &mut |held: &str| {
            literal.pass(held.as_bytes());
            out(held);
        };
        if !scan.settle(text, stops, give) {
            return false;
        }
        let length = stops.plain_front(text, literal);
        let (plain, tail) = text.split_at_checked(length).unwrap_or((text, ""));
        if !scan.hold_tail(tail, stops) {
            return false;
        }
        if !tail.is_empty() {
            literal.pass(plain.as_bytes());
        }
        self.passed += text.len();
        if !plain.is_empty() {
            out(plain);
        }
        true
    }

    /// Processes text of a call in which no marker begins, whatever its grammar makes of it; returns `false`
    /// for other text.
    pub(crate) fn look_at_value(&mut self, text: &str, out: &mut Emit<'_>) -> bool {
        let (Way::Value(plain), Some(region)) = (self.way, &mut self.region) else { return false };
        if text.is_empty() || text.len() > self.room - self.passed || !region.is_unmarked(text) {
            return false;
        }
        if let Some(next) = region.pass_plain(plain, text, out) {
            self.way = Way::Value(next);
            self.passed += text.len();
            return true;
        }
        let passed = mem::take(&mut self.passed);
        if !region.pass_unmarked(passed, text, out) {
            self.passed = passed;
            return false;
        }
        self.taken += (passed + text.len()) as u64;
        let (plain, room) = region.plain();
        (self.way, self.room) = (Way::Value(plain), room);
        true
    }
}

/// Returns `true` for text with a line end that matters: after four more bytes, the line has begun as plain text.
#[inline(always)]
fn has_line_end(text: &str) -> bool {
    match text.as_bytes().last_chunk() {
        Some(tail) => json::has_line_end(tail),
        None => text.contains('\n'),
    }
}
