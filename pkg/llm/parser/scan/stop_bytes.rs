//! The bytes with which markers may begin, and the text in which none does.

use crate::{
    bytes::byteset::ByteSet,
    marker::MarkerSet,
    scan::{followed_code::FollowedCode, front_sieve::FrontSieve, marker_prefixes::MarkerPrefixes},
};
use forgeline_json::{BLOCK, Block, ByteKind, Finder, Halves, Sieve, WIDE, last_block, subslice};

/// The maximum number of bytes at the end of a piece that wait for the next piece without being read.
pub(crate) const TAIL_BYTES: usize = 3;

const LINE_ENDS: Finder<1> = Finder::new([ByteKind::of(b'\n')]);

/// The bytes with which markers may begin, and a fast search for them.
#[derive(Debug, Clone)]
pub(crate) struct StopBytes {
    /// The first bytes of the markers.
    pub(crate) firsts: ByteSet,
    /// The second bytes of the markers.
    seconds: ByteSet,
    /// The first bytes, and those that begin code: plain text contains none of them.
    marks: ByteSet,
    /// The first bytes, and line ends: they may change the context of plain text.
    pub(crate) turns: ByteSet,
    /// The beginnings of all markers.
    pub(crate) fronts: MarkerPrefixes,
    /// A check of a block for the same; `None` if the markers differ too much.
    in_block: Option<FrontSieve>,
    /// A check of longer text for the marks; `None` if a search for one byte, then for others, is cheaper.
    sieve: Option<Sieve>,
    /// `true` if a line end may precede a marker, with a carriage return of its own.
    has_line_ends: bool,
}

