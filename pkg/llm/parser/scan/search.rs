//! The search for markers in text that arrives in pieces.

use std::mem;

use compact_str::CompactString;

use crate::{
    ahead::found::MarkerMatch,
    scan::{
        code_spans::CodeSpans,
        stop_bytes::{StopBytes, TAIL_BYTES},
    },
};
use forgeline_json::{slice, subslice};

/// The maximum length of a marker with its attributes, and of the text checked after it.
const MAX_HELD_BYTES: usize = 384;

/// The maximum number of bytes of a piece that are examined at once if a marker was split.
const STEP_BYTES: usize = 64;

/// A search for markers in text that holds back only what may still become one.
#[derive(Debug)]
pub(crate) struct MarkerScan {
    /// The end of the last piece, if it may be the beginning of a marker; at most [`MAX_HELD_BYTES`].
    held: CompactString,
    /// The text of the marker found last.
    found: CompactString,
    /// The text that was read after the marker to recognize it, and that is in no later piece.
    behind: CompactString,
}

/// The markers that are searched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkerSearch<'a, C> {
    pub(crate) stops: &'a StopBytes,
    /// Compares the beginning of some bytes with the markers; `true` if the bytes are the last.
    pub(crate) check: C,
    /// `true` if markers may begin in the current piece; otherwise all of it is text, apart from the rest of
    /// a marker that began before.
    pub(crate) counts: bool,
}

/// A tracker of the text between the markers.
pub(crate) trait TextTrack {
    /// Processes text that passed.
    fn pass(&mut self, bytes: &[u8]);
    /// Returns `true` if marker `which`, starting here, is only mentioned.
    fn hides(&self, which: usize) -> bool;
    /// Counts a marker that is text because code hides it, or because nothing follows that it could begin.
    fn count_text(&mut self, which: usize, is_hidden: bool);
}

/// A tracker that tracks nothing: every marker counts.
pub(crate) struct NoTrack;

impl TextTrack for NoTrack {
    fn pass(&mut self, _bytes: &[u8]) {}

    fn hides(&self, _which: usize) -> bool {
        false
    }

    fn count_text(&mut self, _which: usize, _is_hidden: bool) {}
}

/// A tracker of code spans and fences, which hide markers. No marker starts with a backtick or line end.
pub(crate) struct CodeTrack<'a, F, H> {
    pub(crate) code: &'a mut CodeSpans,
    /// Receives the number of a marker that is text, and whether code hid it.
    pub(crate) on_text: F,
    /// Returns `true` if the code that contains a marker hides it.
    pub(crate) is_hidden: H,
}

impl<F: FnMut(usize, bool), H: Fn(usize, CodeSpans) -> bool> TextTrack for CodeTrack<'_, F, H> {
    fn pass(&mut self, bytes: &[u8]) {
        self.code.pass(bytes);
    }

    fn hides(&self, which: usize) -> bool {
        self.code.hides_next() && (self.is_hidden)(which, *self.code)
    }

    fn count_text(&mut self, which: usize, is_hidden: bool) {
        (self.on_text)(which, is_hidden);
    }
}

impl MarkerScan {
    pub(crate) fn new() -> Self {
        let nothing = CompactString::const_new("");
        Self { held: nothing.clone(), found: nothing.clone(), behind: nothing }
    }

    /// Returns `true` if nothing is held back.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns `true` if at most a few bytes are held back, which the next text usually decides.
    #[inline]
    pub(crate) fn is_almost_idle(&self) -> bool {
        self.held.len() <= TAIL_BYTES
    }

