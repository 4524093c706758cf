//! Any cut of any text gives the same in every payload grammar, and loses nothing.

use proptest::prelude::*;

use super::{
    families::families,
    harness::{Run, Setup},
};
use forgeline_parser::{
    ParsedContent, ThinkingDialect, ThinkingParser, ThinkingPiece, ToolCallParser, ToolDialect,
};
use forgeline_types::FinishReason;

/// Texts that occur anywhere in any language of calls.
const COMMON: [&str; 28] = [
    "<|im_end|>",
    "<|end_of_text|>",
    "<turn|>",
    "</s>",
    "<",
    ">",
    "/",
    "</",
    "|",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "=",
    "\n",
    " ",
    "é日",
    "a",
    "1",
    "`",
    "```",
];

const JSON: [&str; 14] = [
    "{\"name\":\"f\"",
    ",\"arguments\":{",
    "\"parameters\": {",
    "\"a\":",
    "\"x\"",
    "1.5e3",
    "true",
    "null",
    "}}",
    "}]",
    "[{",
    "\"\\u00e9\\n\"",
    "{\"name\": \"g\", \"arguments\": {}}",
    "```json\n",
];
const NAMED: [&str; 14] = [
    "functions.f:0",
    "f",
    "<|tool_call_argument_begin|>",
    "<｜tool▁sep｜>",
    "function",
    "[ARGS]",
    "[CALL_ID]",
    "abc123",
    "{\"a\":1}",
    "{}",
    "```json\n",
    "\n```",
    "\"a\":\"</x>\"",
    "<|plamo:msg|>",
];
const TAGS: [&str; 20] = [
    "<function=f>",
    "</function>",
    "<parameter=a>",
    "</parameter>",
    "<invoke name=\"f\">",
    "</invoke>",
    "<parameter name=\"a\">",
    "<｜DSML｜invoke name=\"f\">",
    "<｜DSML｜parameter name=\"a\" string=\"true\">",
    "<｜DSML｜parameter name=\"b\" string=\"false\">",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "<param name=\"a\">",
    "</param>",
    "<function name=\"f\">",
    "<![CDATA[",
    "]]>",
    "<|open|>call tool=\"f\"<|sep|>",
    "<|open|>argument key=\"a\" type=\"number\"<|sep|>",
    "<|close|>argument<|sep|>",
];
const PAIRS: [&str; 12] = [
    "f\n",
    "f",
    "<arg_key>",
    "a",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<tool_sep>",
    "<ifm|arg_key>",
    "</ifm|arg_key>",
    "<ifm|arg_value>",
    "</ifm|arg_value>",
];
const SYNTAX: [&str; 12] =
    ["call:f{", "a:", "<|\"|>", "<escape>", "x", "1", "true", ",", "}", "[1,2]", "{b:1}", "call:"];
const PYTHON: [&str; 14] = [
    "[f(",
    "f(a=1)",
    "a=",
    "'x'",
    "\"y\\n\"",
    "True",
    "None",
    "{'k': [1, 2]}",
    ")]",
    "\n",
    "1e5",
    "r'\\d'",
    "\"\"\"",
    "#c",
];
const HARMONY: [&str; 16] = [
    "<|start|>assistant",
    "<|channel|>",
    "analysis",
    "commentary",
    "final",
    " to=functions.f",
    " to=",
    "<|constrain|>json",
    "<|message|>",
    "{\"a\":1}",
    "{",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|start|>",
    "assistant",
];

/// Markers of some dialects: the tags, brackets and words of their examples.
pub(super) fn markers<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut all = Vec::new();
    for name in names {
        let Some(family) = families().find(|family| family.name == name) else { panic!("{name}") };
        let example = family.example();
        for (at, _) in example.match_indices(['<', '[']) {
            let tail = &example[at..];
            let end = tail.find(['>', ']']).map_or(tail.len(), |end| end + 1);
            all.push(tail[..end].to_owned());
        }
        all.push(example.to_owned());
        all.push(family.closer.to_owned());
    }
    all.sort();
    all.dedup();
    all.retain(|marker| !marker.is_empty());
    all
}

