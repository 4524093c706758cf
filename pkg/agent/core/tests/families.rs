//! Texts in every dialect, made of the dialects' own examples.

use super::harness::{Run, Setup, lines};
use forgeline_parser::ToolDialect;
use forgeline_types::{AgentEvent, ToolCallEndEvent};

/// How the example of a dialect is put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub(super) name: &'static str,
    /// What is around and between several calls of one block.
    head: &'static str,
    separator: &'static str,
    tail: &'static str,
    /// What is after the name, up to the byte that shows that it is whole.
    after_name: &'static str,
    /// What the payload ends with.
    whole: &'static str,
    /// What ends a call; empty where the payload ends itself.
    pub(super) closer: &'static str,
}

#[rustfmt::skip]
const FAMILIES: [[&str; 7]; 56] = [
    ["forge",         "", "\n", "", "\"", "}}", "</tool>"],
    ["hermes",        "", "\n", "", "\"", "}}", "</tool_call>"],
    ["qwen3-coder",   "", "\n", "", ">", "</function>", "</tool_call>"],
    ["glm",           "", "\n", "", "\n", "</tool_call>", "</tool_call>"],
    ["kimi-k2",       "<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>", ":0<|tool_call_argument_begin|>", "}", "<|tool_call_end|>"],
    ["kimi-k3",       "<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>", "\" index=\"1\"<|sep|>", "<|close|>call<|sep|>", ""],
    ["deepseek-v3",   "<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>", "\n", "}", "<｜tool▁call▁end｜>"],
    ["deepseek-v31",  "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>", "}", "<｜tool▁call▁end｜>"],
    ["dsml",          "<｜DSML｜function_calls>\n", "\n", "\n</｜DSML｜function_calls>", "\">", "</｜DSML｜invoke>", ""],
    ["llama3-json",   "", "; ", "", "\"", "}}", ""],
    ["pythonic",      "[", ", ", "]", "(", "]", ""],
    ["mistral",       "", "", "", "[ARGS]", "}", ""],
    ["gemma4",        "", "", "", "{", "}", "<tool_call|>"],
    ["functiongemma", "", "", "", "{", "}", "<end_function_call>"],
    ["harmony",       "", "", "", " <|constrain|>json<|message|>", "}", "<|call|>"],
    ["minimax-m2",    "<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>", "\">", "</invoke>", ""],
    ["minimax-m3",    "]<]minimax[>[<tool_call>\n", "\n", "\n]<]minimax[>[</tool_call>", "\">", "]<]minimax[>[</invoke>", ""],
    ["cohere",        "<|START_ACTION|>[", ", ", "]<|END_ACTION|>", "\"", "]", "<|END_ACTION|>"],
    ["step3",         "<｜tool_calls_begin｜>", "", "<｜tool_calls_end｜>", "\">", "</steptml:invoke>", "<｜tool_call_end｜>"],
    ["internlm2",     "", "\n", "", "\"", "}}", "<|action_end|>"],
    ["phi4",          "functools[", ", ", "]", "\"", "]", ""],
    ["granite",       "<|tool_call|>[", ", ", "]", "\"", "]", ""],
    ["jamba",         "<tool_calls>[", ", ", "]</tool_calls>", "\"", "]", "</tool_calls>"],
    ["hunyuan",       "<tool_calls>[", ", ", "]</tool_calls>", "\"", "]", "</tool_calls>"],
    ["seed-oss",      "", "\n", "", ">", "</function>", "</seed:tool_call>"],
    ["apertus",       "<|tools_prefix|>[", ", ", "]<|tools_suffix|>", "\":", "]", "<|tools_suffix|>"],
    ["nemotron",      "<TOOLCALL>[", ", ", "]</TOOLCALL>", "\"", "]", "</TOOLCALL>"],
    ["longcat",       "", "\n", "", "\"", "}}", "</longcat_tool_call>"],
    ["gigachat3",     "", "", "", "\"", "}}", ""],
    ["ernie45",       "", "\n", "", "\"", "}}", "</tool_call>"],
    ["olmo3",         "<function_calls>", "\n", "</function_calls>", "(", ")", "</function_calls>"],
    ["xlam",          "[", ", ", "]", "\"", "]", ""],
    ["dots",          "<dots_function_call>\n", "\n", "\n</dots_function_call>", "\">", "</invoke>", ""],
    ["minicpm5",      "", "\n", "", "\">", "</function>", ""],
    ["iquest",        "", "\n", "", "<arg_key>", "</iquest_tool_call>", "</iquest_tool_call>"],
    ["k2-horizon",    "<ifm|tool_calls>\n", "\n", "\n</ifm|tool_calls>", "\n", "</ifm|tool_call>", "</ifm|tool_call>"],
    ["sarashina",     "<|tool_calls|>[", ", ", "]", "'", "]", ""],
    ["plamo3",        "<|plamo:begin_tool_requests:plamo|>", "", "<|plamo:end_tool_requests:plamo|>", "<|plamo:end_tool_name:plamo|>", "}", "<|plamo:end_tool_arguments:plamo|>"],
    ["inkling",       "", "", "", "<|content_invoke_tool_json|>", "}}", "<|end_message|>"],
    ["muse",          "<atem:function_calls>\n", "\n", "\n</atem:function_calls>", "\">", "</atem:invoke>", ""],
    ["guided",        "[", ", ", "]", "\"", "]", ""],
    ["hugind",        "", "\n", "", "\"", "}}", "</tool_call>"],
    ["solar-open2",   "", "\n", "", "\n", "<|tool_call:end|>", "<|tool_call:end|>"],
    ["solar-open",    "<|tool_calls|>", "", "<|calls|>", "<|tool_call:args|>", "}", "<|tool_call:end|>"],
    ["qwen25-coder",  "", "\n", "", "\"", "}}", "</tools>"],
    ["apriel",        "<tool_calls>[", ", ", "]</tool_calls>", "\"", "]", "</tool_calls>"],
    ["pangu",         "<|tool_call_start|>[", ", ", "]<|tool_call_end|>", "\"", "]", "<|tool_call_end|>"],
    ["hyperclovax",   "", "\n", "", "\n", "</tool_call>", "</tool_call>"],
    ["rwkv",          "", "\n", "", "\"", "}}", "```"],
    ["poolside",      "", "\n", "", "<arg_key>", "</tool_call>", "</tool_call>"],
    ["hy4",           "<tool_calls>", "", "</tool_calls>", "<tool_sep>", "</tool_call>", "</tool_call>"],
    ["telechat4",     "", "\n", "", "<param_key>", "</tool_call>", "</tool_call>"],
    ["step-audio2",   "", "\n", "", "\n", "}", "</tool_call>"],
    ["mirothinker",   "", "\n", "", "</tool_name>", "}", "</arguments>"],
    ["cwm",           "", "\n", "", ">\n", "}", "</tool>"],
    ["granite4",      "", "\n", "", "\"", "}}", "</tool_call>"],
];

