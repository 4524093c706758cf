//! How tools are described, called and answered in plain text.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    llm::ToolSpec,
    types::{ToolCall, ToolResult},
};

/// The section of the system prompt that describes the tools, for models that call them in text.
///
/// The text depends on the tools and their order alone.
pub(crate) fn describe<'a>(specs: impl IntoIterator<Item = &'a ToolSpec>) -> String {
    let mut out = String::from(
        "# Tools\n\n\
         To call a tool, write a block like this, on lines of its own and in no code fence:\n\n\
         <tool>\n{\"tool_name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool>\n\n\
         `arguments` must fit the JSON schema in `parameters`. You may write several calls; then \
         stop: the results come with the next message. Never write a result yourself.\n\n\
         The tools, one JSON object a line:\n",
    );
    for spec in specs {
        let line = json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": slim(&spec.parameters),
        });
        // Writing to a string cannot fail.
        let _written = write!(out, "\n{line}");
    }
    out
}

/// A schema without what a reader does not miss: the small contexts of local models are dear.
///
/// An optional argument is one that is not required, so that it may be null goes without saying.
fn slim(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let is_native_integer = matches!(
        schema.get("format").and_then(Value::as_str),
        Some("uint" | "uint8" | "uint16" | "uint32" | "uint64" | "int" | "int32" | "int64")
    );
    let kept = schema.iter().filter(|(key, value)| match key.as_str() {
        "default" => !value.is_null(),
        "format" => !is_native_integer,
        "minimum" => !(is_native_integer && value.as_f64() == Some(0.0)),
        "type" => *value != "object" || !schema.contains_key("properties"),
        _ => true,
    });
    let slimmed = kept.map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("type", Value::Array(kinds)) => match kinds.as_slice() {
                [kind, null] if null == "null" => kind.clone(),
                _ => value.clone(),
            },
            ("items", value) => slim(value),
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, schema)| (name.clone(), slim(schema))).collect()
            }
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    slimmed.collect()
}

/// A call as the model would write it; `body` is what it did write, when that could not be read.
pub(crate) fn render_call(call: &ToolCall, body: &str) -> String {
    match &call.arguments {
        Some(arguments) if call.is_complete() => {
            let name = json!(call.name);
            let server = call.server_name.as_ref();
            let server = server.map(|name| format!("\"server_name\": {}, ", json!(name)));
            let server = server.unwrap_or_default();
            format!(
                "<tool>\n{{{server}\"tool_name\": {name}, \"arguments\": {arguments}}}\n</tool>"
            )
        }
        _ => format!("<tool>\n{}\n</tool>", body.trim_matches('\n')),
    }
}

/// The results of a response's calls as one message.
pub(crate) fn render_results(results: &[ToolResult]) -> String {
    let mut out = String::from("Results of the tool calls:");
    for result in results {
        let outcome = if result.is_error { "error" } else { "ok" };
        // Writing to a string cannot fail.
        let _written = write!(
            out,
            "\n\n<tool_result name=\"{}\" outcome=\"{outcome}\">\n{}\n</tool_result>",
            result.name,
            result.content.trim_end_matches('\n')
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_tools_never_varies() {
        let specs = [
            ToolSpec::new("b", "Second.", json!({ "type": "object", "properties": {} })),
            ToolSpec::new("a", "First.", json!({ "type": "object" })),
        ];
        let text = describe(&specs);
        assert_eq!(text, describe(&specs));
        let tail = "{\"name\":\"b\",\"description\":\"Second.\",\"parameters\":{\
                    \"properties\":{}}}\n{\"name\":\"a\",\"description\":\"First.\",\"parameters\":\
                    {\"type\":\"object\"}}";
        assert!(text.ends_with(tail), "{text}");
    }

    #[test]
    fn schemas_lose_only_what_a_reader_does_not_miss() {
        #[rustfmt::skip]
        let cases = [
            (json!({ "type": ["string", "null"], "default": null }), json!({ "type": "string" })),
            (json!({ "type": "integer", "format": "uint", "minimum": 0 }), json!({ "type": "integer" })),
            (json!({ "type": "integer", "minimum": 0 }), json!({ "type": "integer", "minimum": 0 })),
            (json!({ "type": "string", "format": "date" }), json!({ "type": "string", "format": "date" })),
            (json!({ "type": ["string", "integer"], "default": false }), json!({ "type": ["string", "integer"], "default": false })),
            (json!({ "type": "object", "properties": { "default": { "type": "null", "default": null } } }),
                json!({ "properties": { "default": { "type": "null" } } })),
            (json!({ "type": "array", "items": { "type": ["number", "null"] } }), json!({ "type": "array", "items": { "type": "number" } })),
            (json!(true), json!(true)),
        ];
        for (schema, want) in cases {
            assert_eq!(slim(&schema), want, "{schema}");
        }
    }

    #[test]
    fn calls_and_results_are_written_as_the_model_writes_them() {
        let call = ToolCall::new("call_0", "add", json!({ "a": 1 }));
        let want = "<tool>\n{\"tool_name\": \"add\", \"arguments\": {\"a\":1}}\n</tool>";
        assert_eq!(render_call(&call, "ignored"), want);
        let cut = ToolCall::pending(0, "call_0");
        assert_eq!(render_call(&cut, "{\"tool_na"), "<tool>\n{\"tool_na\n</tool>");
        let results = [
            ToolResult::new("call_0", "add", "3"),
            ToolResult::new("call_1", "b", "no").error(true),
        ];
        let want = "Results of the tool calls:\n\n\
                    <tool_result name=\"add\" outcome=\"ok\">\n3\n</tool_result>\n\n\
                    <tool_result name=\"b\" outcome=\"error\">\nno\n</tool_result>";
        assert_eq!(render_results(&results), want);
    }
}
