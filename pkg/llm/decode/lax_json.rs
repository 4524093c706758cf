//! Lenient reading of JSON: a value of an unexpected type is treated as absent.

use std::{borrow::Cow, marker::PhantomData};

use serde::{
    Deserialize,
    de::{
        DeserializeSeed, MapAccess, SeqAccess,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::value::RawValue;

use forgeline_types::{Json, Text};

/// Ignores every kind of value that a visitor does not handle.
macro_rules! ignore_others {
    ($value:ty, $($kind:ident)*) => { $($crate::decode::lax_json::ignore_others!(@ $kind $value);)* };
    (@ bool $value:ty) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ number $value:ty) => {
        fn visit_u64<E>(self, _: u64) -> Result<$value, E> { Ok(<$value>::default()) }
        $crate::decode::lax_json::ignore_others!($value, signed);
    };
    (@ signed $value:ty) => {
        fn visit_i64<E>(self, _: i64) -> Result<$value, E> { Ok(<$value>::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ null $value:ty) => {
        fn visit_unit<E>(self) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ string $value:ty) => {
        fn visit_str<E>(self, _: &str) -> Result<$value, E> { Ok(<$value>::default()) }
    };
    (@ seq $value:ty) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<$value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok(<$value>::default())
        }
    };
    (@ map $value:ty) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok(<$value>::default())
        }
    };
}

/// Implements `Deserialize` for a type with the given visitor methods; the other kinds of values, which are
/// listed, become its default.
macro_rules! lax {
    ([$($generics:tt)*] $type:ty, ignoring $($other:ident)*; $($visit:tt)*) => {
        impl<$($generics)*> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::decode::lax_json::LaxVisitor::<$type>::new())
            }
        }

        impl<$($generics)*> serde::de::Visitor<'de> for $crate::decode::lax_json::LaxVisitor<$type> {
            type Value = $type;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a value")
            }

            $($visit)*

            $crate::decode::lax_json::ignore_others!($type, $($other)*);
        }
    };
}

/// Implements in-place reading of a value with the given visitor methods; the other kinds of values, which are listed,
/// change nothing.
macro_rules! fill_with {
    ($type:ty, ignoring $($other:ident)*; $($visit:tt)*) => {
        impl<'de: 'a, 'a> serde::de::DeserializeSeed<'de> for $crate::decode::lax_json::FillInto<'_, $type> {
            type Value = ();

            fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }

        impl<'de: 'a, 'a> serde::de::Visitor<'de> for $crate::decode::lax_json::FillInto<'_, $type> {
            type Value = ();

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            $($visit)*

            $crate::decode::lax_json::ignore_others!((), $($other)*);
        }
    };
}

pub(crate) use {fill_with, ignore_others, lax};

/// Removes from a call's arguments the escapes that encoders of Go and Google add: `<` as `\u003c`.
pub(crate) use forgeline_json::unescape_strings as plain;

/// A visitor for values of type `T`.
pub(crate) struct LaxVisitor<T>(PhantomData<T>);

impl<T> LaxVisitor<T> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

/// A value that is filled in place.
pub(crate) struct FillInto<'t, T>(pub(crate) &'t mut T);

/// Reads `json` into `target`.
pub(crate) fn fill<'de, 't, T>(json: &'de str, target: &'t mut T) -> Result<(), serde_json::Error>
where
    FillInto<'t, T>: DeserializeSeed<'de, Value = ()>,
{
    let mut deserializer = serde_json::Deserializer::from_str(json);
    FillInto(target).deserialize(&mut deserializer)?;
    deserializer.end()
}

/// A string, borrowed if it has no escapes; anything else becomes the empty text.
#[derive(Debug, Default)]
pub(crate) struct LaxWord<'a>(pub(crate) Cow<'a, str>);

lax! { ['de: 'a, 'a] LaxWord<'a>, ignoring bool number null seq map;
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<LaxWord<'a>, E> {
        Ok(LaxWord(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<LaxWord<'a>, E> {
        Ok(LaxWord(Cow::Owned(text.to_owned())))
    }
}

/// The name of a member. A name that needs escapes, as no vendor's does, is replaced, because a borrowed name
/// is cheap to pass on.
#[derive(Debug, Default)]
pub(crate) struct LaxName<'a>(pub(crate) &'a str);

lax! { ['de: 'a, 'a] LaxName<'a>, ignoring bool number null seq map;
    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<LaxName<'a>, E> {
        Ok(LaxName(name))
    }

    fn visit_str<E>(self, _: &str) -> Result<LaxName<'a>, E> {
        Ok(LaxName("\u{FFFD}"))
    }
}

