//! Conversion of older drafts of JSON Schema to draft 2020-12, and repair of common errors.

use serde_json::{Map, Value, json};

/// Types of JSON Schema.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// Keywords that hold a list of schemas.
pub(super) const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords that hold schemas by name.
pub(super) const MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords that hold one schema.
#[rustfmt::skip]
pub(super) const SINGLES: [&str; 11] = [
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems", "contentSchema",
];

/// Keywords that are annotations and do not restrict values.
#[rustfmt::skip]
pub(super) const NOTES: [&str; 15] = [
    "$schema", "$id", "$comment", "$vocabulary", "title", "description", "default", "examples",
    "example", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    "propertyOrdering",
];

/// Keywords by the draft that introduced them, after draft 4.
#[rustfmt::skip]
const SINCE: [(u32, &[&str]); 3] = [
    (6, &["const", "contains", "propertyNames"]),
    (7, &["if", "then", "else"]),
    (8, &[
        "prefixItems", "minContains", "maxContains", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties", "unevaluatedItems",
    ]),
];

/// Returns the keywords that have no meaning in the draft of a schema; none for the newest drafts. If there
/// are any, keywords next to `$ref` are ignored and formats are checked.
pub(super) fn unknown_in(root: &Value) -> Vec<&'static str> {
    let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let number = draft.split_once("draft-0").map(|(_, rest)| rest.split(['/', '#']).next());
    let number = number.flatten().and_then(|number| number.parse::<u32>().ok());
    let Some(number) = number else { return Vec::new() };
    SINCE.iter().filter(|since| since.0 > number).flat_map(|since| since.1).copied().collect()
}

/// Converts one level of a schema to draft 2020-12, and removes keywords whose values are
/// invalid. Returns those that were removed.
pub(super) fn modernise(schema: &mut Map<String, Value>, unknown: &[&str]) -> Vec<String> {
    schema.shift_remove("$schema");
    schema.retain(|key, _| !unknown.contains(&key.as_str()));
    exclusive(schema, "exclusiveMinimum", "minimum");
    exclusive(schema, "exclusiveMaximum", "maximum");
    tuples(schema);
    // Newer drafts do not have the keyword.
    let is_old = !unknown.is_empty();
    if let Some(Value::Object(all)) = schema.shift_remove("dependencies").filter(|_| is_old) {
        dependencies(schema, all);
    }
    types(schema);
    let wrong = |(key, value): (&String, &Value)| (!is_sound(key, value)).then(|| key.clone());
    let wrong: Vec<_> = schema.iter().filter_map(wrong).collect();
    for key in &wrong {
        schema.shift_remove(key);
    }
    wrong
}

/// Converts an exclusive limit of draft 4, which has `true` next to the limit.
fn exclusive(schema: &mut Map<String, Value>, key: &str, limit: &str) {
    let Some(is_exclusive) = schema.get(key).and_then(Value::as_bool) else { return };
    schema.shift_remove(key);
    if is_exclusive && let Some(limit) = schema.shift_remove(limit) {
        schema.insert(key.to_owned(), limit);
    }
}

/// Converts a list of `items`, a tuple until draft 2019-09, and `additionalItems`, the items after it.
fn tuples(schema: &mut Map<String, Value>) {
    let rest = schema.shift_remove("additionalItems");
    if let Some(Value::Array(_)) = schema.get("items")
        && let Some(items) = schema.shift_remove("items")
    {
        if items.as_array().is_some_and(|items| !items.is_empty()) {
            schema.insert("prefixItems".to_owned(), items);
        }
        schema.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
}

/// Converts `dependencies`, which are lists of names or schemas until draft 7.
fn dependencies(schema: &mut Map<String, Value>, all: Map<String, Value>) {
    let (names, schemas): (Map<_, _>, Map<_, _>) =
        all.into_iter().partition(|(_, value)| value.is_array());
    for (key, members) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
        if !members.is_empty() {
            schema.entry(key).or_insert(Value::Object(members));
        }
    }
}

/// Converts types in upper case, as in other kinds of schemas, to lower case.
fn types(schema: &mut Map<String, Value>) {
    let Some(kind) = schema.get_mut("type") else { return };
    let lower = |name: &mut Value| {
        if let Value::String(name) = name
            && !TYPES.contains(&name.as_str())
            && TYPES.contains(&name.to_ascii_lowercase().as_str())
        {
            name.make_ascii_lowercase();
        }
    };
    if let Value::Array(names) = kind {
        names.iter_mut().for_each(lower);
    } else {
        lower(kind);
    }
    if let Some([only]) = kind.as_array().map(Vec::as_slice) {
        *kind = only.clone();
    }
}

/// Returns `true` unless the keyword has an invalid value.
fn is_sound(key: &str, value: &Value) -> bool {
    let is_schema = |value: &Value| value.is_object() || value.is_boolean();
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let texts =
        |value: &Value| value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string));
    match key {
        "type" => {
            let names = value.as_array();
            is_name(value) || names.is_some_and(|all| !all.is_empty() && all.iter().all(is_name))
        }
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "required" => texts(value),
        "description" | "title" | "format" | "pattern" | "$ref" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => {
            value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
        }
        "uniqueItems" => value.is_boolean(),
        "dependentRequired" => value.as_object().is_some_and(|all| all.values().all(texts)),
        // A member that is not a schema is replaced with one that allows anything when it is read.
        _ if MAPS.contains(&key) => value.is_object(),
        _ if LISTS.contains(&key) => value.as_array().is_some_and(|all| !all.is_empty()),
        _ if SINGLES.contains(&key) => is_schema(value),
        _ => true,
    }
}

/// Returns a schema that allows at least what `schema` allows, by its type alone.
pub(super) fn by_type(schema: &Value) -> Value {
    match schema.get("type") {
        Some(kind) if is_sound("type", kind) => json!({ "type": kind }),
        _ => json!({}),
    }
}
