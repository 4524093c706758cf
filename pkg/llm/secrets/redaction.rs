//! Replacement of secrets in texts and JSON.

use std::ops::Range;

use serde_json::Value;

use super::{
    assignments::{self, assigned_secrets},
    keys::look_alikes,
};
use forgeline_json::slice;

/// The replacement for a secret.
const MARK: &str = "[key]";

/// Returns the text with `[key]` in place of these ranges, which may overlap.
pub(crate) fn replaced(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut out, mut end) = (String::new(), 0);
    for range in ranges {
        if range.start >= end {
            out.push_str(slice(text, end..range.start));
            out.push_str(MARK);
        }
        end = end.max(range.end);
    }
    out.push_str(slice(text, end..));
    out
}

/// Returns the text with `[key]` in place of everything that looks like a vendor's key, and of values whose names mark them
/// as secret. The function knows forms and names, not your secrets: it is meant for logs that people read.
///
/// # Examples
///
/// ```
/// use forgeline::llm::without_secrets;
///
/// assert_eq!(without_secrets("DB_PASSWORD=hunter22 and PORT=80"), "DB_PASSWORD=[key] and PORT=80");
/// ```
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut ranges = assigned_secrets(text.as_bytes());
    look_alikes(text.as_bytes(), |range| ranges.push(range));
    replaced(text, ranges)
}

/// Removes secrets from each string in a value, and the values of members whose names mark them as secret.
pub fn remove_secrets(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_secrets(text),
        Value::Array(items) => items.iter_mut().for_each(remove_secrets),
        Value::Object(members) => {
            for (name, value) in members {
                let is_secret =
                    assignments::is_secret_name(name) || name.eq_ignore_ascii_case("authorization");
                // A schema describes a member with such a name, but does not contain its value.
                if is_secret && (value.is_string() || value.is_number()) {
                    *value = MARK.into();
                } else {
                    remove_secrets(value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_of_a_value_are_replaced_wherever_they_stand() {
        // Put together here, so that no scanner takes it for a leaked one.
        let key = ["sk", "-A1b2C3d4E5f6"].concat();
        let mut value = json!({
            "text": format!("my key is {key}, and DB_PASSWORD=hunter22"),
            "list": [{ "Authorization": "Basic abc" }, { "api_key": "1234", "max_tokens": 7 }],
            "properties": { "password": { "type": "string" } },
        });
        remove_secrets(&mut value);
        let want = json!({
            "text": "my key is [key], and DB_PASSWORD=[key]",
            "list": [{ "Authorization": "[key]" }, { "api_key": "[key]", "max_tokens": 7 }],
            "properties": { "password": { "type": "string" } },
        });
        assert_eq!(value, want);
    }
}
