//! A lightweight check of arguments against their schema, so that a model learns *where* it went wrong.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::level::{Level, Steps};
use crate::tools::ToolError;
use forgeline_json::SchemaView;

/// Checks `value` against the parts of JSON Schema that tool schemas consist of: `type`, `enum`, `const`, `required`, `properties`,
/// `additionalProperties`, `items`, `anyOf`, `oneOf`, `allOf`, local `$ref`, and the bounds of numbers. The rest of a schema is ignored.
///
/// # Errors
///
/// Returns [`ToolError::InvalidArguments`] with the path of the first value that does not fit.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::validate;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "limit": { "type": "integer" } } });
/// assert!(validate(&schema, &json!({ "limit": 3 })).is_ok());
/// let error = validate(&schema, &json!({ "limit": "3" })).unwrap_err();
/// assert_eq!(error.to_string(), "`limit` must be of type integer, not string");
/// ```
pub fn validate(schema: &Value, value: &Value) -> Result<(), ToolError> {
    check(SchemaView::new(schema), value, &ValuePath::Root, Steps::for_parts(parts(value)).top())
}

/// Returns `true` if `value` is valid by the parts of the schema that [`validate`] supports.
pub(super) fn fits(schema: SchemaView<'_>, value: &Value) -> bool {
    check(schema, value, &ValuePath::Root, Steps::for_parts(parts(value)).top()).is_ok()
}

/// Returns the number of values in a value, with itself.
fn parts(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(parts).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(parts).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// The path of the value under check, as a list on the stack.
enum ValuePath<'a> {
    Root,
    Field(&'a ValuePath<'a>, &'a str),
    Item(&'a ValuePath<'a>, usize),
}

impl ValuePath<'_> {
    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Field(parent, name) => {
                parent.write(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Item(parent, index) => {
                parent.write(out);
                // Writing to a string cannot fail.
                let _written = write!(out, "[{index}]");
            }
        }
    }

    fn error(&self, problem: impl Into<String>) -> ToolError {
        let mut path = String::new();
        self.write(&mut path);
        ToolError::invalid(path, problem)
    }
}

fn check(
    schema: SchemaView<'_>,
    value: &Value,
    path: &ValuePath<'_>,
    level: Level<'_>,
) -> Result<(), ToolError> {
    if !schema.node().is_object() {
        let is_forbidden = schema.node() == &Value::Bool(false);
        return if is_forbidden { Err(path.error("is unknown; remove it")) } else { Ok(()) };
    }
    // What lies deeper, or takes more steps, counts as valid.
    let Some(level) = level.below(0) else { return Ok(()) };
    if let Some(target) = schema.target() {
        check(target, value, path, level)?;
    }
    check_type(schema, value, path)?;
    check_choice(schema, value, path)?;
    for part in schema.schemas("allOf") {
        check(part, value, path, level)?;
    }
    for key in ["anyOf", "oneOf"] {
        check_union(schema.schemas(key), value, path, level)?;
    }
    match value {
        Value::Object(fields) => check_object(schema, fields, path, level),
        Value::Array(items) => {
            let Some(item_schema) = schema.schema("items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(index, item)| {
                check(item_schema, item, &ValuePath::Item(path, index), level)
            })
        }
        Value::Number(number) => check_bounds(schema, number, path),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// Returns `true` for a number outside a bound.
type IsOutside = fn(&f64, &f64) -> bool;

/// Checks a number against its bounds.
fn check_bounds(
    schema: SchemaView<'_>,
    number: &Number,
    path: &ValuePath<'_>,
) -> Result<(), ToolError> {
    let outside: [(&str, &str, IsOutside); 4] = [
        ("minimum", "at least", f64::lt),
        ("maximum", "at most", f64::gt),
        ("exclusiveMinimum", "more than", f64::le),
        ("exclusiveMaximum", "less than", f64::ge),
    ];
    let Some(number) = number.as_f64() else { return Ok(()) };
    for (keyword, words, is_outside) in outside {
        if let Some(limit @ Value::Number(bound)) = schema.keyword(keyword)
            && bound.as_f64().is_some_and(|bound| is_outside(&number, &bound))
        {
            return Err(path.error(format!("must be {words} {limit}")));
        }
    }
    Ok(())
}

/// Checks that one of the alternatives fits, if there are any; otherwise returns the error of the last
/// alternative of the same type, which is more specific than "none fits".
fn check_union<'s>(
    options: impl Iterator<Item = SchemaView<'s>>,
    value: &Value,
    path: &ValuePath<'_>,
    level: Level<'_>,
) -> Result<(), ToolError> {
    let (mut complaint, mut has_options) = (None, false);
    for option in options {
        has_options = true;
        match check(option, value, path, level) {
            Ok(()) => return Ok(()),
            Err(error) => {
                if option.keyword("type").is_none_or(|wanted| has_type(wanted, value)) {
                    complaint = Some(error);
                }
            }
        }
    }
    if !has_options {
        return Ok(());
    }
    Err(complaint.unwrap_or_else(|| path.error("fits none of the allowed forms")))
}

