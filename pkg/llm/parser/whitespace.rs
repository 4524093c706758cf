//! The whitespace before a section.

/// Most whitespace that is withheld, in bytes; with more, they are content.
const MAX_BLANK_BYTES: usize = 4096;

/// Whitespace that come first in a section: content when text follows, a separator when a marker or the
/// end does.
#[derive(Debug, Default)]
pub(crate) struct LeadingWhitespace {
    held: String,
}

impl LeadingWhitespace {
    /// Takes the next text of a section that has not begun. Gives it to `begin`, with what was held
    /// before it, once the section begins; whether it did.
    pub(crate) fn take(&mut self, text: &str, begin: &mut impl FnMut(&str)) -> bool {
        let is_blank = text.trim_start_matches([' ', '\t', '\r', '\n']).is_empty();
        if is_blank && self.held.len() + text.len() <= MAX_BLANK_BYTES {
            self.held.push_str(text);
            return false;
        }
        if !self.held.is_empty() {
            begin(&self.held);
            self.held.clear();
        }
        begin(text);
        true
    }

    /// Drops the held whitespace, which separates: a marker or the end follows.
    pub(crate) fn drop_held(&mut self) {
        self.held.clear();
    }

    /// Emits the held whitespace unchanged.
    pub(crate) fn release(&mut self, begin: &mut impl FnMut(&str)) {
        if !self.held.is_empty() {
            begin(&self.held);
            self.held.clear();
        }
    }
}