/// Texts of the markers of these dialects, of payload fragments and of what both are made of.
fn soup(names: &[&str], payload: &[&str]) -> impl Strategy<Value = String> + use<> {
    let markers = markers(names.iter().copied());
    let payload: Vec<String> = payload.iter().map(|&piece| piece.to_owned()).collect();
    let common: Vec<String> = COMMON.iter().map(|&piece| piece.to_owned()).collect();
    let fragment = prop_oneof![
        3 => prop::sample::select(markers),
        4 => prop::sample::select(payload),
        2 => prop::sample::select(common),
    ];
    prop::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

fn how_it_ends() -> impl Strategy<Value = (Option<FinishReason>, bool)> {
    let finish =
        prop::sample::select(&[None, Some(FinishReason::Stop), Some(FinishReason::Length)][..]);
    (finish, prop::bool::weighted(0.9))
}

/// I1 and I2 for one text; the harness checks I3 and I4.
fn check(setup: &Setup, text: &str, cuts: &[prop::sample::Index]) -> Result<Run, TestCaseError> {
    let chars: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut cuts: Vec<_> = cuts.iter().map(|cut| chars[cut.index(chars.len())]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    let pieces: Vec<_> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    let whole = setup.run([text]);
    prop_assert_eq!(&setup.run(pieces.iter().copied()), &whole, "{:?}", &pieces);
    prop_assert_eq!(&setup.run(text.split_inclusive(|_| true)), &whole, "char by char");
    let is_open = setup.is_finished && setup.finish != Some(FinishReason::Length);
    let mut joined = String::new();
    let mut take = |content: ParsedContent<'_>| match content {
        ParsedContent::Text(text)
        | ParsedContent::Marker(text)
        | ParsedContent::Inline(text)
        | ParsedContent::CallBody(text)
        | ParsedContent::CallVerbatim(text) => joined.push_str(text),
        _ => {}
    };
    let mut parser = ToolCallParser::new(&setup.options.tools);
    for piece in &pieces {
        parser.parse(piece, &mut take);
    }
    parser.flush(is_open, &mut take);
    prop_assert_eq!(&joined, text, "I2: cut as {:?}", &pieces);
    never_grows(setup, &pieces)?;
    Ok(whole)
}

/// Reasoning, answer and framing are the text, in its order.
fn never_grows(setup: &Setup, pieces: &[&str]) -> Result<(), TestCaseError> {
    let text = pieces.concat();
    let mut parts = Vec::new();
    let mut take = |piece: ThinkingPiece<'_>| match piece {
        ThinkingPiece::Message(text)
        | ThinkingPiece::Thinking(text)
        | ThinkingPiece::Framing(text) => parts.push(text.to_owned()),
        _ => {}
    };
    let mut parser = ThinkingParser::new(&setup.thinking, &setup.options.tools);
    for piece in pieces {
        parser.parse(piece, &mut take);
    }
    parser.flush(&mut take);
    prop_assert_eq!(parts.concat(), text, "{:?} of {:?}", parts, pieces);
    Ok(())
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        cases: asked.unwrap_or(64),
        ..ProptestConfig::default()
    }
}

/// A property of the dialects of one payload grammar.
macro_rules! any_cut {
    ($name:ident, $thinking:expr, $payload:expr, $families:expr) => {
        proptest! {
            #![proptest_config(config())]

            #[test]
            fn $name(
                text in soup(&$families, &$payload),
                which in prop::sample::select(&$families[..]),
                cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
                (finish, is_finished) in how_it_ends(),
            ) {
                let family = families().find(|family| family.name == which).unwrap();
                let thinking = ThinkingDialect::by_name($thinking).unwrap();
                let setup = Setup { finish, is_finished, thinking, ..family.setup() };
                check(&setup, &text, &cuts)?;
            }
        }
    };
}

any_cut!(
    json,
    "think",
    JSON,
    [
        "hermes",
        "cohere",
        "internlm2",
        "phi4",
        "granite",
        "jamba",
        "hunyuan",
        "apertus",
        "nemotron",
        "longcat",
        "gigachat3",
        "ernie45",
        "xlam",
        "sarashina",
        "guided",
        "hugind",
        "llama3-json",
        "mistral",
    ]
);
any_cut!(
    names_before_json,
    "auto",
    NAMED,
    ["kimi-k2", "deepseek-v3", "deepseek-v31", "mistral", "plamo3"]
);
any_cut!(
    tags,
    "think",
    TAGS,
    ["qwen3-coder", "dsml", "minimax-m2", "step3", "seed-oss", "dots", "minicpm5", "kimi-k3",]
);
any_cut!(pairs, "auto", PAIRS, ["glm", "iquest", "k2-horizon", "hunyuan"]);
any_cut!(call_syntax, "gemma4", SYNTAX, ["gemma4", "functiongemma", "hugind"]);
any_cut!(python, "think", PYTHON, ["pythonic", "olmo3", "llama3-json"]);
any_cut!(harmony, "harmony", HARMONY, ["harmony"]);
any_cut!(harmony_in_auto, "auto", HARMONY, ["harmony"]);

/// What makes held text long, so that bounds are passed.
const LONG: [&str; 4] = [
    "<!-- nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    "-->",
    "                                                                                              ",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];
const REASONING: [&str; 6] =
    ["<think>", "</think>", "[THINK]", "[/THINK]", "<thought>", "\u{E000}"];

/// What is in the calls of any family.
fn any_payload() -> Vec<&'static str> {
    let grammars = [&JSON[..], &NAMED, &TAGS, &PAIRS, &SYNTAX, &PYTHON, &HARMONY];
    [&grammars.concat()[..], &REASONING, &LONG].concat()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn auto(
        text in soup(
            &families().map(|family| family.name).collect::<Vec<_>>(),
            &any_payload(),
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        (finish, is_finished) in how_it_ends(),
    ) {
        let mut setup = Setup { finish, is_finished, ..Setup::default() };
        setup.options = setup.options.tools(ToolDialect::AUTO);
        check(&setup, &text, &cuts)?;
    }

    // Found: P18
    #[test]
    fn any_family(
        (which, text) in prop::sample::select(families().map(|family| family.name).collect::<Vec<_>>())
            .prop_flat_map(|name| (Just(name), soup(&[name], &[&any_payload()[..], &REASONING, &LONG].concat()))),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        (finish, is_finished) in how_it_ends(),
    ) {
        let family = families().find(|family| family.name == which).unwrap();
        let thinking = ThinkingDialect::by_name(which).unwrap_or(ThinkingDialect::AUTO);
        let setup = Setup { thinking, finish, is_finished, ..family.setup() };
        check(&setup, &text, &cuts)?;
    }
}
