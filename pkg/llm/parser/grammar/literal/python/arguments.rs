//! The arguments of one call: which were given, and what those without a name are called.

use std::collections::BTreeSet;

use compact_str::CompactString;
use serde_json::Value;

use crate::{llm::parser::json::escape_into, types::Text};

/// The arguments that one call has so far.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Which of the schemas is the tool's.
    tool: Option<usize>,
    names: BTreeSet<CompactString>,
    /// Whether one was given by its name: from then on all must be.
    has_named: bool,
}

impl Arguments {
    /// The arguments of tool number `tool`.
    pub(super) fn new(tool: Option<usize>) -> Self {
        Self { tool, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Begins the argument `name`.
    pub(super) fn begin_named(
        &mut self,
        name: &str,
        out: &mut impl FnMut(&str),
    ) -> Result<(), &'static str> {
        self.has_named = true;
        self.begin(name, out)
    }

    /// Begins an argument that is known by its place: the schema says in which order they come.
    pub(super) fn begin_positional(
        &mut self,
        schemas: &[(Text, Value)],
        out: &mut impl FnMut(&str),
    ) -> Result<(), &'static str> {
        if self.has_named {
            return Err("an argument without a name follows one with a name");
        }
        let schema = self.tool.and_then(|tool| schemas.get(tool)).map(|(_, schema)| schema);
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let Some(properties) = properties else {
            return Err("an argument has no name, and no schema gives it one");
        };
        let Some(name) = properties.keys().nth(self.names.len()) else {
            return Err("there are more arguments than the schema has");
        };
        self.begin(name, out)
    }

    fn begin(&mut self, name: &str, out: &mut impl FnMut(&str)) -> Result<(), &'static str> {
        out(if self.names.is_empty() { "{\"" } else { ",\"" });
        escape_into(name, out);
        out("\":");
        if self.names.insert(CompactString::from(name)) {
            Ok(())
        } else {
            Err("duplicate_argument")
        }
    }
}