fn check_object(
    schema: SchemaView<'_>,
    fields: &Map<String, Value>,
    path: &ValuePath<'_>,
    level: Level<'_>,
) -> Result<(), ToolError> {
    if let Some(name) = schema.required().find(|name| !fields.contains_key(*name)) {
        return Err(ValuePath::Field(path, name).error("is missing"));
    }
    let properties = schema.properties();
    for (name, field) in fields {
        let path = ValuePath::Field(path, name);
        let known = properties.and_then(|properties| properties.get(name));
        if let Some(known) = known {
            check(schema.at(known), field, &path, level)?;
        } else if let Some(others) = schema.schema("additionalProperties") {
            if others.node() == &Value::Bool(false) {
                return Err(path.error(unknown_field(properties)));
            }
            check(others, field, &path, level)?;
        }
    }
    Ok(())
}

fn unknown_field(properties: Option<&Map<String, Value>>) -> String {
    let names: Vec<_> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return "is unknown; there are no fields".to_owned();
    }
    format!("is unknown; the fields are: {}", names.join(", "))
}

fn check_type(
    schema: SchemaView<'_>,
    value: &Value,
    path: &ValuePath<'_>,
) -> Result<(), ToolError> {
    let Some(wanted) = schema.keyword("type").filter(|wanted| !has_type(wanted, value)) else {
        return Ok(());
    };
    let wanted = match wanted.as_array() {
        Some(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        None => wanted.as_str().unwrap_or_default().to_owned(),
    };
    Err(path.error(format!("must be of type {wanted}, not {}", type_name(value))))
}

fn check_choice(
    schema: SchemaView<'_>,
    value: &Value,
    path: &ValuePath<'_>,
) -> Result<(), ToolError> {
    if let Some(only) = schema.keyword("const").filter(|only| *only != value) {
        return Err(path.error(format!("must be {only}")));
    }
    let choices = schema.list("enum");
    if choices.is_empty() || choices.contains(value) {
        return Ok(());
    }
    let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
    Err(path.error(format!("must be one of {}", choices.join(", "))))
}

/// Returns `true` when `value` has the schema's `type`, which is a name or a list of names.
fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::String(name) => match name.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            _ => true,
        },
        Value::Array(names) => names.iter().any(|name| has_type(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_behind_many_empty_ones_is_checked() {
        let schema = json!({ "items": { "type": ["array", "object"] } });
        for empty in [json!([]), json!({})] {
            let mut items = vec![empty; 10_000];
            items.push(json!(1));
            let error = validate(&schema, &Value::Array(items)).unwrap_err().to_string();
            assert!(error.contains("10000"), "{error}");
        }
    }

    #[test]
    fn invalid_arguments_are_reported_with_path() {
        let schema = json!({
            "type": "object",
            "required": ["filter"],
            "additionalProperties": false,
            "properties": {
                "filter": {
                    "type": "object",
                    "required": ["metric"],
                    "properties": { "metric": { "enum": ["cpu", "memory"] } },
                },
                "units": { "type": "array", "items": { "type": "string" } },
                "limit": { "type": ["integer", "null"] },
                "order": { "anyOf": [{ "$ref": "#/$defs/Order" }, { "type": "null" }] },
            },
            "$defs": { "Order": { "type": "string", "enum": ["up", "down"] } },
        });
        let good = json!({ "metric": "cpu" });
        #[rustfmt::skip]
        let cases = [
            ("whole",          json!([]),                                      "must be of type object, not array"),
            ("missing",        json!({}),                                      "`filter` is missing"),
            ("nested missing", json!({ "filter": {} }),                        "`filter.metric` is missing"),
            ("nested choice",  json!({ "filter": { "metric": "disk" } }),      "`filter.metric` must be one of \"cpu\", \"memory\""),
            ("item",           json!({ "filter": good, "units": ["a", 1] }),   "`units[1]` must be of type string, not number"),
            ("unknown",        json!({ "filter": good, "unit": [] }),          "`unit` is unknown; the fields are: filter, units, limit, order"),
            ("either type",    json!({ "filter": good, "limit": 1.5 }),        "`limit` must be of type integer or null, not number"),
            ("reference",      json!({ "filter": good, "order": "left" }),     "`order` must be one of \"up\", \"down\""),
            ("no form",        json!({ "filter": good, "order": 1 }),          "`order` must be of type string, not number"),
        ];
        for (name, value, want) in cases {
            assert_eq!(validate(&schema, &value).unwrap_err().to_string(), want, "{name}");
        }
        for value in [
            json!({ "filter": good }),
            json!({ "filter": good, "units": [], "limit": 3, "order": null }),
            json!({ "filter": { "metric": "cpu", "more": 1 }, "limit": null, "order": "up" }),
            json!({ "filter": good, "limit": 3.0 }),
        ] {
            assert_eq!(validate(&schema, &value), Ok(()), "{value}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "$ref": "#" });
        assert_eq!(validate(&schema, &json!(1)), Ok(()));
        let twice = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
        assert_eq!(validate(&twice, &json!({ "a": [1, {}] })), Ok(()));
        let union = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }], "type": "object" });
        assert_eq!(validate(&union, &json!({ "a": [1, {}] })), Ok(()));
    }
}
