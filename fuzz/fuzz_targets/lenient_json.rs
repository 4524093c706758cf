//! Any payload of a call: the arguments of a complete call are valid JSON, the same at every cut;
//! strict JSON passes byte for byte.

#![no_main]

use forgeline::llm::parser::{ThinkingDialect, ToolDialect};
use forgeline_fuzz::text::Case;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

/// Deeper arguments pass the limit of the reader.
const MAX_BRACKETS: usize = 100;

fuzz_target!(|input: &[u8]| {
    let Some(mut case) = Case::new(input) else { return };
    case.tools = ToolDialect::FORGE;
    case.thinking = ThinkingDialect::NONE;
    let any = format!("<tool>{}</tool>", case.text);
    let arguments = format!("<tool>{{\"tool_name\":\"t\",\"arguments\":{}}}</tool>", case.text);
    for text in [&any, &arguments] {
        let [whole, cut, single] = case.cuts(text);
        let run = case.read(&whole);
        assert_eq!(case.read(&cut), run, "{case:?}");
        assert_eq!(case.read(&single), run, "{case:?}");
        run.check(text);
    }
    let json = case.text.trim_matches([' ', '\t', '\n', '\r']);
    let is_strict = json.starts_with('{')
        && json.matches(['{', '[']).count() < MAX_BRACKETS
        && serde_json::from_str::<&RawValue>(json).is_ok();
    if is_strict {
        let run = case.read(&[&arguments]);
        let [call] = run.completion.tool_calls.as_slice() else { panic!("{case:?}: {run:?}") };
        assert!(call.is_complete() && call.repairs.is_empty(), "{case:?}: {call:?}");
        assert_eq!(run.arguments()[0].trim_end(), json, "{case:?}");
    }
});
