//! The form in which the results of calls written as text go back.

use std::fmt::Write as _;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::{llm::parser::ToolDialect, types::ToolResult};

/// How results stand in the user message that follows the calls.
///
/// Markers that can stand inside a message are the family's own. Where a family has none, because a
/// result is a turn of its own that only the server's prompt template can write, results go back in
/// Forge's form.
#[derive(Debug, PartialEq, Eq)]
struct ResultForm {
    /// The tool-call dialects whose models know it.
    dialects: &'static [&'static str],
    before: &'static str,
    /// One result: `{name}` of the tool, `{id}` of the call, `{content}`, `{json}` (the content when
    /// it is JSON, else as a JSON string), `{outcome}` (`ok` or `error`), `{is_error}` (`true` or
    /// `null`); other braces are text.
    each: &'static str,
    between: &'static str,
    after: &'static str,
}

/// Forge's own.
const FORGE: ResultForm = ResultForm {
    dialects: &["forge"],
    before: "Results of the tool calls:\n\n",
    each: "<tool_result name=\"{name}\" outcome=\"{outcome}\">\n{content}\n</tool_result>",
    between: "\n\n",
    after: "",
};

const FORMS: [ResultForm; 17] = [
    FORGE,
    ResultForm {
        dialects: &["hermes", "qwen3-coder", "glm", "poolside", "ernie45", "minicpm5", "jamba"],
        before: "",
        each: "<tool_response>\n{content}\n</tool_response>",
        between: "\n",
        after: "",
    },
    ResultForm {
        dialects: &["hunyuan", "hy4"],
        before: "<tool_responses>\n",
        each: "<tool_response>\n{content}\n</tool_response>",
        between: "\n",
        after: "\n</tool_responses>",
    },
    ResultForm {
        dialects: &["kimi-k2"],
        before: "",
        each: "## Return of {id}\n{content}",
        between: "\n\n",
        after: "",
    },
    ResultForm {
        dialects: &["deepseek-v3"],
        before: "<｜tool▁outputs▁begin｜>",
        each: "<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>",
        between: "\n",
        after: "<｜tool▁outputs▁end｜>",
    },
    ResultForm {
        dialects: &["deepseek-v31"],
        before: "",
        each: "<｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>",
        between: "",
        after: "",
    },
    ResultForm {
        dialects: &["dsml"],
        before: "",
        each: "<tool_result>{content}</tool_result>",
        between: "\n\n",
        after: "",
    },
    ResultForm {
        dialects: &["mistral"],
        before: "",
        each: "[TOOL_RESULTS]{content}[/TOOL_RESULTS]",
        between: "",
        after: "",
    },
    ResultForm {
        dialects: &["gemma4"],
        before: "",
        each: "<|tool_response>response:{name}{value:<|\"|>{content}<|\"|>}<tool_response|>",
        between: "",
        after: "",
    },
    ResultForm {
        dialects: &["functiongemma"],
        before: "",
        each: "<start_function_response>response:{name}{value:<escape>{content}<escape>}\
               <end_function_response>",
        between: "",
        after: "",
    },
    ResultForm {
        dialects: &["minimax-m2", "minimax-m3"],
        before: "",
        each: "<response>{content}</response>",
        between: "\n",
        after: "",
    },
    ResultForm {
        dialects: &["cohere"],
        before: "<|START_TOOL_RESULT|>[\n",
        each: "{\"tool_call_id\": \"{id}\", \"results\": {\"0\": {json}}, \"is_error\": {is_error}}",
        between: ",\n",
        after: "\n]<|END_TOOL_RESULT|>",
    },
    ResultForm {
        dialects: &["step3"],
        before: "<｜tool_outputs_begin｜>",
        each: "<｜tool_output_begin｜>{content}<｜tool_output_end｜>",
        between: "\n",
        after: "<｜tool_outputs_end｜>",
    },
    ResultForm {
        dialects: &["longcat"],
        before: "",
        each: "<longcat_tool_response>{content}</longcat_tool_response>",
        between: "\n",
        after: "",
    },
    ResultForm {
        dialects: &["nemotron"],
        before: "<TOOL_RESPONSE>[",
        each: "{json}",
        between: ", ",
        after: "]</TOOL_RESPONSE>",
    },
    ResultForm {
        dialects: &["muse"],
        before: "",
        each: "<tool_output name=\"{name}\">\n{content}\n</tool_output>",
        between: "\n",
        after: "",
    },
    ResultForm {
        dialects: &["hugind"],
        before: "Tool results:\n\n",
        each: "[{name}] {content}",
        between: "\n\n",
        after: "",
    },
];

impl ResultForm {
    fn of(dialect: &ToolDialect) -> &'static Self {
        let own = FORMS.iter().find(|form| form.dialects.contains(&dialect.name()));
        own.unwrap_or(&FORGE)
    }

    fn add(&self, result: &ToolResult, out: &mut String) {
        let mut rest = self.each;
        while let Some((text, tail)) = rest.split_once('{') {
            out.push_str(text);
            let field = tail.split_once('}').filter(|(field, _)| write_field(field, result, out));
            rest = field.map_or(tail, |(_, tail)| tail);
            if field.is_none() {
                out.push('{');
            }
        }
        out.push_str(rest);
    }
}

/// Writes one field of a result; `false` when there is none of this name.
fn write_field(field: &str, result: &ToolResult, out: &mut String) -> bool {
    let ToolResult { call_id, name, content, is_error } = result;
    match field {
        "name" => out.push_str(name),
        "id" => out.push_str(call_id),
        "content" => out.push_str(content.trim_end_matches('\n')),
        "json" if serde_json::from_str::<IgnoredAny>(content).is_ok() => {
            out.push_str(content.trim());
        }
        // Writing to a string cannot fail.
        "json" => drop(write!(out, "{}", json!(content))),
        "outcome" => out.push_str(if *is_error { "error" } else { "ok" }),
        "is_error" => out.push_str(if *is_error { "true" } else { "null" }),
        _ => return false,
    }
    true
}

/// Renders the results of a response's calls as one message, as models of this dialect know them.
pub(crate) fn render_results(dialect: &ToolDialect, results: &[ToolResult]) -> String {
    let form = ResultForm::of(dialect);
    let mut out = form.before.to_owned();
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            out.push_str(form.between);
        }
        form.add(result, &mut out);
    }
    out.push_str(form.after);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(name: &str) -> String {
        let form = FORMS.iter().find(|form| form.dialects.contains(&name)).unwrap();
        let results = [
            ToolResult::new("a:0", "add", "{\"sum\":3}\n"),
            ToolResult::new("b:1", "b", "no {name}").error(true),
        ];
        let mut out = form.before.to_owned();
        form.add(&results[0], &mut out);
        out.push_str(form.between);
        form.add(&results[1], &mut out);
        out + form.after
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
    fn a_dialect_has_one_form_and_those_without_have_forges() {
        let mut names: Vec<_> = FORMS.iter().flat_map(|form| form.dialects).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for dialect in [ToolDialect::AUTO, ToolDialect::NONE, ToolDialect::FORGE] {
            assert_eq!(ResultForm::of(&dialect), &FORGE);
        }
    }
}
