//! The beginning of a call inside the value of another one.

use compact_str::CompactString;

use crate::grammar::reader::is_name;

/// The fault of a key that contains a tag of the grammar.
pub(super) const TAG_IN_KEY: &str = "a key contains a tag";
/// The fault of a call in whose open value another call begins.
pub(super) const NOT_ENDED: &str = "a value is not closed before the next call";
/// Maximum length of the text between the beginning of a call inside a value and its first parameter, in bytes.
const MAX_INNER_BYTES: usize = 256;

/// The beginning of another call in a value.
#[derive(Debug, Default)]
pub(super) struct InnerCall {
    /// The name in the tag of its function; empty if the name is text.
    pub(super) name: CompactString,
    /// `true` if the tag is at the start of a line, or people do not type it.
    pub(super) is_sure: bool,
    /// The text after that tag, or after the beginning of a call that begins with its name.
    pub(super) text: CompactString,
    /// The tag that may end a name in text.
    pub(super) name_end: &'static str,
}

impl InnerCall {
    /// Adds the next text, as long as a call may still begin.
    pub(super) fn with(mut self, text: &str) -> Option<Self> {
        self.text.push_str(text);
        (self.text.len() <= MAX_INNER_BYTES).then_some(self)
    }

    /// Adds a letter that may begin the tag that ends the name.
    pub(super) fn with_name_end(self, letter: &str) -> Option<Self> {
        let may_begin = !self.name_end.is_empty() && !self.text.contains('<');
        may_begin.then(|| self.with(letter)).flatten()
    }

    /// Returns the name, if the call has one and nothing else follows it.
    pub(super) fn called(&self) -> Option<&str> {
        let text = self.text.trim();
        match (self.name.as_str(), text) {
            ("", "") => None,
            ("", text) if !self.name_end.is_empty() && text.ends_with(self.name_end) => {
                let name = text.strip_suffix(self.name_end)?.trim_end();
                is_name(name).then_some(name)
            }
            ("", name) => (!name.contains(char::is_whitespace)).then_some(name),
            (name, "") => Some(name),
            _ => None,
        }
    }
}
