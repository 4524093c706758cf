//! Openers in Markdown code: those in a span that is still open are decided at the end of their call.

use super::{SpanCall, ToolCallParser};
use crate::{
    builder::role::MarkerRole,
    content::parsed::{ContentSink, ParsedContent},
    scan::code_spans::CodeSpans,
};

impl ToolCallParser {
    /// Processes an opener inside code.
    pub(super) fn opener_in_code(&mut self, role: MarkerRole, out: &mut ContentSink<'_>) {
        if let Some(ticks) = self.code.span_ticks() {
            self.span = Some(Box::new(SpanCall::new(self, ticks)));
            return;
        }
        let found = self.scan.found();
        self.code = self.code.with_opener(found);
        self.hidden_calls += u32::from(matches!(role, MarkerRole::Call(_)));
        out(ParsedContent::OpenerInCode);
        out(ParsedContent::Text(found));
    }

    /// Processes the text held from an opener in a span on: as text, or as a call that is read now.
    pub(super) fn settle_span(&mut self, is_call: bool, out: &mut ContentSink<'_>) {
        let Some(span) = self.span.take() else { return };
        let SpanCall { held, .. } = *span;
        if is_call {
            self.code = CodeSpans::Plain;
            self.pending.insert_str(0, &held);
        } else {
            self.code.pass(held.as_bytes());
            self.hidden_calls += 1;
            out(ParsedContent::Text(&held));
        }
    }

    /// Ends the text in which a span may still be open.
    pub(super) fn end_span(&mut self, out: &mut ContentSink<'_>) {
        if let Some(span) = &self.span {
            self.settle_span(span.is_call_at_line_end(), out);
        }
        self.settle_unwrapped(true, out);
    }

    /// Returns the state of code spans and fences.
    pub(crate) fn code(&self) -> CodeSpans {
        self.code
    }

    /// Returns `true` if the stream ended in a fence that hid a call.
    #[doc(hidden)]
    pub fn ends_in_code(&self) -> bool {
        self.ends_in_code
    }
}
