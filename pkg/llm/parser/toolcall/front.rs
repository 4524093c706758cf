//! Text of which the last few bytes may begin a marker, and what comes behind it.

use super::ToolCallParser;
use crate::llm::parser::{inline_buf::Few, stops::Stops};

impl ToolCallParser {
    /// Takes one block of message text of which at most the last few bytes may begin a marker, and holds
    /// these; returns the length of the text before them, and `None` for text of another length and where one
    /// look does not tell. The markers are those of the dialect, or begin at `stops`; nothing was held.
    #[inline(always)]
    pub(in crate::llm::parser) fn take_front(
        &mut self,
        text: &str,
        stops: Option<&Stops>,
    ) -> Option<usize> {
        let stops = stops.unwrap_or(&self.stops);
        let end = stops.front_of_block(text, &mut self.literal)?;
        if end < text.len() {
            self.scan.hold_end(text, text.len() - end);
        }
        self.passed += text.len();
        Some(end)
    }

    /// Takes the few bytes that are held, if `text` shows at one look that none of those markers begins with
    /// them; `None` where it does not.
    #[inline(always)]
    pub(in crate::llm::parser) fn settle(
        &mut self,
        text: &str,
        stops: Option<&Stops>,
    ) -> Option<Few> {
        let held = self.scan.settle_few(text, stops.unwrap_or(&self.stops))?;
        self.literal.pass_few(held.as_bytes());
        Some(held)
    }
}
