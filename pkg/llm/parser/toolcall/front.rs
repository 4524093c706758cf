//! Text in which the last few bytes may begin a marker, and the text that follows it.

use super::ToolCallParser;
use crate::{bytes::inline_buf::Few, scan::stop_bytes::StopBytes};

impl ToolCallParser {
    /// Processes one block of message text in which at most the last few bytes may begin a marker, and holds
    /// them; returns the length of the text before them, or `None` for text of another length and if one
    /// check does not decide. The markers are those of the dialect, or begin at `stops`; nothing may be held.
    #[inline(always)]
    pub(crate) fn take_front(&mut self, text: &str, stops: Option<&StopBytes>) -> Option<usize> {
        let stops = stops.unwrap_or(&self.stops);
        let end = stops.front_of_block(text, &mut self.literal)?;
        if end < text.len() {
            self.scan.hold_end(text, text.len() - end);
        }
        self.passed += text.len();
        Some(end)
    }

    /// Takes the few bytes that are held if a single check of `text` shows that none of those markers begins with
    /// them; otherwise returns `None`.
    #[inline(always)]
    pub(crate) fn settle(&mut self, text: &str, stops: Option<&StopBytes>) -> Option<Few> {
        let held = self.scan.settle_few(text, stops.unwrap_or(&self.stops))?;
        self.literal.pass_few(held.as_bytes());
        Some(held)
    }
}
