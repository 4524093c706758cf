//! Parameters that may contain all arguments as one object.

use compact_str::CompactString;
use serde_json::{Map, Value};

use super::want::WrittenForm;
use crate::grammar::{json::JsonValue, schema::ValueSchema};
use forgeline_json::RepairSet;
use forgeline_types::Repair;

/// Maximum length of such a parameter's value that is withheld until it is known to be the only one, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// A first parameter that has the name of a wrapper and is not a parameter of the tool.
#[derive(Debug)]
pub(super) struct WrapperParameter {
    pub(super) key: CompactString,
    pub(super) want: WrittenForm,
    pub(super) text: String,
}

impl WrapperParameter {
    /// Begins the first parameter of a call, if it may contain all arguments.
    pub(super) fn begin(key: &str, want: WrittenForm, schema: ValueSchema<'_>) -> Option<Self> {
        let is_wrapper =
            matches!(key, "arguments" | "args" | "parameters" | "properties" | "input");
        let is_foreign = is_wrapper && !schema.properties()?.contains_key(key);
        is_foreign.then(|| Self { key: key.into(), want, text: String::new() })
    }

    /// Adds text of the value; returns `true` if it is too long to wait for more.
    pub(super) fn push(&mut self, text: &str) -> bool {
        self.text.push_str(text);
        self.text.len() > MAX_BYTES
    }

    /// Returns the object as strict JSON, if it contains a member that the tool has.
    pub(super) fn object(&self, schema: ValueSchema<'_>) -> Option<(String, RepairSet)> {
        let text = self.text.trim();
        let (json, mut repairs) = JsonValue::parse(text).filter(|_| text.starts_with('{'))?;
        let members: Map<String, Value> = serde_json::from_str(&json).ok()?;
        let properties = schema.properties()?;
        members.keys().any(|key| properties.contains_key(key)).then(|| {
            repairs.insert(Repair::StringArguments);
            (json, repairs)
        })
    }
}
