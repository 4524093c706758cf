//! The check of a call that was repaired: that its arguments can be what the model meant.

use serde_json::{Map, Value};

use super::scrap::ends_in_scrap;
use crate::{
    compiled::tools::CompiledTools,
    dialects::dialect::ToolDialect,
    grammar::{ELEMENT_MARK, KnownTools, ToolSchemas, ValueSchema, is_blank},
};
use forgeline_json::{Repair, RepairSet};

/// The repairs that guess where a part of a call begins or ends. The others change only how a part is spelled.
const GUESSES: [Repair; 8] = [
    Repair::MissingComma,
    Repair::InvalidEscape,
    Repair::MissingBracket,
    Repair::TrailingText,
    Repair::UnquotedKey,
    Repair::UnquotedString,
    Repair::ImplicitClose,
    Repair::DuplicateTag,
];

/// The evidence for calls that were repaired: the offered tools, and the tags of the dialect.
///
/// A damaged call may be repaired to another one than the model meant. The repaired call does not count if the tool
/// that it names could not take it, or if a value ends with what remains of a tag.
#[derive(Debug, Clone)]
pub struct CallEvidence {
    dialect: ToolDialect,
    tools: KnownTools,
}

impl CallEvidence {
    /// Creates the evidence for calls of `tools` in `dialect`.
    #[must_use]
    pub fn new(dialect: &ToolDialect, tools: ToolSchemas) -> Self {
        Self { dialect: dialect.clone(), tools: tools.into() }
    }

    /// Returns `true` if a call with these repairs needs to be checked.
    #[must_use]
    pub fn is_needed(&self, repairs: RepairSet) -> bool {
        repairs.iter().any(|repair| GUESSES.contains(&repair))
    }

    /// Returns the reason why the call of the tool `name` with `arguments`, which was repaired, does not count.
    #[must_use]
    pub fn refute(
        &self,
        name: &str,
        arguments: &Value,
        repairs: RepairSet,
    ) -> Option<&'static str> {
        let mut tools = self.tools.clone();
        tools.call(name);
        let schema = tools.schema();
        let members = arguments.as_object().filter(|_| schema.is_known())?;
        let has = |wanted: Repair| repairs.iter().any(|repair| repair == wanted);
        // In JSON, a wrong escape says nothing about where a string ends.
        let is_structural = self.is_needed(repairs.without(Repair::InvalidEscape));
        if is_structural && !schema.requires_only(|key| members.contains_key(key)) {
            return Some("the call is damaged, and lacks a required argument");
        }
        if is_structural && members.keys().any(|key| is_damaged(schema, key)) {
            return Some("the call is damaged, and has an argument that its tool does not know");
        }
        let compiled = self.dialect.compiled();
        let holds_tag = |text: &str| compiled.holds_special_tag(text);
        if any_text(arguments, &mut |text| holds_tag(text)) {
            return Some("the call is damaged, and a value holds a tag of it");
        }
        if (has(Repair::ImplicitClose) || has(Repair::DuplicateTag))
            && ends_in_tag(compiled, members)
        {
            return Some("the call is damaged, and a value ends with a part of a tag");
        }
        let ends_in_parenthesis = compiled.has_python();
        let is_doubtful = any_text(arguments, &mut |text| {
            has(Repair::MissingComma) && text.ends_with(',')
                || has(Repair::MissingBracket) && text.ends_with(['}', ']'])
                || has(Repair::MissingBracket) && ends_in_parenthesis && text.ends_with(')')
                || has(Repair::UnquotedString) && has_odd_quotes(text)
                || has(Repair::InvalidEscape) && self.holds_call(text)
        });
        is_doubtful.then_some("the call is damaged, and a string may end elsewhere")
    }

    /// Returns `true` for a string that begins with a quote, or holds a call, or an argument, of a tool as Python writes
    /// it.
    fn holds_call(&self, text: &str) -> bool {
        let begins = |word: &str, ends: &[&str]| {
            let places = text.match_indices(word);
            let mut behind = places.filter_map(|(at, _)| text.get(at + word.len()..));
            behind.any(|rest| ends.iter().any(|end| rest.starts_with(end)))
        };
        text.trim_start().starts_with(['\'', '"'])
            || self.tools.all().any(|(name, schema)| {
                begins(name, &["("])
                    || schema
                        .properties()
                        .is_some_and(|all| all.keys().any(|key| begins(key, &["='", "=\""])))
            })
    }
}

/// Returns `true` if a quote at the beginning or the end has no counterpart, in a text that is not broken JSON.
fn has_odd_quotes(text: &str) -> bool {
    let count = |text: &str| text.bytes().filter(|byte| *byte == b'"').count();
    let inside = text.trim_matches(|letter| letter == '"' || is_blank(letter));
    (count(text) - count(inside)) % 2 == 1 && !text.starts_with(['{', '['])
}

/// Returns `true` for a key that the tool's schema does not list, and that does not look like a word.
fn is_damaged(schema: ValueSchema<'_>, key: &str) -> bool {
    let is_word = key.chars().all(|letter| letter.is_alphanumeric() || "_-. ".contains(letter));
    !is_word
        && schema.properties().is_some_and(|all| !all.contains_key(key))
        && !schema.member(key).is_known()
}

/// Returns `true` if a key or a string in `value` fits.
fn any_text(value: &Value, fits: &mut dyn FnMut(&str) -> bool) -> bool {
    match value {
        Value::String(text) => fits(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, fits)),
        Value::Object(members) => {
            members.iter().any(|(key, value)| fits(key) || any_text(value, fits))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns `true` if an argument ends with a tag of the dialect, or with what remains of one.
fn ends_in_tag(compiled: &CompiledTools, members: &Map<String, Value>) -> bool {
    let texts = members.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    texts.into_iter().any(|(key, text)| {
        let element = compiled.has_elements().then(|| format!("{ELEMENT_MARK}</{key}>"));
        let mut tags = compiled.tags().iter().copied().chain(element.as_deref());
        tags.any(|tag| ends_in_scrap(text, tag))
    })
}
