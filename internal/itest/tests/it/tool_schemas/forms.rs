//! Schemas of tools as MCP servers and generators of several languages write them, made here.

use std::cell::Cell;

use serde_json::{Map, Value, json};

/// Random numbers that are the same in each run.
pub(super) struct Numbers(Cell<u64>);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    pub(super) fn below(&self, most: usize) -> usize {
        let mut next = self.0.get();
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        self.0.set(next);
        usize::try_from(next >> 33).unwrap() % most.max(1)
    }

    pub(super) fn is(&self) -> bool {
        self.below(2) == 0
    }

    pub(super) fn pick<'v, T>(&self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// A way to write a whole schema.
type Form = fn(&Numbers) -> Value;

/// The ways, by their names.
#[rustfmt::skip]
pub(super) const FORMS: [(&str, Form); 40] = [
    ("plain",            |n| object(n, &[])),
    ("closed",           |n| with(object(n, &[]), json!({ "additionalProperties": false }))),
    ("empty object",     |_| json!({ "type": "object" })),
    ("nothing at all",   |_| json!({})),
    ("true",             |_| json!(true)),
    ("no type",          |n| without(object(n, &[]), "type")),
    ("object or null",   |n| with(object(n, &[]), json!({ "type": ["object", "null"] }))),
    ("zod",              |n| with(object(n, &[("positive", json!({ "type": "integer", "exclusiveMinimum": 0, "maximum": 9_007_199_254_740_991_i64 }))]), json!({ "$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": false }))),
    ("zod reuse",        |n| object(n, &[("headers", json!({ "type": "object", "additionalProperties": { "type": "string" } })), ("more", json!({ "type": "array", "items": { "$ref": "#/properties/headers" } }))])),
    ("zod recursion",    |n| object(n, &[("data", json!({ "type": "array", "items": { "type": "object", "properties": { "name": leaf(n), "child": { "$ref": "#/properties/data/items" } } } }))])),
    ("zod union",        |n| json!({ "anyOf": [variant(n, "make", true), variant(n, "drop", true)], "$schema": "https://json-schema.org/draft/2020-12/schema" })),
    ("pydantic",         |n| with(object(n, &[("unit", json!({ "$ref": "#/$defs/Unit", "default": "c", "description": "The unit." })), ("limit", json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "default": null, "title": "Limit" }))]), json!({ "title": "Arguments", "$defs": { "Unit": { "enum": ["c", "f"], "title": "Unit", "type": "string" } } }))),
    ("pydantic models",  |n| with(object(n, &[("place", json!({ "$ref": "#/$defs/Place" })), ("places", json!({ "type": "array", "items": { "$ref": "#/$defs/Place" } }))]), json!({ "$defs": { "Place": object(n, &[]) } }))),
    ("pydantic tree",    |n| with(object(n, &[("root", json!({ "$ref": "#/$defs/Node" }))]), json!({ "$defs": { "Node": { "type": "object", "properties": { "name": leaf(n), "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } }, "required": ["name"] } } }))),
    ("discriminator",    |n| object(n, &[("shape", json!({ "discriminator": { "propertyName": "kind" }, "oneOf": [variant(n, "circle", false), variant(n, "square", false)] }))])),
    ("schemars enum",    |n| object(n, &[("mode", json!({ "oneOf": [{ "description": "Fast.", "type": "string", "const": "fast" }, { "description": "Slow.", "type": "string", "const": "slow" }] }))])),
    ("schemars tagged",  |n| json!({ "oneOf": [variant(n, "read", false), variant(n, "write", false)], "title": "Action" })),
    ("schemars root",    |n| json!({ "$ref": "#/definitions/Arguments", "definitions": { "Arguments": object(n, &[]) } })),
    ("typebox",          |n| object(n, &[("level", json!({ "anyOf": [{ "const": 1, "type": "number" }, { "const": 2, "type": "number" }] })), ("tags", json!({ "type": "array", "uniqueItems": true, "items": { "type": "string" } }))])),
    ("openapi",          |n| object(n, &[("when", json!({ "type": "string", "format": "date-time", "nullable": true, "example": "2026-01-01T00:00:00Z" })), ("id", json!({ "type": "integer", "format": "int64" }))])),
    ("openapi wrap",     |n| object(n, &[("owner", json!({ "description": "Who.", "allOf": [{ "type": "object", "properties": { "id": leaf(n) } }] }))])),
    ("all of",           |n| json!({ "allOf": [object(n, &[]), { "type": "object", "properties": { "page": { "type": "integer", "minimum": 1 } }, "required": ["page"] }] })),
    ("one is needed",    |n| with(object(n, &[("id", leaf(n)), ("name", leaf(n))]), json!({ "anyOf": [{ "required": ["id"] }, { "required": ["name"] }] }))),
    ("exactly one",      |n| with(object(n, &[("id", leaf(n)), ("name", leaf(n))]), json!({ "oneOf": [{ "required": ["id"] }, { "required": ["name"] }] }))),
    ("not both",         |n| with(object(n, &[("id", leaf(n)), ("name", leaf(n))]), json!({ "not": { "required": ["id", "name"] } }))),
    ("conditions",       |n| with(object(n, &[("kind", json!({ "enum": ["a", "b"] })), ("size", leaf(n))]), json!({ "if": { "properties": { "kind": { "const": "a" } }, "required": ["kind"] }, "then": { "required": ["size"] } }))),
    ("dependent",        |n| with(object(n, &[("card", leaf(n)), ("code", leaf(n))]), json!({ "dependentRequired": { "card": ["code"] } }))),
    ("draft 4",          |n| with(object(n, &[("share", json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1 }))]), json!({ "$schema": "http://json-schema.org/draft-04/schema#", "dependencies": { "share": ["share"] } }))),
    ("draft 7 tuple",    |n| with(object(n, &[("pair", json!({ "type": "array", "items": [{ "type": "string" }, { "type": "integer" }], "additionalItems": false }))]), json!({ "$schema": "http://json-schema.org/draft-07/schema#" }))),
    ("tuple",            |n| object(n, &[("pair", json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }], "items": false, "minItems": 2 }))])),
    ("lists of anything", |n| object(n, &[("all", json!({ "type": "array" })), ("any", json!({ "type": ["array", "string"] })), ("true", json!({ "type": "array", "items": true }))])),
    ("anything",         |n| object(n, &[("value", json!({})), ("truth", json!(true)), ("note", json!({ "description": "Any JSON." }))])),
    ("maps",             |n| object(n, &[("env", json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })), ("by", json!({ "type": "object", "patternProperties": { "^x-": leaf(n) }, "additionalProperties": false }))])),
    ("mixed values",     |n| object(n, &[("flag", json!({ "enum": [true, "auto", null] })), ("always", json!({ "const": true })), ("count", json!({ "enum": [1, 2, 3] })), ("none", json!({ "const": null }))])),
    ("checks of text",   |n| object(n, &[("mail", json!({ "type": "string", "format": "email", "minLength": 3, "maxLength": 9 })), ("code", json!({ "type": "string", "pattern": "^[a-z]+$" })), ("host", json!({ "format": "hostname" }))])),
    ("negations",        |n| object(n, &[("name", json!({ "type": "string", "not": { "enum": ["root", ""] } })), ("list", json!({ "type": "array", "items": {}, "contains": { "type": "integer", "minimum": 2 }, "maxContains": 1 }))])),
    ("unevaluated",      |n| with(object(n, &[("base", json!({ "allOf": [{ "$ref": "#/$defs/Base" }], "properties": { "more": leaf(n) }, "unevaluatedProperties": false }))]), json!({ "$defs": { "Base": { "type": "object", "properties": { "id": { "type": "string" }, "off": false } } } }))),
    ("odd names",        |n| object(n, &[("filter[id]", leaf(n)), ("@type", leaf(n)), ("$top", json!({ "type": "integer" }))])),
    ("odd needed names", |n| with(object(n, &[("sort by", leaf(n))]), json!({ "required": ["sort by"] }))),
    ("no object",        |n| if n.is() { json!({ "type": "string" }) } else { json!({ "type": "array", "items": leaf(n) }) }),
];

