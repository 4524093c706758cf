//! Numbers that keep their spelling inside tagged and flattened types.

/// Implements serde's traits for types whose derive has `#[serde(remote = "Self")]`.
///
/// Such a derive buffers values while it looks for a tag, and its buffers hold only machine numbers: a
/// `1.50` in a [`Json`](super::Json) field would become `1.5`.
macro_rules! keep_spelling {
    ($type:ident) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                forgeline_json::deserialize_spelled(deserializer, |value| Self::deserialize(value))
            }
        }
    };
}

pub(super) use keep_spelling;