/// An owned string; anything else becomes the empty text.
#[derive(Debug, Default)]
pub(crate) struct LaxText(pub(crate) Text);

lax! { ['de] LaxText, ignoring bool number null seq map;
    fn visit_str<E>(self, text: &str) -> Result<LaxText, E> {
        Ok(LaxText(Text::from(text)))
    }
}

impl LaxText {
    /// Returns the text unless it is empty.
    pub(crate) fn non_empty(self) -> Option<Text> {
        Some(self.0).filter(|text| !text.is_empty())
    }
}

/// A small integer; one that is too large becomes the maximum, anything else is absent.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct LaxNumber<N = u32>(pub(crate) Option<N>);

/// A token count.
pub(crate) type LaxCount = LaxNumber<u64>;

lax! { ['de, N: TryFrom<u64> + Default + LargestNumber] LaxNumber<N>, ignoring bool signed null string seq map;
    fn visit_u64<E>(self, number: u64) -> Result<LaxNumber<N>, E> {
        Ok(LaxNumber(Some(N::try_from(number).unwrap_or(N::LARGEST))))
    }
}

/// A type with a maximum, so that a larger number is not treated as absent.
pub(crate) trait LargestNumber {
    const LARGEST: Self;
}

impl LargestNumber for u32 {
    const LARGEST: Self = Self::MAX;
}

impl LargestNumber for u64 {
    const LARGEST: Self = Self::MAX;
}

/// A boolean; anything else is `false`.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct LaxFlag(pub(crate) bool);

lax! { ['de] LaxFlag, ignoring number null string seq map;
    fn visit_bool<E>(self, flag: bool) -> Result<LaxFlag, E> {
        Ok(LaxFlag(flag))
    }
}

/// An object; anything else is absent.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct LaxObject<T>(pub(crate) Option<T>);

lax! { ['de, T: Deserialize<'de> + Default] LaxObject<T>, ignoring bool number null string seq;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LaxObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| LaxObject(Some(object)))
    }
}

/// A list that usually has one member, which needs no allocation; anything else is empty.
#[derive(Debug)]
pub(crate) struct LaxList<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for LaxList<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> LaxList<T> {
    /// Returns `true` if there are no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the members.
    pub(crate) fn into_members(self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest)
    }
}

lax! { ['de, T: Deserialize<'de>] LaxList<T>, ignoring bool number null string map;
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LaxList<T>, A::Error> {
        let mut few = LaxList { first: seq.next_element()?, rest: Vec::new() };
        while let Some(member) = seq.next_element()? {
            few.rest.push(member);
        }
        Ok(few)
    }
}

/// A single object, as in a stream, or a list of objects, as in a whole answer; anything else is empty.
#[derive(Debug, Default)]
pub(crate) struct OneOrMany<T>(pub(crate) LaxList<T>);

lax! { ['de, T: Deserialize<'de> + Default] OneOrMany<T>, ignoring bool number null string;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany<T>, A::Error> {
        let one = T::deserialize(MapAccessDeserializer::new(map))?;
        Ok(OneOrMany(LaxList { first: Some(one), rest: Vec::new() }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrMany<T>, A::Error> {
        LaxList::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
    }
}

/// Parses a value; one of an unexpected type becomes the default.
pub(crate) fn value<'a, T: Deserialize<'a> + Default>(raw: &'a RawValue) -> T {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Returns the members of a list; anything else has none.
pub(crate) fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    raw.map(value).unwrap_or_default()
}

/// Returns the string; anything else becomes the empty text.
pub(crate) fn text(raw: Option<&RawValue>) -> Text {
    raw.map(value::<LaxText>).unwrap_or_default().0
}

/// Returns `true` for a string.
pub(crate) fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// Returns the arguments of a call: a string as it is, any other value as its JSON, and nothing for `null`.
///
/// A value that is not an object is kept as written: without it, a call would run that the model did not write.
pub(crate) fn arguments(json: Option<&str>) -> Text {
    match json {
        None | Some("null") => Text::default(),
        Some(text) if text.starts_with('"') => {
            serde_json::from_str::<LaxText>(text).unwrap_or_default().0
        }
        Some(json) => {
            Json::parse(json).map(|json| Text::from(plain(json.as_str()))).unwrap_or_default()
        }
    }
}
