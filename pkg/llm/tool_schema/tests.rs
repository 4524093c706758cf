//! What becomes of schemas, keyword by keyword.

use serde_json::{Value, json};

use super::{FittedSchema, ToolSchemaRules, UnfitSchema};

const OPENAI: ToolSchemaRules = ToolSchemaRules::OPENAI;
const ANTHROPIC: ToolSchemaRules = ToolSchemaRules::ANTHROPIC;
const GEMINI: ToolSchemaRules = ToolSchemaRules::GEMINI;
const OLLAMA: ToolSchemaRules = ToolSchemaRules::OLLAMA;

/// A schema with one argument `a`.
fn object_with(argument: &Value) -> Value {
    json!({ "type": "object", "properties": { "a": argument } })
}

fn rewritten(rules: &ToolSchemaRules, schema: &Value) -> (Value, Vec<String>) {
    match rules.fit(schema) {
        Ok(FittedSchema::Rewritten { schema, left_out }) => (schema, left_out),
        other => panic!("{schema}: {other:?}"),
    }
}

#[test]
fn an_argument_is_said_in_the_words_of_the_provider() {
    let text = || json!({ "type": "string" });
    #[rustfmt::skip]
    let cases = [
        ("single value", GEMINI, json!({ "const": "x" }), json!({ "enum": ["x"] }), ""),
        ("null in a list", GEMINI, json!({ "enum": ["x", null] }), json!({ "anyOf": [{ "enum": ["x"] }, { "type": "null" }] }), ""),
        ("both truths", GEMINI, json!({ "enum": [true, false] }), json!({ "type": "boolean" }), ""),
        ("one truth", GEMINI, json!({ "enum": [true] }), json!({ "type": "boolean" }), "enum"),
        ("several types", GEMINI, json!({ "type": ["string", "integer"], "minLength": 1, "minimum": 0 }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] }), "minLength"),
        ("one of", OLLAMA, json!({ "oneOf": [text(), { "type": "null" }] }), json!({ "anyOf": [text(), { "type": "null" }] }), "oneOf"),
        ("one all of", OLLAMA, json!({ "description": "D.", "allOf": [text()] }), json!({ "type": "string", "description": "D." }), ""),
        ("ranges of all", GEMINI, json!({ "allOf": [{ "minimum": 1, "maximum": 9 }, { "minimum": 3 }] }), json!({ "minimum": 3, "maximum": 9 }), ""),
        ("types of all", GEMINI, json!({ "allOf": [{ "type": "number" }, { "type": ["integer", "null"] }] }), json!({ "type": "integer" }), ""),
        ("all that cannot be one", GEMINI, json!({ "allOf": [{ "type": "array", "items": text() }, { "items": { "type": "null" } }] }),
            json!({ "type": "array", "items": text() }), "allOf"),
        ("draft 4", OPENAI, json!({ "minimum": 3, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 3 }), ""),
        ("a tuple of draft 7", OPENAI, json!({ "type": "array", "items": [text()], "additionalItems": false }),
            json!({ "type": "array", "prefixItems": [text()], "maxItems": 1, "items": {} }), ""),
        ("a list of anything", OPENAI, json!({ "type": "array" }), json!({ "type": "array", "items": {} }), ""),
        ("a list or nothing", OPENAI, json!({ "type": ["array", "null"] }), json!({ "type": ["array", "null"], "items": {} }), ""),
        ("anything", OLLAMA, json!(true), json!({}), ""),
        ("a type in capitals", OPENAI, json!({ "type": "STRING" }), text(), ""),
        ("no such type", OPENAI, json!({ "type": "any", "description": "D." }), json!({ "description": "D." }), "type"),
        ("a property that says it is required", OPENAI, json!({ "type": "string", "required": true }), text(), "required"),
        ("a list of properties", OPENAI, json!({ "type": "object", "properties": [] }), json!({ "type": "object" }), "properties"),
        ("a pattern", GEMINI, json!({ "type": "string", "pattern": "^a$" }), text(), "pattern"),
        ("a format", GEMINI, json!({ "type": "string", "format": "uri" }), text(), "format"),
        ("patterns of names", GEMINI, json!({ "patternProperties": { "^x": text() }, "additionalProperties": false }), json!({}), "patternProperties, additionalProperties"),
        ("another document", OPENAI, json!({ "$ref": "https://example.com/s.json", "description": "D." }), json!({ "description": "D." }), "$ref"),
        ("nothing of the kind", OPENAI, json!({ "$ref": "#/$defs/None" }), json!({}), "$ref"),
        ("what a keyword that turns cannot keep", GEMINI, json!({ "type": "string", "not": { "pattern": "a" } }), text(), "not"),
        ("one of what became wider", OPENAI, json!({ "oneOf": [{ "type": "any" }, { "type": "null" }] }), json!({ "anyOf": [{}, { "type": "null" }] }), "type, oneOf"),
        ("if of what became wider", OPENAI, json!({ "if": { "type": "any" }, "then": text() }), json!({}), "type, if"),
    ];
    for (name, rules, schema, want, left_out) in cases {
        let (mut got, said) = rewritten(&rules, &object_with(&schema));
        assert_eq!(got["properties"]["a"].take(), want, "{name}");
        assert_eq!(said.join(", "), left_out, "{name}");
    }
}

