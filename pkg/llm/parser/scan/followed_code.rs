//! Code spans and fences, tracked sixteen bytes at a time.

use crate::scan::code_spans::CodeSpans;
use forgeline_json::{BLOCK, Block, ByteKind, Finder, Halves, WIDE, subslice};

/// The state after some message text: the same as a [`CodeSpans`], with the frequent states as a few
/// bits, so that a block of text changes them without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FollowedCode {
    bits: u8,
    /// The fence, or a state that the bits cannot express; otherwise plain text.
    rest: CodeSpans,
}

/// At the start of a line after n spaces, as one bit each.
const STARTS: u8 = 0b1111;
/// In a span opened by one backtick.
const SPAN: u8 = 1 << 4;
/// After one backtick that opened or closed such a span.
const TICK: u8 = 1 << 5;
/// In the lines of an unquoted fence.
const FENCE: u8 = 1 << 6;
/// Anything else.
const OTHER: u8 = 1 << 7;

/// The last byte of a wide block.
const LAST: u64 = 1 << (WIDE - 1);

impl FollowedCode {
    /// The state before the first byte of a section, which is the start of a line.
    pub(crate) const START: Self = Self { bits: 1, rest: CodeSpans::Plain };

    /// Returns the state.
    pub(crate) fn state(self) -> CodeSpans {
        let starts = self.bits & STARTS;
        match self.bits & !STARTS {
            0 if starts == 0 => CodeSpans::Plain,
            0 => CodeSpans::LineStart(spaces_of(starts)),
            SPAN => CodeSpans::Span(1),
            TICK => CodeSpans::SpanTicks { open: 1, count: 1 },
            _ if self.bits == SPAN | TICK => CodeSpans::Ticks { count: 1, starts: None },
            _ if starts > 0 => self.rest.at_line_of_fence(spaces_of(starts)),
            _ => self.rest,
        }
    }

    /// Sets the state.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other states are the same here")]
    pub(crate) fn set(&mut self, state: CodeSpans) {
        let plain = CodeSpans::Plain;
        let (bits, rest) = match state {
            CodeSpans::Plain => (0, plain),
            CodeSpans::LineStart(spaces) => (1 << spaces, plain),
            CodeSpans::Span(1) => (SPAN, plain),
            CodeSpans::Ticks { count: 1, starts: None } => (SPAN | TICK, plain),
            CodeSpans::SpanTicks { open: 1, count: 1 } => (TICK, plain),
            other => match other.in_fence() {
                Some((fence, None)) => (FENCE, fence),
                Some((fence, Some(spaces))) => (FENCE | 1 << spaces, fence),
                None => (OTHER, other),
            },
        };
        *self = Self { bits, rest };
    }

