//! Members of a request, and what is said of those that are not as the protocol has them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::RequestProblem;

pub(crate) fn text(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<String>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(unlike(name, "a text", &other)),
    }
}

pub(crate) fn required_text(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<String, RequestProblem> {
    text(members, name)?.ok_or_else(|| RequestProblem::new(name, "is missing"))
}

pub(crate) fn flag(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<bool>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(other) => Err(unlike(name, "true or false", &other)),
    }
}

/// Reads a whole number that is not negative.
pub(crate) fn number<N: TryFrom<u64>>(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<N>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| N::try_from(number).ok());
            let expected = "expected a whole number that is not negative";
            let wrong = || RequestProblem::new(name, format!("{expected}, found {value}"));
            number.map(Some).ok_or_else(wrong)
        }
    }
}

pub(crate) fn fraction(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<f32>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        // Read as text, a number keeps the digits that it was written with.
        Some(Value::Number(number)) => Ok(number.to_string().parse().ok()),
        Some(other) => Err(unlike(name, "a number", &other)),
    }
}

pub(crate) fn unlike(place: impl Into<String>, expected: &str, found: &Value) -> RequestProblem {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    RequestProblem::new(place, format!("expected {expected}, found {found}"))
}

/// Returns the media type and the base64 of a `data:` URL; any other URL as it is.
pub(crate) fn media(url: String) -> (Option<String>, String) {
    let parted = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match parted {
        Some((media_type, data)) => (Some(media_type.to_owned()), data.to_owned()),
        None => (None, url),
    }
}

/// Reads the members of a body, and the name of the model among them.
pub(crate) fn root(body: &[u8]) -> Result<(Map<String, Value>, String), RequestProblem> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| RequestProblem::new("", format!("is not JSON: {error}")))?;
    let mut members = object(value, "")?;
    let model = required_text(&mut members, "model")?;
    Ok((members, model))
}

/// Returns the items of a list that may be absent.
pub(crate) fn items(value: Option<Value>, place: &str) -> Result<Vec<Value>, RequestProblem> {
    match value {
        Some(Value::Array(items)) => Ok(items),
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(other) => Err(unlike(place, "a list", &other)),
    }
}

/// Adds the places of the members that are left to `left_out`.
pub(crate) fn leave_out(members: &Map<String, Value>, place: &str, left_out: &mut Vec<String>) {
    let left = members.iter().filter(|(_, value)| !value.is_null());
    left_out.extend(left.map(|(name, _)| format!("{place}.{name}")));
}

/// Returns the members of an object.
pub(crate) fn object(value: Value, place: &str) -> Result<Map<String, Value>, RequestProblem> {
    if let Value::Object(members) = value {
        Ok(members)
    } else {
        Err(unlike(place, "an object", &value))
    }
}

/// Removes an object that may be absent.
pub(crate) fn option(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Map<String, Value>, RequestProblem> {
    let value = members.remove(name).filter(|value| !value.is_null());
    value.map_or_else(|| Ok(Map::new()), |value| object(value, name))
}

/// Reads a list of texts; a single text is a list of one.
pub(crate) fn texts(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Vec<String>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(texts)) => {
            let text = |(at, text)| only_text(text, || format!("{name}[{at}]"));
            texts.into_iter().enumerate().map(text).collect()
        }
        Some(other) => Err(unlike(name, "a text or a list of texts", &other)),
    }
}

/// Reads the information for the provider's records.
pub(crate) fn metadata(
    members: &mut Map<String, Value>,
) -> Result<BTreeMap<String, String>, RequestProblem> {
    let given = option(members, "metadata")?.into_iter().filter(|(_, value)| !value.is_null());
    let text = |(name, value)| {
        let value = only_text(value, || format!("metadata.{name}"))?;
        Ok((name, value))
    };
    given.map(text).collect()
}

fn only_text(value: Value, place: impl Fn() -> String) -> Result<String, RequestProblem> {
    if let Value::String(text) = value { Ok(text) } else { Err(unlike(place(), "a text", &value)) }
}
