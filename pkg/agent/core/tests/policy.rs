//! The policy that every dialect shares, row by row.

use super::{
    families::{Family, NAME, VALUE, brief, called, families, for_each},
    harness::{Setup, schema},
};
use forgeline_parser::{ParsedContent, ToolCallParser, ToolDialect};
use forgeline_types::{
    AgentEvent, CallOutcome, FinishReason, MessageContentEvent, Repair, ToolCallContentEvent,
    ToolCallStartEvent,
};

fn family_of(name: &str) -> Family {
    families().find(|family| family.name == name).unwrap()
}

fn rows(rows: &[(&str, &str, &[&str])]) {
    for (family, text, want) in rows {
        let run = family_of(family).setup().run_at_every_cut(family, text);
        assert_eq!(brief(&run), *want, "{family}: {text}");
    }
}

/// Message text and arguments that were given so far.
fn so_far(setup: &Setup, text: &str) -> (String, String, String) {
    let (mut message, mut body, mut json) = (String::new(), String::new(), String::new());
    for event in setup.events_so_far(text.split_inclusive(|_| true)) {
        match event {
            AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
                message.push_str(&content);
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { content, arguments, .. }) => {
                body.push_str(&content);
                json.push_str(&arguments);
            }
            _ => {}
        }
    }
    (message, body, json)
}

#[test]
fn only_a_live_prefix_of_a_marker_is_held_back() {
    for_each(families().filter(|family| !family.is_bare()), |family| {
        let setup = family.setup();
        let first = &family.example()[..1];
        for (text, want) in [
            ("Plain text.".to_owned(), "Plain text.".to_owned()),
            (format!("Text {first}"), "Text ".into()),
            (format!("Text {first}é"), format!("Text {first}é")),
            (format!("Text {first} b"), format!("Text {first} b")),
        ] {
            assert_eq!(so_far(&setup, &text).0, want, "{}", family.name);
        }
        // The header of a channel may go on with anything.
        for (at, _) in family.example().char_indices().filter(|_| family.name != "harmony") {
            // A byte that no marker goes on with lets all of it go.
            let text = format!("a{}\u{1}", &family.example()[..at]);
            let mut given = 0;
            let mut parser = ToolCallParser::new(&family.dialect());
            for piece in text.split_inclusive(|_| true) {
                parser.parse(piece, &mut |content| match content {
                    ParsedContent::Text(text)
                    | ParsedContent::Marker(text)
                    | ParsedContent::Inline(text)
                    | ParsedContent::CallBody(text)
                    | ParsedContent::CallVerbatim(text) => given += text.len(),
                    _ => {}
                });
            }
            assert_eq!(given, text.len(), "{}: {text:?}", family.name);
        }
    });
}

#[test]
fn several_calls_in_one_block_or_many_keep_their_order_and_numbers() {
    for_each(families(), |family| {
        let one = family.block(&[("f", "x"), ("g", "y")]);
        let mut texts = vec![one.clone()];
        if let (false, Some(more)) = (family.is_bare(), family.call_after_text("h", "z")) {
            texts.push(format!("{one}\n{more}"));
            texts.push(format!("Text {one} and {more}."));
        }
        for text in texts {
            let run = family.setup().run_at_every_cut(family.name, &text);
            let calls = &run.completion.tool_calls;
            let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
            assert_eq!(names, ["f", "g", "h"][..names.len()], "{}", family.name);
            assert!(names.len() >= 2, "{}: {text}", family.name);
            let indices: Vec<_> = calls.iter().map(|call| call.index).collect();
            assert_eq!(indices, [0, 1, 2][..names.len()], "{}", family.name);
        }
    });
}

#[test]
fn arguments_stream_while_the_call_is_open() {
    for_each(families(), |family| {
        let value = "many words ".repeat(40);
        let text = family.call(&value);
        let half = &text[..text.find("many words").unwrap() + value.len() / 2];
        let (_, body, json) = so_far(&family.setup(), half);
        let shown = |what: &str| what.matches("many words").count();
        assert!(shown(&json) > 12, "{}: {json}", family.name);
        assert!(shown(&body) > 12, "{}: {body}", family.name);
        let run = family.setup().run([text.as_str()]);
        assert_eq!(brief(&run), [called(NAME, &value)], "{}", family.name);
    });
}

