//! The members of a JSON object in order and as written, for objects that arrive in parts.

use std::fmt::Write as _;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::lax_json::lax;
use forgeline_types::{Json, Text};

/// Maximum number of members of an object; lookups are linear. No server sends this many.
const MAX_MEMBERS: usize = 256;

/// Names and JSON values, at most [`MAX_MEMBERS`]; the owner bounds their [`bytes`](Self::bytes).
#[derive(Debug, Default)]
pub(crate) struct JsonMembers(Vec<(Text, String)>);

impl JsonMembers {
    /// Reads an object; anything else has no members.
    pub(crate) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the JSON of the member `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the member `name` if it is a string; anything else becomes the empty text.
    pub(crate) fn text(&self, name: &str) -> Text {
        self.get(name).and_then(|value| serde_json::from_str(value).ok()).unwrap_or_default()
    }

    /// Sets a member; an existing one keeps its place.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        let has_room = self.0.len() < MAX_MEMBERS;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None if has_room => self.0.push((Text::from(name), value)),
            None => {}
        }
    }

    /// Returns the members without `name`.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Returns the members that are neither null nor empty, without the `known` ones.
    pub(crate) fn rest(&self, known: &[&str]) -> Self {
        let is_rest = |(name, value): &&(Text, String)| {
            !known.contains(&name.as_str())
                && !matches!(value.as_str(), "null" | "\"\"" | "[]" | "{}")
        };
        Self(self.0.iter().filter(is_rest).cloned().collect())
    }

    /// Merges the members of `later`: strings for which `joins` is true are appended to strings, anything
    /// else replaces the value, and null is ignored.
    pub(crate) fn merge(&mut self, later: Self, joins: impl Fn(&str) -> bool) {
        for (name, value) in later.0 {
            let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == name) else {
                self.set(&name, value);
                continue;
            };
            // The strings are joined as written, so that a split character can continue in the next part.
            match value.strip_prefix('"').filter(|_| known.starts_with('"') && joins(&name)) {
                Some(more) => {
                    known.pop();
                    known.push_str(more);
                }
                None if value != "null" => *known = value,
                None => {}
            }
        }
    }

    /// Returns the total length of all names and values, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Returns the object as JSON.
    pub(crate) fn to_json(&self) -> Json {
        let mut out = String::with_capacity(self.bytes() + 6 * self.0.len() + 2);
        for (at, (name, value)) in self.0.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let name = serde_json::to_string(name).unwrap_or_default();
            // Writing to a string does not fail.
            let _written = write!(out, "{before}{name}:{value}");
        }
        out.push_str(if self.0.is_empty() { "{}" } else { "}" });
        Json::parse(&out).unwrap_or_default()
    }
}

lax! { ['de] JsonMembers, ignoring bool number null string seq;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMembers, A::Error> {
        let mut members = JsonMembers::default();
        while let Some((name, value)) = map.next_entry::<Text, &RawValue>()? {
            members.set(&name, value.get().to_owned());
        }
        Ok(members)
    }
}
