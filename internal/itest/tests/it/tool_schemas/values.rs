//! Values that a schema may allow, and values beside them.

#![expect(clippy::wildcard_enum_match_arm, reason = "all other JSON is meant")]

use serde_json::{Map, Value, json};

use super::forms::Numbers;

/// Values of all types, for places that say nothing.
fn any(numbers: &Numbers) -> Value {
    let values = [
        json!("one"),
        json!("some longer words"),
        json!(""),
        json!("auto"),
        json!(3),
        json!(0),
        json!(-1),
        json!(2.5),
        json!(7),
        json!(true),
        json!(false),
        json!(null),
        json!([]),
        json!(["x", 2]),
        json!({}),
        json!({ "a": 1, "kind": "read" }),
    ];
    numbers.pick(&values).clone()
}

/// A value that `schema` may well allow.
pub(super) fn value(root: &Value, schema: &Value, numbers: &Numbers, depth: usize) -> Value {
    let Value::Object(fields) = schema else { return any(numbers) };
    if depth == 0 {
        return any(numbers);
    }
    let of = |schema: &Value, numbers: &Numbers| value(root, schema, numbers, depth - 1);
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(target.trim_start_matches('#'));
        return target.map_or(Value::Null, |target| of(target, numbers));
    }
    if let Some(only) = fields.get("const") {
        return only.clone();
    }
    if let Some(values) = fields.get("enum").and_then(Value::as_array) {
        return numbers.pick(values).clone();
    }
    let mut parts: Vec<Value> = Vec::new();
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = fields.get(key).and_then(Value::as_array) {
            let option = numbers.pick(options);
            parts.push(of(option, numbers));
        }
    }
    for part in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        parts.push(of(part, numbers));
    }
    let kinds = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        Some(kind) => vec![kind.clone()],
        None if fields.contains_key("properties") => vec![json!("object")],
        None if parts.is_empty() => return any(numbers),
        None => Vec::new(),
    };
    if !kinds.is_empty() {
        let kind = numbers.pick(&kinds).as_str().unwrap().to_owned();
        parts.push(typed(root, fields, &kind, numbers, depth));
    }
    joined(parts)
}

fn typed(
    root: &Value,
    fields: &Map<String, Value>,
    kind: &str,
    numbers: &Numbers,
    depth: usize,
) -> Value {
    let nothing = Value::Null;
    match kind {
        "object" => {
            let required = fields.get("required").unwrap_or(&nothing);
            let mut object = Map::new();
            for (name, schema) in
                fields.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                let is_needed = required.as_array().is_some_and(|all| all.contains(&json!(name)));
                if is_needed || numbers.is() {
                    object.insert(name.clone(), value(root, schema, numbers, depth - 1));
                }
            }
            if let Some(rest) = fields.get("additionalProperties").filter(|it| it.is_object()) {
                object.insert("x-other".to_owned(), value(root, rest, numbers, depth - 1));
            }
            Value::Object(object)
        }
        "array" => {
            let first = fields.get("prefixItems").or(fields.get("items")).unwrap_or(&nothing);
            let items = match first {
                Value::Array(items) => items.clone(),
                items => vec![items.clone(); numbers.below(3)],
            };
            items.iter().map(|item| value(root, item, numbers, depth - 1)).collect()
        }
        "string" => {
            json!(numbers.pick(&["one", "two", "abc", "", "longer words", "2026-01-01T00:00:00Z"]))
        }
        "integer" => json!(numbers.pick(&[0, 1, 2, 5, 9, 10])),
        "number" => json!(numbers.pick(&[0.0, 0.5, 1.0, 2.25, 7.0])),
        "boolean" => json!(numbers.is()),
        _ => Value::Null,
    }
}

/// The objects among `parts` as one; else the last part.
fn joined(parts: Vec<Value>) -> Value {
    let mut all = Map::new();
    let mut last = Value::Null;
    for part in parts {
        match part {
            Value::Object(part) => all.extend(part),
            part => last = part,
        }
    }
    if all.is_empty() { last } else { Value::Object(all) }
}

/// Changes one place of `value`.
pub(super) fn changed(value: &Value, numbers: &Numbers) -> Value {
    match value {
        Value::Object(fields) if !fields.is_empty() && numbers.below(4) > 0 => {
            let mut fields = fields.clone();
            let name = fields.keys().nth(numbers.below(fields.len())).unwrap().clone();
            match numbers.below(4) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert("x-new".to_owned(), any(numbers))),
                _ => {
                    let inner = changed(&fields[&name], numbers);
                    fields[&name] = inner;
                }
            }
            Value::Object(fields)
        }
        Value::Array(items) if !items.is_empty() && numbers.is() => {
            let mut items = items.clone();
            let at = numbers.below(items.len());
            items[at] = changed(&items[at], numbers);
            Value::Array(items)
        }
        Value::Object(fields) if numbers.is() => {
            let mut fields = fields.clone();
            fields.insert(
                numbers.pick(&["kind", "id", "x-a", "off", "path"]).to_string(),
                any(numbers),
            );
            Value::Object(fields)
        }
        _ => any(numbers),
    }
}