    /// Passes text in which no marker begins, apart from the last few bytes, which are then held, after the
    /// text held before. Returns `false` if there is more to examine; the text must then be read.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        text: &str,
        stops: &StopBytes,
        out: &mut impl FnMut(&str),
    ) -> bool {
        if text.is_empty() || !self.held.is_empty() && !self.settle(text, stops, out) {
            return false;
        }
        let end = stops.find(text.as_bytes(), 0);
        if end == text.len() {
            out(text);
            return true;
        }
        let is_short = text.len() - end <= stops.most_held();
        if is_short {
            self.held.push_str(slice(text, end..));
            if end > 0 {
                out(slice(text, ..end));
            }
        }
        is_short
    }

    /// Emits the few bytes that are held back if the next text shows that no marker begins with them.
    /// Returns `false` if one still may.
    fn settle(&mut self, text: &str, stops: &StopBytes, out: &mut impl FnMut(&str)) -> bool {
        let mut front = [0; 8];
        let held = self.held.as_bytes();
        for (place, byte) in front.iter_mut().zip(held.iter().copied().chain(text.bytes())) {
            *place = byte;
        }
        let end = (held.len() + text.len()).min(front.len());
        // A carriage return, also after a line end, may be framing of a marker.
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

    /// Takes the text that was read after the last marker, before the current piece.
    pub(crate) fn take_behind(&mut self) -> CompactString {
        mem::take(&mut self.behind)
    }

    /// Returns the last marker, as spelled.
    pub(crate) fn found(&self) -> &str {
        &self.found
    }

    /// Continues from `*at` to the next marker or the end of `text`; passes the text before it to
    /// `passed`. Returns the marker's number, with `*at` after it, or `None` at the end.
    pub(crate) fn next<C: Fn(&[u8], bool) -> (MarkerMatch, usize)>(
        &mut self,
        text: &str,
        at: &mut usize,
        search: &MarkerSearch<'_, C>,
        track: &mut impl TextTrack,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        if !self.held.is_empty()
            && let Some(which) = self.go_on(text, at, search, track, passed)
        {
            return Some(which);
        }
        let MarkerSearch { stops, check, counts } = search;
        let bytes = text.as_bytes();
        let start = *at;
        let mut from = start;
        if !counts {
            track.pass(subslice(bytes, start..));
            from = bytes.len();
        }
        let end = loop {
            let stop = stops.find(bytes, from);
            track.pass(subslice(bytes, from..stop));
            if stop >= bytes.len() {
                break stop;
            }
            from = stop + 1;
            match check_front(check, slice(text, stop..)) {
                (MarkerMatch::No, _) => {}
                (MarkerMatch::Maybe, _) => {
                    self.held.push_str(slice(text, stop..));
                    break stop;
                }
                (MarkerMatch::Mention(length), which) => {
                    track.count_text(which, false);
                    from = stop + length;
                }
                (MarkerMatch::Yes(length), which) if track.hides(which) => {
                    // All of it is text: anything in it that looks like another marker is not one.
                    track.count_text(which, true);
                    from = stop + length;
                }
                (MarkerMatch::Yes(length), which) => {
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

    /// Continues while a marker may have begun in an earlier piece.
    fn go_on<C: Fn(&[u8], bool) -> (MarkerMatch, usize)>(
        &mut self,
        text: &str,
        at: &mut usize,
        search: &MarkerSearch<'_, C>,
        track: &mut impl TextTrack,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        while !self.held.is_empty() && *at < text.len() {
            let before = self.held.len();
            let step = STEP_BYTES.min(MAX_HELD_BYTES.saturating_sub(before));
            let step = text.floor_char_boundary((*at + step).min(text.len()));
            self.held.push_str(slice(text, *at..step));
            let is_full = step == *at;
            match (search.check)(self.held.as_bytes(), is_full) {
                (MarkerMatch::Maybe, _) if !is_full => *at = step,
                (MarkerMatch::Yes(length), which) if !track.hides(which) => {
                    // A marker never contains another one, so this one ends in the current piece.
                    *at += length.saturating_sub(before);
                    self.behind.push_str(slice(self.held.as_str(), length.min(before)..before));
                    self.held.truncate(self.held.floor_char_boundary(length));
                    self.found.clear();
                    self.found.push_str(self.held.as_str());
                    self.held.clear();
                    return Some(which);
                }
                (found @ (MarkerMatch::Yes(length) | MarkerMatch::Mention(length)), which) => {
                    track.count_text(which, found == MarkerMatch::Yes(length));
                    *at += length.saturating_sub(before);
                    self.held.truncate(self.held.floor_char_boundary(length.max(before)));
                    self.give_front(length, track, passed);
                }
                (MarkerMatch::No | MarkerMatch::Maybe, _) => {
                    self.held.truncate(before);
                    self.give_back(search.stops, track, passed);
                }
            }
        }
        None
    }

    /// Emits the beginning of the held text, up to the next place where a marker may start.
    fn give_back(
        &mut self,
        stops: &StopBytes,
        track: &mut impl TextTrack,
        passed: &mut impl FnMut(&str),
    ) {
        let rest = subslice(self.held.as_bytes(), 1..);
        let end = stops.find(rest, 0) + 1;
        // The first byte may be the beginning of a longer character.
        self.give_front(self.held.as_str().ceil_char_boundary(end), track, passed);
    }

    /// Emits the first `end` bytes of the held text.
    fn give_front(
        &mut self,
        end: usize,
        track: &mut impl TextTrack,
        passed: &mut impl FnMut(&str),
    ) {
        track.pass(subslice(self.held.as_bytes(), ..end));
        passed(slice(self.held.as_str(), ..end));
        self.drop_front(end);
    }

    /// Drops the first `end` bytes of the held text.
    fn drop_front(&mut self, end: usize) {
        if self.held.is_char_boundary(end) {
            self.held.drain(..end);
        } else {
            self.held.clear();
        }
    }

    /// Takes the text that was held back, which will not become a marker.
    pub(crate) fn take_held(&mut self) -> String {
        let held = self.held.as_str().to_owned();
        self.held.clear();
        held
    }

    /// Ends the text: held text is emitted up to the next complete marker. Returns the marker's
    /// number; the text held after it can be [taken](Self::take_held).
    pub(crate) fn finish<C: Fn(&[u8], bool) -> (MarkerMatch, usize)>(
        &mut self,
        search: &MarkerSearch<'_, C>,
        track: &mut impl TextTrack,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        while !self.held.is_empty() {
            match (search.check)(self.held.as_bytes(), true) {
                (MarkerMatch::Yes(length), which) if !track.hides(which) => {
                    self.found.clear();
                    self.found.push_str(slice(self.held.as_str(), ..length));
                    self.drop_front(length);
                    return Some(which);
                }
                (found @ (MarkerMatch::Yes(length) | MarkerMatch::Mention(length)), which) => {
                    track.count_text(which, found == MarkerMatch::Yes(length));
                    self.give_front(length, track, passed);
                }
                (MarkerMatch::No | MarkerMatch::Maybe, _) => {
                    self.give_back(search.stops, track, passed);
                }
            }
        }
        None
    }
}

/// Checks the beginning of `text`, using as many bytes as could be held of a text in pieces.
#[inline(always)]
fn check_front(
    check: &impl Fn(&[u8], bool) -> (MarkerMatch, usize),
    text: &str,
) -> (MarkerMatch, usize) {
    if text.len() <= MAX_HELD_BYTES {
        return check(text.as_bytes(), false);
    }
    let front = slice(text, ..text.floor_char_boundary(MAX_HELD_BYTES)).as_bytes();
    let found = check(front, false);
    if found.0 != MarkerMatch::Maybe {
        return found;
    }
    match check(front, true) {
        (MarkerMatch::Maybe, which) => (MarkerMatch::No, which),
        found => found,
    }
}

fn pass(text: &str, from: usize, to: usize, passed: &mut impl FnMut(&str)) {
    let text = slice(text, from..to);
    if !text.is_empty() {
        passed(text);
    }
}
