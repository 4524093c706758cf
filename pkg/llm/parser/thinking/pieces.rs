//! Pieces of text on their way out, and the markers that end reasoning.

use crate::llm::parser::{
    content::ParsedContent,
    marker::{Found, MarkerSet},
    whitespace::LeadingWhitespace,
};

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
    /// The end of reasoning that was never closed, from the first opener of a call on; it was given
    /// as reasoning before. Comes last, if at all.
    UnclosedCalls(&'a str),
}

/// A receiver of pieces.
pub(super) type Pieces<'o> = dyn FnMut(ThinkingPiece<'_>) + 'o;

/// Text of reasoning that may have to be read for calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// No call has begun in it; one would be kept.
    Watching,
    /// From the first opener of a call on.
    From(String),
    /// Nothing is kept: not wanted, or too long.
    Nothing,
}

/// Whether a section is open, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    None,
    Message,
    Thinking,
}

/// Returns the text of a piece as it stands in the input; the other pieces describe it.
pub(super) fn as_it_stands(piece: ParsedContent<'_>) -> Option<&str> {
    match piece {
        ParsedContent::Text(text)
        | ParsedContent::Marker(text)
        | ParsedContent::CallBody(text)
        | ParsedContent::CallVerbatim(text) => Some(text),
        ParsedContent::CallStart
        | ParsedContent::CallName(_)
        | ParsedContent::CallId(_)
        | ParsedContent::CallServer(_)
        | ParsedContent::CallArguments(_)
        | ParsedContent::CallSource(_)
        | ParsedContent::CallEnd { .. } => None,
    }
}

pub(super) fn message(
    section: &mut Section,
    blanks: &mut LeadingWhitespace,
    message_bytes: &mut u64,
    text: &str,
    out: &mut Pieces<'_>,
) {
    *message_bytes += text.len() as u64;
    if *section == Section::Message {
        if !text.is_empty() {
            out(ThinkingPiece::Message(text));
        }
    } else if !text.is_empty() && blanks.take(text, &mut |text| out(ThinkingPiece::Message(text))) {
        *section = Section::Message;
    }
}

pub(super) fn thinking(
    section: &mut Section,
    blanks: &mut LeadingWhitespace,
    text: &str,
    out: &mut Pieces<'_>,
) {
    if *section == Section::Thinking {
        if !text.is_empty() {
            out(ThinkingPiece::Thinking(text));
        }
    } else if !text.is_empty() && blanks.take(text, &mut |text| out(ThinkingPiece::Thinking(text)))
    {
        *section = Section::Thinking;
    }
}

/// Checks for a closer at the front of `bytes`, behind at most `newlines` line ends.
pub(super) fn check_closer(
    closers: &MarkerSet,
    newlines: usize,
    bytes: &[u8],
    is_last: bool,
) -> (Found, usize) {
    let skipped = bytes.iter().take(newlines).take_while(|byte| **byte == b'\n').count();
    let rest = bytes.get(skipped..).unwrap_or_default();
    if rest.is_empty() {
        return (if is_last { Found::No } else { Found::Maybe }, 0);
    }
    match closers.check_below(usize::MAX, rest, is_last) {
        (Found::Yes(length), which) => (Found::Yes(skipped + length), which),
        other => other,
    }
}
