//! Merging of two schemas into one that requires both.

use serde_json::{Map, Value};

use super::draft::NOTES;

pub(super) type SchemaFields = Map<String, Value>;

/// Keywords whose meaning depends on the others of their group: those of two schemas cannot be mixed.
const GROUPS: [&[&str]; 5] = [
    &["prefixItems", "items"],
    &["if", "then", "else"],
    &["contains", "minContains", "maxContains"],
    &["unevaluatedProperties"],
    &["unevaluatedItems"],
];

/// Returns a schema that allows what both allow; `None` if their keywords cannot express it.
/// If both have an annotation, that of `first` is kept.
pub(super) fn conjoin(first: &SchemaFields, second: &SchemaFields) -> Option<SchemaFields> {
    if says_nothing(first) {
        return Some(with_notes(first, second));
    }
    if says_nothing(second) {
        return Some(with_notes(first, first));
    }
    let mixes = |group: &&[&str]| {
        let has = |fields: &SchemaFields| group.iter().any(|key| fields.contains_key(*key));
        let is_same = group.iter().all(|key| first.get(*key) == second.get(*key));
        has(first) && has(second) && !is_same
    };
    let looks_around =
        |fields: &SchemaFields| fields.keys().any(|key| key.starts_with("unevaluated"));
    if GROUPS.iter().any(mixes)
        || looks_around(first)
        || looks_around(second)
        || !names_agree(first, second)
        || !names_agree(second, first)
    {
        return None;
    }
    let mut all = first.clone();
    for (key, value) in second {
        let Some(own) = all.get(key) else {
            all.insert(key.clone(), value.clone());
            continue;
        };
        let said = if own == value || NOTES.contains(&key.as_str()) {
            own.clone()
        } else {
            both(key, own, value)?
        };
        all.insert(key.clone(), said);
    }
    Some(all)
}

/// Returns `true` for a schema that consists of annotations only.
pub(super) fn says_nothing(schema: &SchemaFields) -> bool {
    let is_place = |key: &str| key == "$defs" || key == "definitions";
    schema.keys().all(|key| NOTES.contains(&key.as_str()) || is_place(key))
}

/// Returns `schema` with its annotations replaced by those of `notes`.
fn with_notes(notes: &SchemaFields, schema: &SchemaFields) -> SchemaFields {
    let mut all = schema.clone();
    all.extend(notes.iter().map(|(key, value)| (key.clone(), value.clone())));
    all
}

/// Returns `true` unless `one` forbids properties other than its own while `other` has some.
fn names_agree(one: &SchemaFields, other: &SchemaFields) -> bool {
    let is_open = one.get("additionalProperties").is_none_or(|rest| *rest == Value::Bool(true));
    if is_open || other.get("additionalProperties") == one.get("additionalProperties") {
        let is_same = |key: &str| one.get(key) == other.get(key);
        return is_open || is_same("patternProperties") && names(one).eq(names(other));
    }
    !other.contains_key("patternProperties")
        && names(other).all(|name| names(one).any(|own| own == name))
}

fn names(schema: &SchemaFields) -> impl Iterator<Item = &String> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(SchemaFields::keys)
}

/// Returns one value of `key` that combines two.
fn both(key: &str, first: &Value, second: &Value) -> Option<Value> {
    match key {
        "type" => types(first, second),
        "enum" => {
            let shared = |value: &&Value| second.as_array().is_some_and(|all| all.contains(value));
            let values: Vec<_> = first.as_array()?.iter().filter(shared).cloned().collect();
            (!values.is_empty()).then_some(Value::Array(values))
        }
        "required" => {
            let mut names = first.as_array()?.clone();
            names.extend(
                second
                    .as_array()?
                    .iter()
                    .filter(|name| !names.contains(name))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            Some(Value::Array(names))
        }
        "properties" | "$defs" | "definitions" => members(first.as_object()?, second.as_object()?),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            let is_more = second.as_f64()? > first.as_f64()?;
            Some(if is_more { second } else { first }.clone())
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            let is_less = second.as_f64()? < first.as_f64()?;
            Some(if is_less { second } else { first }.clone())
        }
        "uniqueItems" => Some(Value::Bool(first.as_bool()? || second.as_bool()?)),
        "allOf" => Some(Value::Array([first.as_array()?.as_slice(), second.as_array()?].concat())),
        "additionalProperties" => match (first, second) {
            (Value::Bool(true), other) | (other, Value::Bool(true)) => Some(other.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn members(first: &SchemaFields, second: &SchemaFields) -> Option<Value> {
    let mut all = first.clone();
    for (name, schema) in second {
        let said = match (all.get(name), schema) {
            (None | Some(Value::Bool(true)), schema) => schema.clone(),
            (Some(own), schema) if own == schema => continue,
            (Some(own), Value::Bool(true)) => own.clone(),
            (Some(Value::Object(own)), Value::Object(schema))
                if !own.contains_key("$ref") && !schema.contains_key("$ref") =>
            {
                Value::Object(conjoin(own, schema)?)
            }
            _ => return None,
        };
        all.insert(name.clone(), said);
    }
    Some(Value::Object(all))
}

/// Returns the types that both allow; every integer is a number.
fn types(first: &Value, second: &Value) -> Option<Value> {
    let list = |kind: &Value| kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
    let (first, second) = (list(first), list(second));
    let is_in = |name: &Value, all: &[Value]| {
        all.contains(name) || name == "integer" && all.iter().any(|it| it == "number")
    };
    let mut shared: Vec<_> = first.iter().filter(|name| is_in(name, &second)).cloned().collect();
    let more = second.iter().filter(|name| is_in(name, &first) && !shared.contains(name));
    shared.extend(more.cloned().collect::<Vec<_>>());
    match shared.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(Value::Array(shared)),
    }
}
