//! Rewriting of the root schema, which is always one object.

use serde_json::{Value, json};

use super::{
    References, SchemaNeed, ToolSchemaRules, UnfitSchema,
    merge::SchemaFields,
    unite::unite,
    walk::{SchemaRewrite, allows_all},
};

/// Maximum length of an argument's name if names are restricted.
const MAX_NAME_CHARS: usize = 64;

/// Rewrites the root schema; returns it with the keywords that were left out.
pub(super) fn rewrite(
    rules: &ToolSchemaRules,
    schema: &Value,
) -> Result<(Value, Vec<String>), UnfitSchema> {
    let walk = |rules: &ToolSchemaRules, repeats| {
        let mut walk = SchemaRewrite::new(rules, schema, repeats);
        let fitted = top(&mut walk, schema)?;
        Ok((fitted, walk.end()))
    };
    let written_out = ToolSchemaRules { references: References::WrittenOut, ..*rules };
    let mut fitted = walk(rules, 1);
    if matches!(&fitted, Ok((_, end)) if end.is_twisted) {
        fitted = walk(&written_out, 1);
    }
    if matches!(fitted, Err(UnfitSchema::TooLarge(_))) {
        fitted = walk(rules, 0);
    }
    fitted.map(|(schema, end)| (schema, end.left_out))
}

fn top(walk: &mut SchemaRewrite<'_>, schema: &Value) -> Result<Value, UnfitSchema> {
    let no_schema = |what| Err(UnfitSchema::NoSchema(what));
    let fields = match schema {
        Value::Object(fields) => fields.clone(),
        Value::Bool(true) => SchemaFields::new(),
        // A tool without arguments.
        Value::Null => SchemaFields::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), json!({})),
        ]),
        Value::Bool(false) => return Err(UnfitSchema::NoObject),
        Value::Number(_) => return no_schema("a number"),
        Value::String(_) => return no_schema("a string"),
        Value::Array(_) => return no_schema("a list"),
    };
    let before = fields.clone();
    let mut fields = object(walk, fields, 0)?.ok_or(UnfitSchema::NoObject)?;
    if !fields.contains_key("type") {
        fields.shift_insert(0, "type".to_owned(), json!("object"));
    }
    if walk.rules.has(SchemaNeed::Properties) && !fields.contains_key("properties") {
        fields.insert("properties".to_owned(), json!({}));
    }
    if walk.rules.has(SchemaNeed::PlainNames) {
        plain_names(walk, &mut fields)?;
    }
    Ok(Value::Object(walk.fields(fields, &before, 0)?))
}

/// Returns a schema of objects without the keywords that must not appear at the root; `None` if it allows
/// no object.
fn object(
    walk: &mut SchemaRewrite<'_>,
    fields: SchemaFields,
    depth: usize,
) -> Result<Option<SchemaFields>, UnfitSchema> {
    let Some(mut fields) = walk.opened(fields, depth, true)? else { return Ok(None) };
    match fields.get("type") {
        Some(Value::String(kind)) if kind != "object" => return Ok(None),
        Some(Value::Array(kinds)) if kinds.iter().all(|kind| kind != "object") => return Ok(None),
        Some(Value::Array(_)) => {
            fields.insert("type".to_owned(), json!("object"));
        }
        _ => {}
    }
    let refused = walk.rules.not_at_top;
    for key in ["anyOf", "oneOf"].into_iter().filter(|key| refused.contains(key)) {
        let Some(Value::Array(options)) = fields.shift_remove(key) else { continue };
        let Some(united) = union(walk, fields, options, key, depth)? else { return Ok(None) };
        fields = united;
    }
    for key in ["enum", "const"].into_iter().filter(|key| refused.contains(key)) {
        let Some(value) = fields.shift_remove(key) else { continue };
        let values = if key == "enum" { value.as_array().cloned() } else { Some(vec![value]) };
        if values.is_some_and(|values| !values.iter().any(Value::is_object)) {
            return Ok(None);
        }
        walk.leave_out(key);
    }
    if refused.contains(&"not") && fields.shift_remove("not").is_some() {
        walk.leave_out("not");
    }
    Ok(Some(fields))
}

/// Returns `fields` combined with one of `options`; `None` if none allows an object.
fn union(
    walk: &mut SchemaRewrite<'_>,
    fields: SchemaFields,
    options: Vec<Value>,
    keyword: &str,
    depth: usize,
) -> Result<Option<SchemaFields>, UnfitSchema> {
    let mut members = Vec::new();
    for option in options {
        if let Value::Object(option) = option {
            members.extend(object(walk, option, depth + 1)?);
        } else if option != Value::Bool(false) {
            members.push(SchemaFields::new());
        }
    }
    match members.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(walk.both(fields, only.clone(), keyword, true))),
        _ if allows_all(&members) => {
            walk.leave_out(keyword);
            Ok(Some(fields))
        }
        _ => {
            walk.leave_out(keyword);
            Ok(Some(unite(&fields, &members)))
        }
    }
}

/// Removes arguments whose names are not accepted.
fn plain_names(walk: &mut SchemaRewrite<'_>, fields: &mut SchemaFields) -> Result<(), UnfitSchema> {
    let is_plain = |name: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_known)
    };
    let Some(Value::Object(properties)) = fields.get_mut("properties") else { return Ok(()) };
    let odd: Vec<_> = properties.keys().filter(|name| !is_plain(name)).cloned().collect();
    for name in &odd {
        properties.shift_remove(name);
    }
    if odd.is_empty() {
        return Ok(());
    }
    let required = fields.get("required").and_then(Value::as_array);
    let is_needed = |name: &&String| required.is_some_and(|all| all.iter().any(|it| it == *name));
    if let Some(name) = odd.iter().find(is_needed) {
        return Err(UnfitSchema::Name(name.clone()));
    }
    // The removed arguments themselves stay allowed.
    fields.shift_remove("additionalProperties");
    for name in &odd {
        walk.leave_out(name);
    }
    Ok(())
}
