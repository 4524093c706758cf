//! The JSON of the arguments, written while their values arrive.

use compact_str::CompactString;

use super::{scalar::Scalar, tag::Attributes};
use crate::{
    json::escape_into,
    llm::parser::{
        RepairSet,
        grammar::{
            arguments::{ArgumentsWriter, JsonOut},
            json::JsonValue,
            reader::{Fault, Plain},
            schema::{Form, Schema, Types},
        },
    },
    types::{Repair, slice},
};

/// Most whitespace that is withheld before a value that may be an object or a list, in bytes.
const MAX_WHITESPACE: usize = 64;

/// The form in which a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// As a string.
    Text,
    /// As the literal that it spells, if that is admitted; else as a string.
    Literal(Types),
    /// As the object or list that it begins; else as a literal or a string.
    Json(Types),
}

impl Want {
    /// Returns the form that the parameter's tag asks for; else the form of its schema.
    pub(crate) fn of<'s>(attributes: &Attributes<'_>, schema: impl FnOnce() -> Schema<'s>) -> Self {
        match attributes.string {
            Some(true) => return Self::Text,
            Some(false) => return Self::Json(ANY_JSON),
            None => {}
        }
        let kind = Types::named(attributes.kind.unwrap_or_default());
        if kind == Types::STRING {
            return Self::Text;
        }
        if !kind.is_unknown() {
            let is_nested = kind.has(Types::OBJECT.and(Types::ARRAY));
            return if is_nested { Self::Json(kind) } else { Self::Literal(kind) };
        }
        let schema = schema();
        match schema.form() {
            Form::Text => Self::Text,
            Form::Literal => Self::Literal(schema.admitted()),
            Form::List | Form::Object => Self::Json(schema.admitted()),
        }
    }
}

/// Any JSON value but a string without quotes.
const ANY_JSON: Types = Types::JSON;

/// The fault of a value that its tag calls JSON.
const NO_JSON: &str = "a value is not JSON, as its tag says it is";

/// The form of the current value, as far as it is known.
#[derive(Debug, Default)]
enum Value {
    /// There is none.
    #[default]
    None,
    /// A duplicate.
    Dropped,
    /// Not JSON, as its tag says it is; it begins at this byte of the payload.
    Broken(usize),
    /// The inside of a string.
    Text,
    Literal(Scalar),
    /// Only whitespace so far, of a value that may be an object or a list.
    Head {
        types: Types,
        whitespace: CompactString,
    },
    /// JSON that begins at this byte of the payload.
    Json {
        json: Box<JsonValue>,
        start: usize,
    },
}

/// Writes the JSON object of the arguments.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    writer: ArgumentsWriter,
    /// Set when all of them came as one JSON object.
    are_object: bool,
    value: Value,
}

impl Arguments {
    /// Begins the value of `key`. Whether the key is new: the value of one that came before is
    /// dropped.
    pub(crate) fn begin(&mut self, key: &str, want: Want, out: &mut impl JsonOut) -> bool {
        if self.writer.holds(key) {
            self.value = Value::Dropped;
            return false;
        }
        self.writer.begin(key, out);
        self.value = match want {
            Want::Text => {
                out("\"");
                Value::Text
            }
            Want::Literal(types) => Value::Literal(Scalar::new(types)),
            Want::Json(types) => Value::Head { types, whitespace: CompactString::const_new("") },
        };
        true
    }

    /// Returns `true` before the first argument.
    pub(super) fn are_empty(&self) -> bool {
        self.writer.is_empty() && !self.are_object
    }

    /// Returns `true` when all arguments came as one JSON object.
    pub(super) fn are_object(&self) -> bool {
        self.are_object
    }

    /// Begins one JSON object that holds all arguments, at byte `at` of the payload.
    pub(super) fn begin_object(&mut self, at: usize) {
        self.are_object = true;
        self.value = Value::Json { json: Box::new(JsonValue::new()), start: at };
    }

    /// Returns the quote of the current JSON string.
    pub(super) fn string_quote(&self) -> Option<u8> {
        if let Value::Json { json, .. } = &self.value { json.string_quote() } else { None }
    }

