//! Members of a request, and what is said of those that are not as the protocol has them.

use serde_json::{Map, Value};

use super::problem::RequestProblem;

pub(super) fn text(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<String>, RequestProblem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(unlike(name, "a text", &other)),
    }
}

pub(super) fn required_text(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<String, RequestProblem> {
    text(members, name)?.ok_or_else(|| RequestProblem::new(name, "is missing"))
}

pub(super) fn flag(
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
pub(super) fn number<N: TryFrom<u64>>(
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

pub(super) fn fraction(
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

pub(super) fn unlike(place: impl Into<String>, expected: &str, found: &Value) -> RequestProblem {
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
