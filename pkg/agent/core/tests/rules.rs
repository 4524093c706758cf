//! rules: what decides where the grammar leaves room, at every cut.

use super::harness::{Setup, lines, schema};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{
    AgentEvent, ErrorEvent, FinishReason, ToolCall, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};

#[test]
fn r2_blanks_alone_open_no_section_and_framing_is_no_content() {
    #[rustfmt::skip]
    let cases: [(&str, &str, &[&str]); 9] = [
        ("framing",            "<think>\nplan\n</think>\n\nanswer",     &["T:plan", "M:answer"]),
        ("one line end each",  "<think>\n\nplan\n\n</think>\n\n\nx",    &["T:\nplan\n", "M:\nx"]),
        ("only blanks inside", "<think> \n </think>answer",             &["M:answer"]),
        ("blanks at the end",  "<think>a</think> \n \n ",               &["T:a"]),
        ("blanks then text",   "<think>a</think>\n\n  b",               &["T:a", "M:  b"]),
        ("blanks first",       " \n<think>a</think>b",                  &["T:a", "M:b"]),
        ("no framing inside",  "a\n<think>b</think>c",                  &["M:a\n", "T:b", "M:c"]),
        ("two sections",       "<think>a</think>\n<think>b</think>",     &["T:a", "T:b"]),
        ("blanks only",        "  \n",                                  &[]),
    ];
    for (name, text, want) in cases {
        assert_eq!(lines(&Setup::default().run_at_every_cut(name, text)), want, "{name}");
    }
    let none = Setup {
        thinking: ThinkingDialect::NONE,
        options: crate::StreamOptions::default().tools(ToolDialect::NONE),
        ..Setup::default()
    };
    assert_eq!(
        lines(&none.run_at_every_cut("none", " \n<think>\n</think> ")),
        ["M: \n<think>\n</think> "]
    );
    let long = " ".repeat(5000);
    assert_eq!(lines(&Setup::default().run([&*long])), [format!("M:{long}")], "more than 4 KiB");
}

#[test]
fn two_sections_are_two_sections_of_events() {
    let run = Setup::default().run_at_every_cut("two", "<think>a</think><think>b</think>");
    let kinds: Vec<_> = run.events.iter().map(AgentEvent::kind).collect();
    let one = ["thinking_start", "thinking_content", "thinking_end"];
    assert_eq!(kinds, [one, one].concat());
}

#[test]
fn r3_a_response_may_begin_inside_thinking() {
    let late = Setup::default().run_at_every_cut("late", "plan\n</think>\n\nanswer");
    assert_eq!(lines(&late), ["M:plan\n", "M:answer"]);
    assert_eq!(late.completion.late_thinking_bytes, 5);
    let after = Setup::default().run_at_every_cut("after a section", "<think>a</think>b</think>c");
    assert_eq!(lines(&after), ["T:a", "M:b</think>c"]);
    assert_eq!(after.completion.late_thinking_bytes, 0);
    for prompt in ["x <think>", "x <think>\n", "<think>a</think>b<think>"] {
        let setup = Setup { prompt, ..Setup::default() };
        let run = setup.run_at_every_cut("prompt", "plan\n</think>\n\nanswer");
        assert_eq!(lines(&run), ["T:plan", "M:answer"], "{prompt:?}");
    }
    let closed = Setup { prompt: "<think>a</think>", ..Setup::default() };
    assert_eq!(lines(&closed.run(["b"])), ["M:b"]);
}

