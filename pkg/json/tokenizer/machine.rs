//! The tokenizer's loop over the bytes of a piece.

use std::mem;

use compact_str::CompactString;

use super::{
    piece::Piece,
    state::{Behind, Comment, Escape, Fault, JsonState},
    token::{Kind, Sink, Strictness, Token},
};
use crate::{Repair, RepairSet};

/// The maximum nesting depth; each level takes one bit.
pub(super) const MAX_DEPTH: u32 = 128;

/// The depth from which a reader of calls needs no marks: the deepest ones that it needs are those in an
/// array of objects that wrap the call in a `function` object.
const MAX_MARKED_DEPTH: u32 = 4;

/// A tokenizer that reads one JSON value in pieces of any size and emits it as strict JSON.
///
/// Strict JSON passes byte for byte, as slices of the input; known mistakes are repaired and
/// reported. It takes one pass and allocates only for a withheld comma followed by whitespace.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    pub(super) strictness: Strictness,
    pub(super) state: JsonState,
    pub(super) comment: Comment,
    /// One bit per bracket, innermost lowest: 1 for `{`.
    brackets: u128,
    pub(super) depth: u32,
    /// The number of open brackets that are parentheses of Python tuples.
    pub(super) tuples: u32,
    /// A withheld comma and the whitespace after it, if a piece ended there.
    pub(super) held: CompactString,
    /// The letters of the current word, at most as long as `false`. Empty outside words.
    pub(super) word: CompactString,
    repairs: RepairSet,
    /// The number of bytes before the current piece.
    taken: usize,
    pub(super) fault: Fault,
    pub(super) behind: Behind,
    /// The number of enclosing brackets from which on no marks are emitted.
    marked_depth: u32,
    max_marked_depth: u32,
    /// Steps of the loop, counted to show that their number is linear.
    #[cfg(test)]
    pub(crate) steps: u64,
}

impl Tokenizer {
    #[doc(hidden)]
    pub fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            state: JsonState::Value,
            comment: Comment::None,
            brackets: 0,
            depth: 0,
            tuples: 0,
            held: CompactString::const_new(""),
            word: CompactString::const_new(""),
            repairs: RepairSet::default(),
            taken: 0,
            fault: Fault {
                reason: "the JSON ends too early",
                state: JsonState::Failed,
                expected: None,
                at: 0,
            },
            behind: Behind::Text,
            marked_depth: MAX_MARKED_DEPTH,
            max_marked_depth: MAX_MARKED_DEPTH,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Emits marks for values and keys at every depth.
    #[doc(hidden)]
    #[must_use]
    pub fn mark_all(mut self) -> Self {
        (self.marked_depth, self.max_marked_depth) = (u32::MAX, u32::MAX);
        self
    }

    /// Allows backticks after the value, which is inside a Markdown fence.
    #[doc(hidden)]
    pub fn allow_ticks(&mut self) {
        self.behind = Behind::Ticks;
    }

    /// Allows further objects after the value.
    #[doc(hidden)]
    pub fn allow_next(&mut self) {
        self.behind = Behind::Objects;
    }

    /// Reads nothing after the value, or after a mistake that cannot be repaired.
    #[doc(hidden)]
    pub fn end_itself(&mut self) {
        self.behind = Behind::Nothing;
    }

    /// Returns the repairs made since the last end of a value.
    #[doc(hidden)]
    pub fn repairs(&self) -> RepairSet {
        self.repairs
    }

    /// Returns `true` if exactly one value has been read, or will have been if the text ends here.
    #[doc(hidden)]
    pub fn is_whole(&self) -> bool {
        if let JsonState::Number(number) = self.state {
            return self.depth == 0 && number.may_end();
        }
        let is_word =
            self.state == JsonState::Word && self.depth == 0 && self.word_value().is_some();
        is_word || self.is_done()
    }

    /// Returns `true` if exactly one value has been read up to its last byte.
    #[doc(hidden)]
    pub fn is_done(&self) -> bool {
        self.state == JsonState::Done
    }

    /// Returns `true` where a value may begin.
    #[doc(hidden)]
    pub fn wants_value(&self) -> bool {
        matches!(self.state, JsonState::Value | JsonState::FirstItem | JsonState::NextItem)
    }