/// An object with some properties and these.
fn object(numbers: &Numbers, more: &[(&str, Value)]) -> Value {
    let names = ["path", "query", "count", "deep", "options", "mode"];
    let mut properties = Map::new();
    let mut required = Vec::new();
    for name in names.iter().take(1 + numbers.below(4)) {
        properties.insert((*name).to_owned(), argument(numbers, 2));
        if numbers.below(3) == 0 {
            required.push(json!(name));
        }
    }
    properties.extend(more.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    let mut object = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        object["required"] = Value::Array(required);
    }
    object
}

/// One of several forms of an object, distinguished by its `kind`.
fn variant(numbers: &Numbers, kind: &str, is_closed: bool) -> Value {
    let mut variant = json!({
        "type": "object",
        "properties": { "kind": { "type": "string", "const": kind }, kind: leaf(numbers), "note": leaf(numbers) },
        "required": ["kind"],
    });
    if is_closed {
        variant["additionalProperties"] = json!(false);
    }
    variant
}

/// The schema of an argument.
fn argument(numbers: &Numbers, depth: usize) -> Value {
    if depth == 0 {
        return leaf(numbers);
    }
    match numbers.below(8) {
        0 => json!({ "type": "array", "items": argument(numbers, depth - 1) }),
        1 => json!({ "anyOf": [argument(numbers, depth - 1), { "type": "null" }] }),
        2 => {
            json!({ "type": "object", "properties": { "a": argument(numbers, depth - 1), "b": leaf(numbers) }, "required": ["a"] })
        }
        3 => json!({ "allOf": [argument(numbers, depth - 1)], "description": "D." }),
        4 => json!({ "oneOf": [{ "type": "string" }, argument(numbers, depth - 1)] }),
        _ => leaf(numbers),
    }
}

fn leaf(numbers: &Numbers) -> Value {
    let leaves = [
        json!({ "type": "string" }),
        json!({ "type": "string", "description": "Some words.", "maxLength": 5 }),
        json!({ "type": ["string", "null"], "default": null }),
        json!({ "type": "string", "enum": ["one", "two"] }),
        json!({ "type": ["integer", "string"], "minimum": 0 }),
        json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
        json!({ "type": "number", "multipleOf": 0.5 }),
        json!({ "type": "boolean" }),
        json!({ "const": 7 }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
    ];
    numbers.pick(&leaves).clone()
}

fn with(mut schema: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more}") };
    for (key, value) in more {
        schema[key] = value;
    }
    schema
}

fn without(mut schema: Value, key: &str) -> Value {
    schema.as_object_mut().unwrap().remove(key);
    schema
}
