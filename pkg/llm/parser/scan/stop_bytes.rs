//! The bytes with which markers may begin, and the text in which none does.

use crate::{bytes::byteset::ByteSet, marker::MarkerSet, scan::marker_prefixes::MarkerPrefixes};
use forgeline_json::subslice;

/// The maximum number of bytes at the end of a piece that wait for the next piece without being read.
pub(crate) const TAIL_BYTES: usize = 3;

/// The bytes with which markers may begin, and a fast search for them.
#[derive(Debug, Clone)]
pub(crate) struct StopBytes {
    /// The first bytes of the markers.
    pub(crate) firsts: ByteSet,
    /// The second bytes of the markers.
    seconds: ByteSet,
    /// The beginnings of all markers.
    pub(crate) fronts: MarkerPrefixes,
    /// `true` if a line end may precede a marker, with a carriage return of its own.
    has_line_ends: bool,
}

impl StopBytes {
    /// Collects the first bytes of all of `sets`.
    pub(crate) fn new<'a>(sets: impl IntoIterator<Item = &'a MarkerSet> + Clone) -> Self {
        let firsts = ByteSet::new(sets.clone().into_iter().flat_map(|set| set.firsts().iter()));
        let seconds = ByteSet::new(sets.clone().into_iter().flat_map(MarkerSet::seconds));
        Self { firsts, seconds, fronts: MarkerPrefixes::new(sets), has_line_ends: false }
    }

    /// Returns these stops with line ends that may precede each of them.
    #[must_use]
    pub(crate) fn behind_line_ends(&self) -> Self {
        let firsts = self.firsts.with(*b"\n");
        let seconds = ByteSet::new(self.seconds.iter().chain(firsts.iter())).with(*b"\r");
        Self { firsts, seconds, fronts: self.fronts.clone(), has_line_ends: true }
    }

    /// Returns `true` if a marker may begin with the byte at `at`, judging by that byte and the three
    /// after it.
    #[inline(always)]
    pub(crate) fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at).is_some_and(|first| self.firsts.holds(*first))
            && bytes.get(at + 1).is_none_or(|second| {
                self.seconds.holds(*second) && self.may_go_on(subslice(bytes, at..))
            })
    }

    #[inline(never)]
    fn may_go_on(&self, text: &[u8]) -> bool {
        let is_behind_line_end = match text {
            [b'\n', b'\n', ..] | [b'\n', b'\r', b'\n', ..] | [b'\n', _] => true,
            [b'\n', rest @ ..] => self.fronts.may_begin(rest),
            _ => false,
        };
        self.has_line_ends && is_behind_line_end || self.fronts.may_begin(text)
    }

    /// Returns the position of the first byte that may begin a marker, or else the length.
    #[inline(always)]
    pub(crate) fn find(&self, bytes: &[u8], from: usize) -> usize {
        let at = from + self.firsts.sieve(subslice(bytes, from..));
        if at == bytes.len() && !self.has_line_ends {
            at
        } else {
            self.find_behind(bytes, from, at)
        }
    }

    /// Returns the same if no marker begins before `at`.
    #[inline(never)]
    fn find_behind(&self, bytes: &[u8], from: usize, mut at: usize) -> usize {
        while at < bytes.len() && !self.may_begin(bytes, at) {
            at += 1;
            at += self.firsts.sieve(subslice(bytes, at..));
        }
        if self.has_line_ends { line_end(bytes, from, at) } else { at }
    }

    /// Returns `true` if no marker begins in `text`.
    pub(crate) fn are_absent(&self, text: &str) -> bool {
        self.find(text.as_bytes(), 0) == text.len()
    }

    /// Returns the maximum number of bytes at the end of a piece that wait for the next piece without being read.
    pub(crate) fn most_held(&self) -> usize {
        if self.fronts.has_short() { 1 } else { TAIL_BYTES }
    }
}

/// Returns the position of the carriage return before the line end, or the end, at `at`.
#[inline(always)]
fn line_end(bytes: &[u8], from: usize, at: usize) -> usize {
    let has_return = at > from && bytes.get(at - 1) == Some(&b'\r');
    let is_end = bytes.get(at).is_none_or(|byte| *byte == b'\n');
    at - usize::from(has_return && is_end)
}
