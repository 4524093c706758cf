//! The JSON of the arguments, written as their values arrive.

use compact_str::CompactString;

use super::{
    misfit::{write_broken, write_held, write_string},
    scalar::ScalarValue,
    want::WrittenForm,
    watch::ValueWatch,
    wrapped::WrapperParameter,
};
use crate::grammar::{
    ReadMode,
    arguments::{ArgumentsWriter, JsonOut},
    json::JsonValue,
    reader::{PayloadFault, PlainText},
    schema::{Types, ValueSchema},
};
use forgeline_json::{RepairSet, escape_into, slice};
use forgeline_types::Repair;

/// Maximum length of the whitespace withheld before a value that may be an object or a list, in bytes.
const MAX_WHITESPACE: usize = 64;
/// Maximum length of an object or list that is kept as written, in case it is neither, in bytes.
const MAX_KEPT: usize = 64 << 10;

/// The form of the current value, as far as it is known.
#[derive(Debug, Default)]
enum ValueForm {
    /// No value.
    #[default]
    None,
    /// A duplicate.
    Dropped,
    /// A value that may contain all arguments.
    Wrapped,
    /// The content of a string.
    Text,
    Literal(ScalarValue),
    /// Only whitespace so far.
    Head {
        want: WrittenForm,
        whitespace: CompactString,
    },
    /// JSON that begins at this byte of the payload.
    Json {
        json: Box<JsonValue>,
        start: usize,
        kept: Option<ValueSource>,
        /// An object or a list, rather than a string.
        is_nested: bool,
    },
    /// The whole of a value that is JSON or a string; bounded by the limit of a call's body.
    Held {
        want: WrittenForm,
        text: String,
    },
}

/// The source of an object or a list so far, and the required types.
#[derive(Debug)]
struct ValueSource {
    types: Types,
    text: String,
}

/// A writer of the JSON object of the arguments.
#[derive(Debug, Default)]
pub(crate) struct TagArguments {
    writer: ArgumentsWriter,
    /// `true` if all of them came as one JSON object.
    are_object: bool,
    /// The key of a value other than a string.
    key: CompactString,
    value: ValueForm,
    /// The strings in a value that is not yet read as JSON.
    watch: ValueWatch,
    /// `true` if only the ends of values are needed, so that it is unknown which are JSON.
    mode: ReadMode,
    /// A first value that may contain all arguments.
    wrapped: Option<WrapperParameter>,
    /// The repairs of a first value that did not, once another followed.
    earlier: RepairSet,
    /// The repair of a value that may be an unquoted word where JSON is required.
    if_word: RepairSet,
}

