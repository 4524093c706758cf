//! What a tool's JSON schema says of one value.

use serde_json::Value;

use crate::llm::parser::json::JsonTracker;

/// How the text of a value is to be written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a string.
    Text,
    /// As the literal it spells, if it spells one; else as a string.
    Literal,
    /// As a list.
    List,
    /// As an object.
    Object,
}

/// The schema of member `name` of an object schema.
pub(super) fn member<'s>(schema: Option<&'s Value>, name: &str) -> Option<&'s Value> {
    schema?.get("properties")?.get(name)
}

/// The schema of the items of an array schema.
pub(super) fn items(schema: Option<&Value>) -> Option<&Value> {
    schema?.get("items")
}

/// The JSON types that a schema admits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const STRING: Self = Self(1);
    const NUMBER: Self = Self(2);
    const INTEGER: Self = Self(4);
    const BOOLEAN: Self = Self(8);
    const NULL: Self = Self(16);
    const ARRAY: Self = Self(32);
    const OBJECT: Self = Self(64);

    /// Through `type`, the branches of a union, and an enumeration of strings.
    fn of(schema: &Value) -> Self {
        let mut types = match schema.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .fold(Self::default(), |types, name| types.and(Self::named(name))),
            _ => Self::default(),
        };
        for union in ["anyOf", "oneOf"] {
            for branch in schema.get(union).and_then(Value::as_array).into_iter().flatten() {
                types = types.and(Self::of(branch));
            }
        }
        if types.is_unknown() {
            let values = schema.get("enum").and_then(Value::as_array);
            if values.is_some_and(|values| values.iter().all(Value::is_string)) {
                types = Self::STRING;
            }
        }
        types
    }

    fn named(name: &str) -> Self {
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

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn is_unknown(self) -> bool {
        self == Self::default()
    }
}

/// The form that `schema` asks for; without one, literals are typed and all else is text.
pub(super) fn form(schema: Option<&Value>) -> Form {
    let Some(schema) = schema else { return Form::Literal };
    let types = Types::of(schema);
    if types.has(Types::OBJECT) || (types.is_unknown() && schema.get("properties").is_some()) {
        Form::Object
    } else if types.has(Types::ARRAY) || (types.is_unknown() && schema.get("items").is_some()) {
        Form::List
    } else if types == Types::STRING {
        Form::Text
    } else {
        Form::Literal
    }
}

/// Whether `text` spells a JSON literal that `schema` admits.
pub(super) fn admits_literal(schema: Option<&Value>, text: &str) -> bool {
    let kind = match text {
        "true" | "false" => Types::BOOLEAN,
        "null" => Types::NULL,
        _ if !is_number(text) => return false,
        _ if text.contains(['.', 'e', 'E']) => Types::NUMBER,
        _ => Types::NUMBER.and(Types::INTEGER),
    };
    let types = schema.map(Types::of).unwrap_or_default();
    types.is_unknown() || types.has(kind)
}

/// Whether `text` may still become a literal when more follows.
pub(super) fn may_be_literal(text: &str) -> bool {
    ["true", "false", "null"].iter().any(|word| word.starts_with(text))
        || text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
}

fn is_number(text: &str) -> bool {
    let starts_right = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let ends_right = text.ends_with(|last: char| last.is_ascii_digit());
    let mut tracker = JsonTracker::default();
    tracker.push(text);
    starts_right && ends_right && tracker.is_whole()
}
