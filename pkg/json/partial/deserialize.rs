//! Deserialization of a partial value as a caller's type.

use std::iter;

use serde::{
    Deserialize, Deserializer,
    de::{
        Error as _, IntoDeserializer, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Number};

use super::{partial_json::PartialJson, tree::Node, value::PartialValue};
use crate::{Json, kept::NUMBER, raw_value::raw_value_name};

impl<'de> Deserializer<'de> for PartialValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Number(text) if self.tree.keeps_spelling() && !is_canonical(text) => {
                visitor.visit_map(MapDeserializer::new(iter::once((NUMBER, text.as_str()))))
            }
            Node::Number(text) => serde_json::Deserializer::from_str(text).deserialize_any(visitor),
            Node::String(text) => visitor.visit_borrowed_str(text),
            Node::Array(_) => {
                let mut items = SeqDeserializer::new(self.items());
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Node::Object(_) => {
                let mut members = self.map();
                let value = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if let Node::Number(text) = self.node {
            // serde treats a `RawValue` as such a struct.
            return serde_json::Deserializer::from_str(text)
                .deserialize_newtype_struct(name, visitor);
        }
        if name == raw_value_name() {
            let text = self.to_string();
            return serde_json::Deserializer::from_reader(text.as_bytes())
                .deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.as_str() {
            Some(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            None => visitor.visit_enum(MapAccessDeserializer::new(self.map())),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Node::Number(text) = self.node {
            return serde_json::Deserializer::from_str(text).deserialize_i128(visitor);
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Node::Number(text) = self.node {
            return serde_json::Deserializer::from_str(text).deserialize_u128(visitor);
        }
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns `true` if a machine number would have the same spelling.
fn is_canonical(number: &str) -> bool {
    serde_json::from_str::<Number>(number).is_ok_and(|read| read.to_string() == number)
}

type Member<'de> = (BorrowedStrDeserializer<'de, Error>, PartialValue<'de>);

impl<'de> PartialValue<'de> {
    fn map(self) -> MapDeserializer<'de, impl Iterator<Item = Member<'de>>, Error> {
        let member = |(key, value)| (BorrowedStrDeserializer::new(key), value);
        MapDeserializer::new(self.members().map(member))
    }
}

impl<'de> IntoDeserializer<'de, Error> for PartialValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Deserializes a type whose serde implementation buffers values, as tagged enums and flattened structs do,
/// so that the numbers in its [`Json`] fields keep their spelling.
///
/// # Errors
///
/// Returns the error of `deserializer` or of `read`.
pub fn deserialize_spelled<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(PartialValue<'_>) -> Result<T, Error>,
) -> Result<T, D::Error> {
    let source = Json::deserialize(deserializer)?;
    let value = PartialJson::spelled(source.as_str()).map_err(D::Error::custom)?;
    value.value().map_or_else(
        || Err(D::Error::custom("expected a value")),
        |value| read(value).map_err(D::Error::custom),
    )
}
