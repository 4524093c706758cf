//! A call in a code span that is still open.

use super::{SpanCall, ToolCallParser};
use crate::llm::parser::{content::ParsedContent, grammar::Guard, unmarked::Start};
use crate::types::slice;

/// Longest text that is held from an opener in an open span on, in bytes.
const MAX_HELD_BYTES: usize = 64 << 10;

impl SpanCall {
    pub(super) fn new(parser: &ToolCallParser, ticks: usize) -> Self {
        let mut calls = ToolCallParser::new(&parser.dialect).bounds_only().calls_in_code(true);
        calls.start = Start::Past;
        let (held, run) = (String::new(), 0);
        let calls = Box::new(calls);
        let mut span = Self { held, calls, ticks, run, has_run_in_string: false, has_ended: false };
        span.push(parser.scan.found());
        span
    }

    /// Takes text from `*at` on, until it is known whether a call stands there.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        for next in slice(text, *at..).split_inclusive(|_| true) {
            if next != "`" && self.run == self.ticks {
                if self.guard() == Guard::Open {
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

    fn push(&mut self, text: &str) {
        self.held.push_str(text);
        let mut ends = false;
        let mut out = |content: ParsedContent<'_>| {
            ends |= matches!(content, ParsedContent::CallEnd { .. });
        };
        self.calls.parse(text, &mut out);
        self.has_ended |= ends && self.calls.region.is_none();
    }

    fn guard(&self) -> Guard {
        self.calls.region.as_ref().map_or(Guard::Open, |region| region.guard())
    }

    /// Returns `true` for a call, whose span was not closed on its line. A call that goes on in the
    /// next line, and whose string holds what could close the span, is a value in tags.
    pub(super) fn is_call_at_line_end(&self) -> bool {
        if self.run == self.ticks && self.guard() == Guard::Open {
            return false;
        }
        let has_run = self.has_run_in_string || self.run == self.ticks;
        self.has_ended
            || !has_run
            || matches!(self.guard(), Guard::InValue | Guard::InValueString(_))
    }
}
