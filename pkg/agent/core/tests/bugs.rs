//! Mistakes that were reported of other parsers, in every dialect that they concern.

use super::{
    families::{Family, NAME, VALUE, brief, called, families, for_each},
    harness::{NATIVE, Setup, in_pieces, random_pieces},
};
use forgeline_parser::{ParsedContent, ThinkingDialect, ToolCallParser, ToolDialect};
use forgeline_types::{FinishReason, Repair};

fn family_of(name: &str) -> Family {
    families().find(|family| family.name == name).unwrap()
}

fn thinking(dialect: &ThinkingDialect) -> Setup {
    Setup { thinking: dialect.clone(), ..Setup::default() }
}

fn rows(rows: &[(&str, &str, &[&str])]) {
    for (family, text, want) in rows {
        let run = family_of(family).setup().run_at_every_cut(family, text);
        assert_eq!(brief(&run), *want, "{family}: {text}");
    }
}

#[test]
fn bug_01_a_lone_first_byte_before_a_tag_does_not_misroute_it() {
    for_each(families().filter(|family| !family.is_bare()), |family| {
        let text = format!("a {}{}", &family.example()[..1], family.example());
        let run = family.setup().run_at_every_cut(family.name, &text);
        let before = format!("M:a {}", &family.example()[..1]);
        assert_eq!(brief(&run), [before, called(NAME, VALUE)], "{}", family.name);
    });
    for dialect in ThinkingDialect::all() {
        let example = dialect.example();
        let Some((opener, rest)) = example.split_once("Six times seven.") else { continue };
        let framing = rest.len() - rest.trim_start_matches('\n').len();
        let (framing, closer) = rest.split_at(framing);
        let (one, other) = (opener.chars().next().unwrap(), closer.chars().next().unwrap());
        // Plain words count at the start of a response only; Muse's opener begins with a blank.
        let lead = if ["granite", "muse"].contains(&dialect.name()) {
            String::new()
        } else {
            format!("a {one}")
        };
        let text = format!("{lead}{opener}Six times seven.{framing}{other}{closer}");
        let run = thinking(&dialect).run_at_every_cut(dialect.name(), &text);
        let mut want = vec![format!("T:Six times seven.{framing}{other}"), "M:It is 42.".into()];
        if !lead.is_empty() {
            want.insert(0, format!("M:{lead}"));
        }
        assert_eq!(brief(&run), want, "{}", dialect.name());
    }
}

#[test]
fn bug_02_parallel_calls_survive_every_split() {
    let calls = [("one", "1 + 1"), ("two", "2 + 2"), ("three", "3 + 3")];
    for_each(families(), |family| {
        let text = family.block(&calls);
        let run = family.setup().run_at_every_cut(family.name, &text);
        assert_eq!(brief(&run), calls.map(|(name, value)| called(name, value)), "{}", family.name);
        family.setup().run_at_random_cuts(family.name, &text, 50);
    });
}

#[test]
fn bug_03_opener_and_closer_in_one_delta_are_a_call() {
    for_each(families(), |family| {
        let run = family.setup().run([family.example()]);
        assert_eq!(brief(&run), [called(NAME, VALUE)], "{}", family.name);
    });
}

#[test]
fn bug_04_chunks_of_many_tokens_are_read_as_single_bytes_are() {
    for_each(families(), |family| {
        let text = family.block(&[("long", &"7 * ".repeat(60)), ("short", "1")]);
        let run = family.setup().run([text.as_str()]);
        assert_eq!(brief(&run).len(), 2, "{}", family.name);
        for size in [1, 16, 64, 200] {
            let cut = family.setup().run(in_pieces(&text, size));
            assert_eq!(cut, run, "{}: {size} characters each", family.name);
        }
    });
    for dialect in ThinkingDialect::all() {
        let text = dialect.example().replace("seven", &"seven ".repeat(40));
        let run = thinking(&dialect).run([text.as_str()]);
        for size in [1, 16, 64, 200] {
            assert_eq!(thinking(&dialect).run(in_pieces(&text, size)), run, "{}", dialect.name());
        }
    }
}

#[test]
fn bug_05_a_truncated_marker_is_the_same_streamed_and_whole() {
    for_each(families(), |family| {
        for (at, _) in family.example().char_indices().skip(1) {
            let text = &family.example()[..at];
            for finish in [None, Some(FinishReason::Length)] {
                let setup = Setup { finish, ..family.setup() };
                let whole = setup.run([text]);
                let cut = setup.run(text.split_inclusive(|_| true));
                assert_eq!(cut, whole, "{}: {text}", family.name);
            }
        }
    });
}

