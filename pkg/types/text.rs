//! The string type of deltas.

use std::{borrow::Borrow, fmt, ops::Deref};

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// An owned string that keeps up to 24 bytes inline.
///
/// A delta of a streamed answer is about six bytes long, so most events carry their text without a
/// heap allocation. It dereferences to `str`; where a `String` is needed, use
/// [`into_string`](Self::into_string).
///
/// # Examples
///
/// ```
/// use forgeline::types::Text;
///
/// let mut delta = Text::from("Hel");
/// delta.push_str("lo");
/// assert_eq!(delta, "Hello");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(CompactString);

impl Text {
    /// Creates an empty string; does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self(CompactString::const_new(""))
    }

    /// Appends `text`.
    pub fn push_str(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Converts into a `String`; allocates if the text is inline.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_string()
    }

    /// Returns the text as a slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(CompactString::from(text))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(CompactString::from(text))
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.into_string()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}
