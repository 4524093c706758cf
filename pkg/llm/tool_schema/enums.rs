//! Values and types in the terms of a provider that supports few of them.

use serde_json::{Value, json};

use super::merge::{SchemaFields, conjoin};

/// Keywords that apply to values of one type only.
#[rustfmt::skip]
const OF_TYPES: [(&str, &[&str]); 4] = [
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"]),
    ("array", &[
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains",
        "maxContains", "unevaluatedItems",
    ]),
    ("object", &[
        "properties", "patternProperties", "additionalProperties", "required", "propertyNames",
        "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties",
    ]),
];

/// Writes `const` as an `enum` of one value; returns `false` if an `enum` next to it does not contain that value.
pub(super) fn single_value(schema: &mut SchemaFields) -> bool {
    let Some(only) = schema.get("const").cloned() else { return true };
    let is_listed = match schema.get("enum").and_then(Value::as_array) {
        Some(values) => values.contains(&only),
        None => true,
    };
    schema.shift_remove("const");
    if is_listed {
        schema.insert("enum".to_owned(), json!([only]));
    }
    is_listed
}

/// Keeps strings and numbers in an `enum` and expresses the other values by their types; returns `false` if
/// that allows more.
pub(super) fn plain_enum(schema: &mut SchemaFields) -> bool {
    let Some(values) = schema.get("enum").and_then(Value::as_array) else { return true };
    let is_plain = |value: &&Value| value.is_string() || value.is_number();
    if values.iter().all(|value| is_plain(&value)) {
        return true;
    }
    let has = |wanted: &dyn Fn(&Value) -> bool| values.iter().any(wanted);
    let plain: Vec<_> = values.iter().filter(is_plain).cloned().collect();
    let mut options = Vec::new();
    let mut is_same = true;
    if !plain.is_empty() {
        options.push(json!({ "enum": plain }));
    }
    let truths = usize::from(has(&|it| *it == true)) + usize::from(has(&|it| *it == false));
    for (kind, is_there, is_exact) in [
        ("boolean", truths > 0, truths == 2),
        ("array", has(&Value::is_array), false),
        ("object", has(&Value::is_object), false),
        ("null", has(&Value::is_null), true),
    ] {
        if is_there {
            options.push(json!({ "type": kind }));
            is_same &= is_exact;
        }
    }
    schema.shift_remove("enum");
    is_same & either(schema, options)
}

/// Writes several types as a union of single types, each with the keywords for values of that type; `null` may
/// be combined with one other. Returns `false` if that allows more.
pub(super) fn single_types(schema: &mut SchemaFields) -> bool {
    let Some(kinds) = schema.get("type").and_then(Value::as_array) else { return true };
    let others = kinds.iter().filter(|kind| *kind != "null").count();
    if others < 2 {
        return true;
    }
    let kinds = kinds.clone();
    schema.shift_remove("type");
    if schema.contains_key("anyOf") {
        return false;
    }
    let mut options = Vec::new();
    for kind in kinds {
        let name = if kind == "integer" { "number" } else { kind.as_str().unwrap_or_default() };
        let words = OF_TYPES.iter().find(|(kind, _)| *kind == name).map_or(&[][..], |of| of.1);
        let mut option = SchemaFields::from_iter([("type".to_owned(), kind)]);
        let said = schema.iter().filter(|(key, _)| words.contains(&key.as_str()));
        option.extend(said.map(|(key, value)| (key.clone(), value.clone())));
        options.push(Value::Object(option));
    }
    schema.retain(|key, _| !OF_TYPES.iter().any(|(_, words)| words.contains(&key.as_str())));
    either(schema, options)
}

/// Adds the condition that one of `options` matches; returns `false` if there is no place for it.
fn either(schema: &mut SchemaFields, mut options: Vec<Value>) -> bool {
    if let [Value::Object(only)] = options.as_slice() {
        return conjoin(schema, only).map(|both| *schema = both).is_some();
    }
    if schema.contains_key("anyOf") {
        return false;
    }
    options.dedup();
    schema.insert("anyOf".to_owned(), Value::Array(options));
    true
}
