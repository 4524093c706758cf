//! The members of a JSON object in their order, as they were written, for objects that arrive in parts.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::types::{Json, Text};

/// Most members of an object; looking one up goes through all of them. Nobody sends so many.
const MAX_MEMBERS: usize = 256;

/// Names and JSON texts, at most [`MAX_MEMBERS`]. Who fills it bounds its bytes, by
/// [`bytes`](Self::bytes).
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(Text, String)>);

impl Members {
    /// Reads an object; anything else has no members.
    pub(super) fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// The JSON text of a member.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A member that is a text; empty when it is none.
    pub(super) fn text(&self, name: &str) -> Text {
        self.get(name).and_then(|value| serde_json::from_str(value).ok()).unwrap_or_default()
    }

    /// Sets a member; one that is there keeps its place.
    pub(super) fn set(&mut self, name: &str, value: String) {
        let has_room = self.0.len() < MAX_MEMBERS;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None if has_room => self.0.push((Text::from(name), value)),
            None => {}
        }
    }

    /// Takes over each member of `later`; null replaces nothing.
    pub(super) fn merge(&mut self, later: Self) {
        for (name, value) in later.0 {
            if value != "null" || self.get(&name).is_none() {
                self.set(&name, value);
            }
        }
    }

    /// Adds the parts of a delta: texts are appended to texts, anything else replaces.
    pub(super) fn add(&mut self, delta: Self) {
        for (name, value) in delta.0.into_iter().filter(|(name, _)| name != "type") {
            let known = self.0.iter_mut().find(|(known, _)| *known == name);
            let more = value.strip_prefix('"');
            // Joined as they are written, so that a character may go on in the next part.
            match (known, more) {
                (Some((_, known)), Some(more)) if known.starts_with('"') => {
                    known.pop();
                    known.push_str(more);
                }
                (Some((_, known)), _) if value != "null" => *known = value,
                (Some(_), _) => {}
                (None, _) => self.set(&name, value),
            }
        }
    }

    /// Bytes of all names and values.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The object.
    pub(super) fn to_json(&self) -> Json {
        let mut out = String::with_capacity(self.bytes() + 6 * self.0.len() + 2);
        out.push('{');
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&serde_json::to_string(name).unwrap_or_default());
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        Json::parse(&out).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some((name, value)) = map.next_entry::<Text, &RawValue>()? {
            members.set(&name, value.get().to_owned());
        }
        Ok(members)
    }
}
