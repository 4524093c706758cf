//! Completing the answer to a form with its defaults, and checking its values.

use serde_json::{Map, Value};

use super::{ToolError, validate};
use forgeline_json::SchemaView;
use forgeline_types::{Json, ToolAnswer};

/// Returns the answer to send, completed with the defaults of missing fields.
///
/// # Errors
///
/// Returns [`ToolError::InvalidArguments`] with the first field that does not fit the schema.
pub fn complete_form(schema: Option<&Json>, answer: ToolAnswer) -> Result<ToolAnswer, ToolError> {
    let ToolAnswer::Accept { content, .. } = answer else { return Ok(answer) };
    let Some(schema) = schema else {
        return Ok(ToolAnswer::accept(Value::Object(Map::new()).into()));
    };
    let (schema, content) = (schema.to_value(), content.to_value());
    let Value::Object(mut fields) = content else {
        return Err(ToolError::invalid("", "must be an object with the fields of the form"));
    };
    for (name, field) in properties(&schema) {
        if let Some(default) = field.get("default").filter(|_| !fields.contains_key(name)) {
            fields.insert(name.clone(), default.clone());
        }
    }
    let content = Value::Object(fields);
    validate(&schema, &content)?;
    for (name, field) in properties(&schema) {
        if let Some(problem) = content.get(name).and_then(|value| problem(field, value)) {
            return Err(ToolError::invalid(name.as_str(), problem));
        }
    }
    Ok(ToolAnswer::accept(content.into()))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    SchemaView::new(schema).properties().into_iter().flatten()
}

