//! The whole of JSON Schema, in our words.

use serde_json::{Value, json};

use super::ArgumentCheck;
use crate::tools::RegistryError;

fn checked(schema: &Value, arguments: &Value) -> String {
    let check = ArgumentCheck::new("t", schema).unwrap();
    check.check(schema, arguments).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn invalid_arguments_are_reported_with_path_and_own_wording() {
    let units = || json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "string", "pattern": "^[a-z]+$" } });
    let port = || json!({ "type": "integer", "minimum": 1, "exclusiveMaximum": 9 });
    #[rustfmt::skip]
    let cases = [
        ("good",          units(),  json!(["a", "b"]),  ""),
        ("pattern",       units(),  json!(["a", "B"]),  "`a[1]` must match the pattern `^[a-z]+$`"),
        ("few",           units(),  json!([]),          "`a` must have at least 1 items"),
        ("twice",         units(),  json!(["a", "a"]),  "`a` must not have the same item twice"),
        ("type",          units(),  json!("a"),         "`a` must be of type array, not string"),
        ("minimum",       port(),   json!(0),           "`a` must be at least 1"),
        ("maximum",       port(),   json!(9),           "`a` must be less than 9"),
        ("format",        json!({ "type": "string", "format": "date" }), json!("today"), "`a` must match the format `date`"),
        ("length",        json!({ "maxLength": 2 }), json!("abc"), "`a` must have at most 2 characters"),
        ("inside a union", json!({ "anyOf": [{ "type": "null" }, { "type": "object", "properties": { "0": port() } }] }), json!({ "0": 0 }), "`a.0` must be at least 1"),
        ("no form",       json!({ "anyOf": [{ "const": 1 }, { "const": 2 }] }), json!(3), "`a` must be 2"),
        ("two forms",     json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 2 }] }), json!(3), "`a` fits several forms, and only one of them is allowed"),
        ("ruled out",     json!({ "not": { "type": "null" } }), json!(null), "`a` has a form that is not allowed"),
        ("names",         json!({ "propertyNames": { "maxLength": 1 } }), json!({ "ab": 1 }), "`a` has a field whose name must have at most 1 characters"),
        ("then",          json!({ "if": { "required": ["x"] }, "then": { "required": ["y"] } }), json!({ "x": 1 }), "`a.y` is missing"),
        ("not evaluated", json!({ "allOf": [{ "properties": { "x": {} } }], "unevaluatedProperties": false }), json!({ "x": 1, "y": 2 }), "`a` has unknown items; remove: y"),
        ("contains",      json!({ "contains": { "type": "null" } }), json!([1]), "`a` lacks an item that it must contain"),
    ];
    for (name, schema, value, want) in cases {
        let schema = json!({ "type": "object", "properties": { "a": schema } });
        assert_eq!(checked(&schema, &json!({ "a": value })), want, "{name}");
    }
}

#[test]
fn what_only_the_light_check_refuses_is_allowed() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "a": { "$ref": "#/definitions/A", "type": "string" } },
        "definitions": { "A": { "type": "integer" } },
    });
    assert_eq!(
        checked(&schema, &json!({ "a": 1 })),
        "",
        "draft 7 does not look beside a reference"
    );
}

// Covers: CT-158, CT-159
#[test]
fn a_malformed_schema_is_refused_by_name_and_member_with_what_to_do() {
    #[rustfmt::skip]
    let cases = [
        (json!({ "type": "any" }),                    "#/properties/a/type"),
        (json!({ "type": "string", "minLength": -1 }), "#/properties/a/minLength"),
        (json!({ "pattern": "(" }),                   "#/properties/a/pattern"),
        (json!({ "required": "x" }),                  "#/properties/a/required"),
        (json!({ "$ref": "#/$defs/None" }),           "#"),
        (json!({ "$ref": "https://example.com/s" }),  "#"),
    ];
    for (argument, want) in cases {
        let schema = json!({ "type": "object", "properties": { "a": argument } });
        let Err(error) = ArgumentCheck::new("weather", &schema) else { panic!("{schema}") };
        let RegistryError::MalformedSchema { member, .. } = &error else { panic!("{error:?}") };
        assert_eq!(member, want, "{error}");
        let reported = error.to_string();
        assert!(reported.contains("`weather`") && reported.contains("correct"), "{reported}");
    }
}