    /// Processes `bytes`.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.set(self.state().after_all(bytes));
    }

    /// Returns `true` if text without a backtick, a tilde and a line end changes nothing, and neither does a
    /// line end followed by four other bytes.
    #[inline(always)]
    pub(crate) fn is_still(self) -> bool {
        self.bits & !FENCE == 0
    }

    /// Processes a few bytes.
    #[inline(always)]
    pub(crate) fn pass_few(&mut self, bytes: &[u8]) {
        let has_turn = bytes.iter().any(|byte| matches!(byte, b'`' | b'\n'));
        if has_turn || self.bits & !(FENCE | SPAN) != 0 {
            self.pass_each(bytes);
        }
    }

    /// Processes a block of `bytes` at `at`: these bytes without the first `before`, `length` in all.
    #[inline(always)]
    pub(crate) fn pass_block(
        &mut self,
        (bytes, at): (&[u8], usize),
        (block, before, length): Block,
    ) {
        if !self.is_still_in(block, before, length) && !self.pass_at_once(block, before, length) {
            self.pass_each(subslice(bytes, at..at + length));
        }
    }

    /// Processes the bytes of `wide`.
    #[inline(always)]
    pub(crate) fn pass_wide(&mut self, wide: &[u8; WIDE]) {
        let (ticks, line_ends) = (TICKS.found_in_wide(wide), LINE_ENDS.found_in_wide(wide));
        if ticks | line_ends == 0 && self.bits & !(FENCE | SPAN) == 0 {
            return;
        }
        let has_passed = if self.is_inside_line(line_ends) {
            self.turn_in_line::<WIDE>(ticks, WIDE)
        } else {
            let (spaces, marks) = (SPACES.found_in_wide(wide), MARKS.found_in_wide(wide));
            self.turn::<WIDE>(CodeMasks { ticks, line_ends, spaces, marks }, WIDE)
        };
        if !has_passed {
            self.pass_each(wide);
        }
    }

    /// Processes `text` if that is possible without examining each byte; otherwise does nothing and returns
    /// `false`.
    #[inline(always)]
    pub(crate) fn pass_halves(&mut self, text: Halves<'_>) -> bool {
        let (ticks, line_ends) = (TICKS.found_at_top(text), LINE_ENDS.found_at_top(text));
        // Few pieces contain one, and locating them costs twice as much.
        let has_marks = !MARKS.are_absent_in_halves(text);
        let in_fence = u64::from(self.bits >> 6 & 1).wrapping_neg();
        if !has_marks && ticks & (in_fence | LAST) == 0 {
            return self.turn_without_marks(ticks, line_ends, text);
        }
        if self.is_inside_line(line_ends) {
            return self.turn_in_line::<WIDE>(ticks, text.len());
        }
        let spaces = SPACES.found_at_top(text);
        let marks = if has_marks { MARKS.found_at_top(text) } else { 0 };
        self.turn::<WIDE>(CodeMasks { ticks, line_ends, spaces, marks }, text.len())
    }

    /// Returns `true` in a state in which a block of text, apart from markers, rarely contains anything that changes it, if
    /// this block does not.
    #[inline(always)]
    fn is_still_in(self, block: [u8; BLOCK], before: usize, length: usize) -> bool {
        const TURNS: Finder<2> = Finder::new([ByteKind::of(b'`'), ByteKind::of(b'\n')]);
        self.bits & !(FENCE | SPAN) == 0
            && TURNS.found(block) >> before & !(u32::MAX << length) == 0
    }

    #[inline(never)]
    fn pass_each(&mut self, bytes: &[u8]) {
        self.pass(bytes);
    }

    /// Processes the `length` bytes of `block` after the first `before`; returns `false` if each byte must be
    /// examined. Spans of one backtick, lines that begin as plain text, indented or not, and the
    /// lines of a fence are the only frequent cases: none of them takes a branch.
    #[inline(always)]
    pub(crate) fn pass_at_once(
        &mut self,
        block: [u8; BLOCK],
        before: usize,
        length: usize,
    ) -> bool {
        let within = !(u32::MAX << length);
        let on_top = |found: u32| u64::from(found >> before & within) << (BLOCK - length);
        let found = |finder: Finder<1>| on_top(finder.found(block));
        let (ticks, line_ends) = (found(TICKS), found(LINE_ENDS));
        if self.is_inside_line(line_ends) {
            return self.turn_in_line::<BLOCK>(ticks, length);
        }
        let marks = on_top(MARKS.found(block));
        let spaces = found(SPACES);
        self.turn::<BLOCK>(CodeMasks { ticks, line_ends, spaces, marks }, length)
    }

    /// Returns `true` if text with these line ends neither begins nor ends a line.
    #[inline(always)]
    fn is_inside_line(self, line_ends: u64) -> bool {
        line_ends == 0 && self.bits & STARTS == 0
    }

    /// Processes `length` bytes inside a line, with these backticks; does nothing and returns `false`
    /// if the backticks alone do not determine the state.
    #[inline(always)]
    fn turn_in_line<const BYTES: usize>(&mut self, ticks: u64, length: usize) -> bool {
        let bits = u64::from(self.bits);
        // In a fence they are text.
        let spans = ticks & !(bits >> 6 & 1).wrapping_neg();
        if spans & (spans << 1 | first::<BYTES>(bits >> 5 & 1, length)) | bits & u64::from(OTHER)
            != 0
        {
            return false;
        }
        let is_span = u64::from(spans.count_ones() & 1) ^ bits >> 4 & 1;
        let is_tick = spans >> (BYTES - 1);
        self.bits = (is_span << 4 | is_tick << 5 | bits & u64::from(FENCE)).to_le_bytes()[0];
        true
    }

    /// Processes `text` without marks, with these backticks and line ends, in a fence only line ends, and
    /// without a backtick as the last byte; does nothing and returns `false` if these do not determine the state.
    ///
    /// Of the spaces, only those after a line end among the last four bytes matter in this case.
    #[inline(always)]
    fn turn_without_marks(&mut self, ticks: u64, line_ends: u64, text: Halves<'_>) -> bool {
        const SPACES: u32 = u32::from_le_bytes([b' '; 4]);
        let bits = u64::from(self.bits);
        if ticks & (ticks << 1 | first::<WIDE>(bits >> 5 & 1, text.len())) | bits & u64::from(OTHER)
            != 0
        {
            return false;
        }
        let last_line = (line_ends | 1).leading_zeros();
        let in_line = ticks >> (63 - last_line);
        let was_span = bits >> 4 & u64::from(line_ends == 0);
        let is_span = u64::from(in_line.count_ones() & 1) ^ was_span & 1;
        let spaces = last_line.min(4);
        let others = u64::from(text.last_four() ^ SPACES) >> (32 - 8 * spaces);
        let start = u64::from(others == 0) << spaces & u64::from(STARTS);
        self.bits = (start | is_span << 4 | bits & u64::from(FENCE)).to_le_bytes()[0];
        true
    }

    /// Processes `length` bytes with these relevant ones; does nothing and returns `false`
    /// if they do not determine the state.
    #[inline(always)]
    fn turn<const BYTES: usize>(&mut self, masks: CodeMasks, length: usize) -> bool {
        let CodeMasks { ticks, line_ends, spaces, marks } = masks;
        let bits = u64::from(self.bits);
        let is_at_start = self.bits & STARTS != 0;
        // The first bytes of lines after their spaces: the addition carries each start past them. A carry
        // out of the sum means that the text ends there.
        let start = line_ends << 1 | first::<BYTES>(is_at_start.into(), length);
        let (sum, carry) = spaces.overflowing_add(start & spaces);
        let carry = if BYTES == WIDE { carry } else { sum >> (BYTES % WIDE) & 1 != 0 };
        let starts = (start | sum) & !spaces;
        let ends_at_start = u64::from(carry) | line_ends >> (BYTES - 1);
        // In a fence, only backticks at the start of a line matter.
        let in_fence = (bits >> 6 & 1).wrapping_neg();
        let spans = ticks & !in_fence;
        let turns = starts & (marks | ticks & (in_fence | 1 << (BYTES - 1)))
            | spans & (spans << 1 | first::<BYTES>(bits >> 5 & 1, length))
            | bits & u64::from(OTHER);
        // Nor can a single check decide about nothing but spaces, which others may precede.
        if turns != 0 || carry && line_ends == 0 {
            return false;
        }
        // There is no backtick where the last line ends.
        let in_line = spans >> (line_ends | 1).ilog2();
        let was_span = bits >> 4 & u64::from(line_ends == 0);
        let is_span = u64::from(in_line.count_ones() & 1) ^ was_span & 1;
        let is_tick = spans >> (BYTES - 1);
        // If there is nothing but spaces inside a line, none of them count.
        let spaces_at_end = ((!spaces | 1) << (WIDE - BYTES)).leading_zeros();
        let start = ends_at_start << spaces_at_end & u64::from(STARTS);
        let now = start | is_span << 4 | is_tick << 5 | bits & u64::from(FENCE);
        self.bits = now.to_le_bytes()[0];
        true
    }
}

