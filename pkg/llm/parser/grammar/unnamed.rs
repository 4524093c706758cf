//! Calls whose id does not name their tool.

use serde_json::{Map, Value};

use super::schema::KnownTools;

/// Maximum length of the arguments that are kept to find the tool that they fit, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The arguments of a call without a name, among several tools.
#[derive(Debug, Default)]
pub(super) struct UnnamedArguments {
    arguments: String,
    is_too_long: bool,
}

impl UnnamedArguments {
    /// Adds JSON text of the arguments.
    pub(super) fn push(&mut self, json: &str) {
        self.is_too_long |= self.arguments.len() + json.len() > MAX_BYTES;
        if self.is_too_long {
            self.arguments = String::new();
        } else {
            self.arguments.push_str(json);
        }
    }

    /// Returns the only tool that the arguments fit.
    pub(super) fn tool<'t>(&self, tools: &'t KnownTools) -> Option<&'t str> {
        let members: Map<String, Value> = serde_json::from_str(&self.arguments).ok()?;
        tools.only(|schema| schema.covers(&members))
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