#[test]
fn the_whole_is_one_object() {
    let text = || json!({ "type": "string" });
    let both = || json!({ "a": text(), "b": { "type": "integer" } });
    let some = json!({ "a": { "const": "x" }, "b": { "type": "integer" } });
    let others = json!({ "a": { "const": "y" }, "c": text() });
    #[rustfmt::skip]
    let cases = [
        ("nothing is said",  OPENAI, json!({}), json!({ "type": "object", "properties": {} }), ""),
        ("no properties",    OPENAI, json!({ "type": "object" }), json!({ "type": "object", "properties": {} }), ""),
        ("anything",         OPENAI, json!(true), json!({ "type": "object", "properties": {} }), ""),
        ("no arguments",     ANTHROPIC, json!(null), json!({ "type": "object", "properties": {} }), ""),
        ("an object or nothing", OPENAI, json!({ "type": ["object", "null"], "properties": both() }), json!({ "type": "object", "properties": both() }), ""),
        ("a reference",      ANTHROPIC, json!({ "$ref": "#/definitions/A", "definitions": { "A": object_with(&text()) } }),
            json!({ "type": "object", "properties": { "a": text() }, "definitions": { "A": object_with(&text()) } }), ""),
        ("the draft",        OPENAI, json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": both() }),
            json!({ "type": "object", "properties": both() }), ""),
        ("one of two is needed", ANTHROPIC, json!({ "type": "object", "properties": both(), "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({ "type": "object", "properties": both() }), "anyOf"),
        ("all of two",       ANTHROPIC, json!({ "allOf": [object_with(&text()), { "required": ["a"] }] }),
            json!({ "type": "object", "properties": { "a": text() }, "required": ["a"] }), ""),
        ("a union with nothing", OPENAI, json!({ "anyOf": [object_with(&text()), { "type": "null" }] }), object_with(&text()), ""),
        ("closed variants",  OPENAI, json!({ "type": "object", "oneOf": [
                { "properties": some, "required": ["a", "b"], "additionalProperties": false },
                { "properties": others, "required": ["a"], "additionalProperties": false },
            ] }),
            json!({ "type": "object", "properties": { "a": { "enum": ["x", "y"] }, "b": { "type": "integer" }, "c": text() },
                "required": ["a"], "additionalProperties": false }), "oneOf"),
        ("open variants",    OPENAI, json!({ "type": "object", "anyOf": [{ "properties": { "a": text() } }, { "properties": { "b": text() } }] }),
            json!({ "type": "object", "properties": { "a": { "anyOf": [text(), {}] }, "b": { "anyOf": [text(), {}] } } }), "anyOf"),
        ("a value",          OPENAI, json!({ "type": "object", "const": { "a": 1 }, "properties": both() }), json!({ "type": "object", "properties": both() }), "const"),
        ("odd names",        ANTHROPIC, json!({ "type": "object", "properties": { "filter[id]": text(), "a": text() }, "additionalProperties": false }),
            object_with(&text()), "filter[id]"),
    ];
    for (name, rules, schema, want, left_out) in cases {
        let (got, said) = rewritten(&rules, &schema);
        assert_eq!(got, want, "{name}");
        assert_eq!(said.join(", "), left_out, "{name}");
    }
}

#[test]
fn what_cannot_be_said_is_set_aside_with_its_reason() {
    let deep = (0..70).fold(json!({}), |inner, _| object_with(&inner));
    let fans =
        |to: &str| json!({ "type": "array", "prefixItems": vec![json!({ "$ref": to }); 30] });
    let large = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/A" } },
        "$defs": { "A": fans("#/$defs/B"), "B": fans("#/$defs/C"), "C": fans("#/$defs/D"), "D": {} },
    });
    let named = json!({ "type": "object", "properties": { "a b": {} }, "required": ["a b"] });
    #[rustfmt::skip]
    let cases = [
        (OPENAI,    json!("x"),                       "is not a JSON Schema but a string; give an object"),
        (OPENAI,    json!(7),                         "is not a JSON Schema but a number; give an object"),
        (OPENAI,    json!(false),                     "does not describe an object; arguments must be an object"),
        (OPENAI,    json!({ "type": "string" }),      "does not describe an object; arguments must be an object"),
        (OPENAI,    json!({ "enum": ["a"] }),         "does not describe an object; arguments must be an object"),
        (GEMINI,    json!({ "anyOf": [{ "type": "null" }, false] }), "does not describe an object; arguments must be an object"),
        (OPENAI,    json!({ "allOf": [false] }),      "does not describe an object; arguments must be an object"),
        (ANTHROPIC, named,                            "requires the argument `a b`, but names may have at most 64 letters, digits, `_`, `.` and `-`"),
        (OPENAI,    deep,                             "is deeper than 64 levels; flatten it"),
        (GEMINI,    large,                            "has more than 10000 parts once its references are written out; shorten it, or refer to fewer definitions"),
    ];
    for (rules, schema, want) in cases {
        assert_eq!(rules.fit(&schema).unwrap_err().to_string(), want, "{schema}");
    }
    let any = ToolSchemaRules::ANY;
    assert_eq!(any.fit(&json!("x")), Ok(FittedSchema::Unchanged), "nothing is known of the server");
}

#[test]
fn a_schema_that_contains_itself_is_written_out_twice() {
    let tree = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "parts": { "type": "array", "items": { "$ref": "#" } } },
    });
    let (got, left_out) = rewritten(&GEMINI, &tree);
    let parts = &got["properties"]["parts"]["items"]["properties"]["parts"];
    assert_eq!(parts["items"], json!({ "type": "object" }), "{got}");
    assert_eq!(left_out, ["$ref"]);
    let circle = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" } } });
    assert!(matches!(OPENAI.fit(&circle), Ok(FittedSchema::Rewritten { .. })));
}

