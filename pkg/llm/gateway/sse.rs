//! Server-Sent Events as they are sent.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Adds a frame with this name.
pub(crate) fn frame(out: &mut String, name: &str, value: &impl Serialize) {
    out.push_str("event: ");
    out.push_str(name);
    out.push('\n');
    data(out, &to_json(value));
}

/// Adds a frame without a name, or the rest of one; `line` has no line end.
pub(crate) fn data(out: &mut String, line: &str) {
    for text in ["data: ", line, "\n\n"] {
        out.push_str(text);
    }
}

/// Returns the value as JSON in one line.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    // Neither the keys nor the values can fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns an object with the counts that are known.
pub(crate) fn known_counts<const N: usize>(counts: [(&str, Option<u64>); N]) -> Map<String, Value> {
    counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), json!(count?)))).collect()
}
