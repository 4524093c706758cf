//! Calls whose id does not name their tool.

use compact_str::CompactString;
use serde_json::{Map, Value};

use super::{JsonCall, JsonShape};
use crate::grammar::{
    reader::{PayloadOut, PayloadReader as _, PayloadSink, is_blank},
    schema::KnownTools,
};
use forgeline_json::RepairSet;

/// Maximum length of the arguments that are kept to find the tool that they fit, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The first keys of an object that contains the name beside the arguments.
const CALL_KEYS: [&str; 10] = [
    "name",
    "tool_name",
    "tool",
    "function",
    "type",
    "arguments",
    "args",
    "parameters",
    "input",
    "id",
];

/// The arguments of a call whose id names no tool. They may contain the name beside the actual arguments, so they
/// are held while they look like that.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct UnnamedArguments {
    arguments: String,
    /// `true` once they have been passed on.
    is_passed: bool,
    is_too_long: bool,
}

/// The name and the arguments that the arguments of a call contain.
#[derive(Debug, Default)]
pub(super) struct InnerCall {
    pub(super) name: CompactString,
    pub(super) arguments: String,
    pub(super) repairs: RepairSet,
}

impl UnnamedArguments {
    /// Adds JSON text of the arguments.
    pub(super) fn push(&mut self, json: &str, out: &mut PayloadSink<'_>) {
        let is_held = !self.is_passed;
        self.is_too_long |= self.arguments.len() + json.len() > MAX_BYTES;
        if !self.is_too_long {
            self.arguments.push_str(json);
        }
        if is_held && !self.is_too_long && may_be_call(&self.arguments) {
            return;
        }
        if is_held {
            self.pass(out);
        }
        if !is_held || self.is_too_long {
            out(PayloadOut::Arguments(json));
        }
        if self.is_too_long {
            self.arguments = String::new();
        }
    }

    /// Passes on what is held.
    pub(super) fn pass(&mut self, out: &mut PayloadSink<'_>) {
        if !self.is_passed && !self.arguments.is_empty() {
            out(PayloadOut::Arguments(&self.arguments));
        }
        self.is_passed = true;
    }

    /// Returns the call of one of `tools` that the held arguments contain.
    pub(super) fn inner_call(&self, tools: &KnownTools) -> Option<InnerCall> {
        if self.is_passed {
            return None;
        }
        let mut inner = InnerCall::default();
        let mut reader = JsonCall::new(JsonShape::OneCall);
        reader.feed(&self.arguments, &mut |piece| match piece {
            PayloadOut::Name { name, .. } => inner.name = name.into(),
            PayloadOut::Arguments(json) => inner.arguments.push_str(json),
            PayloadOut::Id { .. }
            | PayloadOut::Server { .. }
            | PayloadOut::Source(_)
            | PayloadOut::NextCall { .. } => {}
        });
        let is_call = reader.close(&mut |_| {}).is_ok() && !inner.arguments.is_empty();
        inner.repairs = reader.repairs();
        (is_call && tools.meant(&inner.name).is_some()).then_some(inner)
    }

    /// Returns the only tool that the arguments fit.
    pub(super) fn tool<'t>(&self, tools: &'t KnownTools) -> Option<&'t str> {
        let members: Map<String, Value> = serde_json::from_str(&self.arguments).ok()?;
        tools.only(|schema| schema.covers(&members))
    }
}

/// Returns `true` for the beginning of an object that may contain a name beside arguments.
fn may_be_call(json: &str) -> bool {
    let first = json.trim_start_matches(|letter| letter == '{' || is_blank(letter));
    let Some(key) = first.strip_prefix('"') else { return first.is_empty() };
    match key.split_once('"') {
        Some((key, _)) => CALL_KEYS.contains(&key),
        None => CALL_KEYS.iter().any(|known| known.starts_with(key)),
    }
}

/// Returns `true` for an id that counts or distinguishes calls and names no tool: a number, an id
/// as other vendors write it, or one with bytes that no name contains.
pub(super) fn is_mere_id(id: &str) -> bool {
    let is_counter = id.bytes().all(|byte| byte.is_ascii_digit());
    let is_foreign = id.starts_with("call_") || id.starts_with("toolu_");
    let groups = [8, 4, 4, 4, 12];
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid = id.split('-').map(str::len).eq(groups) && id.split('-').all(is_hex);
    let has_foreign =
        id.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:".contains(&byte));
    !id.is_empty() && (is_counter || is_foreign || is_uuid || has_foreign)
}

#[cfg(test)]
mod tests {
    use super::is_mere_id;

    // Found: PEER
    #[test]
    fn ids_that_name_no_tool_are_told_from_names() {
        for id in
            ["0", "12", "call_3", "toolu_01Ab", "weird@id", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"]
        {
            assert!(is_mere_id(id), "{id}");
        }
        for name in
            ["", "f", "get_time", "ns/tool", "a.b", "mcp__x", "recall_3", "\u{fc}ber", "2fa"]
        {
            assert!(!is_mere_id(name), "{name}");
        }
    }
}