impl TagArguments {
    /// Creates arguments; if only the end is to be found, for values of unknown types.
    pub(super) fn new(mode: ReadMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Begins the value of `key`. Returns `false` if the value is dropped because the key is a duplicate
    /// and the tool's schema is known; without a schema, the last value counts.
    pub(crate) fn begin(
        &mut self,
        key: &str,
        want: WrittenForm,
        schema: ValueSchema<'_>,
        out: &mut impl JsonOut,
    ) -> bool {
        if self.wrapped.is_some() {
            self.write_wrapped(out);
            self.earlier = self.end(out).unwrap_or_default();
        }
        if self.writer.holds(key) && schema.is_known() {
            self.value = ValueForm::Dropped;
            return false;
        }
        self.begin_member(key, want, out);
        true
    }

    /// Begins the first value of a call if it may contain all arguments; otherwise returns `false`.
    pub(super) fn begin_wrapped(
        &mut self,
        key: &str,
        want: WrittenForm,
        schema: ValueSchema<'_>,
    ) -> bool {
        if !self.are_empty() {
            return false;
        }
        self.wrapped = WrapperParameter::begin(key, want, schema);
        if self.wrapped.is_some() {
            self.value = ValueForm::Wrapped;
            self.watch = ValueWatch::begin(true);
        }
        self.wrapped.is_some()
    }

    fn begin_member(&mut self, key: &str, want: WrittenForm, out: &mut impl JsonOut) {
        self.writer.begin(key, out);
        self.watch = ValueWatch::begin(match want {
            WrittenForm::Union(_) => true,
            WrittenForm::Literal(types) => self.mode == ReadMode::FindEnd && types.is_unknown(),
            WrittenForm::Text | WrittenForm::Json(_) | WrittenForm::Written(_) => false,
        });
        self.value = match want {
            WrittenForm::Text => {
                out("\"");
                ValueForm::Text
            }
            WrittenForm::Literal(types) if !types.are_no_strings() => {
                ValueForm::Literal(ScalarValue::new(types))
            }
            WrittenForm::Literal(_)
            | WrittenForm::Json(_)
            | WrittenForm::Union(_)
            | WrittenForm::Written(_) => {
                self.key = key.into();
                ValueForm::Head { want, whitespace: CompactString::const_new("") }
            }
        };
    }

    /// Emits a first value that does not contain all arguments.
    fn write_wrapped(&mut self, out: &mut impl JsonOut) {
        let Some(WrapperParameter { key, want, text }) = self.wrapped.take() else { return };
        self.begin_member(&key, want, out);
        self.text(&text, 0, out);
    }

    /// Emits the arguments contained in the only parameter, if it contains them; returns the repairs.
    pub(super) fn unwrap(&mut self, schema: ValueSchema<'_>, out: &mut impl JsonOut) -> RepairSet {
        let earlier = std::mem::take(&mut self.earlier);
        let Some(wrapped) = &self.wrapped else { return earlier };
        let Some((json, repairs)) = wrapped.object(schema) else {
            self.write_wrapped(out);
            return self.end(out).unwrap_or_default();
        };
        out(&json);
        self.wrapped = None;
        self.are_object = true;
        repairs
    }

    /// Returns `true` before the first argument.
    pub(super) fn are_empty(&self) -> bool {
        self.writer.is_empty() && !self.are_object && self.wrapped.is_none()
    }

    /// Returns `true` if one that the schema requires is missing.
    pub(super) fn lack_required(&self, schema: ValueSchema<'_>) -> bool {
        !self.are_object && !schema.requires_only(|key| self.writer.holds(key))
    }

    /// Returns `true` if all arguments came as one JSON object.
    pub(super) fn are_object(&self) -> bool {
        self.are_object
    }

    /// Begins one JSON object that contains all arguments, at byte `at` of the payload.
    pub(super) fn begin_object(&mut self, at: usize) {
        self.are_object = true;
        self.value = ValueForm::Json {
            json: Box::new(JsonValue::new()),
            start: at,
            kept: None,
            is_nested: true,
        };
    }

    /// Returns the quote of the current string in an object or a list.
    pub(super) fn string_quote(&self) -> Option<u8> {
        match &self.value {
            ValueForm::Json { json, is_nested: true, .. } => json.string_quote(),
            ValueForm::Json { .. } => None,
            ValueForm::Wrapped
            | ValueForm::Text
            | ValueForm::Literal(_)
            | ValueForm::Head { .. }
            | ValueForm::Held { .. } => self.watch.quote(),
            ValueForm::None | ValueForm::Dropped => None,
        }
    }

    /// Adds the next text of the value, which is at byte `at` of the payload.
    pub(crate) fn text(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        self.watch.feed(text);
        self.take(text, at, out);
    }

    fn take(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        match &mut self.value {
            ValueForm::Text => escape_into(text, out),
            ValueForm::Json { json, kept, .. } => {
                if let Some(ValueSource { text: source, .. }) = kept {
                    source.push_str(text);
                    if source.len() > MAX_KEPT {
                        *kept = None;
                    }
                }
                json.feed(text, out);
            }
            ValueForm::Wrapped => {
                if self.wrapped.as_mut().is_some_and(|wrapped| wrapped.push(text)) {
                    self.write_wrapped(out);
                }
            }
            ValueForm::Literal(literal) => {
                if let Some(rest) = literal.take(text) {
                    out("\"");
                    escape_into(literal.text(), out);
                    escape_into(rest, out);
                    self.value = ValueForm::Text;
                }
            }
            ValueForm::Head { .. } => self.head(text, at, out),
            ValueForm::Held { text: held, .. } => held.push_str(text),
            ValueForm::None | ValueForm::Dropped => {}
        }
    }

    /// Decides by the first byte that is not whitespace what the value can be.
    fn head(&mut self, text: &str, at: usize, out: &mut impl JsonOut) {
        let ValueForm::Head { want, whitespace } = &mut self.value else { return };
        let rest = text.trim_start_matches([' ', '\t', '\n', '\r']);
        let skipped = text.len() - rest.len();
        whitespace.push_str(slice(text, ..skipped));
        if whitespace.len() > MAX_WHITESPACE {
            return self.begin_scalar(at, rest, out);
        }
        let Some(first) = rest.bytes().next() else { return };
        let want = *want;
        let is_nested = matches!(first, b'{' | b'[');
        match want {
            WrittenForm::Written(types)
                if types == Types::STRING || (first == b'"' && types.are_no_strings()) =>
            {
                self.hold(want, rest);
            }
            WrittenForm::Union(types) if is_nested && types.has(Types::beginning_with(first)) => {
                self.hold(want, rest);
            }
            WrittenForm::Json(_) | WrittenForm::Literal(_) if first == b'"' => {
                self.hold(want, rest);
            }
            WrittenForm::Json(types) if is_nested || (first == b'(' && types.has(Types::ARRAY)) => {
                self.begin_json(types, rest, at + skipped, out);
            }
            WrittenForm::Written(types) if is_nested || first == b'"' => {
                self.begin_json(types, rest, at + skipped, out);
            }
            WrittenForm::Text
            | WrittenForm::Literal(_)
            | WrittenForm::Json(_)
            | WrittenForm::Union(_)
            | WrittenForm::Written(_) => {
                self.begin_scalar(at, rest, out);
            }
        }
    }

    /// Begins a value that is held until its end, with the whitespace before it.
    fn hold(&mut self, want: WrittenForm, rest: &str) {
        if let ValueForm::Head { whitespace, .. } = &mut self.value {
            let text = format!("{whitespace}{rest}");
            self.value = ValueForm::Held { want, text };
        }
    }

    fn begin_json(&mut self, types: Types, text: &str, start: usize, out: &mut impl JsonOut) {
        let ValueForm::Head { whitespace, .. } = std::mem::take(&mut self.value) else { return };
        let kept = Some(ValueSource { types, text: whitespace.into() });
        let is_nested = text.starts_with(['{', '[', '(']);
        self.value = ValueForm::Json { json: Box::new(JsonValue::new()), start, kept, is_nested };
        self.take(text, start, out);
    }

    /// Begins a literal, or a string that is not one, with the whitespace before it.
    fn begin_scalar(&mut self, at: usize, rest: &str, out: &mut impl JsonOut) {
        let ValueForm::Head { want, whitespace } = std::mem::take(&mut self.value) else { return };
        let types = match want {
            WrittenForm::Written(types) if types.is_unknown() => {
                self.if_word.insert(Repair::UnquotedString);
                Types::JSON
            }
            WrittenForm::Literal(types)
            | WrittenForm::Json(types)
            | WrittenForm::Union(types)
            | WrittenForm::Written(types) => types,
            WrittenForm::Text => Types::STRING,
        };
        self.value = ValueForm::Literal(ScalarValue::new(types));
        self.take(&whitespace, at, out);
        self.take(rest, at, out);
    }

    /// Ends the value, whose JSON is `json`.
    pub(crate) fn whole(&mut self, json: &str, out: &mut impl JsonOut) {
        if !matches!(std::mem::take(&mut self.value), ValueForm::Dropped) {
            out(json);
        }
    }

    /// Ends the value; returns its repairs, or the fault and its position.
    pub(crate) fn end(&mut self, out: &mut impl JsonOut) -> Result<RepairSet, PayloadFault> {
        let mut repairs = RepairSet::default();
        let if_word = std::mem::take(&mut self.if_word);
        match std::mem::take(&mut self.value) {
            ValueForm::None | ValueForm::Dropped | ValueForm::Wrapped => {}
            ValueForm::Text => {
                repairs = if_word;
                out("\"");
            }
            ValueForm::Literal(literal) => {
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
            ValueForm::Head { whitespace, .. } => write_string(&whitespace, out),
            ValueForm::Held { want, text } => return Ok(write_held(want, &text, out)),
            ValueForm::Json { mut json, start, kept, .. } => {
                let Err((reason, at)) = json.close(out) else { return Ok(json.repairs()) };
                let ValueSource { types, text } = kept.ok_or((reason, start + at))?;
                // The emitted text becomes valid JSON; the last value of a key counts.
                json.abandon(out);
                self.writer.begin(&self.key, out);
                return Ok(write_broken(types, &text, out));
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
        self.wrapped = None;
        self.value = ValueForm::None;
    }

    /// Returns the text that passes through the value unchanged.
    pub(crate) fn plain(&self) -> PlainText {
        if matches!(self.value, ValueForm::Text) {
            return self.watch.plain(PlainText::MarkupRules);
        }
        let is_json = matches!(&self.value, ValueForm::Json { json, kept: None, .. } if json.is_in_plain_string());
        if is_json { PlainText::JsonString } else { PlainText::Nothing }
    }

    /// Counts text of the value that passed unchanged.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.watch.skip(bytes);
        if let ValueForm::Json { json, .. } = &mut self.value {
            json.skip(bytes);
        }
    }
}
