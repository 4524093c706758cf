//! Tool lists in OpenAI's format.

use std::path::Path;

use anyhow::{Context as _, bail};
use forgeline::types::Text;
use serde_json::Value;

use crate::{exit::UsageResult as _, input::read_text};

/// Reads the names and schemas from a file.
///
/// # Errors
///
/// A usage error when the file cannot be read or is not a tool list.
pub fn read_tools(path: &Path) -> anyhow::Result<Vec<(Text, Value)>> {
    let text = read_text(path)?;
    parse_tools(&text).usage_context(|| {
        let form = r#"[{"type":"function","function":{"name":"f","parameters":{}}}]"#;
        format!("{} is not a tool list such as {form}", path.display())
    })
}

fn parse_tools(text: &str) -> anyhow::Result<Vec<(Text, Value)>> {
    let value: Value = serde_json::from_str(text)?;
    tool_schemas(&value)
}

/// Takes the names and schemas out of a tool list.
///
/// # Errors
///
/// When the list is not an array of named functions.
pub fn tool_schemas(list: &Value) -> anyhow::Result<Vec<(Text, Value)>> {
    let tools = list.as_array().context("the tools are not an array")?;
    let mut schemas = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let result = match namespace(tool) {
            Some(name) => in_namespace(name, tool, &mut schemas),
            None => schema(tool).map(|schema| schemas.push(schema)),
        };
        result.with_context(|| format!("tool {at}"))?;
    }
    Ok(schemas)
}

/// Returns the name of a namespace: `{"type":"namespace","name":"n","tools":[…]}`.
fn namespace(tool: &Value) -> Option<&str> {
    let is_namespace = tool.get("type").and_then(Value::as_str) == Some("namespace");
    if is_namespace { tool.get("name").and_then(Value::as_str) } else { None }
}

/// Takes the tools of a namespace; families join the two names by `__` or by a dot.
fn in_namespace(
    namespace: &str,
    tool: &Value,
    schemas: &mut Vec<(Text, Value)>,
) -> anyhow::Result<()> {
    let tools = tool.get("tools").and_then(Value::as_array);
    for tool in tools.context("`tools` of the namespace is not an array")? {
        let (name, schema) = schema(tool)?;
        for joint in ["__", "."] {
            schemas.push((format!("{namespace}{joint}{name}").into(), schema.clone()));
        }
    }
    Ok(())
}

/// `{"type":"function","function":{…}}`, or the inner object alone.
fn schema(tool: &Value) -> anyhow::Result<(Text, Value)> {
    let function = tool.get("function").unwrap_or(tool);
    let name = function.get("name").and_then(Value::as_str).context("`name` is missing")?;
    let parameters = match function.get("parameters") {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => bail!("`parameters` of {name} is not an object"),
    };
    Ok((name.into(), parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: PEER
    #[test]
    fn tools_of_a_namespace_have_both_of_their_names() {
        let list =
            r#"[{"type":"namespace","name":"box","tools":[{"name":"sort","parameters":{"a":1}}]}]"#;
        let tools = parse_tools(list).unwrap();
        let names: Vec<_> = tools.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["box__sort", "box.sort"]);
        assert!(tools.iter().all(|(_, schema)| *schema == serde_json::json!({"a": 1})));
    }

    #[test]
    fn lists_are_read_and_anything_else_is_refused() {
        #[rustfmt::skip]
        let cases = [
            ("wrapped",       r#"[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]"#, Some(1)),
            ("bare",          r#"[{"name":"f"},{"name":"g","parameters":null}]"#, Some(2)),
            ("empty",         "[]",                                  Some(0)),
            // Found: PEER
            ("a namespace",   r#"[{"type":"namespace","name":"n","tools":[{"type":"function","function":{"name":"f"}},{"name":"g"}]},{"name":"h"}]"#, Some(5)),
            ("no tools in one", r#"[{"type":"namespace","name":"n"}]"#, None),
            ("no array",      "{}",                                  None),
            ("no name",       r#"[{"function":{}}]"#,                None),
            ("wrong schema",  r#"[{"name":"f","parameters":[]}]"#,   None),
            ("no JSON",       "[",                                   None),
        ];
        for (name, text, want) in cases {
            assert_eq!(parse_tools(text).ok().map(|tools| tools.len()), want, "{name}");
        }
    }
}
