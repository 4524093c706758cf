//! Random values that are hard to write, and schemas that describe them.

use std::collections::BTreeMap;

use serde_json::{json, value::RawValue};

use super::writers::Form;

/// A JSON value whose numbers are kept as they are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(&'static str),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

#[rustfmt::skip]
const NUMBERS: [&str; 13] = [
    "0", "-0", "7", "-1", "9007199254740993", "123456789012345678901234567890", "0.1", "-2.50",
    "1.0", "1e5", "-1.5e-7", "2E+3", "18446744073709551615",
];
/// The parts of a text, beside the markers of its family.
#[rustfmt::skip]
const PIECES: [&str; 44] = [
    "a", "b c", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\"", "'", "\"\"\"", "\\", "\\n", "\\\"",
    "\\u0041", "&amp;", "&lt;", "&", "<", ">", "</", "]]>", "<![CDATA[", "`", "```", "```json\n",
    "é", "日本", "🚀", "\u{2028}", "\u{0}", "\u{1b}", "\u{7f}", "{", "}", "}}", "[", "]", ",", ":",
    "<think>", "</think>", "<b>x</b>", "// c",
];
/// Whole texts that are easily taken for something else.
#[rustfmt::skip]
const TEXTS: [&str; 14] = [
    "", "12", "-1.5", "true", "null", "None", "{}", "[1]", "{\"a\":1}", "\"x\"", "NaN", " ", "\n",
    "string",
];
#[rustfmt::skip]
const KEYS: [&str; 26] = [
    "a", "key_1", "name", "arguments", "parameters", "input", "x-y", "größe", "two words", "type",
    "null", "string", "q\"uote", "it's", "back\\slash", "a<b", "a>b", "a:b", "a,b", "{}", "",
    "line\nend", "&amp;", " padded ", "x.y", "item",
];
#[rustfmt::skip]
const NAMES: [&str; 16] = [
    "f", "get-weather", "a.b.c", "x_1", "name", "arguments", "größe", "mcp__srv__do", "F9",
    "tool_call", "functions_x", "parameters", "q\"uote", "it's", "back\\slash", "</a>",
];

/// Numbers that are the same in every run.
pub(in crate::tests) struct Random(pub(in crate::tests) u64);

