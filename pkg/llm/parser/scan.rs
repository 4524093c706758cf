//! Finds markers in text that arrives in pieces.

use compact_str::CompactString;

use super::{
    find::{equal, find_first},
    held::Held,
    literal::Literal,
    marker::Found,
};

/// How many bytes of a piece are looked at in one go when a marker was cut.
const STEP_BYTES: usize = 64;

/// Finds markers in text, holding back only what may still become one.
#[derive(Debug)]
pub(super) struct Scan {
    /// The end of the last piece, when it may be the front of a marker.
    held: Held,
    /// The text of the marker found last.
    found: CompactString,
}

/// The first bytes of the markers that are looked for: one, or two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stops(u8, u8);

impl Stops {
    pub(super) const fn one(first: u8) -> Self {
        Self(first, first)
    }

    pub(super) const fn two(first: u8, second: u8) -> Self {
        Self(first, second)
    }

    #[inline]
    fn holds(self, byte: u8) -> bool {
        byte == self.0 || byte == self.1
    }

    #[inline]
    fn find(self, bytes: &[u8]) -> Option<usize> {
        let at = find_first(bytes, |word| equal(word, self.0) | equal(word, self.1));
        (at < bytes.len()).then_some(at)
    }
}

/// What follows the text between the markers.
pub(super) trait Track {
    /// Takes text that passed.
    fn pass(&mut self, bytes: &[u8]);
    /// Takes text from `from` on up to the next stop; gives its place.
    fn seek(&mut self, bytes: &[u8], from: usize, stops: Stops) -> Option<usize>;
    /// Whether marker `which`, starting here, is only mentioned.
    fn hides(&self, which: usize) -> bool;
    /// A marker was only mentioned.
    fn count_hidden(&mut self, which: usize);
}

/// Follows nothing: every marker counts.
pub(super) struct NoTrack;

impl Track for NoTrack {
    fn pass(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn seek(&mut self, bytes: &[u8], from: usize, stops: Stops) -> Option<usize> {
        stops.find(bytes.get(from..).unwrap_or_default()).map(|at| from + at)
    }

    fn hides(&self, _which: usize) -> bool {
        false
    }

    fn count_hidden(&mut self, _which: usize) {}
}

/// Follows code spans and fences, which hide markers. No marker starts with a backtick or line end.
pub(super) struct LiteralTrack<'a, F> {
    pub(super) literal: &'a mut Literal,
    /// Takes the number of a marker that was hidden.
    pub(super) on_hidden: F,
    /// Markers from this number on are never hidden: closers.
    pub(super) never_hidden_from: usize,
}

impl<F: FnMut(usize)> Track for LiteralTrack<'_, F> {
    fn pass(&mut self, bytes: &[u8]) {
        *self.literal = self.literal.after_all(bytes);
    }

    #[inline]
    fn seek(&mut self, bytes: &[u8], mut from: usize, stops: Stops) -> Option<usize> {
        let mut literal = *self.literal;
        let found = loop {
            if literal.is_settled() {
                from += find_mark(bytes.get(from..).unwrap_or_default(), stops);
            }
            match bytes.get(from) {
                None => break None,
                Some(byte) if stops.holds(*byte) => break Some(from),
                Some(byte) => literal = literal.after(*byte),
            }
            from += 1;
        };
        *self.literal = literal;
        found
    }

    fn hides(&self, which: usize) -> bool {
        which < self.never_hidden_from && self.literal.hides_next()
    }

    fn count_hidden(&mut self, which: usize) {
        (self.on_hidden)(which);
    }
}

/// The first stop, backtick or line end.
#[inline]
fn find_mark(bytes: &[u8], stops: Stops) -> usize {
    find_first(bytes, |word| {
        let stop = equal(word, stops.0) | equal(word, stops.1);
        stop | equal(word, b'`') | equal(word, b'\n')
    })
}

/// Whether `text` goes on from plain text to plain text, without a place where a marker, span or
/// fence may begin.
///
/// Line ends matter only near the end, where what the line begins with is still to come: four bytes
/// on, a line that holds none of the marks has begun as plain text.
#[inline(always)]
pub(super) fn is_plain(text: &str) -> bool {
    const LINE_HEAD: usize = 4;
    let bytes = text.as_bytes();
    let marks = |word| equal(word, b'<') | equal(word, b'`') | equal(word, b'~');
    find_first(bytes, marks) == bytes.len()
        && !bytes.iter().rev().take(LINE_HEAD).any(|byte| *byte == b'\n')
}

