//! The ends of sections and of the stream.

use super::{ForeignMarkers, ToolCallParser};
use crate::{
    call::unmarked::MessageStart,
    content::{
        parsed::{ContentSink, ParsedContent},
        token::TokenKind,
    },
};

impl ToolCallParser {
    /// Ends a section of message text without ending the stream: text that was held back is text.
    pub fn end_section(&mut self, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.end_section_where(false, out);
    }

    /// Ends a section like [`end_section`](Self::end_section); with `is_outside`, a preceding parser
    /// knows that the text has left the call that is open here.
    #[doc(hidden)]
    pub fn end_section_where(&mut self, is_outside: bool, out: &mut ContentSink<'_>) {
        self.leave_way();
        self.read_tail();
        // Text held by one of them may begin the next.
        loop {
            self.end_span(out);
            self.parse_until("", &mut 0, TokenKind::Unknown, None, out);
            if let Some(region) = &mut self.region {
                if !region.settle(is_outside, out) {
                    break;
                }
                self.leave_call();
                continue;
            }
            self.breaks = true;
            self.finish_text(None, out);
            self.breaks = false;
            if !self.is_in_held_call() {
                break;
            }
        }
        self.turn_end.release(out);
        self.is_in_prose &= !is_outside;
        self.is_in_block = false;
        if self.region.is_none() {
            self.begin_section(false);
        }
        self.choose_way();
    }

    /// Returns `true` in a call, and in text that is held because it may be one.
    fn is_in_held_call(&self) -> bool {
        self.region.is_some() || self.span.is_some() || self.unwrapped.is_some()
    }

    /// Allows a few bytes to be read that were only waiting for the next text.
    fn read_tail(&mut self) {
        if self.scan.is_almost_idle() {
            let held = self.scan.take_held();
            self.pending.insert_str(0, &held);
        }
    }

    /// Ends anything that may begin without a marker. Returns `true` if text was held for it.
    fn end_start(&mut self, out: &mut ContentSink<'_>) -> bool {
        let is_echo = matches!(self.start, MessageStart::Echo(_));
        self.call_echo(0, out);
        let MessageStart::Open { held, .. } = &mut self.start else { return is_echo };
        let has_held = !held.is_empty();
        self.pending.push_str(held);
        self.start = MessageStart::Past;
        has_held || is_echo
    }

    /// Emits held text, up to the first foreign marker in it.
    fn finish_text(
        &mut self,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        self.end_start(out);
        loop {
            let found = self.parse_until("", &mut 0, TokenKind::Unknown, foreign, out);
            if found.is_some() {
                return found;
            }
            if self.is_in_held_call() {
                return None;
            }
            if self.scan.is_idle() {
                // After a call that has ended here, text may be held for the next beginning.
                if self.end_start(out) {
                    continue;
                }
                return None;
            }
            let found = self.next_marker(None, TokenKind::Unknown, foreign, out);
            let held = self.scan.take_held();
            self.pending.push_str(&held);
            if found.is_some() {
                return found;
            }
        }
    }

    /// Ends the stream. A call that is still open is incomplete; with `may_close_calls`, one whose
    /// payload is complete counts as complete, with the repair
    /// [`ImplicitClose`](forgeline_types::Repair::ImplicitClose).
    pub fn flush(&mut self, may_close_calls: bool, out: &mut impl FnMut(ParsedContent<'_>)) {
        self.flush_until(may_close_calls, None, out);
    }

    /// Ends the stream, up to the first foreign marker in the held text.
    pub(crate) fn flush_until(
        &mut self,
        may_close_calls: bool,
        foreign: Option<&ForeignMarkers<'_>>,
        out: &mut ContentSink<'_>,
    ) -> Option<usize> {
        self.leave_way();
        self.read_tail();
        loop {
            self.end_span(out);
            if let Some(region) = &mut self.region {
                region.finish(may_close_calls, out);
                self.leave_call();
            }
            let found = self.finish_text(foreign, out);
            if found.is_some() {
                return found;
            }
            if !self.is_in_held_call() {
                break;
            }
        }
        self.ends_in_code = self.code.is_in_fence_of_opener();
        self.turn_end.end(out);
        self.begin_section(false);
        self.choose_way();
        None
    }
}
