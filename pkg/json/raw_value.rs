//! The name by which `RawValue` asks a deserializer for the source text.

use std::sync::OnceLock;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

/// Returns the name of the newtype struct as which a [`RawValue`] is deserialized. `serde_json` recognizes the name, which
/// it does not publish, and provides the source text.
pub(super) fn raw_value_name() -> &'static str {
    static NAME: OnceLock<&'static str> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut name = "";
        // The probe contains no value: all that counts is what it was asked for.
        let _no_value = Box::<RawValue>::deserialize(NameProbe(&mut name));
        name
    })
}

/// A deserializer without a value that records the name of a newtype struct.
struct NameProbe<'n>(&'n mut &'static str);

impl<'de> Deserializer<'de> for NameProbe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("no value"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = name;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_one_that_provides_the_source_text() {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = String;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a map with the source text")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<String, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                Box::<RawValue>::deserialize(map).map(|raw| raw.get().to_owned())
            }
        }

        let mut json = serde_json::Deserializer::from_str("[1.50]");
        let text = json.deserialize_newtype_struct(raw_value_name(), Text);
        assert_eq!(text.unwrap(), "[1.50]");
    }
}