impl Random {
    pub(in crate::tests) fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }

    pub(super) fn name(&mut self, form: &Form) -> &'static str {
        loop {
            let name = self.one(&NAMES);
            if form.admits_name(name) {
                return name;
            }
        }
    }

    fn text(&mut self, form: &Form, depth: usize) -> String {
        loop {
            let text = if self.below(4) == 0 {
                self.one(&TEXTS).to_owned()
            } else {
                let length = 1 + self.below(7);
                (0..length).map(|_| self.piece(form)).collect()
            };
            if form.admits_text(&text, depth) {
                return text;
            }
        }
    }

    fn piece(&mut self, form: &Form) -> String {
        let at = self.below(PIECES.len() + PIECES.len() / 2);
        match PIECES.get(at) {
            Some(piece) => (*piece).to_owned(),
            None if self.below(4) == 0 => form.foreign[self.below(form.foreign.len())].clone(),
            None => form.markers[self.below(form.markers.len())].clone(),
        }
    }

    /// An object; `depth` is that of the values in it.
    pub(super) fn members(&mut self, form: &Form, depth: usize) -> Vec<(String, Value)> {
        let mut members: Vec<(String, Value)> = Vec::new();
        for _ in 0..self.below(5) {
            let key = self.one(&KEYS);
            if form.admits_key(key, depth) && members.iter().all(|(known, _)| known != key) {
                members.push((key.to_owned(), self.value(form, depth)));
            }
        }
        members
    }

    fn value(&mut self, form: &Form, depth: usize) -> Value {
        match self.below(if depth < 3 { 10 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 | 3 => Value::Number(self.one(&NUMBERS)),
            4..=6 => Value::Text(self.text(form, depth)),
            7 | 8 if form.lists_of_one_kind() => {
                let length = 1 + self.below(3);
                let mut texts: Vec<_> = (0..length).map(|_| self.text(form, depth + 1)).collect();
                // A blank element that is alone is no item.
                if texts.len() == 1 && texts[0].trim().is_empty() {
                    texts.push(texts[0].clone());
                }
                Value::List(texts.into_iter().map(Value::Text).collect())
            }
            7 | 8 => {
                let length = self.below(4);
                Value::List((0..length).map(|_| self.value(form, depth + 1)).collect())
            }
            _ => Value::Object(self.members(form, depth + 1)),
        }
    }

    /// A schema of an object with these members, spelled in one of the ways that schemas have.
    pub(super) fn schema(&mut self, form: &Form, members: &[(String, Value)]) -> serde_json::Value {
        let mut defs = serde_json::Map::new();
        let properties: serde_json::Map<_, _> = members
            .iter()
            .map(|(key, value)| (key.clone(), self.describe(form, value, &mut defs)))
            .collect();
        json!({"type": "object", "properties": properties, "$defs": defs})
    }

    fn describe(
        &mut self,
        form: &Form,
        value: &Value,
        defs: &mut serde_json::Map<String, serde_json::Value>,
    ) -> serde_json::Value {
        let (kind, mut base) = match value {
            Value::Null => ("string", json!({"type": ["string", "null"]})),
            Value::Bool(_) => ("boolean", json!({"type": "boolean"})),
            Value::Number(text) if text.contains(['.', 'e', 'E']) => {
                ("number", json!({"type": "number"}))
            }
            Value::Number(_) => ("integer", json!({"type": "integer"})),
            Value::Text(_) => ("string", json!({"type": "string"})),
            Value::List(items) => {
                let are_texts = items.iter().all(|item| matches!(item, Value::Text(_)));
                let items = if are_texts { json!({"type": "string"}) } else { json!({}) };
                ("array", json!({"type": "array", "items": items}))
            }
            Value::Object(members) => {
                let members = members.iter();
                let properties: serde_json::Map<_, _> = members
                    .map(|(key, value)| (key.clone(), self.describe(form, value, defs)))
                    .collect();
                ("object", json!({"type": "object", "properties": properties}))
            }
        };
        let is_text = matches!(value, Value::Text(_));
        // A text that spells a value of the other member of its union is that value (R10).
        let may_be_null =
            !matches!(value, Value::Text(text) if ["null", "None"].contains(&text.as_str()));
        if kind != "array" && kind != "object" && *value != Value::Null && self.below(6) == 0 {
            let own: serde_json::Value = serde_json::from_str(&value.json()).unwrap();
            base = json!({"enum": [own, own]});
        }
        let name = format!("d{}", defs.len());
        match self.below(7) {
            0 if may_be_null => json!({"anyOf": [base, {"type": "null"}]}),
            1 => {
                defs.insert(name.clone(), base);
                json!({"$ref": format!("#/$defs/{name}")})
            }
            2 if may_be_null => {
                defs.insert(name.clone(), base);
                json!({"oneOf": [{"type": "null"}, {"$ref": format!("#/$defs/{name}")}]})
            }
            3 if may_be_null && base.get("items").or(base.get("properties")).is_none() => {
                json!({"type": [kind, "null"]})
            }
            4 if !is_text && form.may_be_texts(value) => {
                json!({"anyOf": [{"type": "string"}, base]})
            }
            _ => base,
        }
    }
}

impl Value {
    pub(super) fn json(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => (*text).to_owned(),
            Self::Text(text) => json!(text).to_string(),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(members) => object(members),
        }
    }
}

/// Members as JSON.
pub(super) fn object(members: &[(String, Value)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(key, value)| format!("{}:{}", json!(key), value.json())).collect();
    format!("{{{}}}", members.join(","))
}

/// JSON without blanks, its keys in order, its numbers as they were written.
pub(super) fn canonical(text: &str) -> String {
    let text = text.trim();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{}:{}", json!(key), canonical(value.get())))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            let items: Vec<_> = items.iter().map(|item| canonical(item.get())).collect();
            format!("[{}]", items.join(","))
        }
        Some(b'"') => json!(serde_json::from_str::<String>(text).unwrap()).to_string(),
        _ => text.to_owned(),
    }
}