    /// Returns `true` where a key may begin.
    #[doc(hidden)]
    pub fn wants_key(&self) -> bool {
        matches!(self.state, JsonState::FirstKey | JsonState::NextKey)
    }

    /// Returns the number of open brackets, and `true` if the innermost is that of an object.
    #[doc(hidden)]
    pub fn nesting(&self) -> (u32, bool) {
        (self.depth, self.is_object())
    }

    /// Returns the quote of the current string.
    #[doc(hidden)]
    pub fn string_quote(&self) -> Option<u8> {
        if let JsonState::String { quote, .. } = self.state { Some(quote) } else { None }
    }

    /// Returns `true` if the next byte is inside a string value in double quotes, and not part of an escape.
    #[doc(hidden)]
    pub fn is_in_plain_string(&self) -> bool {
        self.state == JsonState::String { quote: b'"', is_key: false, escape: Escape::None }
    }

    /// Returns `true` inside a comment, in which markers do not count.
    #[doc(hidden)]
    pub fn is_in_comment(&self) -> bool {
        matches!(self.comment, Comment::Line | Comment::Block | Comment::BlockStar)
    }

    /// Returns `true` inside a comment, or after a slash that may begin one.
    #[doc(hidden)]
    pub fn is_at_comment(&self) -> bool {
        self.comment != Comment::None
    }

    #[doc(hidden)]
    pub fn has_failed(&self) -> bool {
        self.state == JsonState::Failed
    }

    /// Returns the fault and its byte offset; for a value that is merely incomplete, the fault that it ends too
    /// early.
    #[doc(hidden)]
    pub fn fault(&self) -> (&'static str, usize) {
        // A word is wrong from its first letter.
        let at = if self.has_failed() { self.fault.at - self.word.len() } else { self.taken };
        (self.fault.reason, at)
    }

    /// Returns the syntax that strict JSON allows at the first invalid byte, and the offset of that byte; `None`
    /// if the nesting is too deep.
    #[doc(hidden)]
    pub fn expected(&self) -> (Option<&'static str>, usize) {
        (self.fault.expected, self.fault.at)
    }

    /// Returns the number of open brackets.
    #[doc(hidden)]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the number of bytes so far.
    #[doc(hidden)]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Marks everything after the mistake as not yet read.
    #[doc(hidden)]
    pub fn rewind_to_fault(&mut self) {
        self.taken = self.fault.at;
    }

    /// Continues after a mistake with the next item of an array of calls.
    #[doc(hidden)]
    pub fn resume_in_array(&mut self) {
        let fresh = Self::new(self.strictness);
        *self = Self { behind: self.behind, taken: self.taken, ..fresh };
        self.push_bracket(false);
        self.state = JsonState::FirstItem;
    }

