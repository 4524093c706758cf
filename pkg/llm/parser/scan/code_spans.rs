//! Code spans and fences, in which a model mentions a marker instead of using it.

use forgeline_json::{ByteKind, Finder};

/// The bytes that may change the state in the middle of a line.
const TURNS: Finder<2> = Finder::new([ByteKind::of(b'`'), ByteKind::of(b'\n')]);

/// A tracker of message text that knows whether the next byte is inside a code span or fence.
///
/// A span extends from n backticks to the next n or to the end of the line. A fence starts on a line with at
/// most three spaces and at least three backticks or tildes, and ends at a line of as many; one that
/// is never closed extends to the end. In a quotation (`> `), a fence also ends with the quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeSpans {
    /// At the start of a line, after this number of spaces.
    LineStart(u8),
    /// The same after the `>` of a quotation, at this byte of the line.
    QuoteStart(u8),
    /// In plain text.
    Plain,
    /// After this number of backticks that open a span or, at the start of a line, a fence.
    Ticks { count: u16, starts: Option<LineKind> },
    /// After this number of tildes at the start of a line.
    Tildes { count: u16, line: LineKind },
    /// In a span opened by this number of backticks.
    Span(u16),
    /// In a span, after some backticks.
    SpanTicks { open: u16, count: u16 },
    /// In the line that opens a fence.
    Info(CodeFence),
    /// In such a line, after some backticks: as many as before make it a span.
    InfoTicks { fence: CodeFence, count: u16 },
    /// In a line of a fence.
    Fence(CodeFence),
    /// At the start of a line of a fence, after this number of spaces; if the fence is quoted,
    /// before or after the `>`.
    FenceLineStart { fence: CodeFence, whitespace: u8, lacks_quote: bool },
    /// After this number of marks that may close the fence.
    FenceMarks { fence: CodeFence, count: u16 },
    /// After enough marks; only whitespace may follow on the line.
    FenceEnd(CodeFence),
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Plain,
    Quoted,
}

/// A fence that has been opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeFence {
    mark: u8,
    /// The number of marks that opened it.
    count: u16,
    /// `true` if the opener of a call is hidden in the fence.
    holds_opener: bool,
    line: LineKind,
}

impl CodeSpans {
    /// The state before the first byte of a section, which is the start of a line.
    pub(crate) const START: Self = Self::LineStart(0);

    /// Returns `true` if a marker that starts with the next byte is only mentioned.
    pub(crate) fn hides_next(self) -> bool {
        self.span_ticks().is_some() || self.fence().is_some()
    }

    /// Returns the number of backticks that opened the span that contains the next byte.
    pub(crate) fn span_ticks(self) -> Option<usize> {
        if let Self::Span(ticks) = self.after(b'<') { Some(ticks.into()) } else { None }
    }

    /// Returns the fence that contains the next byte.
    fn fence(self) -> Option<CodeFence> {
        if let Self::Info(fence) | Self::Fence(fence) = self.after(b'<') {
            Some(fence)
        } else {
            None
        }
    }

    /// Returns `true` in a fence that hides an opener, and that is still open if the text ends
    /// here.
    pub(crate) fn is_in_fence_of_opener(self) -> bool {
        let has_marks = matches!(self, Self::FenceMarks { fence, count } if count >= fence.count);
        let is_closed = has_marks || matches!(self, Self::FenceEnd(_));
        !is_closed && self.fence().is_some_and(|fence| fence.holds_opener)
    }

    /// Returns the state after an opener that a fence hid.
    pub(crate) fn with_opener(self, opener: &str) -> Self {
        let mut state = self.after(b'<');
        if let Self::Info(fence) | Self::Fence(fence) = &mut state {
            fence.holds_opener = true;
        }
        state.after_all(opener.as_bytes())
    }

    /// Returns `true` if only a backtick or a line end can change the state, so that other bytes
    /// need not be examined.
    #[inline(always)]
    fn is_settled(self) -> bool {
        matches!(self, Self::Plain | Self::Span(_) | Self::Info(_) | Self::Fence(_))
    }

