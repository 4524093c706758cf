//! A growing value read as a type of the caller's.

use serde::{
    Deserializer,
    de::{
        IntoDeserializer, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Error;

use super::{tree::Node, value::PartialValue};

impl<'de> Deserializer<'de> for PartialValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
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
            // `RawValue` is such a struct for serde, and keeps the spelling.
            return serde_json::Deserializer::from_str(text)
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