#[test]
fn a_definition_that_allows_more_is_not_looked_at_by_what_allows_less_then() {
    let schema = |argument: Value| {
        json!({
            "type": "object",
            "properties": { "a": argument },
            "$defs": { "A": { "type": "any" } },
        })
    };
    let (got, _) = rewritten(&OPENAI, &schema(json!({ "$ref": "#/$defs/A" })));
    assert_eq!(got["properties"]["a"], json!({ "$ref": "#/$defs/A" }));
    let (got, left_out) = rewritten(&OPENAI, &schema(json!({ "not": { "$ref": "#/$defs/A" } })));
    assert_eq!(got["properties"]["a"], json!({}), "{got}");
    assert_eq!(left_out, ["type", "not"]);
}

// Covers: CT-146
#[test]
fn plain_schemas_go_unchanged_to_all() {
    let plain = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file." },
            "limit": { "type": ["integer", "null"], "minimum": 1 },
            "kinds": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let all =
        [OPENAI, ANTHROPIC, GEMINI, OLLAMA, ToolSchemaRules::COHERE, ToolSchemaRules::RESPONSES];
    for rules in all {
        assert_eq!(rules.fit(&plain), Ok(FittedSchema::Unchanged), "{rules:?}");
        assert!(!rules.source.is_empty() && rules.date.len() == 10, "{rules:?}");
    }
    assert!(matches!(OPENAI.fit(&json!([])), Err(UnfitSchema::NoSchema("a list"))));
}