/// The name and the argument of every example.
pub(super) const NAME: &str = "calculator";
pub(super) const VALUE: &str = "6 * 7";

/// Every dialect that reads calls.
pub(super) fn families() -> impl Iterator<Item = Family> {
    FAMILIES.into_iter().map(|[name, head, separator, tail, after_name, whole, closer]| Family {
        name,
        head,
        separator,
        tail,
        after_name,
        whole,
        closer,
    })
}

/// Runs `test` for all of `families`, and tells of every one that fails.
pub(super) fn for_each(families: impl Iterator<Item = Family>, test: impl Fn(Family)) {
    let failed = families.filter(|family| {
        let run = std::panic::AssertUnwindSafe(|| test(*family));
        std::panic::catch_unwind(run).is_err()
    });
    let failed: Vec<_> = failed.map(|family| family.name).collect();
    assert!(failed.is_empty(), "failed: {failed:?}");
}

impl Family {
    pub(super) fn dialect(&self) -> ToolDialect {
        ToolDialect::by_name(self.name).unwrap()
    }

    pub(super) fn setup(&self) -> Setup {
        let setup = Setup::default();
        Setup { options: setup.options.tools(self.dialect()), ..setup }
    }

    pub(super) fn example(&self) -> &'static str {
        self.dialect().example()
    }

    /// One block of calls with these names and values; the values hold neither quotes, line ends nor
    /// backslashes.
    pub(super) fn block(&self, calls: &[(&str, &str)]) -> String {
        self.block_of(calls.iter(), &|one, (name, value)| {
            one.replace(NAME, name).replace(VALUE, value)
        })
    }

    /// One block of calls, each of which `write` makes of the example's and of one of `calls`.
    pub(super) fn block_of<C>(
        &self,
        calls: impl Iterator<Item = C>,
        write: &dyn Fn(&str, C) -> String,
    ) -> String {
        let example = self.example();
        let one = example.strip_prefix(self.head).and_then(|rest| rest.strip_suffix(self.tail));
        let one = one.unwrap_or_else(|| panic!("{}: {example}", self.name));
        let calls: Vec<_> = calls.map(|call| write(one, call)).collect();
        [self.head, &calls.join(self.separator), self.tail].concat()
    }

    /// One call of this value.
    pub(super) fn call(&self, value: &str) -> String {
        self.block(&[(NAME, value)])
    }

    /// A call that counts behind text too; `None` in a dialect without markers.
    pub(super) fn call_after_text(&self, name: &str, value: &str) -> Option<String> {
        let block = self.block(&[(name, value)]);
        match self.name {
            "llama3-json" => Some(format!("<|python_tag|>{block}")),
            "pythonic" => Some(format!("<|python_start|>{block}<|python_end|>")),
            "xlam" => Some(format!("<tool_call>{block}</tool_call>")),
            "guided" => None,
            _ => Some(block),
        }
    }

    /// Whether the example has no marker, so that it counts at the start of a message only.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.name, "llama3-json" | "pythonic" | "xlam" | "guided")
    }

    /// Whether values stand between marks rather than in quotes.
    pub(super) fn has_raw_values(&self) -> bool {
        let at = self.example().find(VALUE).unwrap();
        self.example()[..at].ends_with(['>', '\n'])
    }

    /// Up to the byte that shows that the name is whole.
    pub(super) fn up_to_name(&self) -> &'static str {
        let named = format!("{NAME}{}", self.after_name);
        let at = self.example().find(&named).unwrap_or_else(|| panic!("{}", self.name));
        &self.example()[..at + named.len()]
    }

    /// The length of the example up to the end of its payload, and up to the end of the call.
    pub(super) fn ends(&self) -> (usize, usize) {
        let end_of = |text: &str| self.example().rfind(text).unwrap() + text.len();
        let whole = end_of(self.whole);
        (whole, if self.closer.is_empty() { whole } else { end_of(self.closer) })
    }
}

