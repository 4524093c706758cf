//! Finds markers in text that arrives in pieces.

use std::mem;

use compact_str::CompactString;

use super::{
    code_spans::CodeSpans,
    followed_code::FollowedCode,
    found::Found,
    inline_buf::{CAPACITY, Few, InlineBuf},
    stops::{Stops, TAIL_BYTES},
};
use crate::types::{slice, subslice};

/// The most bytes of a piece that are looked at in one go when a marker was cut.
const STEP_BYTES: usize = 64;

/// Finds markers in text, holding back only what may still become one.
#[derive(Debug)]
pub(super) struct Scan {
    /// The end of the last piece, when it may be the front of a marker.
    held: InlineBuf,
    /// The text of the marker found last.
    found: CompactString,
    /// Text that was read behind it to recognise it, and stands in no later piece.
    behind: CompactString,
}

/// The markers that are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a, C> {
    pub(super) stops: &'a Stops,
    /// Tells what the front of some bytes is, which may be the last.
    pub(super) check: C,
    /// Set when markers may begin in the current piece; else all of it is text, but for the rest of
    /// a marker that began before.
    pub(super) counts: bool,
}

/// A follower of the text between the markers.
pub(super) trait Track {
    /// Takes text that passed.
    fn pass(&mut self, bytes: &[u8]);
    /// Takes text from `from` on up to the next stop; gives its place.
    fn seek(&mut self, bytes: &[u8], from: usize, stops: &Stops) -> Option<usize>;
    /// Returns `true` when marker `which`, starting here, is only mentioned.
    fn hides(&self, which: usize) -> bool;
    /// Counts a marker that is text: code hides it, or nothing follows that it could begin.
    fn count_text(&mut self, which: usize, is_hidden: bool);
}

/// Follows nothing: every marker counts.
pub(super) struct NoTrack;

impl Track for NoTrack {
    fn pass(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn seek(&mut self, bytes: &[u8], from: usize, stops: &Stops) -> Option<usize> {
        let at = stops.find(bytes, from);
        (at < bytes.len()).then_some(at)
    }

    fn hides(&self, _which: usize) -> bool {
        false
    }

    fn count_text(&mut self, _which: usize, _is_hidden: bool) {}
}

/// Follows code spans and fences, which hide markers. No marker starts with a backtick or line end.
pub(super) struct LiteralTrack<'a, F, H> {
    pub(super) literal: &'a mut FollowedCode,
    /// Takes the number of a marker that is text, and whether code hid it.
    pub(super) on_text: F,
    /// Tells whether the code in which a marker stands hides it.
    pub(super) is_hidden: H,
}

impl<F: FnMut(usize, bool), H: Fn(usize, CodeSpans) -> bool> Track for LiteralTrack<'_, F, H> {
    fn pass(&mut self, bytes: &[u8]) {
        self.literal.pass(bytes);
    }

    #[inline]
    fn seek(&mut self, bytes: &[u8], mut from: usize, stops: &Stops) -> Option<usize> {
        let mut literal = self.literal.state();
        let found = loop {
            if literal.is_settled() {
                from += stops.turns.sieve(subslice(bytes, from..));
            }
            match bytes.get(from) {
                None => break None,
                Some(_) if stops.may_begin(bytes, from) => break Some(from),
                Some(byte) if literal.is_settled() && !matches!(byte, b'`' | b'\n') => {}
                Some(byte) => literal = literal.after(*byte),
            }
            from += 1;
        };
        self.literal.set(literal);
        found
    }

    fn hides(&self, which: usize) -> bool {
        self.literal.state().hides_next() && (self.is_hidden)(which, self.literal.state())
    }

    fn count_text(&mut self, which: usize, is_hidden: bool) {
        (self.on_text)(which, is_hidden);
    }
}

impl Scan {
    pub(super) fn new() -> Self {
        let nothing = CompactString::const_new("");
        Self { held: InlineBuf::new(), found: nothing.clone(), behind: nothing }
    }

    /// Returns `true` when nothing is held back.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns `true` when at most a few bytes are held back, which the next text settles mostly.
    #[inline]
    pub(super) fn is_almost_idle(&self) -> bool {
        self.held.len() <= TAIL_BYTES
    }

