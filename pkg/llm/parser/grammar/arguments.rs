//! The JSON object that every grammar writes from the arguments of a call.

use std::collections::BTreeSet;

use compact_str::CompactString;

use crate::json::escape_into;

/// A receiver of JSON text.
pub(crate) trait JsonOut: FnMut(&str) {}

impl<F: FnMut(&str)> JsonOut for F {}

/// The writer of the JSON object of a call's arguments: its braces, commas and keys.
#[derive(Debug, Default)]
pub(crate) struct ArgumentsWriter {
    /// The keys so far; bounded by the limit of a call's body.
    keys: BTreeSet<CompactString>,
}

impl ArgumentsWriter {
    /// Returns `true` before the first key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of keys so far.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns `true` when `key` was begun before.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Begins the member `key`; returns `false` for a key that was begun before.
    pub(crate) fn begin(&mut self, key: &str, out: &mut impl FnMut(&str)) -> bool {
        out(if self.keys.is_empty() { "{\"" } else { ",\"" });
        escape_into(key, out);
        out("\":");
        self.keys.insert(CompactString::from(key))
    }

    /// Ends the object and begins another.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        out(if self.keys.is_empty() { "{}" } else { "}" });
        self.keys.clear();
    }

    /// Forgets the keys.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
    }
}