#[test]
fn r4_code_hides_openers_and_never_closers() {
    let call = r#"<tool>{"tool_name":"t"}</tool>"#;
    #[rustfmt::skip]
    let cases = [
        ("after a span",      format!("`x` {call}"),         vec!["M:`x` ".to_owned(), "C t {}".into()]),
        ("span to line end",  format!("`x\n{call}"),         vec!["M:`x\n".into(), "C t {}".into()]),
        ("open fence",        format!("```\n{call}"),        vec![format!("M:```\n{call}"), "C t {} +recovered_from_code".into()]),
        ("closed fence",      format!("```\n```\n{call}"),   vec!["M:```\n```\n".into(), "C t {}".into()]),
        ("thinking hidden",   "`<think>` a".to_owned(),      vec!["M:`<think>` a".into()]),
        ("closer in a span",  "<think>`a</think>` b".into(), vec!["T:`a".into(), "M:` b".into()]),
        ("fresh after a call",format!("`{call}\n{call}`<tool>"), vec!["M:`".to_owned(), "C t {}".into(), "C t {}".into(), "M:`".into(), "C   incomplete".into()]),
        ("bare attribute",    "<tool name>x".into(),         vec!["M:<tool name>x".into()]),
    ];
    for (name, text, want) in cases {
        assert_eq!(lines(&Setup::default().run_at_every_cut(name, &text)), want, "{name}");
    }
    let wrapped = format!("```\n{call}\n```");
    let mut open = Setup::default();
    open.options = open.options.calls_in_code(true);
    assert_eq!(
        lines(&open.run_at_every_cut("allowed", &wrapped)),
        ["M:```\n", "C t {}", "M:\n```"]
    );
    let run =
        Setup::default().run_at_every_cut("counted", &format!("`{call}` and\n```\n{call}\n```"));
    assert_eq!(run.completion.fenced_calls, 2);
}

#[test]
fn r6_an_implicit_close_needs_a_whole_payload() {
    let open = r#"<tool>{"tool_name":"t","arguments":{}}"#;
    let xml = "<tool><tool_name>t</tool_name><arguments></arguments>";
    #[rustfmt::skip]
    let cases = [
        ("at the end",        open.to_owned(),                    vec!["C t {} +implicit_close"]),
        ("at the next",       format!("{open}\n{open}</tool>"),   vec!["C t {} +implicit_close", "C t {}"]),
        ("not whole",         format!("<tool>{{\"tool_name\":\"t\",\n{open}</tool>"), vec!["C t  incomplete", "C t {}"]),
        ("XML",               xml.to_owned(),                     vec!["C t {} +implicit_close"]),
        ("XML not whole",     "<tool><tool_name>t</tool_name>".into(), vec!["C t  incomplete"]),
        ("part of a closer",  format!("{open}</to"),              vec!["C t {} +trailing_text+implicit_close"]),
    ];
    for (name, text, want) in cases {
        assert_eq!(lines(&Setup::default().run_at_every_cut(name, &text)), want, "{name}");
    }
}