impl StopBytes {
    /// Collects the first bytes of all of `sets`.
    pub(crate) fn new<'a>(sets: impl IntoIterator<Item = &'a MarkerSet> + Clone) -> Self {
        let firsts = ByteSet::new(sets.clone().into_iter().flat_map(|set| set.firsts().iter()));
        let seconds = ByteSet::new(sets.clone().into_iter().flat_map(MarkerSet::seconds));
        let marks = firsts.with(*b"`~");
        Self {
            sieve: if firsts.is_of_one_kind() { None } else { marks.wide_sieve() },
            marks,
            turns: firsts.with(*b"`\n"),
            firsts,
            seconds,
            in_block: FrontSieve::new(sets.clone().into_iter().flat_map(MarkerSet::texts)),
            fronts: MarkerPrefixes::new(sets),
            has_line_ends: false,
        }
    }

    /// Returns these stops with line ends that may precede each of them.
    #[must_use]
    pub(crate) fn behind_line_ends(&self) -> Self {
        let firsts = self.firsts.with(*b"\n");
        let seconds = ByteSet::new(self.seconds.iter().chain(firsts.iter())).with(*b"\r");
        Self {
            sieve: None,
            marks: firsts.with(*b"`~"),
            turns: firsts.with(*b"`\n"),
            firsts,
            seconds,
            in_block: self.in_block.clone(),
            fronts: self.fronts.clone(),
            has_line_ends: true,
        }
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
        let mut at = from;
        loop {
            at += self.firsts.sieve(subslice(bytes, at..));
            if at >= bytes.len() || self.may_begin(bytes, at) {
                return if self.has_line_ends { line_end(bytes, from, at) } else { at };
            }
            at += 1;
        }
    }

    /// Returns `true` if a quick check shows that no marker, span or fence begins in `text`, at most one
    /// block.
    #[inline(always)]
    pub(crate) fn and_code_are_far(&self, text: &str) -> bool {
        self.marks.are_absent_in_few(text.as_bytes())
    }

    /// Returns the same for longer text.
    #[inline(always)]
    pub(crate) fn and_code_are_far_in_long(&self, text: &str) -> bool {
        self.marks.are_absent(text.as_bytes())
    }

    /// Returns `true` if a quick check shows that no marker begins in `text`, at most one block.
    #[inline(always)]
    pub(crate) fn are_far(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        self.firsts.are_absent_in_few(bytes) && !self.may_end_in_framing(bytes)
    }

    /// Returns the same for longer text.
    #[inline(always)]
    pub(crate) fn are_far_in_long(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        self.firsts.are_absent(bytes) && !self.may_end_in_framing(bytes)
    }

    /// Returns `true` for a carriage return at the end that may belong to the line end before a marker.
    #[inline(always)]
    fn may_end_in_framing(&self, bytes: &[u8]) -> bool {
        self.has_line_ends && bytes.ends_with(b"\r")
    }

    /// Returns `true` if no marker begins in `text`.
    pub(crate) fn are_absent(&self, text: &str) -> bool {
        let is_far =
            if text.len() > BLOCK { self.are_far_in_long(text) } else { self.are_far(text) };
        is_far || self.find(text.as_bytes(), 0) == text.len()
    }

    /// Returns `true` if one check shows that no marker begins in `text`, which is one block; `code` is then
    /// advanced past it. Calls no other functions.
    #[inline(always)]
    pub(crate) fn are_far_in_block(&self, text: &str, code: &mut FollowedCode) -> bool {
        let Ok(block) = text.as_bytes().try_into() else { return false };
        self.firsts.are_absent_in_block(block)
            && !self.may_end_in_framing(&block)
            && code.pass_at_once(block, 0, BLOCK)
    }

    /// Returns the length of the beginning of `text`, which is one block, in which no marker begins, if the
    /// rest is short enough to be held; `code` is then advanced past it.
    #[inline(always)]
    pub(crate) fn front_of_block(&self, text: &str, code: &mut FollowedCode) -> Option<usize> {
        let block = text.as_bytes().try_into().ok()?;
        let end = self.end_in_block(block)?;
        code.pass_at_once(block, 0, end).then_some(end)
    }

    /// Returns the position of the first possible marker in `block`, or else its length; `None` if more
    /// than a few bytes follow it.
    #[inline(always)]
    pub(crate) fn end_in_block(&self, block: [u8; BLOCK]) -> Option<usize> {
        let found = self.firsts.in_block(block);
        if found == 0 && !self.may_end_in_framing(&block) {
            return Some(BLOCK);
        }
        let markers = self.markers_among(found, (block, 0, BLOCK));
        let end = self.first_marker((&block, 0), markers.into()).unwrap_or(BLOCK);
        let end = if self.has_line_ends { line_end(&block, 0, end) } else { end };
        (BLOCK - end <= self.most_held()).then_some(end)
    }

    /// Returns the maximum number of bytes at the end of a piece that wait for the next piece without being read.
    pub(crate) fn most_held(&self) -> usize {
        if self.fronts.has_short() { 1 } else { TAIL_BYTES }
    }

    /// Returns those of `firsts`, one bit for each byte of the block, at which a marker may begin.
    #[inline(always)]
    fn markers_among(&self, firsts: u32, block: Block) -> u32 {
        match &self.in_block {
            Some(sieve) if self.has_line_ends => {
                let (bytes, before, _) = block;
                sieve.narrow(firsts, block) | firsts & LINE_ENDS.found(bytes) >> before
            }
            Some(sieve) => sieve.narrow(firsts, block),
            None => firsts,
        }
    }

    /// Returns `true` if one check for all of them shows that no marker, span or fence begins in
    /// `text`.
    #[inline(always)]
    pub(crate) fn and_code_are_far_in_halves(&self, text: Halves<'_>) -> bool {
        self.sieve.as_ref().is_some_and(|sieve| sieve.are_absent(text))
    }

    /// Returns `true` if a quick check shows that no marker begins in `text`.
    #[inline(always)]
    pub(crate) fn are_far_in_halves(&self, text: Halves<'_>) -> bool {
        self.firsts.are_absent_in_halves(text)
    }

    /// Returns the length of the beginning of `text` in which no marker begins. If that is all of it, `code`
    /// is advanced past it.
    #[inline(always)]
    pub(crate) fn plain_front(&self, text: &str, code: &mut FollowedCode) -> usize {
        let bytes = text.as_bytes();
        // A loop would first load everything it searches for.
        let Ok(block) = bytes.try_into() else { return self.plain_blocks(bytes, code) };
        let block = (block, 0, BLOCK);
        self.marker_in_block((bytes, 0), block).unwrap_or_else(|| {
            code.pass_block((bytes, 0), block);
            BLOCK
        })
    }

    #[inline(never)]
    fn plain_blocks(&self, bytes: &[u8], code: &mut FollowedCode) -> usize {
        let (mut at, mut behind) = (0, *code);
        let (wide, rest) = bytes.as_chunks();
        for wide in wide {
            if let Some(place) = self.first_marker((bytes, at), self.firsts.in_wide(wide)) {
                return place;
            }
            behind.pass_wide(wide);
            at += WIDE;
        }
        let (blocks, tail) = rest.as_chunks();
        for block in blocks {
            let block = (*block, 0, BLOCK);
            if let Some(place) = self.marker_in_block((bytes, at), block) {
                return place;
            }
            behind.pass_block((bytes, at), block);
            at += BLOCK;
        }
        if !tail.is_empty() {
            let block = last_block(bytes, tail);
            if let Some(place) = self.marker_in_block((bytes, at), block) {
                return place;
            }
            behind.pass_block((bytes, at), block);
        }
        *code = behind;
        bytes.len()
    }

    /// Returns the position at which a marker may begin in the block of `bytes` at `at`.
    #[inline(always)]
    fn marker_in_block(
        &self,
        (bytes, at): (&[u8], usize),
        (block, before, length): Block,
    ) -> Option<usize> {
        let firsts = self.firsts.in_block(block) >> before & !(u32::MAX << length);
        if firsts == 0 {
            return None;
        }
        let markers = self.markers_among(firsts, (block, before, length));
        self.first_marker((bytes, at), markers.into())
    }

    /// Returns the first position, from `at` on, at which a marker may begin, among those with a bit in `firsts`.
    #[inline(always)]
    fn first_marker(&self, (bytes, at): (&[u8], usize), mut firsts: u64) -> Option<usize> {
        while firsts != 0 {
            let place = at + firsts.trailing_zeros() as usize;
            if self.may_begin(bytes, place) {
                return Some(place);
            }
            firsts &= firsts - 1;
        }
        None
    }
}

/// Returns the position of the carriage return before the line end, or the end, at `at`.
#[inline(always)]
fn line_end(bytes: &[u8], from: usize, at: usize) -> usize {
    let has_return = at > from && bytes.get(at - 1) == Some(&b'\r');
    let is_end = bytes.get(at).is_none_or(|byte| *byte == b'\n');
    at - usize::from(has_return && is_end)
}
