//! The form in which results of calls written as text are sent back.

use serde::de::IgnoredAny;
use serde_json::json;

use forgeline_parser::{
    ToolDialect,
    private::{MarkerEscaper, ResultForm},
};
use forgeline_types::ToolResult;

/// Writes one result.
fn add(each: &str, result: &ToolResult, neutral: &MarkerEscaper, out: &mut String) {
    let mut rest = each;
    while let Some((text, tail)) = rest.split_once('{') {
        out.push_str(text);
        let field =
            tail.split_once('}').filter(|(field, _)| write_field(field, result, neutral, out));
        rest = field.map_or(tail, |(_, tail)| tail);
        if field.is_none() {
            out.push('{');
        }
    }
    out.push_str(rest);
}

/// Writes one field of a result with its markers broken; returns `false` when no field has this name.
fn write_field(
    field: &str,
    result: &ToolResult,
    neutral: &MarkerEscaper,
    out: &mut String,
) -> bool {
    let ToolResult { call_id, name, content, is_error, .. } = result;
    match field {
        "name" => out.push_str(&neutral.text(name)),
        "id" => out.push_str(&neutral.text(call_id)),
        "content" => out.push_str(&neutral.text(content.trim_end_matches('\n'))),
        "json" if serde_json::from_str::<IgnoredAny>(content).is_ok() => {
            out.push_str(&neutral.json(content.trim()));
        }
        "json" => out.push_str(&neutral.json(&json!(content).to_string())),
        "outcome" => out.push_str(if *is_error { "error" } else { "ok" }),
        "is_error" => out.push_str(if *is_error { "true" } else { "null" }),
        _ => return false,
    }
    true
}

/// Returns the results of a response's calls as one message, in the form of the dialect's models,
/// with the markers in the output of the tools broken.
pub(crate) fn render_results<'a>(
    dialect: &ToolDialect,
    neutral: &MarkerEscaper,
    results: impl IntoIterator<Item = &'a ToolResult>,
) -> String {
    let ResultForm { before, each, between, after } = dialect.result_form();
    let mut out = before.to_owned();
    for (at, result) in results.into_iter().enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        add(each, result, neutral, &mut out);
    }
    out.push_str(after);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_parser::ThinkingDialect;

    fn rendered(name: &str) -> String {
        let results = [
            ToolResult::new("a:0", "add", "{\"sum\":3}\n"),
            ToolResult::new("b:1", "b", "no {name}").error(true),
        ];
        let dialect = ToolDialect::by_name(name).unwrap();
        let neutral = MarkerEscaper::new(&dialect, &ThinkingDialect::AUTO);
        render_results(&dialect, &neutral, &results)
    }

    #[test]
    fn results_are_written_as_the_family_knows_them() {
        #[rustfmt::skip]
        let cases = [
            ("forge", "Results of the tool calls:\n\n<tool_result name=\"add\" outcome=\"ok\">\n{\"sum\":3}\n</tool_result>\n\n<tool_result name=\"b\" outcome=\"error\">\nno {name}\n</tool_result>"),
            ("hermes", "<tool_response>\n{\"sum\":3}\n</tool_response>\n<tool_response>\nno {name}\n</tool_response>"),
            ("hunyuan", "<tool_responses>\n<tool_response>\n{\"sum\":3}\n</tool_response>\n<tool_response>\nno {name}\n</tool_response>\n</tool_responses>"),
            ("kimi-k2", "## Return of a:0\n{\"sum\":3}\n\n## Return of b:1\nno {name}"),
            ("mistral", "[TOOL_RESULTS]{\"sum\":3}[/TOOL_RESULTS][TOOL_RESULTS]no {name}[/TOOL_RESULTS]"),
            ("gemma4", "<|tool_response>response:add{value:<|\"|>{\"sum\":3}<|\"|>}<tool_response|><|tool_response>response:b{value:<|\"|>no {name}<|\"|>}<tool_response|>"),
            ("cohere", "<|START_TOOL_RESULT|>[\n{\"tool_call_id\": \"a:0\", \"results\": {\"0\": {\"sum\":3}}, \"is_error\": null},\n{\"tool_call_id\": \"b:1\", \"results\": {\"0\": \"no {name}\"}, \"is_error\": true}\n]<|END_TOOL_RESULT|>"),
            ("nemotron", "<TOOL_RESPONSE>[{\"sum\":3}, \"no {name}\"]</TOOL_RESPONSE>"),
            ("hugind", "Tool results:\n\n[add] {\"sum\":3}\n\n[b] no {name}"),
        ];
        for (name, want) in cases {
            assert_eq!(rendered(name), want, "{name}");
        }
    }

    #[test]
    fn dialects_without_a_form_have_forges() {
        for dialect in [ToolDialect::AUTO, ToolDialect::NONE, ToolDialect::FORGE] {
            assert_eq!(dialect.result_form(), ResultForm::FORGE);
        }
        let own = ToolDialect::by_name("harmony").unwrap();
        assert_eq!(own.result_form(), ResultForm::FORGE);
    }
}