impl Scan {
    pub(super) fn new() -> Self {
        Self { held: Held::new(), found: CompactString::const_new("") }
    }

    /// Whether nothing is held back.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// The marker found last, as it was spelled.
    pub(super) fn found(&self) -> &str {
        &self.found
    }

    /// Goes on from `*at` to the next marker or the end of `text`; gives the text that passed to
    /// `passed`. Gives the marker's number, with `*at` behind it, or `None` at the end.
    ///
    /// `check` tells what the front of some bytes is.
    pub(super) fn next(
        &mut self,
        text: &str,
        at: &mut usize,
        stops: Stops,
        check: &impl Fn(&[u8]) -> (Found, usize),
        track: &mut impl Track,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        if !self.held.is_empty()
            && let Some(which) = self.go_on(text, at, stops, check, track, passed)
        {
            return Some(which);
        }
        let bytes = text.as_bytes();
        let start = *at;
        let mut from = start;
        let end = loop {
            let Some(stop) = track.seek(bytes, from, stops) else { break bytes.len() };
            from = stop + 1;
            match check(bytes.get(stop..).unwrap_or_default()) {
                (Found::No, _) => {}
                (Found::Maybe, _) => {
                    self.held.push_str(text.get(stop..).unwrap_or_default());
                    break stop;
                }
                (Found::Yes(_), which) if track.hides(which) => track.count_hidden(which),
                (Found::Yes(length), which) => {
                    pass(text, start, stop, passed);
                    *at = stop + length;
                    self.found.clear();
                    self.found.push_str(text.get(stop..*at).unwrap_or_default());
                    return Some(which);
                }
            }
            track.pass(bytes.get(stop..from).unwrap_or_default());
        };
        pass(text, start, end, passed);
        *at = bytes.len();
        None
    }

    /// A marker may have begun in an earlier piece: reads on until that is settled.
    fn go_on(
        &mut self,
        text: &str,
        at: &mut usize,
        stops: Stops,
        check: &impl Fn(&[u8]) -> (Found, usize),
        track: &mut impl Track,
        passed: &mut impl FnMut(&str),
    ) -> Option<usize> {
        while !self.held.is_empty() && *at < text.len() {
            let before = self.held.len();
            let step = STEP_BYTES.min(self.held.room());
            let step = text.floor_char_boundary((*at + step).min(text.len()));
            self.held.push_str(text.get(*at..step).unwrap_or_default());
            match check(self.held.as_bytes()) {
                (Found::Maybe, _) => *at = step,
                (Found::Yes(length), which) if !track.hides(which) => {
                    // No marker holds another one, so this one ends in the piece at hand.
                    *at += length.saturating_sub(before);
                    self.held.truncate(length);
                    self.found.clear();
                    self.found.push_str(self.held.as_str());
                    self.held.clear();
                    return Some(which);
                }
                (settled, which) => {
                    if settled != Found::No {
                        track.count_hidden(which);
                    }
                    self.held.truncate(before);
                    self.give_back(stops, track, passed);
                }
            }
        }
        None
    }

    /// The front of what is held starts no marker: it is text, up to the next place that may.
    fn give_back(&mut self, stops: Stops, track: &mut impl Track, passed: &mut impl FnMut(&str)) {
        let rest = self.held.as_bytes().get(1..).unwrap_or_default();
        let end = stops.find(rest).map_or(self.held.len(), |stop| stop + 1);
        // The first byte may be the front of a longer character.
        let end = self.held.as_str().ceil_char_boundary(end);
        track.pass(self.held.as_bytes().get(..end).unwrap_or_default());
        passed(self.held.as_str().get(..end).unwrap_or_default());
        self.held.advance(end);
    }

    /// Takes what was held back: no marker will come of it.
    pub(super) fn take_held(&mut self) -> String {
        let held = self.held.as_str().to_owned();
        self.held.clear();
        held
    }

    /// Ends the text: what was held back is text.
    pub(super) fn finish(&mut self, track: &mut impl Track, passed: &mut impl FnMut(&str)) {
        if !self.held.is_empty() {
            track.pass(self.held.as_bytes());
            passed(self.held.as_str());
            self.held.clear();
        }
    }
}

fn pass(text: &str, from: usize, to: usize, passed: &mut impl FnMut(&str)) {
    let text = text.get(from..to).unwrap_or_default();
    if !text.is_empty() {
        passed(text);
    }
}