#[test]
fn name_is_reported_at_its_closing_delimiter() {
    for_each(families().filter(|family| !family.is_bare()), |family| {
        let (told, rest) = family.example().split_at(family.up_to_name().len());
        // The tag of a function could be mentioned: the front of what follows decides.
        let is_tag =
            ["function", "invoke", "call tool", "tool:"].iter().any(|tag| told.contains(tag));
        let front = rest.find([' ', '=', '6']).filter(|_| is_tag).unwrap_or(0);
        let ahead = &rest[..front];
        let events = family.setup().events_so_far([told, ahead].concat().split_inclusive(|_| true));
        let told = events.iter().find_map(|event| match event {
            AgentEvent::ToolCallStart(ToolCallStartEvent { tool_name, .. }) => tool_name.as_deref(),
            _ => None,
        });
        assert_eq!(told, Some(NAME), "{}: {events:?}", family.name);
    });
}

#[test]
fn a_marker_in_a_code_span_a_fence_or_thinking_is_text() {
    for_each(families(), |family| {
        let example = family.call_after_text(NAME, VALUE).unwrap_or(family.example().into());
        let fenced = format!("See:\n~~~~\n{example}\n~~~~\nDone.");
        let run = family.setup().run_at_every_cut(family.name, &fenced);
        // What no person types is a marker there too.
        let call = ["M:See:\n~~~~\n".to_owned(), called(NAME, VALUE), "M:\n~~~~\nDone.".to_owned()];
        let is_special =
            ["<|", "<｜", "]<]", "[TOOL", "<ifm|"].iter().any(|it| example.starts_with(it));
        let want = if is_special { call.to_vec() } else { vec![format!("M:{fenced}")] };
        assert_eq!(brief(&run), want, "{}", family.name);
        let opener = example.split(NAME).next().unwrap().replace(['\n', '`'], "");
        let span = format!("Write ``{opener}`` first.");
        let run = family.setup().run_at_every_cut(family.name, &span);
        if !is_special {
            assert_eq!(brief(&run), [format!("M:{span}")], "{}", family.name);
        }
        let thought = format!("<think>{example}</think>Done.");
        let run = family.setup().run_at_every_cut(family.name, &thought);
        assert_eq!(brief(&run), [format!("T:{example}"), "M:Done.".into()], "{}", family.name);
    });
}

#[test]
fn a_draft_in_thinking_that_closes_is_no_call() {
    let text = format!("<think>{}</think>No.", family_of("hermes").call(VALUE));
    assert!(
        family_of("hermes")
            .setup()
            .run_at_every_cut("draft", &text)
            .completion
            .tool_calls
            .is_empty()
    );
}

#[test]
fn a_call_in_thinking_that_never_closes_is_recovered_and_says_so() {
    let text = format!("<think>{}", family_of("hermes").call(VALUE));
    let run = family_of("hermes").setup().run_at_every_cut("open", &text);
    assert_eq!(run.completion.tool_calls[0].repairs, [Repair::RecoveredFromThinking]);
}

#[test]
fn a_missing_closer_is_forgiven_to_a_whole_payload() {
    for_each(families(), |family| {
        let (whole, end) = family.ends();
        let text = &family.example()[..whole];
        let run = family.setup().run_at_every_cut(family.name, text);
        assert_eq!(brief(&run), [called(NAME, VALUE)], "{}", family.name);
        let repairs = &run.completion.tool_calls[0].repairs;
        let is_forgiven = repairs.contains(&Repair::ImplicitClose);
        assert_eq!(is_forgiven, whole < end, "{}: {repairs:?}", family.name);
        if whole < end && !family.is_bare() {
            let text = format!("{text}{}", family.example().replace(NAME, "next"));
            let run = family.setup().run_at_every_cut(family.name, &text);
            let want = [called(NAME, VALUE), called("next", VALUE)];
            assert_eq!(brief(&run), want, "{}: the next opener", family.name);
        }
    });
}

#[test]
fn a_payload_that_is_cut_off_is_incomplete_and_stays_available() {
    for_each(families(), |family| {
        let text = family.call("many words and more");
        let at = text.find(" and").unwrap();
        for finish in [None, Some(FinishReason::Length)] {
            let setup = Setup { finish, ..family.setup() };
            let run = setup.run_at_every_cut(family.name, &text[..at]);
            let [call] = run.completion.tool_calls.as_slice() else { panic!("{run:?}") };
            assert_eq!(call.outcome, CallOutcome::Incomplete, "{}", family.name);
            assert_eq!(call.name, NAME, "{}", family.name);
            assert!(call.arguments_raw.contains("many words"), "{}: {call:?}", family.name);
        }
    });
}

