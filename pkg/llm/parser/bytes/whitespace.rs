//! The whitespace before a section.

/// Maximum length of the whitespace that is withheld, in bytes; longer whitespace is content.
const MAX_BLANK_BYTES: usize = 4096;

/// Whitespace at the beginning of a section: content if text follows, a separator if a marker or the
/// end follows.
#[derive(Debug, Default)]
pub struct LeadingWhitespace {
    held: String,
}

impl LeadingWhitespace {
    /// Processes the next text of a section that has not begun. Once the section begins, passes the text to `begin`,
    /// after the held whitespace. Returns `true` if the section began.
    #[doc(hidden)]
    pub fn take(&mut self, text: &str, begin: &mut impl FnMut(&str)) -> bool {
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

    /// Drops the held whitespace, which is a separator because a marker or the end follows.
    #[doc(hidden)]
    pub fn drop_held(&mut self) {
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
