//! Repairs of almost valid JSON: half surrogate pairs, `NaN`, raw control characters.

use std::borrow::Cow;

/// The values that some programs write for numbers that JSON does not have; each becomes `null`.
const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The escape of U+FFFD, which takes the place of a half surrogate pair.
const REPLACEMENT: &str = "\\ufffd";

/// Returns the text with parts that are not JSON replaced, where a replacement is known.
pub(crate) fn repair_json(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let (mut kept, mut at, mut is_string) = (0, 0, false);
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let (length, replaced) = match first {
            '"' => {
                is_string = !is_string;
                (1, None)
            }
            '\\' if is_string => repair_escape(rest),
            _ if is_string && first < ' ' => {
                (1, Some(format!("\\u{:04x}", u32::from(first)).into()))
            }
            'N' | 'I' | '-' if !is_string => {
                let found = NO_NUMBERS.iter().find(|word| rest.starts_with(**word));
                found.map_or((1, None), |word| (word.len(), Some("null".into())))
            }
            _ => (first.len_utf8(), None),
        };
        if let Some(replaced) = replaced {
            repaired.push_str(text.get(kept..at).unwrap_or_default());
            repaired.push_str(&replaced);
            kept = at + length;
        }
        at += length;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(repaired)
}

/// Returns the length of the escape at the beginning of a text, and what takes its place.
fn repair_escape(rest: &str) -> (usize, Option<Cow<'static, str>>) {
    let Some(kind) = rest.chars().nth(1) else { return (1, None) };
    if kind != 'u' {
        let is_known = "\"\\/bfnrt".contains(kind);
        return if is_known { (2, None) } else { (1, Some("\\\\".into())) };
    }
    match code_unit(rest) {
        None => (1, Some("\\\\".into())),
        Some(0xd800..=0xdbff) => match rest.get(6..).and_then(code_unit) {
            Some(0xdc00..=0xdfff) => (12, None),
            _ => (6, Some(REPLACEMENT.into())),
        },
        Some(0xdc00..=0xdfff) => (6, Some(REPLACEMENT.into())),
        Some(_) => (6, None),
    }
}

/// Returns the code unit of the escape at the beginning of a text.
fn code_unit(rest: &str) -> Option<u16> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// Returns the number that a text of broken JSON has as its member `id`, before the place where it breaks.
pub(crate) fn top_level_id(text: &str) -> Option<i64> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        match first {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let length = string_length(rest)?;
                let after = rest.get(length..)?.trim_start();
                if depth == 1
                    && rest.get(..length) == Some("\"id\"")
                    && let Some(value) = after.strip_prefix(':')
                {
                    let value = value.trim_start();
                    let value = value.strip_prefix('"').unwrap_or(value);
                    let end = value.find(|it: char| !it.is_ascii_digit()).unwrap_or(value.len());
                    return value.get(..end)?.parse().ok();
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += first.len_utf8();
    }
    None
}

/// Returns the length of the string at the beginning of a text, with its quotes; `None` if it does not end.
fn string_length(rest: &str) -> Option<usize> {
    let mut bytes = rest.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(at + 1),
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_id_of_broken_json_is_the_one_of_the_message() {
        #[rustfmt::skip]
        let rows = [
            (r#"{"jsonrpc":"2.0","id":12,"result":{"id":3"#,    Some(12)),
            (r#"{"result":{"id":3,"a":"}"},"id": "7" ,"x":"#,   Some(7)),
            (r#"{"result":{"id":3,"a":"#,                       None),
            (r#"{"a":"\"id\":5","b":tru"#,                      None),
            (r#"{"id":null,"result":"#,                         None),
        ];
        for (text, want) in rows {
            assert_eq!(top_level_id(text), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_json_is_left_as_it_is(value: String, key: String) {
            let text = serde_json::json!({ key: [value.as_str(), "\u{1f355}"], "n": -1 }).to_string();
            let escaped = text.replace('\u{1f355}', "\\ud83c\\udf55");
            prop_assert_eq!(repair_json(&text), text.as_str());
            prop_assert_eq!(repair_json(&escaped), escaped.as_str());
        }

        #[test]
        fn a_string_of_escapes_becomes_json(pieces in prop::collection::vec("\\\\u[0-9a-fA-F]{0,4}|\\\\[a-z\"]|[ -!#-\\[\\]-~]|[\u{0}-\u{1f}]", 0..12)) {
            let text = format!("\"{}\"", pieces.concat());
            let repaired = repair_json(&text);
            prop_assert!(serde_json::from_str::<String>(&repaired).is_ok(), "{} to {}", text, repaired);
        }
    }
}