/// Returns `bit` at the position of the first of `length` bytes.
#[inline(always)]
fn first<const BYTES: usize>(bit: u64, length: usize) -> u64 {
    bit << (BYTES - length)
}

/// The bytes in a text that matter to code, as one bit each; that of the last byte has the position of the last byte in
/// a whole block.
#[derive(Debug, Clone, Copy)]
struct CodeMasks {
    ticks: u64,
    line_ends: u64,
    spaces: u64,
    /// The bytes that begin a fence or a quotation at the start of a line.
    marks: u64,
}

const TICKS: Finder<1> = Finder::new([ByteKind::of(b'`')]);
const LINE_ENDS: Finder<1> = Finder::new([ByteKind::of(b'\n')]);
const SPACES: Finder<1> = Finder::new([ByteKind::of(b' ')]);
const MARKS: Finder<2> = Finder::new([ByteKind::of(b'~'), ByteKind::of(b'>')]);

/// Returns the number of spaces for a bit of [`STARTS`].
fn spaces_of(starts: u8) -> u8 {
    starts.trailing_zeros().to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::dice::dice;

    #[test]
    fn a_block_passes_as_its_bytes_do_one_by_one() {
        let letters = b"xxxxx..      ``````~~>>\n\n\n<";
        let mut next = dice();
        let openings: [&[u8]; 5] = [b"", b"```\n", b"~~~~rs\n", b"> ```\n> ", b"a ``x"];
        let (mut at_once, mut in_fence) = (0, 0);
        for _ in 0..400_000 {
            let opening = openings[next(8).min(4)];
            let prefix: Vec<u8> = (0..next(12)).map(|_| letters[next(letters.len())]).collect();
            let bytes: [u8; BLOCK] = std::array::from_fn(|_| letters[next(letters.len())]);
            let length = 1 + next(BLOCK);
            let (before, counted) = (BLOCK - length, &bytes[BLOCK - length..]);
            let start = CodeSpans::START.after_all(opening).after_all(&prefix);
            let want = counted.iter().fold(start, |state, byte| state.after(*byte));
            let mut state = FollowedCode::START;
            state.set(start);
            assert_eq!(state.state(), start);
            let mut quick = state;
            state.pass_block((&bytes, before), (bytes, before, length));
            let shown = String::from_utf8_lossy(counted);
            assert_eq!(state.state(), want, "{start:?}, then {shown:?}");
            let is_quick = quick.pass_at_once(bytes, before, length);
            at_once += u32::from(is_quick);
            in_fence += u32::from(is_quick && quick.bits & FENCE != 0);
        }
        assert!(at_once > 80_000, "{at_once} blocks passed at once");
        assert!(in_fence > 10_000, "{in_fence} of them in a fence");
    }

    #[test]
    fn a_wide_block_passes_as_its_bytes_do_one_by_one() {
        let alphabets: [&[u8]; 3] = [
            b"xxxxxxxxx.......        ````~>\n\n\n<",
            b"xxxxxxxxxxxxx.......        ``\n\n<",
            b"xxxxxxxxxxxxx.......        \n\n<",
        ];
        let mut next = dice();
        let openings: [&[u8]; 6] = [b"", b"a", b"a `", b"```\n", b"~~~~rs\n", b"> ```\n> "];
        let (mut at_once, mut ends_at_start, mut in_halves, mut starts_in_halves) = (0, 0, 0, 0);
        for _ in 0..300_000 {
            let start = CodeSpans::START.after_all(openings[next(6)]);
            let letters = alphabets[next(3)];
            let bytes: [u8; WIDE] = std::array::from_fn(|_| letters[next(letters.len())]);
            let want = bytes.iter().fold(start, |state, byte| state.after(*byte));
            let mut state = FollowedCode::START;
            state.set(start);
            let masks = CodeMasks {
                ticks: TICKS.found_in_wide(&bytes),
                line_ends: LINE_ENDS.found_in_wide(&bytes),
                spaces: SPACES.found_in_wide(&bytes),
                marks: MARKS.found_in_wide(&bytes),
            };
            let mut quick = state;
            if quick.turn::<WIDE>(masks, WIDE) {
                assert_eq!(quick.state(), want);
                at_once += 1;
                ends_at_start += u32::from(quick.bits & STARTS != 0);
            }
            let length = WIDE / 2 + next(WIDE / 2 + 1);
            let halves = Halves::of(&bytes[..length]).unwrap();
            let mut short = FollowedCode::START;
            short.set(start);
            let want_short = start.after_all(&bytes[..length]);
            if short.pass_halves(halves) {
                let mut want = FollowedCode::START;
                want.set(want_short);
                assert_eq!(short, want, "{start:?}, then {:?}", &bytes[..length]);
                in_halves += 1;
                starts_in_halves += u32::from(short.bits & STARTS != 0);
            } else {
                assert_eq!(short.state(), start);
            }
            state.pass_wide(&bytes);
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(state.state(), want, "{start:?}, then {shown:?}");
        }
        assert!(at_once > 20_000, "{at_once} blocks passed at once");
        assert!(in_halves > 150_000, "{in_halves} texts passed at once");
        assert!(starts_in_halves > 10_000, "{starts_in_halves} of them ended where a line begins");
        assert!(ends_at_start > 1_000, "{ends_at_start} of them ended where a line begins");
    }

    #[test]
    fn text_that_passes_at_the_first_look_changes_no_state() {
        for opening in ["", "a", "```\n", "```\nx", "~~~\nx", "> ```\n> x", "a `b", "``a", "```rs"]
        {
            let mut code = FollowedCode::START;
            code.pass(opening.as_bytes());
            for text in ["x", "  x", "\n    ", "\n   x", "> x", "x\n > y", "abcdefgh ijklmnop"] {
                let mut behind = code;
                behind.pass(text.as_bytes());
                assert!(behind == code || !code.is_still(), "{opening:?}, then {text:?}");
            }
        }
    }
}
