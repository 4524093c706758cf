//! A JSON value that is kept as text.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
    ser::Error as _,
};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{is_number, raw_value::raw_value_name, subslice};

/// The only key of the object that stands for a number whose spelling serde's buffers would lose.
pub(super) const NUMBER: &str = "$forgeline::number";

/// A JSON value as compact text that keeps the order of keys and the spelling of numbers.
///
/// A number such as `12345678901234567890123` is kept exactly, while a [`Value`] would round it. Two values are
/// equal if their texts are.
///
/// # Examples
///
/// ```
/// use forgeline_json::Json;
///
/// let arguments = Json::parse(r#"{ "b": 1.50, "a": "x y" }"#)?;
/// assert_eq!(arguments.as_str(), r#"{"b":1.50,"a":"x y"}"#);
/// assert_eq!(arguments.to_value()["a"], "x y");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Parses one JSON value and drops the whitespace between its tokens.
    ///
    /// # Errors
    ///
    /// Returns an error if `text` is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        RawValue::from_string(compact(raw.get())).map(Self)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Converts the text to a [`Value`]; numbers that fit no machine type are rounded.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or(Value::Null)
    }

    /// Deserializes the value as a `T`, with exact numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline_json::Json;
    ///
    /// let point: (f64, f64) = Json::parse("[1.50, 2]")?.read()?;
    /// assert_eq!(point, (1.5, 2.0));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

/// Removes the whitespace outside strings from a valid JSON text.
fn compact(json: &str) -> String {
    rewrite(json, |string, out| out.push_str(string))
}

/// Returns a valid compact JSON text whose strings contain only the escapes that JSON requires.
pub fn unescape_strings(json: &str) -> String {
    if !json.contains('\\') {
        return json.to_owned();
    }
    rewrite(json, |string, out| {
        let text = serde_json::from_str::<String>(string);
        let least = text.and_then(|text| serde_json::to_string(&text));
        // Half a surrogate pair is not a character: such a string is kept as written.
        out.push_str(least.as_deref().unwrap_or(string));
    })
}

/// Copies a valid JSON text without whitespace; strings are passed, with their quotes, to `string`, which writes them.
fn rewrite(json: &str, string: impl Fn(&str, &mut String)) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        let (between, quoted) = rest.split_at(quote);
        out.extend(between.split_ascii_whitespace());
        let (quoted, tail) = quoted.split_at(string_length(quoted.as_bytes()));
        string(quoted, &mut out);
        rest = tail;
    }
    out.extend(rest.split_ascii_whitespace());
    out
}

/// Returns the length of the string literal at the start of `json`, including both quotes.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', subslice(json, at..)) {
        at += found;
        if json.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

impl Default for Json {
    /// Returns `null`.
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
        to_raw_value(value).map(Self).unwrap_or_default()
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
    /// Keeps the spelling of numbers if the format is JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(raw_value_name(), NumberSource)
    }
}

/// A visitor that reads the source text if the deserializer has it, or else the value.
struct NumberSource;

impl<'de> Visitor<'de> for NumberSource {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        let raw = Box::<RawValue>::deserialize(MapAccessDeserializer::new(map))?;
        RawValue::from_string(compact(raw.get())).map(Json).map_err(serde::de::Error::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let value = Value::deserialize(deserializer)?;
        to_raw_value(&RespelledNumber(&value)).map(Json).map_err(serde::de::Error::custom)
    }
}

/// A value in which objects may stand for numbers, see [`NUMBER`].
struct RespelledNumber<'a>(&'a Value);

impl Serialize for RespelledNumber<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(RespelledNumber)),
            Value::Object(members) => match (members.len(), members.get(NUMBER)) {
                (1, Some(Value::String(number))) if is_number(number) => {
                    let raw: &RawValue = serde_json::from_str(number).map_err(S::Error::custom)?;
                    raw.serialize(serializer)
                }
                _ => {
                    let members = members.iter();
                    serializer
                        .collect_map(members.map(|(key, value)| (key, RespelledNumber(value))))
                }
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_between_tokens_goes_and_everything_else_stays() {
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

    #[test]
    fn only_what_must_be_escaped_stays_so() {
        #[rustfmt::skip]
        let cases = [
            ("beyond ASCII",     r#""\u65e5\ud83d\ude42\u00e9\u007f""#, "\"日🙂é\u{7f}\""),
            ("markup",           r#""\u003cb\u003E \u0026 \u0027 \/""#, r#""<b> & ' /""#),
            ("must be escaped",  r#""\u0022 \u005c \" \\ \\u003c""#,  r#""\" \\ \" \\ \\u003c""#),
            ("controls",         r#""\u000a\u0009\u000D\u0008\u000c\u001F\u0000""#, r#""\n\t\r\b\f\u001f\u0000""#),
            ("half a pair",      r#""\ud83d \ude42 \ud83dx""#,           r#""\ud83d \ude42 \ud83dx""#),
            ("no text",          r#"{"a":1.50}"#,                          r#"{"a":1.50}"#),
            ("keys and values",  r#"{"\u003c":["\u003e",1.50,"x"]}"#,     r#"{"<":[">",1.50,"x"]}"#),
        ];
        for (name, json, want) in cases {
            assert_eq!(unescape_strings(json), want, "{name}");
        }
    }

    #[test]
    fn numbers_keep_their_spelling_when_read_with_serde() {
        let text = r#"{"a":[1.50,-0,1e400,12345678901234567890123],"$forgeline::number":"x"}"#;
        let fields: std::collections::BTreeMap<String, Json> =
            serde_json::from_str(&format!("{{\"json\":{text}}}")).unwrap();
        assert_eq!(fields["json"].as_str(), text);
        assert_eq!(serde_json::from_reader::<_, Json>(text.as_bytes()).unwrap().as_str(), text);
        let value = serde_json::json!({"b": [1, "x"], "a": null});
        assert_eq!(Json::deserialize(&value).unwrap(), Json::from(&value));
        assert_eq!(serde_json::from_value::<Json>(value.clone()).unwrap(), Json::from(value));
    }
}
