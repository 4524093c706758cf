//! The mismatch of a value and a Rust type, in the words of JSON Schema.

use std::borrow::Cow;

/// Describes why a value could not be read as a type, in the words of JSON and of its schema: serde names Rust's types, which
/// a model does not know, and positions in a text that the model did not write.
pub fn describe_mismatch(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    if text.starts_with("data did not match any variant of untagged enum") {
        return "fits none of the allowed forms".to_owned();
    }
    let Some((given, wanted)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    // `unknown variant` and `unknown field` list names, which are those of the schema.
    if given.starts_with("unknown") {
        return text.to_owned();
    }
    format!("{}, expected {}", given_value(given), wanted_value(wanted))
}

/// Returns the description of the value that was given.
fn given_value(given: &str) -> Cow<'_, str> {
    let kinds = [
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: object"),
        ("invalid type: unit", "invalid type: null"),
    ];
    if let Some((_, words)) = kinds.iter().find(|(word, _)| *word == given) {
        return (*words).into();
    }
    match given.split_once("floating point") {
        Some((before, number)) if before.ends_with(": ") => {
            format!("{before}number{number}").into()
        }
        _ => given.into(),
    }
}

/// Returns the description of the value that was expected.
fn wanted_value(wanted: &str) -> Cow<'_, str> {
    if let Some(range) = integer_range(wanted) {
        return range.into();
    }
    if let Some(integer) = wanted.strip_prefix("a nonzero ").and_then(integer_range) {
        return format!("{integer}, and not 0").into();
    }
    match wanted {
        "f32" | "f64" => "a number".into(),
        "unit" => "null".into(),
        "a map" => "an object".into(),
        "a sequence" => "an array".into(),
        "a character" => "a string of one character".into(),
        "variant identifier" | "field identifier" => "a string".into(),
        "string or map" => "a string or an object".into(),
        _ if wanted.starts_with("struct ") => "an object".into(),
        _ if wanted.starts_with("unit struct ") => "null".into(),
        _ if wanted.starts_with("newtype struct ") => "another type".into(),
        _ if wanted.starts_with("enum ") => "one of the allowed forms".into(),
        _ => items(wanted).map_or(wanted.into(), Cow::Owned),
    }
}

/// Returns the range of the integers of a type.
fn integer_range(name: &str) -> Option<String> {
    let (least, most) = match name {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "u64" | "u128" | "usize" => return Some("an integer of at least 0".to_owned()),
        "i64" | "i128" | "isize" => return Some("an integer".to_owned()),
        _ => return None,
    };
    let (least, most): (i64, i64) = (least, most);
    Some(format!("an integer from {least} to {most}"))
}

/// Returns the description of a tuple, such as `tuple struct Point with 2 elements`.
fn items(wanted: &str) -> Option<String> {
    let is_tuple = wanted.contains("tuple") || wanted.starts_with("an array of");
    let count = wanted
        .split(' ')
        .find(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()));
    count.filter(|_| is_tuple).map(|count| format!("an array of {count} items"))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, de::DeserializeOwned};

    use super::describe_mismatch;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its errors matter")]
    struct Order {
        count: usize,
        size: Option<(u8, u8)>,
        kind: Option<Shipping>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shipping {
        Sea,
        Air,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its errors matter")]
    enum Either {
        Whole(u64),
        List(Vec<u64>),
    }

    fn mismatch<T: DeserializeOwned>(text: &str) -> String {
        describe_mismatch(&serde_json::from_str::<T>(text).err().unwrap())
    }

    // Rows: N-39
    #[test]
    fn a_mismatch_is_told_in_the_words_of_the_schema() {
        #[rustfmt::skip]
        let rows = [
            (mismatch::<Order>(r#"{"count":-3}"#),   "invalid value: integer `-3`, expected an integer of at least 0"),
            (mismatch::<Order>(r#"{"count":1.5}"#),  "invalid type: number `1.5`, expected an integer of at least 0"),
            (mismatch::<Order>(r#"{"count":[]}"#),   "invalid type: array, expected an integer of at least 0"),
            (mismatch::<Order>(r#"{"count":{}}"#),   "invalid type: object, expected an integer of at least 0"),
            (mismatch::<Order>("{}"),                "missing field `count`"),
            (mismatch::<Order>("7"),                 "invalid type: integer `7`, expected an object"),
            (mismatch::<Order>(r#"{"count":1,"size":3}"#),       "invalid type: integer `3`, expected an array of 2 items"),
            (mismatch::<Order>(r#"{"count":1,"size":[3,999]}"#), "invalid value: integer `999`, expected an integer from 0 to 255"),
            (mismatch::<Order>(r#"{"count":1,"kind":"rail"}"#),  "unknown variant `rail`, expected `sea` or `air`"),
            (mismatch::<i8>("900"),                  "invalid value: integer `900`, expected an integer from -128 to 127"),
            (mismatch::<f64>(r#""x""#),              "invalid type: string \"x\", expected a number"),
            (mismatch::<Vec<u8>>("null"),            "invalid type: null, expected an array"),
            (mismatch::<std::num::NonZeroU32>("0"),  "invalid value: integer `0`, expected an integer from 0 to 4294967295, and not 0"),
            (mismatch::<Either>("true"),             "fits none of the allowed forms"),
        ];
        for (got, want) in rows {
            assert_eq!(got, want);
        }
    }
}