#[test]
fn r7_a_closer_in_a_string_is_data_when_the_string_goes_on() {
    #[rustfmt::skip]
    let cases: [(&str, &str, &[&str]); 7] = [
        ("data",            r#"<tool>{"tool_name":"t","arguments":{"a":"</tool>", "b":"</tool>" }}</tool>"#, &[r#"C t {"a":"</tool>", "b":"</tool>" }"#]),
        ("escaped quote",   r#"<tool>{"tool_name":"t","arguments":{"a":"</tool>\"x"}}</tool>"#, &[r#"C t {"a":"</tool>\"x"}"#]),
        ("broken",          r#"<tool>{"tool_name":"t","arguments":{"a":"x}}</tool> He said "no" twice"#, &[r#"C t {"a":"x}} malformed at 38: a string is not closed before the end of the call"#, r#"M: He said "no" twice"#]),
        ("broken at the end", r#"<tool>{"tool_name":"t","arguments":{"a":"x</tool> tail"#, &[r#"C t {"a":"x malformed at 36: a string is not closed before the end of the call"#, "M: tail"]),
        ("a call behind",   r#"<tool>{"tool_name":"t</tool><tool>{"tool_name":"u"}</tool>"#, &["C   malformed at 15: a string is not closed before the end of the call", "C u {}"]),
        ("opener in a string", r#"<tool>{"tool_name":"t","arguments":{"a":"<tool>"}}</tool>"#, &[r#"C t {"a":"<tool>"}"#]),
        ("thinking behind", r#"<tool>["</tool>1<think>a"#, &["C   malformed at 2: a string is not closed before the end of the call", "M:1", "T:a"]),
    ];
    for (name, text, want) in cases {
        assert_eq!(lines(&Setup::default().run_at_every_cut(name, text)), want, "{name}");
    }
}

#[test]
fn r10_xml_values_are_typed() {
    let types = r##"{"s":{"type":"string"},"n":{"type":"integer"},"b":{"type":["boolean","null"]},
        "u":{"anyOf":[{"type":"string"},{"type":"number"}]},"l":{"type":"array","items":{"type":"string"}},
        "v":{"type":["object","string"]},"w":{"anyOf":[{"type":"array"},{"type":"string"}]},
        "r":{"$ref":"#/properties/s"},"q":{"allOf":[{"$ref":"#/properties/o"}],"properties":{"x":{"type":"string"}}},
        "k":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"x":{"type":"string"}}}}"##;
    let call = |arguments: &str| {
        format!("<tool><tool_name>t</tool_name><arguments>{arguments}</arguments></tool>")
    };
    #[rustfmt::skip]
    let cases = [
        ("scalars",        "<s>5</s> <n> 7 </n><b>true</b>",           r#"C t {"s":"5","n":7,"b":true}"#),
        ("union",          "<u>1.5</u>",                               r#"C t {"u":1.5}"#),
        ("union text",     "<u>1.5 m</u>",                             r#"C t {"u":"1.5 m"}"#),
        ("wrong literal",  "<n>seven</n>",                             r#"C t {"n":"seven"}"#),
        ("markup is text", "<s>a <b>x</b> &lt; y & z \"q\"\n</s>",     r#"C t {"s":"a <b>x</b> < y & z \"q\"\n"}"#),
        ("cdata",          "<s>a<![CDATA[<&amp;]]>b</s>",              r#"C t {"s":"a<&amp;b"}"#),
        ("repeated items", "<l>a</l><l>b</l><n>1</n>",                 r#"C t {"l":["a","b"],"n":1}"#),
        ("one item",       "<l>a</l>",                                 r#"C t {"l":["a"]}"#),
        ("items inside",   "<l><i>a</i><i>b</i></l>",                  r#"C t {"l":["a","b"]}"#),
        ("items as JSON",  "<l>[\"a\", \"b\"]</l>",                    r#"C t {"l":["a", "b"]}"#),
        ("numbers",        "<k>1</k><k>2</k>",                         r#"C t {"k":[1,2]}"#),
        ("object",         "<o><x>5</x></o>",                          r#"C t {"o":{"x":"5"}}"#),
        ("object as JSON", "<o>{\"x\": \"5\"}</o>",                    r#"C t {"o":{"x": "5"}}"#),
        ("unknown",        "<z>5</z><y>x</y>",                         r#"C t {"z":5,"y":"x"}"#),
        ("empty",          "<s></s><l></l><s2/>",                      r#"C t {"s":"","l":[],"s2":""}"#),
        ("none",           "\n",                                       "C t {}"),
        ("all as JSON",    " {\"s\": \"x\", \"n\": 1} ",               r#"C t {"s": "x", "n": 1}"#),
        ("or an object",   "<v>plain</v>",                             r#"C t {"v":"plain"}"#),
        ("or a list",      "<w>12</w>",                                r#"C t {"w":"12"}"#),
        ("by reference",   "<r>12</r><q><x>5</x></q>",                 r#"C t {"r":"12","q":{"x":"5"}}"#),
    ];
    let mut setup = Setup::default();
    setup.options = setup.options.schemas(schema(types));
    for (name, arguments, want) in cases {
        assert_eq!(lines(&setup.run_at_every_cut(name, &call(arguments))), [want], "{name}");
    }
    let twice = setup.run_at_every_cut("twice", &call("<s>a</s><s>b</s>"));
    assert!(lines(&twice)[0].contains("duplicate_argument"), "{:?}", lines(&twice));
    for (name, arguments) in [
        ("text in an object", "<o>plain</o>"),
        ("broken JSON in an object", "<o>{\"x\": y}</o>"),
        ("text beside elements", "<o>a <x>1</x> b</o>"),
        ("text beside arguments", "<s>a</s> lost"),
    ] {
        let run = setup.run_at_every_cut(name, &call(arguments));
        assert!(lines(&run)[0].contains("text stands where only"), "{name}: {:?}", lines(&run));
    }
    #[rustfmt::skip]
    let untyped = [
        ("literals",  "<a>5</a><b>true</b><c>x</c><d>-1.5e3</d><e> 5</e>", r#"C t {"a":5,"b":true,"c":"x","d":-1.5e3,"e":" 5"}"#),
        ("repeated",  "<a>1</a><b>x</b><a>2</a>",                          r#"C t {"a":[1,2],"b":"x"}"#),
        ("mixed",     "<a>see <b>this</b> &amp; that</a>",                 r#"C t {"a":"see <b>this</b> & that"}"#),
        ("comment",   "<a>x<!-- no -->y</a>",                              r#"C t {"a":"xy"}"#),
        ("JSON",      "{\"a\": 1.50}",                                     r#"C t {"a": 1.50}"#),
        ("stray",     "text<a>1</a>",                                      "C t  malformed at 59: text stands where only XML elements can"),
    ];
    for (name, arguments, want) in untyped {
        assert_eq!(
            lines(&Setup::default().run_at_every_cut(name, &call(arguments))),
            [want],
            "{name}"
        );
    }
}

#[test]
fn r11_r12_json_payloads_are_repaired_and_reported() {
    #[rustfmt::skip]
    let cases = [
        ("key order free",   r#"{"arguments":{"a":1},"tool_name":"t"}"#,     r#"C t {"a":1}"#),
        ("aliases",          r#"{"name":"t","parameters":{"a":1}}"#,         r#"C t {"a":1}"#),
        ("first alias wins", r#"{"name":"t","input":{"a":1},"args":{"b":2}}"#, r#"C t {"a":1}"#),
        ("function object",  r#"{"function":{"name":"t","arguments":{"a":1}},"id":"x"}"#, r#"C t {"a":1}"#),
        ("extra keys",       r#"{"x":{"name":"no"},"tool_name":"t","y":[1,{"arguments":2}]}"#, "C t {}"),
        ("null arguments",   r#"{"tool_name":"t","arguments":null}"#,        "C t {}"),
        ("null as text",     r#"{"tool_name":"t","arguments":"null"}"#,      "C t {}"),
        ("string arguments", r#"{"tool_name":"t","arguments":"{\"a\": \"\u00e9\\n\"}"}"#, r#"C t {"a": "é\n"} +string_arguments"#),
        ("fence",            "\n```json\n{\"tool_name\":\"t\"}\n```\n",      "C t {} +fence"),
        ("unquoted key",     r#"{tool_name:"t",arguments:{a_b:1}}"#,         r#"C t {"a_b":1} +unquoted_key"#),
        ("single quotes",    r#"{'tool_name':'t','arguments':{'a':'x"y\'z'}}"#, r#"C t {"a":"x\"y'z"} +single_quotes"#),
        ("extra commas",     r#"{"tool_name":"t","arguments":{"a":[1,,2,],},}"#, r#"C t {"a":[1,2]} +extra_comma"#),
        ("comments",         "{/* a */\"tool_name\":\"t\",// b\n\"arguments\":{\"a\":1 /*c*/}}", r#"C t {"a":1 } +comment"#),
        ("python literals",  r#"{"tool_name":"t","arguments":{"a":True,"b":None}}"#, r#"C t {"a":true,"b":null} +python_literal"#),
        ("raw control",      "{\"tool_name\":\"t\",\"arguments\":{\"a\":\"x\ny\tz\"}}", r#"C t {"a":"x\ny\tz"} +raw_control"#),
        ("invalid escape",   r#"{"tool_name":"t","arguments":{"a":"C:\dir\user"}}"#, r#"C t {"a":"C:\\dir\\user"} +invalid_escape"#),
        ("missing brackets", r#"{"tool_name":"t","arguments":{"a":[1"#,      r#"C t {"a":[1]} +missing_bracket"#),
        ("trailing text",    r#"{"tool_name":"t"} done"#,                    "C t {} +trailing_text"),
        ("trailing bracket", r#"{"tool_name":"t","arguments":{"a":1}}}"#,    r#"C t {"a":1} +trailing_text"#),
        ("exact numbers",    r#"{"tool_name":"t","arguments":{"a":12345678901234567890123,"b":1.50e+3}}"#, r#"C t {"a":12345678901234567890123,"b":1.50e+3}"#),
        ("blanks kept",      "{ \"tool_name\" : \"t\" ,\n \"arguments\" : { \"a\" : [ 1 ,\n 2 ] } }", "C t { \"a\" : [ 1 ,\n 2 ] }"),
        ("server",           r#"{"server_name":"s","tool_name":"t"}"#,       "C t {}"),
        ("not a number",     r#"{"tool_name":"t","arguments":{"a":NaN}}"#,   r#"C t {"a": malformed at 34: this word is not a JSON value"#),
        ("comment with a closer", "{\"tool_name\":\"t\", // </tool>\n\"arguments\":{}}", "C t {} +comment"),
        ("no name",          r#"{"arguments":{}}"#,                          "C  {} malformed at 16: the call names no tool"),
        ("arguments no object", r#"{"tool_name":"t","arguments":5}"#,        "C t  malformed at 31: the arguments are not a JSON object"),
        ("a bracket",        "{",                                            "C   malformed at 1: the JSON ends too early"),
    ];
    for (name, payload, want) in cases {
        let run = Setup::default().run_at_every_cut(name, &format!("<tool>{payload}</tool>"));
        assert_eq!(lines(&run), [want], "{name}");
        for call in run.completion.tool_calls.iter().filter(|call| call.is_complete()) {
            assert!(call.arguments.is_some(), "{name}");
        }
    }
    let array = r#"<tool>[{"tool_name":"t"}, {"tool_name":"u","arguments":{"a":'x'}}]</tool>"#;
    let run = Setup::default().run_at_every_cut("array", array);
    assert_eq!(lines(&run), ["C t {}", r#"C u {"a":"x"} +single_quotes"#]);
}

#[test]
fn r13_the_name_is_awaited_for_512_bytes() {
    for (filler, want) in [(440, Some("t")), (520, None)] {
        let text = format!(
            r#"<tool>{{"arguments":{{"a":"{}"}},"tool_name":"t"}}</tool>"#,
            "x".repeat(filler)
        );
        let run = Setup::default().run_at_every_cut("name", &text);
        let AgentEvent::ToolCallStart(ToolCallStartEvent { tool_name, .. }) = &run.events[0] else {
            panic!()
        };
        assert_eq!(tool_name.as_deref(), want);
        let Some(AgentEvent::ToolCallEnd(ToolCallEndEvent { tool_name, .. })) = run.events.last()
        else {
            panic!()
        };
        assert_eq!(tool_name.as_deref(), Some("t"));
    }
}

#[test]
fn an_id_or_a_name_counts_where_it_was_read_whole() {
    let call = |id: &str| {
        format!("<|tool_call:begin|>{id}<|tool_call:name|>f<|tool_call:args|>{{}}<|tool_call:end|>")
    };
    let keyed = |value: &str| {
        format!(
            "<|tools_prefix|>[{{\"arguments\":{{\"a\":\"{value}\"}}}},{{\"g\":{{}}}}]<|tools_suffix|>"
        )
    };
    for length in (470..520).step_by(4) {
        let text = "x".repeat(length);
        for (dialect, text) in [("solar-open", call(&text)), ("apertus", keyed(&text))] {
            let tools = ToolDialect::by_name(dialect).unwrap();
            let setup =
                Setup { options: Setup::default().options.tools(tools), ..Setup::default() };
            let run = setup.run_at_every_cut(dialect, &text);
            assert!(run.completion.tool_calls.iter().all(ToolCall::is_complete), "{run:?}");
        }
    }
}

#[test]
fn bodies_are_the_bytes_between_the_markers_and_raw_arguments_their_source() {
    let text = "<tool>\n{'tool_name': 't', 'server_name': 's', 'arguments': {'a': 1}}\n</tool>";
    let run = Setup::default().run_at_every_cut("body", text);
    let body: String = run.events.iter().filter_map(body_of).collect();
    assert_eq!(format!("<tool>{body}</tool>"), text);
    let call = &run.completion.tool_calls[0];
    assert_eq!((call.arguments_raw.as_str(), call.server_name.as_deref()), ("{'a': 1}", Some("s")));
    let xml = "<tool><tool_name>t</tool_name><arguments> <a>1</a><!-- c --><b><![CDATA[x]]></b></arguments></tool>";
    let run = Setup::default().run_at_every_cut("xml body", xml);
    assert_eq!(
        run.completion.tool_calls[0].arguments_raw,
        " <a>1</a><!-- c --><b><![CDATA[x]]></b>"
    );
    let body: String = run.events.iter().filter_map(body_of).collect();
    assert_eq!(format!("<tool>{body}</tool>"), xml);
}

#[test]
fn a_name_over_its_limit_is_no_name_at_every_cut() {
    for length in [255, 256, 257, 1023, 1024, 1025, 2100] {
        let name = "n".repeat(length);
        for text in [
            format!(r#"<tool>{{"tool_name":"{name}"}}</tool>"#),
            format!("<tool><tool_name>{name}</tool_name></tool>"),
        ] {
            let run = Setup::default().run([&*text]);
            for size in [1, 7, 64, 1000] {
                assert_eq!(Setup::default().run(super::harness::in_pieces(&text, size)), run);
            }
            let want = match length {
                ..=256 => format!("C {name} {{}}"),
                257..=1024 => "the name of the tool is longer than 256 bytes".to_owned(),
                _ => "a name is longer than 1024 bytes".to_owned(),
            };
            assert!(lines(&run)[0].ends_with(&want), "{length}");
            assert!(length <= 256 || run.completion.tool_calls[0].name.is_empty(), "{length}");
        }
    }
}

// Covers: G-51
#[test]
fn many_arguments_are_read_in_linear_time() {
    use std::fmt::Write as _;
    let mut arguments = String::new();
    for number in 0..60_000 {
        write!(arguments, "<k{number}>v</k{number}>").unwrap();
    }
    let text = format!("<tool><tool_name>t</tool_name><arguments>{arguments}</arguments></tool>");
    // Quadratic work on this many would not end before the test's patience does.
    let run = Setup::default().run([&*text]);
    assert!(run.completion.tool_calls[0].is_complete());
    let mut typed = Setup::default();
    typed.options = typed.options.schemas(schema("{}"));
    assert_eq!(typed.run([&*text]).completion.tool_calls, run.completion.tool_calls);
}

fn body_of(event: &AgentEvent) -> Option<&str> {
    if let AgentEvent::ToolCallContent(ToolCallContentEvent { content, .. }) = event {
        Some(content)
    } else {
        None
    }
}

#[test]
fn a_call_over_its_limit_ends_the_stream_with_its_offset() {
    let mut setup = Setup { finish: Some(FinishReason::Stop), ..Setup::default() };
    setup.options = setup.options.max_call_bytes(40);
    let text = format!(
        r#"Text. <tool>{{"tool_name":"t","arguments":{{"a":"{}"}}}}</tool>"#,
        "é".repeat(30)
    );
    let run = setup.run_at_every_cut("limit", &text);
    let error = run.completion.error.clone().unwrap();
    assert!(error.message.contains("byte 12"), "{error}");
    assert!(matches!(run.events.last(), Some(AgentEvent::Error(ErrorEvent { partial: true, .. }))));
}
