//! The fast path: text that a single check shows to contain nothing that matters.

use super::{SectionKind, ThinkingParser, ThinkingPath, ThinkingPhase, pieces::text_of};
use crate::content::parsed::ResponsePiece;

impl ThinkingParser {
    /// Passes text in which no marker begins, apart from the last few bytes, which are then held; returns
    /// `false` for other text, which must be parsed.
    #[inline]
    pub(super) fn pass(&mut self, text: &str, out: &mut impl FnMut(ResponsePiece<'_>)) -> bool {
        let Self { calls, stops, scan, message_bytes, .. } = self;
        match self.way {
            ThinkingPath::Markers => false,
            ThinkingPath::Thinking => scan.pass(text, &stops.in_thinking, &mut |text| {
                out(ResponsePiece::Thinking(text));
            }),
            ThinkingPath::Message => calls.pass(text, Some(&stops.in_message), &mut |content| {
                *message_bytes += text_of(content).map_or(0, str::len) as u64;
                out(ResponsePiece::Answer(content));
            }),
        }
    }

    /// Chooses the path for the next text.
    pub(super) fn choose_way(&mut self) {
        let is_open = self.framing_left == 0
            && !self.skips_blank
            && self.scan.is_almost_idle()
            && self.opening.is_none()
            && self.undecided.is_none()
            && self.in_span.is_none();
        self.way = match (self.state, self.output.section) {
            (ThinkingPhase::Message, Some(SectionKind::Message)) if is_open => {
                ThinkingPath::Message
            }
            (ThinkingPhase::Thinking(_), Some(SectionKind::Thinking)) if is_open => {
                ThinkingPath::Thinking
            }
            _ => ThinkingPath::Markers,
        };
    }
}
