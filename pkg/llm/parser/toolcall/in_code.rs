//! Openers in Markdown code: those of a span that is still open are decided at the end of their call.

use std::cell::Cell;

use super::ToolCallParser;
use crate::llm::parser::{
    code_spans::CodeSpans,
    compiled::Role,
    content::{Emit, ParsedContent},
    grammar::Guard,
    unmarked::Start,
};
use crate::types::slice;

/// Longest text that is held from an opener in an open span on, in bytes.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Text from an opener in a code span on, held until it is known whether the span closes.
#[derive(Debug)]
pub(super) struct SpanCall {
    held: String,
    /// Reads the held text, as if the span were none.
    calls: Box<ToolCallParser>,
    /// The number of backticks that opened the span, and that of the last ones in a row.
    ticks: usize,
    run: usize,
    /// As many backticks stood in a string of the call.
    has_run_in_string: bool,
    has_ended: bool,
}

impl SpanCall {
    fn new(parser: &ToolCallParser, ticks: usize) -> Self {
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
    fn is_call_at_line_end(&self) -> bool {
        if self.run == self.ticks && self.guard() == Guard::Open {
            return false;
        }
        let has_run = self.has_run_in_string || self.run == self.ticks;
        self.has_ended || !has_run || self.guard() == Guard::InValue
    }
}

impl ToolCallParser {
    /// Takes an opener that stands in code.
    pub(super) fn opener_in_code(&mut self, role: Role, out: &mut Emit<'_>) {
        if let Some(ticks) = self.literal.span_ticks() {
            self.span = Some(SpanCall::new(self, ticks));
            return;
        }
        let found = self.scan.found();
        self.literal = self.literal.with_opener(found);
        self.hidden_calls += u32::from(matches!(role, Role::Call(_)));
        out(ParsedContent::OpenerInCode);
        out(ParsedContent::Text(found));
    }

    /// Takes what was held from an opener in a span on: text, or a call that is read now.
    pub(super) fn settle_span(&mut self, is_call: bool, out: &mut Emit<'_>) {
        let Some(SpanCall { held, .. }) = self.span.take() else { return };
        if is_call {
            self.literal = CodeSpans::Plain;
            self.pending.insert_str(0, &held);
        } else {
            self.literal = self.literal.after_all(held.as_bytes());
            self.hidden_calls += 1;
            out(ParsedContent::Text(&held));
        }
    }

    /// Ends the text in which a span may still be open.
    pub(super) fn end_span(&mut self, out: &mut Emit<'_>) {
        if let Some(span) = &self.span {
            self.settle_span(span.is_call_at_line_end(), out);
        }
    }

    /// Returns `true` when the stream ended in a fence that hid a call.
    pub(crate) fn ends_in_code(&self) -> bool {
        self.ends_in_code
    }
}

/// The markers of another parser that were text: the next closer of each is text too.
#[derive(Debug, Default)]
pub(crate) struct Mentions(Cell<u64>);

impl Mentions {
    /// Notes that marker `which` was text.
    pub(crate) fn note(&self, which: usize) {
        self.0.set(self.0.get() | bit(which));
    }

    /// Returns `true` once when marker `which` was text.
    pub(crate) fn take(&self, which: usize) -> bool {
        let all = self.0.get();
        self.0.set(all & !bit(which));
        all & bit(which) != 0
    }
}

fn bit(which: usize) -> u64 {
    u32::try_from(which).ok().and_then(|which| 1_u64.checked_shl(which)).unwrap_or(0)
}
