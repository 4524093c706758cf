//! Finds markers in text that arrives in pieces.

use compact_str::CompactString;

use super::{literal::Literal, marker::Found};

/// How many bytes of a piece are looked at in one go when a marker was cut.
const STEP_BYTES: usize = 64;

/// Finds markers in text, holding back only what may still become one.
#[derive(Debug)]
pub(super) struct Scan {
    /// The end of the last piece, when it may be the front of a marker; bounded by the longest
    /// marker with its attributes.
    held: CompactString,
    /// The text of the marker found last.
    found: CompactString,
}

/// The first bytes of the markers that are looked for: at most two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stops {
    first: u8,
    second: Option<u8>,
}

impl Stops {
    pub(super) const fn one(first: u8) -> Self {
        Self { first, second: None }
    }

    pub(super) const fn two(first: u8, second: u8) -> Self {
        Self { first, second: Some(second) }
    }

    fn find(self, bytes: &[u8]) -> Option<usize> {
        match self.second {
            None => memchr::memchr(self.first, bytes),
            Some(second) => memchr::memchr2(self.first, second, bytes),
        }
    }
}

/// What follows the text between the markers.
pub(super) trait Track {
    /// Takes text that passed.
    fn pass(&mut self, bytes: &[u8]);
    /// Whether the next byte may start a marker.
    fn admits(&self, byte: u8) -> bool;
    /// Whether marker `which`, starting here, is only mentioned.
    fn hides(&self, which: usize) -> bool;
    /// A marker was only mentioned.
    fn count_hidden(&mut self, which: usize);
}

/// Follows nothing: every marker counts.
pub(super) struct NoTrack;

impl Track for NoTrack {
    fn pass(&mut self, _bytes: &[u8]) {}

    fn admits(&self, _byte: u8) -> bool {
        true
    }

    fn hides(&self, _which: usize) -> bool {
        false
    }

    fn count_hidden(&mut self, _which: usize) {}
}

/// Follows code spans and fences, which hide markers.
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

    fn admits(&self, byte: u8) -> bool {
        byte != b'`' && byte != b'\n'
    }

    fn hides(&self, which: usize) -> bool {
        which < self.never_hidden_from && self.literal.hides_next()
    }

    fn count_hidden(&mut self, which: usize) {
        (self.on_hidden)(which);
    }
}

impl Scan {
    pub(super) fn new() -> Self {
        Self { held: CompactString::const_new(""), found: CompactString::const_new("") }
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
        // `text[start..tracked]` has been seen by `track`.
        let (mut tracked, mut from) = (start, start);
        let end = loop {
            let rest = bytes.get(from..).unwrap_or_default();
            let Some(stop) = stops.find(rest).map(|stop| from + stop) else { break bytes.len() };
            let front = bytes.get(stop..).unwrap_or_default();
            from = stop + 1;
            if !front.first().is_some_and(|byte| track.admits(*byte)) {
                continue;
            }
            match check(front) {
                (Found::No, _) => {}
                (Found::Maybe, _) => {
                    self.held.push_str(text.get(stop..).unwrap_or_default());
                    break stop;
                }
                (Found::Yes(length), which) => {
                    track.pass(bytes.get(tracked..stop).unwrap_or_default());
                    tracked = stop;
                    if track.hides(which) {
                        track.count_hidden(which);
                        continue;
                    }
                    pass(text, start, stop, passed);
                    *at = stop + length;
                    self.found.clear();
                    self.found.push_str(text.get(stop..*at).unwrap_or_default());
                    return Some(which);
                }
            }
        };
        track.pass(bytes.get(tracked..end).unwrap_or_default());
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
            let step = text.floor_char_boundary((*at + STEP_BYTES).min(text.len()));
            self.held.push_str(text.get(*at..step).unwrap_or_default());
            match check(self.held.as_bytes()) {
                (Found::Maybe, _) => *at = step,
                (Found::Yes(length), which) if !track.hides(which) => {
                    // No marker holds another one, so this one ends in the piece at hand.
                    *at += length.saturating_sub(before);
                    self.held.truncate(length);
                    std::mem::swap(&mut self.held, &mut self.found);
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
        let mut end = 1;
        let end = loop {
            let rest = self.held.as_bytes().get(end..).unwrap_or_default();
            match stops.find(rest) {
                Some(stop) if track.admits(rest.get(stop).copied().unwrap_or_default()) => {
                    break end + stop;
                }
                Some(stop) => end += stop + 1,
                None => break self.held.len(),
            }
        };
        // The first byte may be the front of a longer character.
        let end = self.held.ceil_char_boundary(end);
        track.pass(self.held.as_bytes().get(..end).unwrap_or_default());
        passed(self.held.get(..end).unwrap_or_default());
        let rest = self.held.split_off(end);
        self.held = rest;
    }

    /// Takes what was held back: no marker will come of it.
    pub(super) fn take_held(&mut self) -> CompactString {
        std::mem::take(&mut self.held)
    }

    /// Ends the text: what was held back is text.
    pub(super) fn finish(&mut self, track: &mut impl Track, passed: &mut impl FnMut(&str)) {
        if !self.held.is_empty() {
            track.pass(self.held.as_bytes());
            passed(&self.held);
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
