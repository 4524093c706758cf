//! The fast path: text that a single check shows to contain nothing that matters.

use std::mem;

use super::{CallPath, ToolCallParser};
use crate::{
    content::parsed::{ContentSink, ParsedContent},
    grammar::PlainText,
    scan::stop_bytes::StopBytes,
};

impl ToolCallParser {
    /// Passes text in which no marker begins, apart from the last few bytes, which are then held; returns
    /// `false` for other text, which must be parsed. The markers in message text are those of the dialect, or
    /// begin at `stops`.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        text: &str,
        stops: Option<&StopBytes>,
        out: &mut impl FnMut(ParsedContent<'_>),
    ) -> bool {
        match self.way {
            CallPath::Markers => false,
            CallPath::Text => {
                let Self { scan, stops: own, code, .. } = self;
                let has_passed = scan.pass(text, stops.unwrap_or(own), &mut |text| {
                    code.pass(text.as_bytes());
                    out(ParsedContent::Text(text));
                });
                self.passed += if has_passed { text.len() } else { 0 };
                has_passed
            }
            CallPath::Value(plain) => self.pass_value(plain, text, out),
        }
    }

    /// Passes text inside a value of a call.
    #[inline]
    fn pass_value(
        &mut self,
        plain: PlainText,
        text: &str,
        out: &mut impl FnMut(ParsedContent<'_>),
    ) -> bool {
        if text.is_empty() || text.len() > self.room - self.passed {
            return false;
        }
        if plain.passes(text.as_bytes()) {
            self.passed += text.len();
            out(ParsedContent::CallVerbatim(text));
            return true;
        }
        self.pass_unmarked(plain, text, out)
    }

    /// Passes text of a call in which no marker begins, whatever its grammar makes of it.
    fn pass_unmarked(&mut self, plain: PlainText, text: &str, out: &mut ContentSink<'_>) -> bool {
        let Some(region) = self.region.as_mut().filter(|region| region.is_unmarked(text)) else {
            return false;
        };
        if let Some(next) = region.pass_plain(plain, text, out) {
            self.way = CallPath::Value(next);
            self.passed += text.len();
            return true;
        }
        let passed = mem::take(&mut self.passed);
        if !region.pass_unmarked(passed, text, out) {
            self.passed = passed;
            return false;
        }
        self.taken += (passed + text.len()) as u64;
        let (plain, room) = region.plain();
        (self.way, self.room) = (CallPath::Value(plain), room);
        true
    }

    /// Passes message text if no marker begins at `stops` in all of it.
    pub(super) fn pass_whole(&mut self, text: &str, stops: Option<&StopBytes>) -> bool {
        let is_whole = stops.unwrap_or(&self.stops).are_absent(text);
        if is_whole {
            self.code.pass(text.as_bytes());
        }
        is_whole
    }
}
