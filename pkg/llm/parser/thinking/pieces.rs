//! Pieces of text on their way out, and the markers that end reasoning.

use crate::llm::parser::{
    content::ParsedContent,
    found::{Ahead, Found},
    marker::MarkerSet,
    whitespace::LeadingWhitespace,
};
use crate::types::subslice;

/// One piece of a response, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingPiece<'a> {
    /// Part of the answer, never empty; calls in it are not looked at.
    Message(&'a str),
    /// Part of the reasoning, never empty.
    Thinking(&'a str),
    /// A marker: the section that was open, if any, ended.
    SectionEnd,
    /// A marker inside a section, which goes on.
    Inline,
    /// The first opener of a call in this reasoning: the next piece begins with it, or with
    /// whitespace and it. Reasoning that closes held a draft; of reasoning that never does, the
    /// complete calls from here on may be meant.
    CallOpener,
    /// The message that follows, up to the end of its section, is for a person: what looks like a call
    /// in it is text.
    Prose,
}

/// A receiver of pieces.
pub(super) type Pieces<'o> = dyn FnMut(ThinkingPiece<'_>) + 'o;

/// The kind of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Message,
    Thinking,
}

/// The section of text that is open, and the whitespace that may begin one.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) section: Option<Section>,
    whitespace: LeadingWhitespace,
}

impl Output {
    /// Emits text of `section`; whitespace is held until the section has begun.
    pub(super) fn give(&mut self, section: Section, text: &str, out: &mut Pieces<'_>) {
        let mut emit = |text: &str| match section {
            Section::Message => out(ThinkingPiece::Message(text)),
            Section::Thinking => out(ThinkingPiece::Thinking(text)),
        };
        if text.is_empty() {
            return;
        }
        if self.section == Some(section) {
            emit(text);
        } else if self.whitespace.take(text, &mut emit) {
            self.section = Some(section);
        }
    }

    /// Ends the section at a marker, which held whitespace separates.
    pub(super) fn end_section(&mut self, out: &mut Pieces<'_>) {
        self.finish();
        self.section = None;
        out(ThinkingPiece::SectionEnd);
    }

    /// Drops held whitespace at the end of the stream.
    pub(super) fn finish(&mut self) {
        self.whitespace.drop_held();
    }

    /// Emits held whitespace unchanged, as message.
    pub(super) fn release(&mut self, out: &mut Pieces<'_>) {
        self.whitespace.release(&mut |text| out(ThinkingPiece::Message(text)));
    }
}

/// Returns the text of a piece as it stands in the input; the other pieces describe it.
fn as_it_stands(piece: ParsedContent<'_>) -> Option<&str> {
    if let ParsedContent::Text(text)
    | ParsedContent::Marker(text)
    | ParsedContent::Inline(text)
    | ParsedContent::CallBody(text)
    | ParsedContent::CallVerbatim(text) = piece
    {
        Some(text)
    } else {
        None
    }
}

/// Emits a piece of the answer as it stands, and counts its bytes.
pub(super) fn give_message(
    piece: ParsedContent<'_>,
    bytes: &mut u64,
    output: &mut Output,
    out: &mut Pieces<'_>,
) {
    if let Some(text) = as_it_stands(piece) {
        *bytes += text.len() as u64;
        output.give(Section::Message, text, out);
    }
}

/// Returns the bytes of the line ends, at most `count`, that `bytes` begin with.
fn line_ends(bytes: &[u8], count: usize) -> usize {
    let mut length = 0;
    for _ in 0..count {
        length += match subslice(bytes, length..) {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => break,
        };
    }
    length
}

/// Checks for a closer at the front of `bytes`, behind at most `newlines` line ends.
pub(super) fn check_closer(
    closers: &MarkerSet,
    newlines: usize,
    bytes: &[u8],
    is_last: bool,
) -> (Found, usize) {
    let skipped = line_ends(bytes, newlines);
    let rest = subslice(bytes, skipped..);
    if rest.is_empty() || rest == b"\r" {
        return (if is_last { Found::No } else { Found::Maybe }, 0);
    }
    match closers.check_below(usize::MAX, rest, Ahead::of(is_last)) {
        (Found::Yes(length), which) => (Found::Yes(skipped + length), which),
        other => other,
    }
}
