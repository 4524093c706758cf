//! JSON read tolerantly: a value of an unexpected type is as good as absent.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    marker::PhantomData,
};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use crate::types::Text;

/// A text that is borrowed when it has no escapes; anything else is the empty text.
#[derive(Debug, Default)]
pub(in crate::llm) struct Word<'a>(pub(in crate::llm) Cow<'a, str>);

/// A text of its own; anything else is the empty text.
#[derive(Debug, Default)]
pub(in crate::llm) struct Line(pub(in crate::llm) Text);

/// A small whole number; anything else is absent.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::llm) struct Number(pub(in crate::llm) Option<u32>);

/// Ignores every kind of value that the visitor at hand does not care for.
macro_rules! ignore_others {
    ($value:ty, $($kind:ident)*) => { $(ignore_others!(@ $kind $value);)* };
    (@ bool $value:ty) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ number $value:ty) => {
        fn visit_i64<E>(self, _: i64) -> Result<$value, E> { Ok(<$value>::default()) }
        fn visit_u64<E>(self, _: u64) -> Result<$value, E> { Ok(<$value>::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ null $value:ty) => {
        fn visit_unit<E>(self) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ string $value:ty) => {
        fn visit_str<E>(self, _: &str) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ seq $value:ty) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(<$value>::default())
        }
    };
    (@ map $value:ty) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(<$value>::default())
        }
    };
}

/// A visitor for values of type `T`.
pub(in crate::llm) struct Reads<T>(PhantomData<T>);

pub(in crate::llm) fn read<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    Reads<T>: Visitor<'de, Value = T>,
{
    deserializer.deserialize_any(Reads(PhantomData))
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Reads<Word<'a>> {
    type Value = Word<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Word<'a>, E> {
        Ok(Word(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Word<'a>, E> {
        Ok(Word(Cow::Owned(text.to_owned())))
    }

    ignore_others!(Word<'a>, bool number null seq map);
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<Line> {
    type Value = Line;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Line, E> {
        Ok(Line(Text::from(text)))
    }

    ignore_others!(Line, bool number null seq map);
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<Number> {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(u32::try_from(number).ok()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Number, E> {
        Ok(Number(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Number, E> {
        Ok(Number(None))
    }

    ignore_others!(Number, bool null string seq map);
}

/// A token count; anything but a whole number is unknown.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::llm) struct Count(pub(in crate::llm) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<Count> {
    type Value = Count;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
        Ok(Count(Some(number)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count(None))
    }

    ignore_others!(Count, bool null string seq map);
}

/// Yes or no; anything else is no.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::llm) struct Flag(pub(in crate::llm) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Visitor<'de> for Reads<Flag> {
    type Value = Flag;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Flag, E> {
        Ok(Flag(flag))
    }

    ignore_others!(Flag, number null string seq map);
}

/// An object; anything else is absent.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::llm) struct Object<T>(pub(in crate::llm) Option<T>);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Reads<Object<T>> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Object(Some(object)))
    }

    ignore_others!(Object<T>, bool number null string seq);
}

/// A list that mostly has one member, which then needs no allocation; anything else is empty.
#[derive(Debug)]
pub(in crate::llm) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> Few<T> {
    /// One member.
    pub(in crate::llm) fn one(member: T) -> Self {
        Self { first: Some(member), rest: Vec::new() }
    }

    /// Whether there are none.
    pub(in crate::llm) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The members.
    pub(in crate::llm) fn into_members(self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reads<Few<T>> {
    type Value = Few<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Few<T>, A::Error> {
        let mut few = Few { first: seq.next_element()?, rest: Vec::new() };
        while let Some(member) = seq.next_element()? {
            few.rest.push(member);
        }
        Ok(few)
    }

    ignore_others!(Few<T>, bool number null string map);
}

/// Writes every character as itself that JSON does not make escape, whatever the server escaped: the
/// encoders of Go and Google write `<` as `\u003c`.
pub(in crate::llm) fn plain(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |text: &str| {
            let digits = text.strip_prefix("\\u")?.get(..4)?;
            u32::from_str_radix(digits, 16).ok()
        };
        let (character, length) = match unit(escape) {
            Some(high @ 0xD800..0xDC00) => {
                let low =
                    escape.get(6..).and_then(unit).filter(|low| (0xDC00..0xE000).contains(low));
                let code = low.map(|low| 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                (code.and_then(char::from_u32), 12)
            }
            Some(code) => (char::from_u32(code), 6),
            None if escape.starts_with("\\/") => (Some('/'), 2),
            None => (None, 0),
        };
        let length = if let Some(character) = character {
            escaped(character, &mut out);
            length
        } else {
            let length = escape.len().min(2);
            out.push_str(escape.get(..length).unwrap_or_default());
            length
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Writes a character of a string, escaped only if it must be.
fn escaped(character: char, out: &mut String) {
    let short = match character {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\0'..='\u{1f}' => {
            // Writing to a string does not fail.
            let _written = write!(out, "\\u{:04x}", u32::from(character));
            return;
        }
        _ => {
            out.push(character);
            return;
        }
    };
    out.push_str(short);
}

pub(in crate::llm) use ignore_others;

#[cfg(test)]
mod tests {
    use super::plain;

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
        ];
        for (name, json, want) in cases {
            assert_eq!(plain(json), want, "{name}");
        }
    }
}
