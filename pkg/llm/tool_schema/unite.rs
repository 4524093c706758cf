//! Conversion of a union of objects into one object.

use serde_json::{Value, json};

use super::{
    draft::NOTES,
    merge::{SchemaFields, conjoin},
};

/// Returns an object that allows what `base` and one of `members` allow: it has the properties of all of them,
/// of which those are required that every member requires.
pub(super) fn unite(base: &SchemaFields, members: &[SchemaFields]) -> SchemaFields {
    let mut all = base.clone();
    let mut properties = properties_of(base).cloned().unwrap_or_default();
    let is_closed = base.get("additionalProperties").is_some_and(|rest| *rest != true);
    let mut names: Vec<&String> = Vec::new();
    for name in members.iter().flat_map(|member| properties_of(member).into_iter().flatten()) {
        if !names.contains(&name.0) {
            names.push(name.0);
        }
    }
    for name in names {
        let (options, is_open) = options(name, members);
        let said = match (properties.get(name), is_open) {
            (Some(own), true) => own.clone(),
            (Some(own), false) => narrowed(own, &either(options)),
            (None, _) if is_closed => continue,
            (None, true) => {
                let options = [options, vec![json!({})]].concat();
                json!({ "anyOf": options })
            }
            (None, false) => either(options),
        };
        properties.insert(name.clone(), said);
    }
    if !properties.is_empty() {
        all.insert("properties".to_owned(), Value::Object(properties));
    }
    let required = required_by_all(base, members);
    if !required.is_empty() {
        all.insert("required".to_owned(), Value::Array(required));
    }
    if !is_closed && !members.is_empty() && members.iter().all(forbids_others) {
        all.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    all
}

fn properties_of(schema: &SchemaFields) -> Option<&SchemaFields> {
    schema.get("properties").and_then(Value::as_object)
}

fn forbids_others(member: &SchemaFields) -> bool {
    member.get("additionalProperties") == Some(&Value::Bool(false))
        && !member.contains_key("patternProperties")
}

/// Returns the schemas that the members have for a property, and whether one of them allows anything.
fn options(name: &str, members: &[SchemaFields]) -> (Vec<Value>, bool) {
    let mut options: Vec<Value> = Vec::new();
    let mut is_open = false;
    for member in members {
        match properties_of(member).and_then(|properties| properties.get(name)) {
            Some(Value::Bool(true)) => is_open = true,
            Some(Value::Object(said)) if said.is_empty() => is_open = true,
            Some(Value::Bool(false)) => {}
            Some(said) if !options.contains(said) => options.push(said.clone()),
            Some(_) => {}
            None => is_open |= !forbids_others(member),
        }
    }
    (options, is_open)
}

/// Returns one schema for several: single values of one type become a list.
fn either(mut options: Vec<Value>) -> Value {
    let mut values = Vec::new();
    for option in &options {
        match single_values(option) {
            Some(more) => values
                .extend(more.into_iter().filter(|it| !values.contains(it)).collect::<Vec<_>>()),
            None => {
                return match options.len() {
                    1 => options.swap_remove(0),
                    _ => json!({ "anyOf": options }),
                };
            }
        }
    }
    match options.first().and_then(|first| first.get("type")) {
        Some(kind) if options.iter().all(|option| option.get("type") == Some(kind)) => {
            json!({ "type": kind, "enum": values })
        }
        _ => json!({ "enum": values }),
    }
}

/// Returns the values of a schema that consists only of a list of values of its type.
fn single_values(schema: &Value) -> Option<Vec<Value>> {
    let known = |key: &String| {
        matches!(key.as_str(), "type" | "const" | "enum") || NOTES.contains(&key.as_str())
    };
    let fields = schema.as_object().filter(|fields| fields.keys().all(known))?;
    match (fields.get("const"), fields.get("enum")) {
        (Some(only), None) => Some(vec![only.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

/// Returns a schema of a property that combines both, or `own` if their keywords cannot express that.
fn narrowed(own: &Value, other: &Value) -> Value {
    let both = match (own, other) {
        (Value::Bool(true), other) => Some(other.clone()),
        (Value::Object(own), Value::Object(other))
            if !own.contains_key("$ref") && !other.contains_key("$ref") =>
        {
            conjoin(own, other).map(Value::Object)
        }
        _ => None,
    };
    both.unwrap_or_else(|| own.clone())
}

/// Returns the names that `base` requires, and those that every member requires.
fn required_by_all(base: &SchemaFields, members: &[SchemaFields]) -> Vec<Value> {
    let required = |schema: &SchemaFields| -> Vec<Value> {
        schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut names = required(base);
    let first = members.first().map(required).unwrap_or_default();
    for name in first {
        if !names.contains(&name) && members.iter().all(|member| required(member).contains(&name)) {
            names.push(name);
        }
    }
    names
}