/// What happened, without the spelling of arguments and without repairs: `M:text`, `T:thinking`,
/// `C name {"arguments"}`, or `C name outcome` of a call that must not run.
pub(super) fn brief(run: &Run) -> Vec<String> {
    let mut ends = run.events.iter().filter_map(|event| match event {
        AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) => Some(*index),
        _ => None,
    });
    let in_short = |line: String| {
        if !line.starts_with("C ") {
            return line;
        }
        let index = ends.next().unwrap();
        let call = run.completion.tool_calls.iter().find(|call| call.index == index).unwrap();
        match &call.arguments {
            Some(arguments) if call.is_complete() => {
                format!("C {} {}", call.name, arguments.as_str())
            }
            _ => format!("C {} {:?}", call.name, call.outcome),
        }
    };
    lines(run).into_iter().map(in_short).collect()
}

/// What [`brief`] says of a whole call of the examples' shape.
pub(super) fn called(name: &str, value: &str) -> String {
    format!("C {name} {}", serde_json::json!({ "expression": value }))
}

#[test]
fn every_row_is_a_dialect_in_the_order_of_the_list() {
    let all = ToolDialect::all();
    let all = all.iter().map(ToolDialect::name);
    let mut rest = families().map(|family| family.name).peekable();
    let known: Vec<_> = all.filter(|name| rest.next_if_eq(name).is_some()).collect();
    assert_eq!(rest.next(), None);
    assert_eq!(known.len(), 56);
}
