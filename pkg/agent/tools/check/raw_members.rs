//! The members of a JSON object, with their values as they are written.

use std::fmt;

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of an object, in order; of several with one name the last counts, as it does for serde.
pub(super) struct RawMembers<'a>(pub(super) IndexMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;

        impl<'de> Visitor<'de> for OfObject {
            type Value = IndexMap<String, &'de RawValue>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = IndexMap::new();
                while let Some((name, value)) = map.next_entry()? {
                    members.insert(name, value);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(OfObject).map(Self)
    }
}
