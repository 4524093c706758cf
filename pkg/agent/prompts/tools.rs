//! How tools are described, called and answered in plain text.

use std::fmt::Write as _;

use serde_json::json;

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
         You can call tools. A call is a block like this one, on lines of its own and not inside a \
         code fence:\n\n\
         <tool>\n{\"tool_name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool>\n\n\
         The text between the tags is one JSON object. `arguments` must fit the JSON schema in \
         `parameters`. You may write several calls in one answer; then stop, and their results \
         come with the next message. Never write a result yourself.\n\n\
         The tools, one JSON object a line:\n",
    );
    for spec in specs {
        let line = json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        });
        // Writing to a string cannot fail.
        let _written = write!(out, "\n{line}");
    }
    out
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
        let tail = "{\"name\":\"b\",\"description\":\"Second.\",\"parameters\":{\"type\":\"object\",\
                    \"properties\":{}}}\n{\"name\":\"a\",\"description\":\"First.\",\"parameters\":\
                    {\"type\":\"object\"}}";
        assert!(text.ends_with(tail), "{text}");
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
