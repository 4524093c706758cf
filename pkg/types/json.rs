//! A JSON text that is kept as it was written.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

/// A JSON value as text: compact, key order and the spelling of numbers kept.
///
/// A model's `12345678901234567890123` stays what it is; a [`Value`] would round it. Two values are
/// equal when their texts are.
///
/// # Examples
///
/// ```
/// use forgeline::types::Json;
///
/// let arguments = Json::parse(r#"{ "b": 1.50, "a": "x y" }"#)?;
/// assert_eq!(arguments.as_str(), r#"{"b":1.50,"a":"x y"}"#);
/// assert_eq!(arguments.to_value()["a"], "x y");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Reads one JSON value and drops the blanks between its tokens.
    ///
    /// # Errors
    ///
    /// When `text` is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        RawValue::from_string(compact(raw.get())).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The value; numbers that fit no machine type are rounded.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or(Value::Null)
    }

    /// Reads the value as a `T`, exactly.
    ///
    /// # Errors
    ///
    /// When the value is no `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

/// Drops the blanks outside strings of a valid JSON text.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        let (between, string) = rest.split_at(quote);
        out.extend(between.split_ascii_whitespace());
        let length = string_length(string.as_bytes());
        let (string, tail) = string.split_at(length);
        out.push_str(string);
        rest = tail;
    }
    out.extend(rest.split_ascii_whitespace());
    out
}

/// Length of the string literal that `json` starts with, both quotes included.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', json.get(at..).unwrap_or_default()) {
        at += found;
        if json.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

impl Default for Json {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        serde_json::value::to_raw_value(value).map(Self).unwrap_or_default()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Goes through [`Value`]: inside tagged enums serde offers no source text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_between_tokens_go_and_everything_else_stays() {
        #[rustfmt::skip]
        let cases = [
            (r#" { "a" : [ 1 , 2.50 ] } "#,      r#"{"a":[1,2.50]}"#),
            (r#"{"a b\" c":" \\ "}"#,            r#"{"a b\" c":" \\ "}"#),
            ("\n[\"日 本\",\r\n 1e400 ]",         r#"["日 本",1e400]"#),
            (r#""\\""#,                          r#""\\""#),
            ("123456789012345678901234567890",   "123456789012345678901234567890"),
        ];
        for (input, want) in cases {
            assert_eq!(Json::parse(input).unwrap().as_str(), want);
        }
        assert!(Json::parse("{} x").is_err());
    }
}