#[test]
fn a_payload_that_cannot_be_read_is_malformed_and_kept() {
    #[rustfmt::skip]
    let texts = [
        ("forge",       "<tool>{converse}</tool>"),
        ("hermes",      "<tool_call>{no call}</tool_call>"),
        ("hermes",      r#"<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>"#),
        ("qwen3-coder", "<tool_call>\n<function>\n</function>\n</tool_call>"),
        ("glm",         "<tool_call>f<arg_key>a</arg_key></tool_call>"),
        ("kimi-k2",     "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\" 1}<|tool_call_end|>"),
        ("deepseek-v31","<｜tool▁call▁begin｜>f<｜tool▁sep｜>[1]<｜tool▁call▁end｜>"),
        ("gemma4",      "<|tool_call>call:f{a 1}<tool_call|>"),
        ("olmo3",       "<function_calls>f(a=</function_calls>"),
        ("harmony",     "<|channel|>commentary to=functions.f<|message|>{\"a\": x y}<|call|>"),
        ("cohere",      "<|START_ACTION|>[{\"tool_name\": 5}]<|END_ACTION|>"),
        ("nemotron",    "<TOOLCALL>[1]</TOOLCALL>"),
    ];
    for (family, text) in texts {
        let run = family_of(family).setup().run_at_every_cut(family, &format!("{text} Then."));
        let [call] = run.completion.tool_calls.as_slice() else { panic!("{run:?}") };
        assert!(matches!(call.outcome, CallOutcome::Malformed { .. }), "{family}: {call:?}");
        assert_eq!(run.completion.text.trim(), "Then.", "{family}: {text}");
        let body: String = run.events.iter().filter_map(body_of).collect();
        assert!(!body.is_empty() && text.contains(&body), "{family}: {body}");
        assert_eq!(run.completion.error, None, "{family}");
    }
}

fn body_of(event: &AgentEvent) -> Option<&str> {
    if let AgentEvent::ToolCallContent(ToolCallContentEvent { content, .. }) = event {
        Some(content)
    } else {
        None
    }
}

#[test]
fn the_object_of_a_call_may_have_many_shapes() {
    // The names of the keys: `bug_16_keys_come_in_any_order_and_under_any_alias`.
    rows(&[
        (
            "hermes",
            r#"<tool_call>[{"name": "f"}, {"name": "g", "args": {"a": 1}}]</tool_call>"#,
            &["C f {}", r#"C g {"a":1}"#],
        ),
        ("hermes", "<tool_call>\n```json\n{\"name\": \"f\"}\n```\n</tool_call>", &["C f {}"]),
        ("nemotron", r#"<TOOLCALL>{"name": "f"}</TOOLCALL>"#, &["C f {}"]),
        (
            "cohere",
            r#"<|START_ACTION|>{"tool_name": "f", "parameters": null}<|END_ACTION|>"#,
            &["C f {}"],
        ),
        (
            "deepseek-v3",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n{\"a\": 1}<｜tool▁call▁end｜>",
            &[r#"C f {"a":1}"#],
        ),
        (
            "deepseek-v31",
            "<｜tool▁call▁begin｜>f<｜tool▁sep｜>```json\n{\"a\": 1}\n```<｜tool▁call▁end｜>",
            &[r#"C f {"a":1}"#],
        ),
    ]);
}

#[test]
fn text_that_only_looks_like_a_call_is_text_and_not_held_longer() {
    for (family, text) in [
        ("llama3-json", "{ is a brace"),
        ("llama3-json", r#"{"ax"#),
        ("llama3-json", r#"{"name": "Bob", "age"#),
        ("pythonic", "[1,"),
        ("pythonic", "[a]"),
        ("guided", "{}"),
        ("xlam", "[\"a"),
    ] {
        assert_eq!(so_far(&family_of(family).setup(), text).0, text, "{family}");
    }
    for auto in
        [r#"{"name": "f", "parameters": {}}"#, "[f(a=1)]", r#"[{"name":"f","arguments":{}}]"#]
    {
        let mut setup = Setup::default();
        setup.options = setup.options.tools(ToolDialect::AUTO);
        assert_eq!(brief(&setup.run_at_every_cut("auto", auto)), [format!("M:{auto}")]);
    }
}

#[test]
fn blanks_are_content_but_for_the_framing() {
    rows(&[
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>\n\n x \n\n</parameter>\n</function>\n</tool_call>",
            &[r#"C f {"a":"\n x \n"}"#],
        ),
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=a>x</parameter>\n</function>\n</tool_call>",
            &[r#"C f {"a":"x"}"#],
        ),
        (
            "hermes",
            "a \n\n<tool_call>{\"name\":\"f\"}</tool_call>\n\n b \n",
            &["M:a \n\n", "C f {}", "M:\n\n b \n"],
        ),
        (
            "hermes",
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\" \\n \"}}</tool_call>\n",
            &[r#"C f {"a":" \n "}"#],
        ),
        ("gemma4", "<|tool_call>call:f{a:<|\"|> x\n<|\"|>}<tool_call|>", &[r#"C f {"a":" x\n"}"#]),
        (
            "glm",
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>\n x\n</arg_value>\n</tool_call>",
            &[r#"C f {"a":"\n x\n"}"#],
        ),
    ]);
}

#[test]
fn numbers_are_exact() {
    let big = "-123456789012345678901234567890";
    let exponent = "1.50e+300";
    let types = r#"{"expression":{"type":"number"}}"#;
    let python = ["pythonic", "olmo3"];
    for_each(families(), |family| {
        let schema = schema(types).into_iter().map(|(_, schema)| (NAME.into(), schema));
        for number in [big, exponent, "0.1", "10000000000000000.5"] {
            let text = unquoted(&family, number);
            let mut setup = family.setup();
            setup.options = setup.options.schemas(schema.clone().collect::<Vec<_>>());
            let run = setup.run_at_every_cut(family.name, &text);
            let got = run.completion.tool_calls[0].arguments.clone().unwrap();
            let want = format!(r#"{{"expression":{number}}}"#);
            let is_same =
                got.as_str() == want || python.contains(&family.name) && number == exponent;
            assert!(is_same, "{}: {got}", family.name);
        }
    });
}

/// The example, with this instead of its string.
fn unquoted(family: &Family, value: &str) -> String {
    let marks = [["\"", "\""], ["'", "'"], ["<|\"|>", "<|\"|>"], ["<escape>", "<escape>"]];
    let quoted = marks.map(|[before, behind]| [before, VALUE, behind].concat());
    let quoted = quoted.iter().find(|quoted| family.example().contains(*quoted));
    let text = family.example().replace(quoted.map_or(VALUE, String::as_str), value);
    text.replace("type=\"string\"", "type=\"number\"")
        .replace("string=\"true\"", "string=\"false\"")
}

#[test]
fn lenient_json_reports_its_repairs() {
    #[rustfmt::skip]
    let payloads = [
        (r#"{name: "f", "arguments": {"a": 1}}"#,              "unquoted_key"),
        (r#"{"name": "f", "arguments": {'a': 1}}"#,            "single_quotes"),
        (r#"{"name": "f", "arguments": {"a": 1,},}"#,          "extra_comma"),
        (r#"{"name": "f", /* c */ "arguments": {"a": 1}}"#,    "comment"),
        (r#"{"name": "f", "x": True, "arguments": {"a": 1}}"#, "python_literal"),
        ("{\"name\": \"f\", \"x\": \"\n\", \"arguments\": {\"a\": 1}}", "raw_control"),
        (r#"{"name": "f", "x": "\d", "arguments": {"a": 1}}"#, "invalid_escape"),
        (r#"{"name": "f", "arguments": {"a": 1}"#,             "missing_bracket"),
        (r#"{"name": "f", "arguments": {"a": 1}} end"#,        "trailing_text"),
        ("```json\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n```", "fence"),
        (r#"{"name": "f", "arguments": "{\"a\":1}"}"#,         "string_arguments"),
    ];
    for name in ["forge", "hermes", "qwen3-coder", "internlm2", "longcat", "ernie45", "hugind"] {
        let family = family_of(name);
        let opener = family.example().split(['{', '\n']).next().unwrap();
        let opener = &opener[..=opener.rfind('>').unwrap()];
        for (payload, repair) in payloads {
            let text = [opener, payload, family.closer].concat();
            let run = family.setup().run_at_every_cut(name, &text);
            assert_eq!(brief(&run), [r#"C f {"a":1}"#], "{name}: {repair}");
            let repairs = &run.completion.tool_calls[0].repairs;
            let repairs: Vec<_> = repairs.iter().map(|repair| repair.as_str()).collect();
            assert_eq!(repairs, [repair], "{name}: {payload}");
        }
    }
}
