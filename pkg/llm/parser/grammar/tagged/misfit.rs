//! Values that do not have the form required by their schema.

use super::want::WrittenForm;
use crate::grammar::{arguments::JsonOut, json::JsonValue, schema::Types};
use forgeline_json::{RepairSet, escape_into};
use forgeline_types::Repair;

/// Writes a complete value as the JSON that it is, if that is required, or else as a string.
pub(super) fn write_held(want: WrittenForm, text: &str, out: &mut impl JsonOut) -> RepairSet {
    let value = text.trim_matches([' ', '\t', '\n', '\r']);
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(value).is_ok();
    let string = is_json.then(|| serde_json::from_str::<String>(value).ok()).flatten();
    match (want, string) {
        (WrittenForm::Json(types) | WrittenForm::Literal(types), Some(string)) => {
            if let Some(repairs) = write_decoded(types, &string, out) {
                return repairs;
            }
            write_string(text, out);
        }
        (WrittenForm::Written(types), Some(string)) => match types.literal(&string) {
            Some(json) if types != Types::STRING => out(&json),
            _ => out(value),
        },
        (WrittenForm::Union(_), None) if is_json => out(value),
        (WrittenForm::Written(_), None) if value.starts_with('"') || value.ends_with('"') => {
            write_string(text, out);
            let mut repairs = RepairSet::default();
            repairs.insert(Repair::UnquotedString);
            return repairs;
        }
        _ => write_string(text, out),
    }
    RepairSet::default()
}

/// Writes a value that begins like JSON but is not: as the content of a JSON string, if that content is
/// JSON of these types, or else as a string.
pub(super) fn write_broken(types: Types, text: &str, out: &mut impl JsonOut) -> RepairSet {
    let inside = text.contains("\\\"").then(|| format!("\"{}\"", text.trim()));
    let string = inside.and_then(|inside| serde_json::from_str::<String>(&inside).ok());
    if let Some(repairs) = string.and_then(|string| write_decoded(types, &string, out)) {
        return repairs;
    }
    write_string(text, out);
    let mut repairs = RepairSet::default();
    repairs.insert(Repair::UnquotedString);
    repairs
}

/// Writes the value spelled by a string, if it is JSON of these types.
fn write_decoded(types: Types, string: &str, out: &mut impl JsonOut) -> Option<RepairSet> {
    let value = string.trim();
    let mut repairs = RepairSet::default();
    repairs.insert(Repair::StringArguments);
    if let Some(json) = types.literal(value).filter(|_| types.are_no_strings()) {
        out(&json);
        return Some(repairs);
    }
    let first = value.bytes().next().filter(|first| matches!(first, b'{' | b'['))?;
    if !types.is_unknown() && !types.has(Types::beginning_with(first)) {
        return None;
    }
    let (json, mended) = JsonValue::parse(value)?;
    out(&json);
    repairs.extend(mended);
    Some(repairs)
}

pub(super) fn write_string(text: &str, out: &mut impl JsonOut) {
    out("\"");
    escape_into(text, out);
    out("\"");
}
