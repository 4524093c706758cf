//! Pieces of text to be emitted, and the markers that end reasoning.

use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    bytes::whitespace::LeadingWhitespace,
    content::parsed::{ParsedContent, ResponsePiece},
    marker::MarkerSet,
};
use forgeline_json::subslice;

/// One piece of a response, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingPiece<'a> {
    /// Part of the answer, never empty; calls in it are not examined.
    Message(&'a str),
    /// Part of the reasoning, never empty.
    Thinking(&'a str),
    /// A marker: the open section, if any, ended.
    SectionEnd,
    /// A marker inside a section, which continues.
    Inline,
    /// The first opener of a call in this reasoning: the next piece begins with it, or with
    /// whitespace and it. Reasoning that is closed later contained a draft; if it is never closed, the
    /// complete calls from here on may be intended as calls.
    CallOpener,
    /// The following message, up to the end of its section, is for a person: text in it that looks like a call
    /// is text.
    Prose,
    /// A marker as spelled, or whitespace that belongs to one. With the reasoning and the answer, these are all of the
    /// input.
    Framing(&'a str),
}

impl<'a> ThinkingPiece<'a> {
    /// Returns the piece if calls are not examined; `None` for the content of calls.
    #[inline(always)]
    pub(super) fn from_response(piece: ResponsePiece<'a>) -> Option<Self> {
        Some(match piece {
            ResponsePiece::Thinking(text) => Self::Thinking(text),
            ResponsePiece::Answer(content) => Self::Message(text_of(content)?),
            ResponsePiece::SectionEnd => Self::SectionEnd,
            ResponsePiece::Inline => Self::Inline,
            ResponsePiece::CallOpener => Self::CallOpener,
            ResponsePiece::Prose => Self::Prose,
            ResponsePiece::Framing(text) => Self::Framing(text),
        })
    }
}

/// A receiver of pieces.
pub(super) type PieceSink<'o> = dyn FnMut(ResponsePiece<'_>) + 'o;

/// The kind of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Message,
    Thinking,
}

/// The open section of text, and the whitespace that may begin one.
#[derive(Debug, Default)]
pub(super) struct SectionOutput {
    pub(super) section: Option<SectionKind>,
    whitespace: LeadingWhitespace,
    /// Whitespace after it, which belongs to the marker of a call.
    lead: String,
}

impl SectionOutput {
    /// Emits text of reasoning; whitespace is held until the section has begun.
    pub(super) fn give_thinking(&mut self, text: &str, out: &mut PieceSink<'_>) {
        let mut emit = |text: &str| out(ResponsePiece::Thinking(text));
        if text.is_empty() {
            return;
        }
        if self.section == Some(SectionKind::Thinking) {
            emit(text);
        } else if self.whitespace.take(text, &mut emit) {
            self.section = Some(SectionKind::Thinking);
        }
    }

    /// Emits content of the answer; whitespace is held until the section has begun.
    fn give_answer(&mut self, content: ParsedContent<'_>, out: &mut PieceSink<'_>) {
        let is_inside = self.section == Some(SectionKind::Message);
        if content == ParsedContent::CallStart && !is_inside {
            self.release(out);
        }
        let Some(text) = text_of(content).filter(|_| !is_inside) else {
            return out(ResponsePiece::Answer(content));
        };
        let is_of_marker = !self.lead.is_empty() || matches!(content, ParsedContent::Marker(_));
        if is_of_marker && is_blank(text) && self.lead.len() + text.len() <= MAX_LEAD_BYTES {
            return self.lead.push_str(text);
        }
        if is_blank(text) && self.lead.is_empty() {
            let emit = &mut |text: &str| out(ResponsePiece::Answer(ParsedContent::Text(text)));
            if self.whitespace.take(text, emit) {
                self.section = Some(SectionKind::Message);
            }
            return;
        }
        self.release(out);
        self.section = Some(SectionKind::Message);
        out(ResponsePiece::Answer(content));
    }

    /// Ends the section at a marker, which held whitespace separates.
    pub(super) fn end_section(&mut self, out: &mut PieceSink<'_>) {
        self.finish(out);
        self.section = None;
        out(ResponsePiece::SectionEnd);
    }

    /// Emits held whitespace as a separator: a marker, or the end of the stream, follows.
    pub(super) fn finish(&mut self, out: &mut PieceSink<'_>) {
        self.whitespace.release(&mut |text| out(ResponsePiece::Framing(text)));
        if !self.lead.is_empty() {
            out(ResponsePiece::Framing(&self.lead));
            self.lead.clear();
        }
    }

    /// Emits held whitespace unchanged, as message.
    pub(super) fn release(&mut self, out: &mut PieceSink<'_>) {
        self.whitespace.release(&mut |text| out(ResponsePiece::Answer(ParsedContent::Text(text))));
        if !self.lead.is_empty() {
            out(ResponsePiece::Answer(ParsedContent::Marker(&self.lead)));
            self.lead.clear();
        }
    }
}

/// Maximum length of a marker's whitespace that is withheld, in bytes, if calls may begin without a marker.
const MAX_LEAD_BYTES: usize = 4096;

/// Returns the text of a piece that is part of the input; the other pieces describe it.
#[inline(always)]
pub(super) fn text_of(piece: ParsedContent<'_>) -> Option<&str> {
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

/// Emits a piece of the answer, and counts the bytes of its text.
pub(super) fn give_message(
    piece: ParsedContent<'_>,
    bytes: &mut u64,
    output: &mut SectionOutput,
    out: &mut PieceSink<'_>,
) {
    *bytes += text_of(piece).map_or(0, str::len) as u64;
    output.give_answer(piece, out);
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).is_empty()
}

/// Returns the length of the line ends, at most `count`, at the beginning of `bytes`.
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

/// Checks for a closer at the beginning of `bytes`, after at most `newlines` line ends.
pub(super) fn check_closer(
    closers: &MarkerSet,
    newlines: usize,
    bytes: &[u8],
    is_last: bool,
) -> (MarkerMatch, usize) {
    let skipped = line_ends(bytes, newlines);
    let rest = subslice(bytes, skipped..);
    if rest.is_empty() || rest == b"\r" {
        return (if is_last { MarkerMatch::No } else { MarkerMatch::Maybe }, 0);
    }
    match closers.check_below(usize::MAX, rest, TextAhead::at_end(is_last)) {
        (MarkerMatch::Yes(length), which) => (MarkerMatch::Yes(skipped + length), which),
        other => other,
    }
}
