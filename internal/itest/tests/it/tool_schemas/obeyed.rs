//! What each vendor says of the schemas of tools, checked apart from the rules of the library.

use serde_json::{Map, Value};

type Fields = Map<String, Value>;

/// Calls `check` with each schema inside `schema`, itself included; below a name it is a property.
fn each(schema: &Value, check: &dyn Fn(&Value)) {
    check(schema);
    let Value::Object(fields) = schema else { return };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("enum" | "const" | "default" | "examples" | "required" | "example", _) => {}
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(members),
            ) => {
                for member in members.values() {
                    each(member, check);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                for member in members {
                    each(member, check);
                }
            }
            ("dependentRequired" | "discriminator", _) => {}
            (_, Value::Object(_)) => each(value, check),
            _ => {}
        }
    }
}

fn fields(schema: &Value) -> &Fields {
    schema.as_object().unwrap_or_else(|| panic!("{schema}"))
}

fn is_object_without(schema: &Value, keys: &[&str]) {
    assert_eq!(schema["type"], "object", "{schema}");
    assert!(keys.iter().all(|key| schema.get(key).is_none()), "{schema}");
}

fn has_array(schema: &Value) -> bool {
    let kind = &schema["type"];
    kind == "array" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
}

pub(super) fn openai(schema: &Value) {
    is_object_without(schema, &["oneOf", "anyOf", "allOf", "enum", "const", "not"]);
    assert!(schema["properties"].is_object(), "{schema}");
    each(schema, &|inner| {
        assert!(!has_array(inner) || inner.get("items").is_some(), "{inner} of {schema}");
    });
}

pub(super) fn anthropic(schema: &Value) {
    is_object_without(schema, &["oneOf", "anyOf", "allOf"]);
    for name in schema.get("properties").into_iter().flat_map(|all| fields(all).keys()) {
        let is_known = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
        assert!(name.chars().all(is_known) && name.len() <= 64, "{name}");
    }
}

pub(super) fn gemini(schema: &Value) {
    const KNOWN: &[&str] = &[
        "type",
        "format",
        "title",
        "description",
        "default",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
    ];
    is_object_without(schema, &["anyOf"]);
    each(schema, &|inner| {
        for (key, value) in fields(inner) {
            assert!(KNOWN.contains(&key.as_str()), "{key} in {inner} of {schema}");
            if key == "enum" {
                let plain =
                    value.as_array().unwrap().iter().all(|it| it.is_string() || it.is_number());
                assert!(plain, "{inner}");
            }
        }
    });
}

pub(super) fn ollama(schema: &Value) {
    is_object_without(schema, &["anyOf"]);
    assert!(schema["properties"].is_object(), "{schema}");
    each(schema, &|inner| {
        let lost = ["$ref", "allOf", "oneOf", "const"];
        assert!(lost.iter().all(|key| fields(inner).get(*key).is_none()), "{inner}");
    });
}

pub(super) fn cohere(schema: &Value) {
    is_object_without(schema, &["oneOf", "anyOf", "allOf", "enum", "const", "not"]);
}