#[test]
fn bug_06_prose_that_begins_with_a_brace_comes_back() {
    let call = r#"{"name": "f", "parameters": {"a": 1}}"#;
    let with_text = format!("Text {call}");
    let as_text = format!("M:{with_text}");
    rows(&[
        ("llama3-json", call, &[r#"C f {"a":1}"#]),
        ("llama3-json", "{", &["M:{"]),
        ("llama3-json", "{ is a brace", &["M:{ is a brace"]),
        ("llama3-json", r#"{"name": "Bob", "age": 5}"#, &[r#"M:{"name": "Bob", "age": 5}"#]),
        ("llama3-json", r#"{"name"#, &[r#"M:{"name"#]),
        (
            "llama3-json",
            r#"{"a": {"name": "f", "parameters": {}}}"#,
            &[r#"M:{"a": {"name": "f", "parameters": {}}}"#],
        ),
        ("llama3-json", &with_text, &[&as_text]),
        ("pythonic", "[1, 2] is a list", &["M:[1, 2] is a list"]),
        ("pythonic", "[f", &["M:[f"]),
        ("guided", "[{}]", &["M:[{}]"]),
        ("xlam", "[see (a)]", &["M:[see (a)]"]),
    ]);
    let long = format!(r#"{{"name": "{}", "parameters": {{}}}}"#, "f".repeat(600));
    let run = family_of("llama3-json").setup().run_at_random_cuts("over 512 bytes", &long, 20);
    assert_eq!(brief(&run), [format!("M:{long}")]);
}

#[test]
fn bug_07_a_marker_in_a_string_is_data() {
    for_each(families().filter(|family| !family.has_raw_values()), |family| {
        let opener = family.example().split([' ', '\n', '{', '[', '(']).next().unwrap();
        let opener = opener.split_once(NAME).map_or(opener, |(opener, _)| opener);
        for marker in [family.closer, opener] {
            let marker = marker.replace(['"', '\n'], "");
            for value in [format!("a {marker} b"), marker] {
                let run = family.setup().run_at_every_cut(family.name, &family.call(&value));
                assert_eq!(brief(&run), [called(NAME, &value)], "{}", family.name);
            }
        }
    });
}

#[test]
fn bug_08_a_marker_in_a_parameter_value_is_data() {
    for_each(families().filter(Family::has_raw_values), |family| {
        for value in [format!("a {} b", family.closer), family.closer.to_owned()] {
            let run = family.setup().run_at_every_cut(family.name, &family.call(&value));
            assert_eq!(brief(&run), [called(NAME, &value)], "{}", family.name);
        }
        for value in ["a < b", "a <b> c", "</", "<tool_call>", "</p", "a<|b"] {
            let run = family.setup().run_at_every_cut(family.name, &family.call(value));
            assert_eq!(brief(&run), [called(NAME, value)], "{}", family.name);
        }
    });
}

#[test]
fn bug_09_thinking_tags_are_data_behind_the_reasoning_and_in_arguments() {
    let text = "<think>a</think>Write </think> at the end.";
    let run = thinking(&ThinkingDialect::THINK).run_at_every_cut("answer", text);
    assert_eq!(brief(&run), ["T:a", "M:Write </think> at the end."]);
    for_each(families(), |family| {
        for value in ["<think>x</think>", "</think>", "<think>"] {
            let run = family.setup().run_at_every_cut(family.name, &family.call(value));
            assert_eq!(brief(&run), [called(NAME, value)], "{}", family.name);
        }
    });
}

#[test]
fn bug_10_no_byte_of_a_marker_is_in_text_or_arguments() {
    for_each(families(), |family| {
        let run = family.setup().run_at_every_cut(family.name, family.example());
        assert_eq!(brief(&run), [called(NAME, VALUE)], "{}", family.name);
        let Some(call) = family.call_after_text("f", "x") else { return };
        let text = format!("Before. {call} After.");
        let run = family.setup().run_at_every_cut(family.name, &text);
        let want = ["M:Before. ".to_owned(), called("f", "x"), "M: After.".into()];
        assert_eq!(brief(&run), want, "{}", family.name);
    });
    for dialect in ThinkingDialect::all().into_iter().filter(|dialect| !dialect.is_none()) {
        let run = thinking(&dialect).run_at_every_cut(dialect.name(), dialect.example());
        let got = brief(&run);
        assert_eq!(got, ["T:Six times seven.", "M:It is 42."], "{}", dialect.name());
    }
}

#[test]
fn bug_11_a_draft_is_no_call_and_a_call_in_unclosed_reasoning_is_one() {
    for_each(families(), |family| {
        let Some(call) = family.call_after_text(NAME, VALUE) else { return };
        let draft = format!("<think>Perhaps {call}</think>No.");
        let setup = Setup { thinking: ThinkingDialect::THINK, ..family.setup() };
        let run = setup.run_at_every_cut(family.name, &draft);
        assert_eq!(brief(&run), [format!("T:Perhaps {call}"), "M:No.".into()], "{}", family.name);
        let open = format!("<think>Perhaps {call}");
        let run = setup.run_at_every_cut(family.name, &open);
        let want = [format!("T:Perhaps {call}"), called(NAME, VALUE)];
        assert_eq!(brief(&run), want, "{}", family.name);
        let repairs = &run.completion.tool_calls[0].repairs;
        assert!(repairs.contains(&Repair::RecoveredFromThinking), "{}", family.name);
    });
}

#[test]
fn bug_12_arguments_are_neither_lost_nor_doubled() {
    // That the deltas are the arguments is checked in every run of every test here.
    let empty = r#"<tool_call>{"name":"f","arguments":{}}</tool_call>"#;
    let next = r#"<tool_call>{"name":"g","arguments":{"a":{"b":{}}}}</tool_call>"#;
    let open = r#"<tool_call>{"name":"g","arguments":{"a":{"b":{}}}}"#;
    rows(&[
        ("hermes", empty, &["C f {}"]),
        ("hermes", &format!("{empty}\n{next}"), &["C f {}", r#"C g {"a":{"b":{}}}"#]),
        ("hermes", open, &[r#"C g {"a":{"b":{}}}"#]),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
            &["C f {}", r#"C g {"a":"x"}"#],
        ),
        (
            "glm",
            "<tool_call>f\n</tool_call>\n<tool_call>g<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>",
            &["C f {}", r#"C g {"a":"x"}"#],
        ),
        (
            "mistral",
            "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{\"a\":1}",
            &["C f {}", r#"C g {"a":1}"#],
        ),
        (
            "gemma4",
            "<|tool_call>call:f{}<tool_call|><|tool_call>call:g{a:1}<tool_call|>",
            &["C f {}", r#"C g {"a":1}"#],
        ),
        ("pythonic", "[f(), g(a=1)]", &["C f {}", r#"C g {"a":1}"#]),
        (
            "xlam",
            r#"[{"name":"f","arguments":{}}, {"name":"g","arguments":{"a":1}}]"#,
            &["C f {}", r#"C g {"a":1}"#],
        ),
        (
            "kimi-k2",
            "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{\"a\":{}}<|tool_call_end|>",
            &["C f {}", r#"C g {"a":{}}"#],
        ),
    ]);
}

#[test]
fn bug_13_blanks_and_line_ends_in_values_stay() {
    for_each(families().filter(Family::has_raw_values), |family| {
        for value in ["    if x:\n        y()\n", "\n\n  a\n\n", "\tb \t", " "] {
            let run = family.setup().run_at_every_cut(family.name, &family.call(value));
            assert_eq!(brief(&run), [called(NAME, value)], "{}", family.name);
        }
    });
}

#[test]
fn bug_14_a_parameter_without_its_closer_ends_at_the_next() {
    let want: &[&str] = &[r#"C f {"a":"x","b":"y"}"#];
    rows(&[
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>\nx\n<parameter=b>\ny\n</parameter>\n</function>\n</tool_call>",
            want,
        ),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\ny\n</function>\n</tool_call>",
            want,
        ),
        (
            "seed-oss",
            "<seed:tool_call><function=f><parameter=a>x\n<parameter=b>y</parameter></function></seed:tool_call>",
            want,
        ),
        (
            "minimax-m2",
            "<minimax:tool_call><invoke name=\"f\"><parameter name=\"a\">x\n<parameter name=\"b\">y</parameter></invoke></minimax:tool_call>",
            want,
        ),
        (
            "dsml",
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">x<｜DSML｜parameter name=\"b\" string=\"true\">y</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
            want,
        ),
        (
            "step3",
            "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"f\"><steptml:parameter name=\"a\">x\n<steptml:parameter name=\"b\">y</steptml:parameter></steptml:invoke><｜tool_call_end｜>",
            want,
        ),
        (
            "minicpm5",
            "<function name=\"f\"><param name=\"a\">x\n<param name=\"b\">y</param></function>",
            want,
        ),
        (
            "glm",
            "<tool_call>f<arg_key>a</arg_key><arg_value>x\n<arg_key>b</arg_key><arg_value>y</arg_value></tool_call>",
            want,
        ),
    ]);
}

#[test]
fn bug_15_a_truncated_call_is_never_complete() {
    for_each(families(), |family| {
        let text = family.example();
        let (whole, end) = family.ends();
        for (at, _) in text.char_indices().skip(1) {
            let cut = &text[..at];
            let by_length = Setup { finish: Some(FinishReason::Length), ..family.setup() };
            let broken = Setup { is_finished: false, ..family.setup() };
            for (setup, first) in [(family.setup(), whole), (by_length, end), (broken, end)] {
                let calls = setup.run([cut]).completion.tool_calls;
                let is_complete = calls.iter().any(forgeline_types::ToolCall::is_complete);
                assert!(!is_complete || at >= first, "{} {:?}: {cut}", family.name, setup.finish);
            }
        }
    });
}

#[test]
fn bug_16_keys_come_in_any_order_and_under_any_alias() {
    let both = r#"{"a":1}"#;
    #[rustfmt::skip]
    let objects = [
        ("order",           r#"{"arguments": {"a": 1}, "name": "f"}"#,                both),
        ("extra keys",      r#"{"id": [{}], "name": "f", "type": "x", "arguments": {"a": 1}, "z": null}"#, both),
        ("tool_name, args", r#"{"tool_name": "f", "args": {"a": 1}}"#,                both),
        ("tool, input",     r#"{"tool": "f", "input": {"a": 1}}"#,                    both),
        ("function",        r#"{"function": "f", "parameters": {"a": 1}}"#,           both),
        ("function object", r#"{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}"#, both),
        ("name only",       r#"{"name": "f"}"#,                                       "{}"),
        ("null",            r#"{"name": "f", "arguments": null}"#,                    "{}"),
        ("text null",       r#"{"name": "f", "arguments": "null"}"#,                  "{}"),
        ("empty text",      r#"{"name": "f", "arguments": ""}"#,                      "{}"),
        ("text",            r#"{"name": "f", "arguments": "{\"a\": 1}"}"#,            both),
    ];
    let mut seen = 0;
    for family in families().filter(|family| !family.is_bare()) {
        let example = family.example();
        let is_json = ["name\": \"calculator", "name\":\"calculator", "'name': 'calculator"];
        // Inkling's name is before the object.
        let is_named_before = family.name == "inkling";
        if is_named_before || !is_json.iter().any(|name| example.contains(name)) {
            continue;
        }
        seen += 1;
        let (from, to) = (example.find('{').unwrap(), example.rfind('}').unwrap() + 1);
        for (name, object, want) in objects {
            let text = [&example[..from], object, &example[to..]].concat();
            let run = family.setup().run_at_every_cut(name, &text);
            assert_eq!(brief(&run), [format!("C f {want}")], "{}: {name}", family.name);
        }
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn bug_17_every_byte_comes_out_once() {
    for_each(families(), |family| {
        let calls = family.block(&[("f", "1"), ("g", "2")]);
        let texts =
            [format!("{calls} and after"), format!("Before {calls}\n<"), format!("{calls}{calls}")];
        for text in texts {
            for seed in 0..40 {
                let mut joined = String::new();
                let mut take = |content: ParsedContent<'_>| match content {
                    ParsedContent::Text(text)
                    | ParsedContent::Marker(text)
                    | ParsedContent::Inline(text)
                    | ParsedContent::CallBody(text)
                    | ParsedContent::CallVerbatim(text) => joined.push_str(text),
                    _ => {}
                };
                let mut parser = ToolCallParser::new(&family.dialect());
                for piece in random_pieces(&text, seed) {
                    parser.parse(piece, &mut take);
                }
                parser.flush(true, &mut take);
                assert_eq!(joined, text, "{}", family.name);
            }
            family.setup().run_at_random_cuts(family.name, &text, 40);
        }
        let run = family.setup().run_at_every_cut(family.name, &format!("{calls} and after"));
        assert_eq!(brief(&run).last().unwrap(), "M: and after", "{}", family.name);
    });
}

#[test]
fn bug_18_text_before_between_and_behind_calls_stays() {
    for_each(families(), |family| {
        let call = |name| family.call_after_text(name, "x");
        let (Some(f), Some(g), Some(h)) = (call("f"), call("g"), call("h")) else { return };
        let text = format!("one {f} two {g} three {h} four");
        let run = family.setup().run_at_every_cut(family.name, &text);
        let [f, g, h] = ["f", "g", "h"].map(|name| called(name, "x"));
        let want = ["M:one ", &f, "M: two ", &g, "M: three ", &h, "M: four"];
        assert_eq!(brief(&run), want, "{}", family.name);
    });
}

#[test]
fn bug_19_a_stray_header_is_never_an_error() {
    let call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
    let harmony = Setup {
        thinking: ThinkingDialect::by_name("harmony").unwrap(),
        ..family_of("harmony").setup()
    };
    for text in [
        "<|channel|>",
        "<|message|>a",
        "<|channel|>analysis",
        "<|channel|><|message|>a",
        "<|channel|><|channel|>analysis<|message|>a<|end|>",
        "<|start|><|start|>assistant<|message|>a",
        "<|start|>assistant<|channel|>final to=<|message|>a",
        "<|channel|>commentary<|message|>a<|end|>",
        "<|channel|>final <|constrain|>json<|message|>{\"a\":1}<|return|>",
        "<|end|><|end|><|call|><|return|>",
        "<|constrain|>",
    ] {
        for thinking in [&harmony.thinking, &ThinkingDialect::AUTO] {
            let setup = Setup { thinking: thinking.clone(), ..harmony.clone() };
            let run = setup.run_at_every_cut(text, text);
            assert_eq!(run.completion.error, None, "{text}");
            assert!(run.completion.tool_calls.is_empty(), "{text}: {run:?}");
            let run = setup.run_at_every_cut(text, &format!("{text}<|end|>{call}"));
            assert_eq!(brief(&run).last().unwrap(), "C f {}", "{text}");
        }
    }
}

#[test]
fn bug_20_mistral_and_kimi_calls_are_found_whatever_their_size_and_end() {
    let big = "x".repeat(20_000);
    let kimi = |id: &str, value: &str| {
        format!(
            "<|tool_call_begin|>functions.{id}<|tool_call_argument_begin|>{{\"a\":\"{value}\"}}<|tool_call_end|>"
        )
    };
    let open = format!("<|tool_calls_section_begin|>{}{}", kimi("f:0", "1"), kimi("g:1", "2"));
    rows(&[
        ("mistral", r#"[TOOL_CALLS]f[ARGS]{"a": 1}"#, &[r#"C f {"a":1}"#]),
        ("mistral", r#"[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{"a": 1}"#, &[r#"C f {"a":1}"#]),
        (
            "mistral",
            r#"Text.[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}"#,
            &["M:Text.", r#"C f {"a":1}"#, "C g {}"],
        ),
        (
            "mistral",
            r#"[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "abc"}]"#,
            &[r#"C f {"a":1}"#],
        ),
        ("kimi-k2", &open, &[r#"C f {"a":"1"}"#, r#"C g {"a":"2"}"#]),
    ]);
    let run =
        family_of("mistral").setup().run([r#"[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{"a": 1}"#]);
    assert_eq!(run.completion.tool_calls[0].id, "abc123def");
    let text = format!("<|tool_calls_section_begin|>{}{}", kimi("f:0", &big), kimi("g:1", &big));
    for text in [&text, &format!("{text}<|tool_calls_section_end|>")] {
        let run = family_of("kimi-k2").setup().run_at_random_cuts("big", text, 5);
        let want = ["f", "g"].map(|name| format!(r#"C {name} {{"a":"{big}"}}"#));
        assert_eq!(brief(&run), want);
        assert_eq!(run.completion.tool_calls[1].id, "functions.g:1");
    }
    let auto =
        Setup { options: Setup::default().options.tools(ToolDialect::AUTO), ..Setup::default() };
    let run = auto.run_at_every_cut("auto", &open);
    assert_eq!(brief(&run), [r#"C f {"a":"1"}"#, r#"C g {"a":"2"}"#]);
}

#[test]
fn provider_reasoning_reads_the_same_at_any_cut() {
    let check = |setup: &Setup, name: &str, text: &str| {
        for (at, _) in text.char_indices() {
            let (head, tail) = text.split_at(at);
            for between in ["", "\n"] {
                let text = format!("{head}{between}{NATIVE}{between}{tail}");
                let whole = setup.run_at_random_cuts(name, &text, 2);
                let bytewise = setup.run(text.split_inclusive(|_| true));
                assert_eq!(bytewise, whole, "{name}: {text:?} char by char");
            }
        }
    };
    for is_finished in [true, false] {
        for dialect in ThinkingDialect::all() {
            let text = dialect.example();
            check(&Setup { is_finished, ..thinking(&dialect) }, dialect.name(), text);
            check(&Setup { is_finished, ..Setup::default() }, dialect.name(), text);
            let lines = text.replace("Six times", "Six\ntimes\n").replace("It is", "It\n\nis\n");
            check(&Setup { is_finished, ..thinking(&dialect) }, dialect.name(), &lines);
        }
        for_each(families(), |family| {
            check(&Setup { is_finished, ..family.setup() }, family.name, family.example());
        });
    }
}