    /// Processes `bytes`.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        if !self.is_settled() || !TURNS.are_absent(bytes) {
            *self = self.after_all(bytes);
        }
    }

    /// Returns the state after all of `bytes`.
    pub(crate) fn after_all(mut self, bytes: &[u8]) -> Self {
        let (blocks, rest) = bytes.as_chunks();
        for block in blocks {
            let (turns, mut at) = (TURNS.found(*block), 0);
            loop {
                if self.is_settled() {
                    at += (turns.unbounded_shr(at)).trailing_zeros();
                }
                let Some(byte) = block.get(at as usize) else { break };
                self = self.after(*byte);
                at += 1;
            }
        }
        rest.iter().fold(self, |state, byte| state.after(*byte))
    }

    /// Returns the state after `byte`.
    pub(crate) fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::LineStart(whitespace @ 0..3), b' ') => Self::LineStart(whitespace + 1),
            (Self::QuoteStart(bytes @ 0..3), b' ')
            | (Self::LineStart(bytes @ 0..3) | Self::QuoteStart(bytes @ 0..3), b'>') => {
                Self::QuoteStart(bytes + 1)
            }
            (Self::LineStart(_), b'`') => Self::Ticks { count: 1, starts: Some(LineKind::Plain) },
            (Self::QuoteStart(_), b'`') => Self::Ticks { count: 1, starts: Some(LineKind::Quoted) },
            (Self::LineStart(_), b'~') => Self::Tildes { count: 1, line: LineKind::Plain },
            (Self::QuoteStart(_), b'~') => Self::Tildes { count: 1, line: LineKind::Quoted },
            (Self::LineStart(_) | Self::QuoteStart(_) | Self::Plain | Self::Span(_), b'\n') => {
                Self::START
            }
            (Self::LineStart(_) | Self::QuoteStart(_), _) => Self::Plain,
            (Self::Plain, b'`') => Self::Ticks { count: 1, starts: None },
            (Self::Plain, _) => Self::Plain,
            (Self::Ticks { count, starts }, b'`') => {
                Self::Ticks { count: count.saturating_add(1), starts }
            }
            (Self::Ticks { count: count @ 3.., starts: Some(line) }, _) => {
                Self::opened(b'`', count, line).after(byte)
            }
            (Self::Ticks { count, .. }, _) => Self::Span(count).after(byte),
            (Self::Tildes { count, line }, b'~') => {
                Self::Tildes { count: count.saturating_add(1), line }
            }
            (Self::Tildes { count: count @ 3.., line }, _) => {
                Self::opened(b'~', count, line).after(byte)
            }
            (Self::Tildes { .. }, _) => Self::Plain.after(byte),
            (Self::Span(open), b'`') => Self::SpanTicks { open, count: 1 },
            (Self::Span(open), _) => Self::Span(open),
            (Self::SpanTicks { open, count }, b'`') => {
                Self::SpanTicks { open, count: count.saturating_add(1) }
            }
            (Self::SpanTicks { open, count }, _) if open == count => Self::Plain.after(byte),
            (Self::SpanTicks { open, .. }, _) => Self::Span(open).after(byte),
            (Self::Info(fence) | Self::Fence(fence), b'\n') => {
                let lacks_quote = fence.line == LineKind::Quoted;
                Self::FenceLineStart { fence, whitespace: 0, lacks_quote }
            }
            (Self::Info(fence), b'`') if fence.mark == b'`' => Self::InfoTicks { fence, count: 1 },
            (Self::Info(_) | Self::Fence(_), _) => self,
            (Self::InfoTicks { fence, count }, b'`') => {
                Self::InfoTicks { fence, count: count.saturating_add(1) }
            }
            (Self::InfoTicks { fence, count }, _) if fence.count == count => {
                Self::Plain.after(byte)
            }
            (Self::InfoTicks { fence, .. }, _) => Self::Info(fence).after(byte),
            (Self::FenceLineStart { fence, lacks_quote: true, .. }, b'>') => {
                Self::FenceLineStart { fence, whitespace: 0, lacks_quote: false }
            }
            // The quotation has ended.
            (Self::FenceLineStart { lacks_quote: true, .. }, _) => Self::START.after(byte),
            (Self::FenceLineStart { fence, whitespace: whitespace @ 0..3, lacks_quote }, b' ') => {
                Self::FenceLineStart { fence, whitespace: whitespace + 1, lacks_quote }
            }
            (Self::FenceLineStart { fence, .. }, _) if byte == fence.mark => {
                Self::FenceMarks { fence, count: 1 }
            }
            (Self::FenceMarks { fence, count }, _) if byte == fence.mark => {
                Self::FenceMarks { fence, count: count.saturating_add(1) }
            }
            (Self::FenceMarks { fence, count }, _) if count >= fence.count => {
                Self::FenceEnd(fence).after(byte)
            }
            (Self::FenceLineStart { fence, .. } | Self::FenceMarks { fence, .. }, _) => {
                Self::Fence(fence).after(byte)
            }
            (Self::FenceEnd(_), b'\n') => Self::START,
            (Self::FenceEnd(_), b' ' | b'\t' | b'\r') => self,
            (Self::FenceEnd(fence), _) => Self::Fence(fence),
        }
    }

    /// Returns the first line of a fence.
    const fn opened(mark: u8, count: u16, line: LineKind) -> Self {
        Self::Info(CodeFence { mark, count, holds_opener: false, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: S4
    #[test]
    fn a_marker_is_hidden_in_spans_and_fences_only() {
        #[rustfmt::skip]
        let cases = [
            ("plain",                     "some text ",             false),
            ("span",                      "use `",                  true),
            ("span closed",               "use `x` ",               false),
            ("span of two",               "``a ` b ",               true),
            ("span of two closed",        "``a ` b`` ",             false),
            ("span ends with its line",   "a ` b\n",                false),
            ("fence",                     "```json\n",              true),
            ("fence in its first line",   "``` ",                   true),
            ("fence closed",              "```\nx\n```\n",          false),
            ("fence closed by more",      "```\nx\n`````\n",        false),
            ("fence closed, indented",    "```\nx\n   ```\n",       false),
            ("fence closed, one blank",   "~~~\nx\n ~~~\n",         false),
            ("no end after four spaces",  "```\nx\n    ```\n",      true),
            ("fence not closed by fewer", "````\nx\n```\n",         true),
            ("fence of tildes",           "~~~\n```\n",             true),
            ("fence of tildes closed",    "~~~\n~~~\n",             false),
            ("fence after three spaces",  "   ```\n",               true),
            ("no fence after four",       "    ```\n",              false),
            ("no fence inside a line",    "a ```\n",                false),
            ("info is not a closer",         "```\n```rust\n",         true),
            ("two tildes",                "~~ x",                   false),
            ("span of three in a line",   "```x``` ",               false),
            ("quoted fence",              "> ```\n> x\n>",          true),
            ("quoted fence closed",       "> ```\n> x\n> ```\n",    false),
            ("a quotation ends its fence", "> ```\n> x\n",          false),
            ("quoted twice",              ">> ~~~\n>> x\n>> ",      true),
            ("no end behind a quote",     "```\n> ```\n",           true),
            ("no fence in the text of a quotation", "> a ```\n> ",  false),
        ];
        for (name, text, want) in cases {
            assert_eq!(CodeSpans::START.after_all(text.as_bytes()).hides_next(), want, "{name}");
            let mut bytewise = CodeSpans::START;
            for byte in text.bytes() {
                bytewise = bytewise.after(byte);
            }
            assert_eq!(
                bytewise,
                CodeSpans::START.after_all(text.as_bytes()),
                "{name}: byte by byte"
            );
        }
    }
}
