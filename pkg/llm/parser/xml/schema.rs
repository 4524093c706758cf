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

/// The form that `schema` asks for; without one, literals are typed and all else is text.
pub(super) fn form(schema: Option<&Value>) -> Form {
    let Some(schema) = schema else { return Form::Literal };
    let names = type_names(schema);
    let has = |name: &str| names.contains(&name);
    if has("object") || (names.is_empty() && schema.get("properties").is_some()) {
        Form::Object
    } else if has("array") || (names.is_empty() && schema.get("items").is_some()) {
        Form::List
    } else if names == ["string"] {
        Form::Text
    } else {
        Form::Literal
    }
}

/// Whether `text` spells a JSON literal that `schema` admits.
pub(super) fn admits_literal(schema: Option<&Value>, text: &str) -> bool {
    let kind = match text {
        "true" | "false" => "boolean",
        "null" => "null",
        _ if is_number(text) => "number",
        _ => return false,
    };
    let Some(schema) = schema else { return true };
    let names = type_names(schema);
    let is_whole = !text.contains(['.', 'e', 'E']);
    names.is_empty()
        || names.contains(&kind)
        || (kind == "number" && is_whole && names.contains(&"integer"))
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

/// The type names that a schema admits, through `type` and the branches of a union.
fn type_names(schema: &Value) -> Vec<&str> {
    let mut names = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for union in ["anyOf", "oneOf"] {
        for branch in schema.get(union).and_then(Value::as_array).into_iter().flatten() {
            names.extend(type_names(branch));
        }
    }
    if names.is_empty() {
        let values = schema.get("enum").and_then(Value::as_array);
        if values.is_some_and(|values| values.iter().all(Value::is_string)) {
            names.push("string");
        }
    }
    names
}
