//! The description of tools for models that call them in text.

use std::fmt::Write as _;

use serde_json::{Value, json};

use forgeline_core::{StreamMachine, StreamOptions};
use forgeline_llm::{StreamChunk, ToolSpec};
use forgeline_parser::{ToolDialect, private::MarkerEscaper};
use forgeline_types::{Json, ToolCall};

/// Returns the section of the system prompt that describes the tools, for models that call them in
/// text.
///
/// The text depends only on the dialect, the tools and their order. Markers in the descriptions of
/// tools are broken.
pub(crate) fn describe<'a>(
    dialect: &ToolDialect,
    neutral: &MarkerEscaper,
    specs: impl IntoIterator<Item = &'a ToolSpec>,
) -> String {
    let how = how_to_call(dialect);
    let mut out = format!(
        "# Tools\n\n{how}\n\nThe arguments must match the JSON schema in `parameters`. You may \
         write several calls; then stop: the results come with the next message. Never write a \
         result yourself.\n\nThe tools, one JSON object a line:\n"
    );
    for spec in specs {
        // Writing to a string cannot fail.
        let _written = write!(out, "\n{}", neutral.json(&line_of(spec)));
    }
    out
}

/// Returns the description of a tool in text: one JSON object.
pub(crate) fn line_of(spec: &ToolSpec) -> String {
    let line = json!({
        "name": spec.name,
        "description": spec.description,
        "parameters": slim(&spec.parameters),
    });
    line.to_string()
}

/// Returns the instructions for a call in this dialect: its example, and the calls made in the
/// example.
fn how_to_call(dialect: &ToolDialect) -> String {
    const FORGE: &str = "To call a tool, write a block like this, on lines of its own and outside \
         of any code fence:\n\n<tool>\n{\"tool_name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \
         \"VALUE\"}}\n</tool>";
    if *dialect == ToolDialect::FORGE || *dialect == ToolDialect::AUTO {
        return FORGE.to_owned();
    }
    let example = dialect.example();
    let calls: Vec<_> = calls_in(dialect, example).iter().map(meaning).collect();
    if calls.is_empty() {
        return FORGE.to_owned();
    }
    let calls = calls.join(" and ");
    format!(
        "To call a tool, write exactly in this form, outside of any code fence. This example calls \
         {calls}:\n\n{}",
        example.trim_matches('\n')
    )
}

fn meaning(call: &ToolCall) -> String {
    let name = &call.name;
    match call.arguments.as_ref().map(Json::as_str) {
        None | Some("{}") => format!("`{name}` without arguments"),
        Some(arguments) => format!("`{name}` with the arguments `{arguments}`"),
    }
}

/// Returns the calls in a text in this dialect.
fn calls_in(dialect: &ToolDialect, text: &str) -> Vec<ToolCall> {
    let machine = StreamMachine::new(&StreamOptions::default().tools(dialect.clone()));
    let calls = machine.complete([StreamChunk::message(text)]).tool_calls;
    calls.into_iter().filter(ToolCall::is_complete).collect()
}

/// Removes the parts of a schema that a reader does not need, since local models have small context windows.
///
/// An optional argument is one that is not required, so it goes without saying that it may be null.
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

/// Writes a native call in Forge's format.
pub(crate) fn render_call(call: &ToolCall) -> String {
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
        _ => format!("<tool>\n{}\n</tool>", call.arguments_raw.trim_matches('\n')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_parser::ThinkingDialect;

    // Covers: G-44
    #[test]
    fn the_text_of_the_tools_never_varies() {
        let specs = [
            ToolSpec::new("b", "Second.", json!({ "type": "object", "properties": {} })),
            ToolSpec::new("a", "First.", json!({ "type": "object" })),
        ];
        let dialect = ToolDialect::AUTO;
        let neutral = MarkerEscaper::new(&dialect, &ThinkingDialect::AUTO);
        let text = describe(&dialect, &neutral, &specs);
        assert_eq!(text, describe(&dialect, &neutral, &specs));
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
    fn calls_that_were_no_text_are_written_as_forge_writes_them() {
        let call = ToolCall::new("call_0", "add", json!({ "a": 1 }));
        let want = "<tool>\n{\"tool_name\": \"add\", \"arguments\": {\"a\":1}}\n</tool>";
        assert_eq!(render_call(&call), want);
        let mut cut = ToolCall::pending(0, "call_0");
        "{\"a".clone_into(&mut cut.arguments_raw);
        assert_eq!(render_call(&cut), "<tool>\n{\"a\n</tool>");
    }

    #[test]
    fn form_of_calls_is_shown_by_an_example_of_the_dialect() {
        let all = ToolDialect::all();
        assert!(all.len() > 2);
        for dialect in all {
            let reported = how_to_call(&dialect);
            if [ToolDialect::NONE, ToolDialect::AUTO, ToolDialect::FORGE].contains(&dialect) {
                assert!(reported.contains("<tool>\n{\"tool_name\": \"NAME\""), "{reported}");
                continue;
            }
            let example = dialect.example().trim_matches('\n');
            assert!(
                reported.ends_with(&format!(":\n\n{example}")),
                "{}: {reported}",
                dialect.name()
            );
            assert!(reported.contains("This example calls `"), "{}: {reported}", dialect.name());
        }
    }
}
