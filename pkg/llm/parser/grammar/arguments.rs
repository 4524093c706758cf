//! The JSON object that every grammar writes for the arguments of a call.

use std::collections::BTreeSet;

use compact_str::CompactString;

use forgeline_json::escape_into;

/// A receiver of JSON text.
pub(crate) trait JsonOut: FnMut(&str) {}

impl<F: FnMut(&str)> JsonOut for F {}

/// The number of keys that are compared one by one, which is cheaper than a tree.
const FEW_KEYS: usize = 16;

/// The writer of the JSON object of a call's arguments: its braces, commas and keys.
#[derive(Debug, Default)]
pub(crate) struct ArgumentsWriter {
    /// The first keys; almost all calls have no more.
    keys: Vec<CompactString>,
    /// The other keys so far; bounded by the limit of a call's body.
    others: BTreeSet<CompactString>,
}

impl ArgumentsWriter {
    /// Returns `true` before the first key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of keys so far.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() + self.others.len()
    }

    /// Returns `true` if the member `key` has already been begun.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key) || self.others.contains(key)
    }

    /// Begins the member `key`; returns `false` if it has already been begun.
    pub(crate) fn begin(&mut self, key: &str, out: &mut impl FnMut(&str)) -> bool {
        out(if self.keys.is_empty() { "{\"" } else { ",\"" });
        escape_into(key, out);
        out("\":");
        let is_new = !self.holds(key);
        if is_new && self.keys.len() < FEW_KEYS {
            self.keys.push(key.into());
        } else if is_new {
            self.others.insert(key.into());
        }
        is_new
    }

    /// Ends the object and begins another.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        out(if self.keys.is_empty() { "{}" } else { "}" });
        self.clear();
    }

    /// Clears the keys.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_among_few_and_among_many() {
        let mut writer = ArgumentsWriter::default();
        for round in 0..2 {
            for number in 0..40 {
                assert_eq!(writer.len(), number, "round {round}");
                assert!(writer.begin(&format!("key {number}"), &mut |_| {}));
                assert!(!writer.begin(&format!("key {}", number / 2), &mut |_| {}));
            }
            writer.finish(&mut |_| {});
        }
    }
}