    /// Counts bytes that were passed on unchanged without [`feed`](Self::feed).
    #[doc(hidden)]
    pub fn skip(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    /// Reads the next piece; returns the number of its bytes that were read.
    #[doc(hidden)]
    pub fn feed(&mut self, text: &str, sink: &mut impl FnMut(Token<'_>) -> bool) -> usize {
        let mut piece = Piece::new(text, sink);
        while let Some(byte) = piece.peek() {
            #[cfg(test)]
            {
                self.steps += 1;
            }
            if self.comment != Comment::None {
                self.in_comment(byte, &mut piece);
                continue;
            }
            match self.state {
                JsonState::String { quote, is_key, escape: Escape::None } => {
                    self.in_string(quote, is_key, &mut piece);
                }
                JsonState::String { quote, is_key, escape } => {
                    self.in_escape(byte, quote, is_key, escape, &mut piece);
                }
                JsonState::Number(number) => self.in_number(byte, number, &mut piece),
                JsonState::Word => self.in_word(byte, &mut piece),
                JsonState::BareKey => self.in_bare_key(byte, &mut piece),
                JsonState::Failed => break,
                JsonState::Done if self.behind == Behind::Nothing => break,
                JsonState::Value
                | JsonState::FirstItem
                | JsonState::NextItem
                | JsonState::FirstKey
                | JsonState::NextKey
                | JsonState::Colon
                | JsonState::AfterValue
                | JsonState::Done => self.between(byte, &mut piece),
            }
        }
        self.end_piece(&mut piece);
        let is_over = self.behind == Behind::Nothing
            && matches!(self.state, JsonState::Done | JsonState::Failed);
        let read = if is_over { piece.at } else { text.len() };
        self.taken += read;
        read
    }

    /// Begins a value: notifies the sink, which answers whether it wants the tokens inside.
    pub(super) fn mark_value(&mut self, kind: Kind, piece: &mut Piece<'_, impl Sink>) {
        if self.depth < self.marked_depth {
            piece.flush();
            if !piece.emit(Token::ValueStart { depth: self.depth, kind, at: piece.at }) {
                self.marked_depth = self.depth + 1;
            }
        }
    }

    /// Ends a value.
    pub(super) fn end_value(&mut self, piece: &mut Piece<'_, impl Sink>) {
        self.state = if self.depth == 0 { JsonState::Done } else { JsonState::AfterValue };
        if self.depth < self.marked_depth {
            piece.flush();
            let repairs = mem::take(&mut self.repairs);
            piece.emit(Token::ValueEnd { depth: self.depth, at: piece.at, repairs });
            if self.depth + 1 == self.marked_depth {
                self.marked_depth = self.max_marked_depth;
            }
        }
    }

    pub(super) fn mark_key(&mut self, piece: &mut Piece<'_, impl Sink>) {
        if self.depth < self.marked_depth {
            piece.flush();
            piece.emit(Token::KeyStart { depth: self.depth, at: piece.at });
        }
    }

    pub(super) fn end_key(&mut self, piece: &mut Piece<'_, impl Sink>) {
        self.state = JsonState::Colon;
        if self.depth < self.marked_depth {
            piece.emit(Token::KeyEnd { depth: self.depth, at: piece.at });
        }
    }

    pub(super) fn push_bracket(&mut self, is_object: bool) {
        self.brackets = self.brackets << 1 | u128::from(is_object);
        self.depth += 1;
    }

    pub(super) fn pop_bracket(&mut self) {
        self.brackets >>= 1;
        self.depth -= 1;
    }

    pub(super) fn is_object(&self) -> bool {
        self.brackets & 1 == 1
    }

    /// Returns the number of object brackets around the innermost bracket, and the number of all brackets around it.
    pub(super) fn outer_brackets(&self) -> (u32, u32) {
        ((self.brackets >> 1).count_ones(), self.depth.saturating_sub(1))
    }

    /// Returns `true` inside a list written as a Python tuple.
    #[doc(hidden)]
    pub fn is_in_tuple(&self) -> bool {
        self.tuples > 0
    }

    /// Records a repair, or fails if the tokenizer is strict; returns `true` to continue.
    pub(super) fn repair(&mut self, repair: Repair, piece: &Piece<'_, impl Sink>) -> bool {
        match self.strictness {
            Strictness::Lenient => {
                self.repairs.insert(repair);
                true
            }
            Strictness::Strict => {
                self.fail("this is not strict JSON", piece);
                false
            }
        }
    }

    pub(super) fn fail(&mut self, reason: &'static str, piece: &Piece<'_, impl Sink>) {
        let (state, expected) = (self.state, Some(self.wanted()));
        self.fault = Fault { reason, state, expected, at: self.taken + piece.at };
        self.state = JsonState::Failed;
    }

    pub(super) fn fail_too_deep(&mut self, piece: &Piece<'_, impl Sink>) {
        self.fail("the JSON nests deeper than 128 levels", piece);
        self.fault.expected = None;
    }

    /// Returns the syntax that strict JSON allows in this state.
    fn wanted(&self) -> &'static str {
        match self.state {
            JsonState::Value | JsonState::FirstItem | JsonState::NextItem => "a value",
            JsonState::Word if self.word.is_empty() => "a value",
            JsonState::Word => "`true`, `false` or `null`",
            JsonState::FirstKey => "a key or `}`",
            JsonState::NextKey | JsonState::BareKey => "a key",
            JsonState::Colon => "`:`",
            JsonState::AfterValue if self.is_object() => "`,` or `}`",
            JsonState::AfterValue => "`,` or `]`",
            JsonState::String { escape: Escape::None, .. } => "an escaped control character",
            JsonState::String { escape: Escape::Backslash, .. } => "an escape",
            JsonState::String { escape: Escape::Unicode { .. }, .. } => "a hexadecimal digit",
            JsonState::Number(_) => "a digit",
            JsonState::Done | JsonState::Failed => "the end of the text",
        }
    }
}