    /// Gives the few bytes that are held back, if the next text shows that no marker begins with them.
    /// Returns `false` where one still may.
    pub(super) fn settle(&mut self, text: &str, stops: &Stops, out: &mut dyn FnMut(&str)) -> bool {
        if self.held.is_empty() {
            return true;
        }
        let mut front = [0; 8];
        let held = self.held.as_bytes();
        for (place, byte) in front.iter_mut().zip(held.iter().copied().chain(text.bytes())) {
            *place = byte;
        }
        let end = (held.len() + text.len()).min(front.len());
        // A carriage return, and one behind a line end, may be framing of a marker.
        let may_be_framing = matches!(front, [b'\r', ..] | [b'\n', b'\r', ..]);
        let has_others = subslice(held, 1..).iter().any(|byte| stops.firsts.holds(*byte));
        if !self.is_almost_idle()
            || may_be_framing
            || has_others
            || stops.may_begin(subslice(&front, ..end), 0)
        {
            return false;
        }
        out(self.held.as_str());
        self.held.clear();
        true
    }

    /// Holds the end of a piece, where a marker may begin, if it is short enough to be
    /// [settled](Self::settle), and no marker. Returns `false` where it is not.
    pub(super) fn hold_tail(&mut self, tail: &str, stops: &Stops) -> bool {
        let is_short = tail.len() <= stops.most_held() && self.held.is_empty();
        if is_short {
            self.held.push_str(tail);
        }
        is_short
    }

    /// Holds the end of `text`, from one to three bytes of it, where nothing was held.
    #[inline(always)]
    pub(super) fn hold_end(&mut self, text: &str, length: usize) {
        if let Some(last) = text.as_bytes().last_chunk() {
            self.held.set_few(Few::at_end(*last, length));
        }
    }

    /// Takes the few bytes that are held, if the next text shows at one look that no marker begins with them.
    /// Does nothing and returns `None` where it does not.
    #[inline(always)]
    pub(super) fn settle_few(&mut self, text: &str, stops: &Stops) -> Option<Few> {
        let held = self.held.few()?;
        let front = held.before(*text.as_bytes().first_chunk()?);
        let has_others = held.as_bytes().iter().skip(1).any(|byte| stops.firsts.holds(*byte));
        // A line end may be framing of a marker.
        if matches!(front, [b'\r' | b'\n', ..]) || has_others || stops.may_begin(&front, 0) {
            return None;
        }
        self.held.clear();
        Some(held)
    }

    /// Takes the text that was read behind the last marker, before the current piece.
    pub(super) fn take_behind(&mut self) -> CompactString {
        mem::take(&mut self.behind)
    }

    /// Returns the last marker, as it was spelled.
    pub(super) fn found(&self) -> &str {
        &self.found
    }

    /// Goes on from `*at` to the next marker or the end of `text`; gives the text that passed to
    /// `passed`. Gives the marker's number, with `*at` behind it, or `None` at the end.
    pub(super) fn next<C: Fn(&[u8], bool) -> (Found, usize)>(
        &mut self,
        text: &str,
        at: &mut usize,
        search: &Search<'_, C>,
        track: &mut impl Track,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        if !self.held.is_empty()
            && let Some(which) = self.go_on(text, at, search, track, passed)
        {
            return Some(which);
        }
        let Search { stops, check, counts } = search;
        let bytes = text.as_bytes();
        let start = *at;
        let mut from = start;
        if !counts {
            track.pass(subslice(bytes, start..));
            from = bytes.len();
        }
        let end = loop {
            let Some(stop) = track.seek(bytes, from, stops) else { break bytes.len() };
            from = stop + 1;
            match check_front(check, slice(text, stop..)) {
                (Found::No, _) => {}
                (Found::Maybe, _) => {
                    self.held.push_str(slice(text, stop..));
                    break stop;
                }
                (Found::Mention(length), which) => {
                    track.count_text(which, false);
                    from = stop + length;
                }
                (Found::Yes(length), which) if track.hides(which) => {
                    // All of it is text: what looks like another marker in it is none.
                    track.count_text(which, true);
                    from = stop + length;
                }
                (Found::Yes(length), which) => {
                    pass(text, start, stop, passed);
                    *at = stop + length;
                    self.found.clear();
                    self.found.push_str(slice(text, stop..*at));
                    return Some(which);
                }
            }
            track.pass(subslice(bytes, stop..from));
        };
        pass(text, start, end, passed);
        *at = bytes.len();
        None
    }

