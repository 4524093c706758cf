//! Serialization of a partial value.

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::{tree::Node, value::PartialValue};

impl Serialize for PartialValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.node {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(*value),
            Node::Number(text) => {
                // The only way to write a number that fits no machine type.
                let raw: &RawValue = serde_json::from_str(text).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
            Node::String(text) => serializer.serialize_str(text),
            Node::Array(_) => serializer.collect_seq(self.items()),
            Node::Object(_) => serializer.collect_map(self.members()),
        }
    }
}