    /// Takes the next text of the value, which stands at byte `at` of the payload.
    pub(crate) fn text(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        match &mut self.value {
            Value::Text => escape_into(text, out),
            Value::Json { json, .. } => json.feed(text, out),
            Value::Literal(literal) => {
                if let Some(rest) = literal.take(text) {
                    if literal.types() == ANY_JSON {
                        self.value = Value::Broken(at);
                        return;
                    }
                    out("\"");
                    escape_into(literal.text(), out);
                    escape_into(rest, out);
                    self.value = Value::Text;
                }
            }
            Value::Head { .. } => self.head(text, at, out),
            Value::None | Value::Dropped | Value::Broken(_) => {}
        }
    }

    /// Settles by the first byte that is not whitespace whether the value is an object or a list.
    fn head(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        let Value::Head { types, whitespace } = &mut self.value else { return };
        let rest = text.trim_start_matches([' ', '\t', '\n', '\r']);
        let skipped = text.len() - rest.len();
        whitespace.push_str(slice(text, ..skipped));
        let is_string = *types == ANY_JSON && rest.starts_with('"');
        if rest.starts_with(['{', '[']) || is_string {
            let mut json = Box::new(JsonValue::new());
            json.feed(rest, out);
            self.value = Value::Json { json, start: at + skipped };
        } else if !rest.is_empty() || whitespace.len() > MAX_WHITESPACE {
            let types = *types;
            let whitespace = std::mem::take(whitespace);
            self.value = Value::Literal(Scalar::new(types));
            self.text(&whitespace, at, out);
            self.text(rest, at, out);
        }
    }

    /// Ends the value, which is this JSON.
    pub(crate) fn whole(&mut self, json: &str, out: &mut impl JsonOut) {
        if !matches!(std::mem::take(&mut self.value), Value::Dropped) {
            out(json);
        }
    }

    /// Ends the value; says what was repaired in it, or what is wrong in it and where.
    pub(crate) fn end(&mut self, out: &mut impl JsonOut) -> Result<RepairSet, Fault> {
        match std::mem::take(&mut self.value) {
            Value::None | Value::Dropped => {}
            Value::Broken(at) => return Err((NO_JSON, at)),
            Value::Text => out("\""),
            Value::Literal(literal) => match literal.whole() {
                Some((json, is_python)) => {
                    out(json);
                    let mut repairs = RepairSet::default();
                    if is_python {
                        repairs.insert(Repair::PythonLiteral);
                    }
                    return Ok(repairs);
                }
                // The tag said that it is JSON.
                None if literal.types() == ANY_JSON => return Err((NO_JSON, 0)),
                None => write_string(literal.text(), out),
            },
            Value::Head { whitespace, .. } => write_string(&whitespace, out),
            Value::Json { mut json, start } => {
                json.close(out).map_err(|(reason, at)| (reason, start + at))?;
                return Ok(json.repairs());
            }
        }
        Ok(RepairSet::default())
    }

    /// Ends the arguments, and begins others.
    pub(crate) fn finish(&mut self, out: &mut impl JsonOut) {
        if !self.are_object {
            self.writer.finish(out);
        }
        self.restart();
    }

    pub(super) fn restart(&mut self) {
        self.writer.clear();
        self.are_object = false;
        self.value = Value::None;
    }

    /// Returns the text that passes through the value unchanged.
    pub(crate) fn plain(&self) -> Plain {
        match &self.value {
            Value::Text => Plain::MARKUP,
            Value::Json { json, .. } if json.is_in_plain_string() => Plain::JsonString,
            Value::Json { .. } | Value::None | Value::Dropped | Value::Broken(_) => Plain::Nothing,
            Value::Literal(_) | Value::Head { .. } => Plain::Nothing,
        }
    }

    /// Counts text of the value that passed unchanged.
    pub(crate) fn skip(&mut self, bytes: usize) {
        if let Value::Json { json, .. } = &mut self.value {
            json.skip(bytes);
        }
    }
}

fn write_string(text: &str, out: &mut impl JsonOut) {
    out("\"");
    escape_into(text, out);
    out("\"");
}