    /// Reads on while a marker may have begun in an earlier piece.
    fn go_on<C: Fn(&[u8], bool) -> (Found, usize)>(
        &mut self,
        text: &str,
        at: &mut usize,
        search: &Search<'_, C>,
        track: &mut impl Track,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        while !self.held.is_empty() && *at < text.len() {
            let before = self.held.len();
            let step = STEP_BYTES.min(self.held.room());
            let step = text.floor_char_boundary((*at + step).min(text.len()));
            self.held.push_str(slice(text, *at..step));
            let is_full = step == *at;
            match (search.check)(self.held.as_bytes(), is_full) {
                (Found::Maybe, _) if !is_full => *at = step,
                (Found::Yes(length), which) if !track.hides(which) => {
                    // A marker never holds another one, so this one ends in the current piece.
                    *at += length.saturating_sub(before);
                    self.behind.push_str(slice(self.held.as_str(), length.min(before)..before));
                    self.held.truncate(length);
                    self.found.clear();
                    self.found.push_str(self.held.as_str());
                    self.held.clear();
                    return Some(which);
                }
                (found @ (Found::Yes(length) | Found::Mention(length)), which) => {
                    track.count_text(which, found == Found::Yes(length));
                    *at += length.saturating_sub(before);
                    self.held.truncate(length.max(before));
                    self.give_front(length, track, passed);
                }
                (Found::No | Found::Maybe, _) => {
                    self.held.truncate(before);
                    self.give_back(search.stops, track, passed);
                }
            }
        }
        None
    }

    /// Gives the front of the held text, which starts no marker, up to the next place that may.
    fn give_back(&mut self, stops: &Stops, track: &mut impl Track, passed: &mut impl FnMut(&str)) {
        let rest = subslice(self.held.as_bytes(), 1..);
        let end = stops.find(rest, 0) + 1;
        // The first byte may be the front of a longer character.
        self.give_front(self.held.as_str().ceil_char_boundary(end), track, passed);
    }

    /// Gives the first `end` bytes of the held text.
    fn give_front(&mut self, end: usize, track: &mut impl Track, passed: &mut impl FnMut(&str)) {
        track.pass(subslice(self.held.as_bytes(), ..end));
        passed(slice(self.held.as_str(), ..end));
        self.held.advance(end);
    }

    /// Takes what was held back: no marker will come of it.
    pub(super) fn take_held(&mut self) -> String {
        let held = self.held.as_str().to_owned();
        self.held.clear();
        held
    }

    /// Ends the text: what was held back is text, up to the next marker that is whole. Gives its
    /// number; what was held behind it can be [taken](Self::take_held).
    pub(super) fn finish<C: Fn(&[u8], bool) -> (Found, usize)>(
        &mut self,
        search: &Search<'_, C>,
        track: &mut impl Track,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        while !self.held.is_empty() {
            match (search.check)(self.held.as_bytes(), true) {
                (Found::Yes(length), which) if !track.hides(which) => {
                    self.found.clear();
                    self.found.push_str(slice(self.held.as_str(), ..length));
                    self.held.advance(length);
                    return Some(which);
                }
                (found @ (Found::Yes(length) | Found::Mention(length)), which) => {
                    track.count_text(which, found == Found::Yes(length));
                    self.give_front(length, track, passed);
                }
                (Found::No | Found::Maybe, _) => self.give_back(search.stops, track, passed),
            }
        }
        None
    }
}

/// Checks the front of `text`. As many bytes decide as are held of a text in pieces.
#[inline(always)]
fn check_front(check: &impl Fn(&[u8], bool) -> (Found, usize), text: &str) -> (Found, usize) {
    if text.len() <= CAPACITY {
        return check(text.as_bytes(), false);
    }
    let front = slice(text, ..text.floor_char_boundary(CAPACITY)).as_bytes();
    let found = check(front, false);
    if found.0 != Found::Maybe {
        return found;
    }
    match check(front, true) {
        (Found::Maybe, which) => (Found::No, which),
        found => found,
    }
}

fn pass(text: &str, from: usize, to: usize, passed: &mut impl FnMut(&str)) {
    let text = slice(text, from..to);
    if !text.is_empty() {
        passed(text);
    }
}
