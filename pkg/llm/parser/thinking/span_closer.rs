//! A lone closer in a code span of the answer: text if the span is closed on its line.

use crate::scan::code_spans::CodeSpans;
use forgeline_json::slice;

/// Maximum length of the text that is held after the closer, in bytes; if it is exceeded, the closer counts.
const MAX_BYTES: usize = 4096;

/// The rest of a code span after a closer in it.
#[derive(Debug)]
pub(super) struct ClosedSpan {
    pub(super) held: String,
    code: CodeSpans,
}

impl ClosedSpan {
    /// Returns the span that contains a closer after the state `code`, if there is other text before it among
    /// `bytes` of message.
    pub(super) fn around(code: CodeSpans, bytes: u64) -> Option<Self> {
        let ticks = code.span_ticks()?;
        let span = Self { held: String::new(), code: code.after(b'<') };
        (bytes > ticks as u64).then_some(span)
    }

    /// Returns `true` if the span is closed where the held text ends.
    pub(super) fn is_closed(&self) -> bool {
        self.code.span_ticks().is_none()
    }

    /// Holds text from `*at`; returns whether the closer is text once that is known.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        for next in slice(text, *at..).chars() {
            if next != '`' && self.is_closed() {
                return Some(true);
            }
            if next == '\n' || self.held.len() >= MAX_BYTES {
                return Some(false);
            }
            self.held.push(next);
            self.code = self.code.after_all(next.encode_utf8(&mut [0; 4]).as_bytes());
            *at += next.len_utf8();
        }
        None
    }
}
