//! A call in a code span that is still open.

use super::{SpanCall, ToolCallParser};
use crate::{call::unmarked::MessageStart, content::parsed::ParsedContent, grammar::MarkerGuard};
use forgeline_json::slice;

/// Maximum length of the text held from an opener in an open span on, in bytes.
const MAX_HELD_BYTES: usize = 64 << 10;

impl SpanCall {
    pub(super) fn new(parser: &ToolCallParser, ticks: usize) -> Self {
        Self {
            held: parser.scan.found().to_owned(),
            dialect: parser.dialect.clone(),
            calls: None,
            read: 0,
            ticks,
            run: 0,
            has_run_in_string: false,
            has_ended: false,
        }
    }

    /// Reads text from `*at` until it is known whether it contains a call.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        while *at < text.len() {
            let rest = slice(text, *at..);
            let next = slice(rest, ..self.step(rest));
            if next != "`" && self.run == self.ticks {
                if self.guard() == MarkerGuard::Open {
                    return Some(false);
                }
                self.has_run_in_string = true;
            }
            if next == "\n" || self.held.len() >= MAX_HELD_BYTES {
                return Some(self.is_call_at_line_end());
            }
            self.run = if next == "`" { self.run + 1 } else { 0 };
            self.push(next);
            *at += next.len();
        }
        None
    }

    /// Returns the length of the beginning of `rest` that is read at once: words, in which no call ends and
    /// another begins, or one character.
    fn step(&self, rest: &str) -> usize {
        let room = MAX_HELD_BYTES.saturating_sub(self.held.len());
        let is_quiet =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b',');
        let words = rest.bytes().take(room).take_while(is_quiet).count();
        if words > 0 { words } else { rest.ceil_char_boundary(1) }
    }

    fn push(&mut self, text: &str) {
        self.held.push_str(text);
        if text == "`" && self.calls.is_none() {
            // Usually the span ends here, and nothing has to be read.
            return;
        }
        let calls = self.calls.get_or_insert_with(|| {
            let calls = ToolCallParser::finding_ends(&self.dialect).calls_in_code(true);
            Box::new(ToolCallParser { start: MessageStart::Past, ..calls })
        });
        let (mut ends, mut is_at_end) = (false, false);
        let mut out = |content: ParsedContent<'_>| {
            // After the end of one of several calls in the same payload, the next one begins.
            ends |= is_at_end && !matches!(content, ParsedContent::CallStart);
            is_at_end = matches!(content, ParsedContent::CallEnd { .. });
        };
        calls.parse(slice(&self.held, self.read..), &mut out);
        self.read = self.held.len();
        self.has_ended |= ends || is_at_end && calls.region.is_none();
    }

    fn guard(&self) -> MarkerGuard {
        let region = self.calls.as_ref().and_then(|calls| calls.region.as_ref());
        region.map_or(MarkerGuard::Open, |region| region.guard())
    }

    /// Returns `true` for a call whose span was not closed on its line. A call that continues on the
    /// next line, and whose string contains what could close the span, is a value in tags.
    pub(super) fn is_call_at_line_end(&self) -> bool {
        if self.run == self.ticks && self.guard() == MarkerGuard::Open {
            return false;
        }
        let has_run = self.has_run_in_string || self.run == self.ticks;
        self.has_ended
            || !has_run
            || matches!(self.guard(), MarkerGuard::InValue | MarkerGuard::InValueString(_))
    }
}