/// Returns the problem of a value whose type fits, by the constraints of its field.
fn problem(field: &Value, value: &Value) -> Option<String> {
    let length = |key| field.get(key).and_then(Value::as_u64);
    match value {
        Value::String(text) => {
            let chars = text.chars().count() as u64;
            if let Some(least) = length("minLength").filter(|least| chars < *least) {
                return Some(format!("must have at least {least} characters"));
            }
            if let Some(most) = length("maxLength").filter(|most| chars > *most) {
                return Some(format!("must have at most {most} characters"));
            }
            let format = field.get("format").and_then(Value::as_str)?;
            let expected = expected(format).filter(|_| !has_format(format, text))?;
            Some(format!("must be {expected}"))
        }
        Value::Array(items) => {
            let count = items.len() as u64;
            if let Some(least) = length("minItems").filter(|least| count < *least) {
                return Some(format!("must have at least {least} items"));
            }
            let most = length("maxItems").filter(|most| count > *most)?;
            Some(format!("must have at most {most} items"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Returns a description of a format's expected value; `None` for formats that are not checked.
fn expected(format: &str) -> Option<&'static str> {
    Some(match format {
        "email" => "an address such as `ann@example.org`",
        "uri" => "an address such as `https://example.org`",
        "date" => "a day such as `2026-11-25`",
        "date-time" => "a time such as `2026-11-25T13:00:00Z`",
        _ => return None,
    })
}

/// Checks the form of a text, not whether what it names exists.
fn has_format(format: &str, text: &str) -> bool {
    let is_free = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    match format {
        "email" => text
            .split_once('@')
            .is_some_and(|(name, host)| is_free(name) && is_free(host) && !host.contains('@')),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
                && is_free(rest)
        }),
        "date" => is_date(text),
        "date-time" => {
            text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
        }
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    let within = |(part, digits, range): (&str, usize, std::ops::RangeInclusive<u32>)| {
        is_digits(part, digits) && part.parse().is_ok_and(|number| range.contains(&number))
    };
    let parts: Vec<_> = text.split('-').collect();
    let [year, month, day] = *parts else { return false };
    [(year, 4, 0..=9_999), (month, 2, 1..=12), (day, 2, 1..=31)].into_iter().all(within)
}

/// Checks a time of day with its time zone, such as `13:00:00.5+01:00`.
fn is_time(text: &str) -> bool {
    let Some(zone) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = text.split_at(zone);
    let is_clock = |text: &str, parts: usize| {
        text.split(':').count() == parts && text.split(':').all(|part| is_digits(part, 2))
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_zone = matches!(zone, "Z" | "z") || zone.get(1..).is_some_and(|zone| is_clock(zone, 2));
    is_clock(whole, 3) && is_digits(fraction, fraction.len().max(1)) && is_zone
}

fn is_digits(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completed(schema: &Value, content: Value) -> Result<Value, String> {
        let answer = ToolAnswer::accept(content.into());
        match complete_form(Some(&schema.clone().into()), answer) {
            Ok(ToolAnswer::Accept { content, .. }) => Ok(content.to_value()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn missing_fields_get_defaults_and_given_ones_stay() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "default": "a" },
                "whole": { "type": "integer", "default": 0 },
                "number": { "type": "number", "default": 0.5 },
                "flag": { "type": "boolean", "default": false },
                "one": { "type": "string", "enum": ["x", "y"], "default": "y" },
                "titled": { "type": "string", "oneOf": [{ "const": "p", "title": "P" }], "default": "p" },
                "many": { "type": "array", "items": { "type": "string", "enum": ["k", "l"] }, "default": ["k"] },
                "free": { "type": "string" },
            },
            "required": ["text"],
        });
        let all = json!({
            "text": "a", "whole": 0, "number": 0.5, "flag": false, "one": "y", "titled": "p", "many": ["k"],
        });
        assert_eq!(completed(&schema, json!({})).unwrap(), all);
        let mut own = all.clone();
        own["many"] = json!([]);
        own["free"] = json!("b");
        assert_eq!(completed(&schema, json!({ "many": [], "free": "b" })).unwrap(), own);
    }

    #[test]
    fn unfitting_field_is_named() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 2, "maxLength": 3 },
                "whole": { "type": "integer", "minimum": 1, "maximum": 5 },
                "one": { "type": "string", "enum": ["x"], "enumNames": ["X"] },
                "titled": { "type": "string", "oneOf": [{ "const": "p", "title": "P" }] },
                "many": { "type": "array", "minItems": 1, "maxItems": 1, "items": { "anyOf": [{ "const": "k", "title": "K" }] } },
                "mail": { "type": "string", "format": "email" },
                "uri": { "type": "string", "format": "uri" },
                "date": { "type": "string", "format": "date" },
                "time": { "type": "string", "format": "date-time" },
                "other": { "type": "string", "format": "of a later version" },
            },
        });
        #[rustfmt::skip]
        let cases = [
            (json!([]),                        Some("must be an object with the fields of the form")),
            (json!({ "text": 1 }),             Some("`text` must be of type string, not number")),
            (json!({ "text": "é" }),           Some("`text` must have at least 2 characters")),
            (json!({ "text": "éééé" }),        Some("`text` must have at most 3 characters")),
            (json!({ "text": "ééé" }),         None),
            (json!({ "whole": 1.5 }),          Some("`whole` must be of type integer, not number")),
            (json!({ "whole": 0 }),            Some("`whole` must be at least 1")),
            (json!({ "whole": 6 }),            Some("`whole` must be at most 5")),
            (json!({ "whole": 5 }),            None),
            (json!({ "one": "y" }),            Some(r#"`one` must be one of "x""#)),
            (json!({ "titled": "P" }),         Some(r#"`titled` must be "p""#)),
            (json!({ "many": [] }),            Some("`many` must have at least 1 items")),
            (json!({ "many": ["k", "k"] }),    Some("`many` must have at most 1 items")),
            (json!({ "many": ["l"] }),         Some(r#"`many[0]` must be "k""#)),
            (json!({ "mail": "a@b" }),         None),
            (json!({ "mail": "a b@c" }),       Some("`mail` must be an address such as `ann@example.org`")),
            (json!({ "mail": "a@b@c" }),       Some("`mail` must be an address such as `ann@example.org`")),
            (json!({ "uri": "mailto:a@b" }),   None),
            (json!({ "uri": "example.org" }),  Some("`uri` must be an address such as `https://example.org`")),
            (json!({ "date": "2026-02-29" }),  None),
            (json!({ "date": "26-2-29" }),     Some("`date` must be a day such as `2026-11-25`")),
            (json!({ "date": "2026-13-01" }),  Some("`date` must be a day such as `2026-11-25`")),
            (json!({ "time": "2026-11-25T13:00:00.5+01:00" }), None),
            (json!({ "time": "2026-11-25 13:00" }), Some("`time` must be a time such as `2026-11-25T13:00:00Z`")),
            (json!({ "other": "" }),           None),
        ];
        for (content, want) in cases {
            let got = completed(&schema, content.clone());
            assert_eq!(got.err().as_deref(), want, "{content}");
        }
    }

    #[test]
    fn an_address_has_no_fields_and_a_refusal_no_check() {
        let accepted = ToolAnswer::accept(json!({ "a": 1 }).into());
        let empty = ToolAnswer::accept(json!({}).into());
        assert_eq!(complete_form(None, accepted).unwrap(), empty);
        let schema = json!({ "type": "object", "required": ["a"] }).into();
        assert_eq!(complete_form(Some(&schema), ToolAnswer::Decline).unwrap(), ToolAnswer::Decline);
    }
}
