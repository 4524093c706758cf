//! The JSON of the arguments, written while their values arrive.

use compact_str::CompactString;
use serde_json::value::RawValue;

use super::{scalar::Scalar, tag::Attributes};
use crate::{
    json::escape_into,
    llm::parser::{
        RepairSet,
        grammar::{
            arguments::{ArgumentsWriter, JsonOut},
            json::JsonValue,
            reader::{Fault, Plain},
            schema::{Schema, Types},
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
    /// As the object, list or literal that it is as a whole, if that is admitted; else as a string.
    Union(Types),
    /// The model says that it is JSON: where it is a string in quotes, as what that spells or as that
    /// string; where these types admit strings only, as a string; else as JSON.
    Written(Types),
}

impl Want {
    /// Returns the form that the schema asks for; a type that the model wrote counts where the schema
    /// says nothing or admits it too.
    pub(crate) fn of<'s>(attributes: &Attributes<'_>, schema: impl FnOnce() -> Schema<'s>) -> Self {
        let kind = match attributes.string {
            Some(true) => Types::STRING,
            Some(false) => Types::JSON,
            None => Types::named(attributes.kind.unwrap_or_default()),
        };
        let types = schema().types();
        let nested = Types::OBJECT.and(Types::ARRAY);
        if kind == Types::STRING && (types.is_unknown() || types.has(Types::STRING)) {
            return Self::Text;
        }
        if kind == Types::JSON {
            return Self::Written(types);
        }
        let asked = if types.is_unknown() { kind } else { types };
        if asked == Types::STRING {
            Self::Text
        } else if !asked.has(nested) {
            Self::Literal(asked)
        } else if asked.has(Types::STRING) || kind == Types::STRING {
            Self::Union(asked)
        } else {
            Self::Json(asked)
        }
    }
}

/// The form of the current value, as far as it is known.
#[derive(Debug, Default)]
enum Value {
    /// There is none.
    #[default]
    None,
    /// A duplicate.
    Dropped,
    /// The inside of a string.
    Text,
    Literal(Scalar),
    /// Only whitespace so far.
    Head {
        want: Want,
        whitespace: CompactString,
    },
    /// JSON that begins at this byte of the payload.
    Json {
        json: Box<JsonValue>,
        start: usize,
    },
    /// All of a value that is JSON or a string; bounded by the limit of a call's body.
    Held {
        want: Want,
        text: String,
    },
}

/// Writes the JSON object of the arguments.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    writer: ArgumentsWriter,
    /// Set when all of them came as one JSON object.
    are_object: bool,
    value: Value,
    /// The repair of a value that may be a word without quotes where JSON should be.
    if_word: RepairSet,
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
            Want::Json(_) | Want::Union(_) | Want::Written(_) => {
                Value::Head { want, whitespace: CompactString::const_new("") }
            }
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
                    out("\"");
                    escape_into(literal.text(), out);
                    escape_into(rest, out);
                    self.value = Value::Text;
                }
            }
            Value::Head { .. } => self.head(text, at, out),
            Value::Held { text: held, .. } => held.push_str(text),
            Value::None | Value::Dropped => {}
        }
    }

    /// Settles by the first byte that is not whitespace what the value can be.
    fn head(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        let Value::Head { want, whitespace } = &mut self.value else { return };
        let rest = text.trim_start_matches([' ', '\t', '\n', '\r']);
        let skipped = text.len() - rest.len();
        whitespace.push_str(slice(text, ..skipped));
        let Some(first) = rest.bytes().next() else {
            if whitespace.len() <= MAX_WHITESPACE {
                return;
            }
            return self.begin_scalar(at, "", out);
        };
        let want = *want;
        let is_nested = matches!(first, b'{' | b'[');
        match want {
            Want::Written(types)
                if types == Types::STRING || (first == b'"' && types.are_no_strings()) =>
            {
                self.hold(want, rest);
            }
            Want::Union(types) if is_nested && types.has(Types::beginning_with(first)) => {
                self.hold(want, rest);
            }
            Want::Json(_) if is_nested => self.begin_json(rest, at + skipped, out),
            Want::Written(_) if is_nested || first == b'"' => {
                self.begin_json(rest, at + skipped, out);
            }
            Want::Text | Want::Literal(_) | Want::Json(_) | Want::Union(_) | Want::Written(_) => {
                self.begin_scalar(at, rest, out);
            }
        }
    }

    /// Begins a value that waits for its end, with the whitespace before it.
    fn hold(&mut self, want: Want, rest: &str) {
        if let Value::Head { whitespace, .. } = &mut self.value {
            let text = format!("{whitespace}{rest}");
            self.value = Value::Held { want, text };
        }
    }

    fn begin_json(&mut self, text: &str, start: usize, out: &mut impl JsonOut) {
        let mut json = Box::new(JsonValue::new());
        json.feed(text, out);
        self.value = Value::Json { json, start };
    }

    /// Begins a literal, or a string that is not one, with the whitespace before it.
    fn begin_scalar(&mut self, at: usize, rest: &str, out: &mut impl JsonOut) {
        let Value::Head { want, whitespace } = std::mem::take(&mut self.value) else { return };
        let types = match want {
            Want::Written(types) if types.is_unknown() => {
                self.if_word.insert(Repair::UnquotedString);
                Types::JSON
            }
            Want::Literal(types)
            | Want::Json(types)
            | Want::Union(types)
            | Want::Written(types) => types,
            Want::Text => Types::STRING,
        };
        self.value = Value::Literal(Scalar::new(types));
        self.text(&whitespace, at, out);
        self.text(rest, at, out);
    }

    /// Ends the value, which is this JSON.
    pub(crate) fn whole(&mut self, json: &str, out: &mut impl JsonOut) {
        if !matches!(std::mem::take(&mut self.value), Value::Dropped) {
            out(json);
        }
    }

    /// Ends the value; says what was repaired in it, or what is wrong in it and where.
    pub(crate) fn end(&mut self, out: &mut impl JsonOut) -> Result<RepairSet, Fault> {
        let mut repairs = RepairSet::default();
        let if_word = std::mem::take(&mut self.if_word);
        match std::mem::take(&mut self.value) {
            Value::None | Value::Dropped => {}
            Value::Text => {
                repairs = if_word;
                out("\"");
            }
            Value::Literal(literal) => {
                if let Some((json, is_python)) = literal.whole() {
                    out(&json);
                    if is_python {
                        repairs.insert(Repair::PythonLiteral);
                    }
                } else {
                    repairs = if_word;
                    write_string(literal.text(), out);
                }
            }
            Value::Head { whitespace, .. } => write_string(&whitespace, out),
            Value::Held { want, text } => write_held(want, &text, out),
            Value::Json { mut json, start } => {
                json.close(out).map_err(|(reason, at)| (reason, start + at))?;
                return Ok(json.repairs());
            }
        }
        Ok(repairs)
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
            Value::Json { .. } | Value::None | Value::Dropped | Value::Held { .. } => {
                Plain::Nothing
            }
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

/// Writes a whole value as the JSON that it is, where that is wanted, else as a string.
fn write_held(want: Want, text: &str, out: &mut impl JsonOut) {
    let value = text.trim_matches([' ', '\t', '\n', '\r']);
    let is_json = serde_json::from_str::<&RawValue>(value).is_ok();
    match (want, is_json.then(|| serde_json::from_str::<String>(value).ok()).flatten()) {
        (Want::Written(types), Some(string)) => match types.literal(&string) {
            Some(json) if types != Types::STRING => out(&json),
            _ => out(value),
        },
        (Want::Union(_), None) if is_json => out(value),
        _ => write_string(text, out),
    }
}

fn write_string(text: &str, out: &mut impl JsonOut) {
    out("\"");
    escape_into(text, out);
    out("\"");
}
