//! The known tools, and the part of a tool's JSON schema that describes one value.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{json::is_number, types::Text};

/// The known tools, and the one that the current call names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    /// Their names and JSON schemas.
    known: Arc<[(Text, Value)]>,
    called: Option<usize>,
    bounds_only: bool,
}

impl From<Arc<[(Text, Value)]>> for Tools {
    fn from(known: Arc<[(Text, Value)]>) -> Self {
        Self { known, ..Self::default() }
    }
}

impl Tools {
    /// Returns no tools, for who wants to know only where calls end: a reader need not keep text of
    /// arguments that it cannot pass on.
    pub(crate) fn bounds_only() -> Self {
        Self { bounds_only: true, ..Self::default() }
    }

    /// Returns `true` when only the ends of calls are wanted.
    pub(crate) fn are_bounds_only(&self) -> bool {
        self.bounds_only
    }

    /// Takes the name of the tool that is called.
    pub(crate) fn call(&mut self, name: &str) {
        self.called = self.known.iter().position(|(known, _)| known == name);
    }

    /// Returns the schema of the arguments of the tool that is called.
    pub(crate) fn schema(&self) -> Schema<'_> {
        let called = self.called.and_then(|called| self.known.get(called));
        let root = called.map(|(_, schema)| schema);
        Schema { root, node: root }
    }
}

/// The form in which the text of a value is written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As a string.
    Text,
    /// As the literal it spells, if it spells one; else as a string.
    Literal,
    /// As a list.
    List,
    /// As an object.
    Object,
}

/// The most references that are followed to one schema.
const MAX_REFERENCES: usize = 8;

/// The part of a tool's schema that describes one value; it may say nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'s> {
    /// The whole schema, for references into it.
    root: Option<&'s Value>,
    node: Option<&'s Value>,
}

impl<'s> Schema<'s> {
    fn at(self, node: Option<&'s Value>) -> Self {
        let mut schema = Self { node, ..self };
        for _ in 0..MAX_REFERENCES {
            let reference = schema.node.and_then(|node| node.get("$ref")).and_then(Value::as_str);
            let Some(pointer) = reference.and_then(|path| path.strip_prefix('#')) else { break };
            schema.node = self.root.and_then(|root| root.pointer(pointer));
        }
        schema
    }

    /// Returns the schemas of the members of an object.
    pub(crate) fn properties(self) -> Option<&'s Map<String, Value>> {
        self.at(self.node).node?.get("properties")?.as_object()
    }

    /// Returns the schema of a member of an object.
    pub(crate) fn member(self, name: &str) -> Self {
        self.at(self.properties().and_then(|properties| properties.get(name)))
    }

    /// Returns the schema of the items of a list.
    pub(crate) fn items(self) -> Self {
        self.at(self.node.and_then(|node| node.get("items")))
    }

    /// Returns `true` when the schema says anything.
    pub(crate) fn is_known(self) -> bool {
        self.node.is_some()
    }

    /// Returns the form that is asked for; without a schema literals are typed and all else is
    /// text. A value that may be a string is one, unless it spells a literal that is admitted too.
    pub(crate) fn form(self) -> Form {
        let Some(node) = self.node else { return Form::Literal };
        let types = self.types(0);
        if types == Types::STRING {
            Form::Text
        } else if types.has(Types::STRING) {
            Form::Literal
        } else if types.has(Types::OBJECT)
            || (types.is_unknown() && node.get("properties").is_some())
        {
            Form::Object
        } else if types.has(Types::ARRAY) || (types.is_unknown() && node.get("items").is_some()) {
            Form::List
        } else {
            Form::Literal
        }
    }

    /// Returns `true` when `text` spells a JSON literal that is admitted.
    pub(crate) fn admits_literal(self, text: &str) -> bool {
        self.types(0).admit_literal(text)
    }

    /// Returns the JSON types that are admitted.
    pub(crate) fn admitted(self) -> Types {
        self.types(0)
    }

    /// Collects the types from `type`; without it through the branches of a union, or an
    /// enumeration of strings.
    fn types(self, depth: usize) -> Types {
        let Some(node) = self.node else { return Types::default() };
        let mut types = match node.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .fold(Types::default(), |types, name| types.and(Types::named(name))),
            _ => Types::default(),
        };
        if !types.is_unknown() {
            return types;
        }
        for union in ["anyOf", "oneOf", "allOf"] {
            let branches = node.get(union).and_then(Value::as_array).into_iter().flatten();
            for branch in branches.filter(|_| depth < MAX_REFERENCES) {
                types = types.and(self.at(Some(branch)).types(depth + 1));
            }
        }
        let values = node.get("enum").and_then(Value::as_array);
        if types.is_unknown() && values.is_some_and(|all| all.iter().all(Value::is_string)) {
            types = Types::STRING;
        }
        types
    }
}

/// The JSON types that a schema admits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const STRING: Self = Self(1);
    const NUMBER: Self = Self(2);
    const INTEGER: Self = Self(4);
    const BOOLEAN: Self = Self(8);
    const NULL: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    /// All but strings.
    pub(crate) const JSON: Self = Self(126);

    /// Returns the type of this name; an unknown name says nothing.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" => Self::NUMBER,
            "integer" => Self::INTEGER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::default(),
        }
    }

    /// Returns the types that either admits.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `true` when one of `other` is admitted by name.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` when nothing is said.
    pub(crate) fn is_unknown(self) -> bool {
        self == Self::default()
    }

    /// Returns `true` when `text` spells a JSON literal that is admitted.
    pub(crate) fn admit_literal(self, text: &str) -> bool {
        let kind = match text {
            "true" | "false" => Self::BOOLEAN,
            "null" => Self::NULL,
            _ if !is_number(text) => return false,
            _ if text.contains(['.', 'e', 'E']) => Self::NUMBER,
            _ => Self::NUMBER.and(Self::INTEGER),
        };
        self.is_unknown() || self.has(kind)
    }
}

/// Returns `true` when `text` may still become a literal when more follows.
pub(crate) fn may_be_literal(text: &str) -> bool {
    ["true", "false", "null"].iter().any(|word| word.starts_with(text))
        || text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
}
