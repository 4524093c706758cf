//! Openers, closers and mentions: text that is a call or reasoning, and text that only mentions one.

use super::{
    families::{NAME, VALUE, called, families, for_each},
    harness::{Run, Setup, lines},
};
use forgeline_parser::{CallForm, Tags, ThinkingDialect, ToolDialect, ToolDialectBuilder, Wrapper};
use forgeline_types::FinishReason;

fn setup_with(dialect: &str) -> Setup {
    let tools = ToolDialect::by_name(dialect).unwrap();
    let setup = Setup::default();
    Setup { options: setup.options.tools(tools), ..setup }
}

fn check(cases: &[(&str, &str, &[&str])]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(dialect, text, want)| {
            (lines(&setup_with(dialect).run_at_every_cut(dialect, text)), dialect, text, want)
        })
        .filter(|(got, _, _, want)| got != *want)
        .map(|(got, dialect, text, want)| {
            format!("{dialect}: {text:?}\n  got  {got:?}\n  want {want:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Found: P3, P18
#[test]
fn an_opener_that_no_payload_follows_is_text() {
    const WRAP: &str = "Wrap it in <tool_call> and </tool_call> tags.";
    #[rustfmt::skip]
    check(&[
        ("auto",        WRAP, &["M:Wrap it in <tool_call> and </tool_call> tags."]),
        ("glm",         WRAP, &["M:Wrap it in <tool_call> and </tool_call> tags."]),
        ("hermes",      WRAP, &["M:Wrap it in <tool_call> and </tool_call> tags."]),
        ("longcat",     "Use <longcat_tool_call> or </longcat_tool_call>.", &["M:Use <longcat_tool_call> or </longcat_tool_call>."]),
        ("auto",        "see the <tool_call> tag\nof it", &["M:see the <tool_call> tag\nof it"]),
        ("forge",       "a <tool> in prose, a <tool></tool> too", &["M:a <tool> in prose, a <tool></tool> too"]),
        ("forge",       "a <tool>\n\n- list", &["M:a <tool>\n\n- list"]),
        ("qwen3-coder", "say <function= or <function=a b>", &["M:say <function= or <function=a b>"]),
        ("qwen3-coder", "the <tool_call> element", &["M:the <tool_call> element"]),
        ("minimax-m2",  "an <invoke> in a <minimax:tool_call> block, </minimax:tool_call> ends it", &["M:an <invoke> in a <minimax:tool_call> block, </minimax:tool_call> ends it"]),
        ("dsml",        "<｜DSML｜function_calls> begins, <｜DSML｜invoke> follows", &["M:<｜DSML｜function_calls> begins, <｜DSML｜invoke> follows"]),
        ("kimi-k2",     "<|tool_call_begin|> and <|tool_call_end|> mark it", &["M:<|tool_call_begin|> and <|tool_call_end|> mark it"]),
        ("mistral",     "the [TOOL_CALLS] token", &["M:the [TOOL_CALLS] token"]),
        ("mistral",     "[TOOL_CALLS]a thing", &["M:[TOOL_CALLS]a thing"]),
        ("gemma4",      "the <|tool_call> token, <tool_call|> too", &["M:the <|tool_call> token, <tool_call|> too"]),
        ("olmo3",       "in <function_calls> tags", &["M:in <function_calls> tags"]),
        ("olmo3",       "<function_calls>some words</function_calls>", &["M:<function_calls>some words</function_calls>"]),
        ("nemotron",    "the <TOOLCALL> tag", &["M:the <TOOLCALL> tag"]),
        ("cohere",      "<|START_ACTION|> is a token", &["M:<|START_ACTION|> is a token"]),
        ("seed-oss",    "<seed:tool_call>words</seed:tool_call>", &["M:<seed:tool_call>words</seed:tool_call>"]),
        ("minicpm5",    "a <function name=x y> tag", &["M:a <function name=x y> tag"]),
        // A call all the same.
        ("glm",         "<tool_call>\nf\n</tool_call>", &["C f {}"]),
        ("glm",         "<tool_call>f <arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", &[r#"C f {"a":1}"#]),
        ("kimi-k2",     "<|tool_call_begin|> functions.f:0 <|tool_call_argument_begin|> {} <|tool_call_end|>", &["C f {}"]),
        ("mistral",     "[TOOL_CALLS] [{\"name\":\"f\",\"arguments\":{}}]", &["C f {}"]),
        ("hermes",      "<tool_call>\n```json\n{\"name\":\"f\",\"arguments\":{}}\n```\n</tool_call>", &["C f {} +fence"]),
    ]);
}

// Found: P18
#[test]
fn a_tag_with_a_name_is_text_where_no_part_of_a_call_follows() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "the <function=foo> tag is used", &["M:the <function=foo> tag is used"]),
        ("auto",        "the <function=foo> tag is used", &["M:the <function=foo> tag is used"]),
        ("auto",        "<tool_call> blocks hold <function=name> elements", &["M:<tool_call> blocks hold <function=name> elements"]),
        ("hermes",      "a <tool_call><function=name> pair", &["M:a <tool_call><function=name> pair"]),
        ("iquest",      "a `<function=foo>` and\n`<function=\"foo\">`", &["M:a `<function=foo>` and\n`<function=\"foo\">`"]),
        ("minimax-m2",  "an <invoke name=\"f\"> tag", &["M:an <invoke name=\"f\"> tag"]),
        ("dots",        "an <invoke name='f'>\n- tag", &["M:an <invoke name='f'>\n- tag"]),
        ("minicpm5",    "Use <function name=\"x\"> tags", &["M:Use <function name=\"x\"> tags"]),
        ("muse",        "the <atem:invoke name=\"f\"> tag, </atem:invoke> too", &["M:the <atem:invoke name=\"f\"> tag, </atem:invoke> too"]),
        ("auto",        "the <atem:invoke name=\"f\"> tag", &["M:the <atem:invoke name=\"f\"> tag"]),
        ("dsml",        "an <｜DSML｜invoke name=\"f\"> tag", &["M:an <｜DSML｜invoke name=\"f\"> tag"]),
        ("gigachat3",   "an <｜GCML｜invoke name=\"f\">-tag", &["M:an <｜GCML｜invoke name=\"f\">-tag"]),
        ("kimi-k3",     "a <|open|>call tool=\"f\"<|sep|>, so", &["M:a <|open|>call tool=\"f\"", "M:, so"]),
        ("minimax-m3",  "a ]<]minimax[>[<invoke name=\"f\"> tag", &["M:a ]<]minimax[>[<invoke name=\"f\"> tag"]),
        ("minimax-m2",  "<p><invoke name=\"f\"></p> and <invoke name=\"f\"> <your text>", &["M:<p><invoke name=\"f\"></p> and <invoke name=\"f\"> <your text>"]),
        ("qwen3-coder", "<function=foo>{{ args }}</function>", &["M:<function=foo>{{ args }}</function>"]),
        ("qwen3-coder", "<function=foo> { ... } </function>", &["M:<function=foo> { ... } </function>"]),
        ("qwen3-coder", "a <function=foo> b\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>", &["M:a <function=foo> b\n", r#"C f {"a":"x"}"#]),
        // A call all the same.
        ("qwen3-coder", "<function=f></function>", &["C f {}"]),
        ("qwen3-coder", "<function=f>\n \n</function>", &["C f {}"]),
        ("qwen3-coder", "<function=f>{\"a\":1}</function>", &[r#"C f {"a":1}"#]),
        ("qwen3-coder", "<function=f>{a: 1}</function>", &[r#"C f {"a": 1} +unquoted_key"#]),
        ("qwen3-coder", "<tool_call><function=f></tool_call>", &["C f {} +implicit_close"]),
        ("minimax-m2",  "<invoke name=\"f\"/>", &["C f {}"]),
        ("minimax-m2",  "<minimax:tool_call><invoke name=\"f\"></invoke><invoke name=\"g\"></invoke></minimax:tool_call>", &["C f {}", "C g {}"]),
        ("minimax-m2",  "<invoke name=\"f\">", &["C f  incomplete"]),
        ("qwen3-coder", "<function=f", &["C   incomplete"]),
        ("muse",        "<atem:invoke name=\"f\"><atem:parameter name=\"a\">x</atem:parameter></atem:invoke>", &[r#"C f {"a":"x"}"#]),
    ]);
}

// Found: P18
#[test]
fn a_tag_with_a_name_in_an_own_dialect_is_text_where_no_part_of_a_call_follows() {
    const RUN: Tags = Tags::new(["[run", "[/run]"], ["(with", "(/with)"], "]");
    let tools = ToolDialectBuilder::new("run")
        .example("[run=f](with=a]1(/with)[/run]")
        .wrappers(&[Wrapper::new("{runs}", "{/runs}")])
        .calls(&[CallForm::tagged(RUN)])
        .build()
        .unwrap();
    let setup = Setup { options: Setup::default().options.tools(tools), ..Setup::default() };
    #[rustfmt::skip]
    let cases: [(&str, &[&str]); 5] = [
        ("the [run=f] tag", &["M:the [run=f] tag"]),
        ("see [run=f]\n* tag", &["M:see [run=f]\n* tag"]),
        ("[run=f](with=a]1(/with)[/run]", &[r#"C f {"a":1}"#]),
        ("[run=f] [/run]", &["C f {}"]),
        ("{runs}[run=f]{/runs}", &["C f {} +implicit_close"]),
    ];
    for (text, want) in cases {
        assert_eq!(lines(&setup.run_at_every_cut(text, text)), want, "{text}");
    }
}

// Rows: N-37
#[test]
fn tags_of_words_in_place_of_the_text_of_a_call_are_prose() {
    for shown in ["<command>", "<your command>", "<path> <text>", "<path>\n<text>", "<command> -x"]
    {
        let text = format!("Write <tool: shell>\n{shown}\n</tool> then.");
        check(&[("cwm", &text, &[&format!("M:{text}")])]);
    }
    // A call all the same.
    #[rustfmt::skip]
    check(&[
        ("cwm", "So: <tool: shell>\n<b>x</b>\n</tool>", &["M:So: ", r#"C shell {"command":"<b>x</b>"}"#]),
        ("cwm", "<tool: shell>\n</tool>", &["C shell {}"]),
        ("cwm", "<tool: shell>\n<b", &["M:<tool: shell>\n<b"]),
        ("cwm", "<tool: shell>\n<b>x", &[r#"C shell {"command":"<b>x incomplete"#]),
    ]);
}

// Found: M
#[test]
fn an_opener_in_code_of_another_language_is_text() {
    #[rustfmt::skip]
    check(&[
        ("auto",        "fn f() -> Option<Tool> {\n    // none\n    if x {}\n}", &["M:fn f() -> Option<Tool> {\n    // none\n    if x {}\n}"]),
        ("forge",       "Promise<Tool>[] {}", &["M:Promise<Tool>[] {}"]),
        ("forge",       "Array<Tool>{ tool::new() }", &["M:Array<Tool>{ tool::new() }"]),
        ("forge",       "<tool>{{ tool.name }}</tool>", &["M:<tool>{{ tool.name }}</tool>"]),
        ("hermes",      "<tool_call>{% call %}</tool_call>", &["M:<tool_call>{% call %}</tool_call>"]),
        ("hermes",      "<Tool_Call>[1, 2]", &["M:<Tool_Call>[1, 2]"]),
        ("forge",       "<tool>{tools.map((t) => <li>{t}</li>)}</tool>", &["M:<tool>{tools.map((t) => <li>{t}</li>)}</tool>"]),
        ("forge",       "a <tool> { b }", &["M:a <tool> { b }"]),
        ("auto",        "<tool id=\"x\"><name>saw</name></tool>", &["M:<tool id=\"x\"><name>saw</name></tool>"]),
        ("jamba",       "<tool_calls>{...}</tool_calls>", &["M:<tool_calls>{...}</tool_calls>"]),
        ("hunyuan",     "<p><tool_calls></p>, <tool_calls></tool_calls>.", &["M:<p><tool_calls></p>, <tool_calls></tool_calls>."]),
        ("dots",        "<p><dots_function_call></p>", &["M:<p><dots_function_call></p>"]),
        ("minimax-m2",  "<minimax:tool_call></b><b><invoke method=\"x\"></b>", &["M:<minimax:tool_call></b><b><invoke method=\"x\"></b>"]),
        ("minicpm5",    "<function name=\"g_free\" c:identifier=\"g_free\">", &["M:<function name=\"g_free\" c:identifier=\"g_free\">"]),
        ("hermes",      "<tool_call>\n<your JSON>\n</tool_call>", &["M:<tool_call>\n<your JSON>\n</tool_call>"]),
        ("auto",        "> ```\n> <tool>{\"tool_name\":\"t\"}</tool>\n> ```\n", &["M:> ```\n> <tool>{\"tool_name\":\"t\"}</tool>\n> ```\n"]),
        ("auto",        "> ```\n> x\n<tool>{\"tool_name\":\"t\"}</tool>", &["M:> ```\n> x\n", "C t {}"]),
        // A call all the same.
        ("forge",       "<tool>{ // why\n \"tool_name\": \"t\"}</tool>", &["C t {} +comment"]),
        ("forge",       "<tool>{/* why */ tool_name: \"t\"}</tool>", &["C t {} +unquoted_key+comment"]),
        ("forge",       "<tool>\n<!-- why -->\n<tool_name>t</tool_name></tool>", &["C t {}"]),
        ("hermes",      "<tool_call>[ {'name': 'f'}]</tool_call>", &["C f {} +single_quotes"]),
    ]);
}

// Found: M
#[test]
fn a_thinking_opener_in_code_or_before_punctuation_is_text() {
    #[rustfmt::skip]
    check(&[
        ("forge", "A <think>, a <thought>; (<reasoning>) or “<thinking>”: x", &["M:A <think>, a <thought>; (<reasoning>) or “<thinking>”: x"]),
        ("forge", "struct S { all: Vec<Thought>, one: Option<Thinking>} and </thinking>", &["M:struct S { all: Vec<Thought>, one: Option<Thinking>} and </thinking>"]),
        ("forge", "It opens with <think>. Then </think>.", &["M:It opens with <think>. Then </think>."]),
        ("forge", "a <think>...plan</think>x", &["M:a ", "T:...plan", "M:x"]),
        ("forge", "a <think>(plan)</think>x", &["M:a ", "T:(plan)", "M:x"]),
        ("forge", "<think>, plan</think>x", &["T:, plan", "M:x"]),
    ]);
}

// Found: M
#[test]
fn a_tag_around_the_answer_counts_at_its_start_only() {
    for (dialect, tag) in [("ernie45", "response"), ("hunyuan", "answer")] {
        let thinking = ThinkingDialect::by_name(dialect).unwrap();
        let setup = Setup { thinking, ..setup_with("none") };
        let page = format!("<p><{tag}>1</{tag}></p>\n<{tag} id=\"2\">\n</{tag}>\n");
        assert_eq!(lines(&setup.run_at_every_cut(dialect, &page)), [format!("M:{page}")]);
        let prompt = "<think>";
        let inside = Setup { prompt, ..setup };
        let text = format!("plan\n</think>\n\n<{tag}>\n<b>x</b> <{tag}>y</{tag}>\n</{tag}>");
        let answer = format!("M:<b>x</b> <{tag}>y</{tag}>");
        assert_eq!(lines(&inside.run_at_every_cut(dialect, &text)), ["T:plan".to_owned(), answer]);
    }
}

// Found: P18
#[test]
fn a_thinking_opener_in_a_sentence_is_text_and_so_is_its_closer() {
    #[rustfmt::skip]
    check(&[
        ("forge", "no <thought> element", &["M:no <thought> element"]),
        ("forge", "Wrap it in <think> and </think> tags.", &["M:Wrap it in <think> and </think> tags."]),
        ("forge", "Use `<think>` and `</think>`.", &["M:Use `<think>` and `</think>`."]),
        ("forge", "a <think></think> pair", &["M:a <think></think> pair"]),
        ("forge", "<think> plan</think>x", &["T: plan", "M:x"]),
        ("forge", "a<think>plan</think>x", &["M:a", "T:plan", "M:x"]),
        ("forge", "a\n<think>\nplan</think>x", &["M:a\n", "T:plan", "M:x"]),
        ("forge", "a <think><b></think>x", &["M:a ", "T:<b>", "M:x"]),
        ("forge", "<tool>{\"tool_name\":\"t\"}</tool><think> plan</think>x", &["C t {}", "T: plan", "M:x"]),
        ("forge", "the <think> tag\nplan</think>x", &["M:the <think> tag\nplan</think>x"]),
        ("forge", "the <thought> tag\nplan</think>x", &["M:the <thought> tag\nplan", "M:x"]),
        ("forge", "a <think>", &["M:a "]),
    ]);
}

// Found: P2
#[test]
fn code_hides_no_special_token_and_no_closer() {
    let harmony =
        Setup { thinking: ThinkingDialect::by_name("harmony").unwrap(), ..setup_with("harmony") };
    let text = "<|channel|>final<|message|>Use the ` key.<|return|>";
    assert_eq!(lines(&harmony.run_at_every_cut("harmony", text)), ["M:Use the ` key."]);
    let text = "<|channel|>final<|message|>```\nx<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>";
    assert_eq!(lines(&harmony.run_at_every_cut("harmony", text)), ["M:```\nx", "C f {}"]);
    let cohere =
        Setup { thinking: ThinkingDialect::by_name("cohere").unwrap(), ..setup_with("cohere") };
    let text = "<|START_RESPONSE|>A ` b<|END_RESPONSE|><|START_ACTION|>[{\"tool_name\":\"f\",\"parameters\":{}}]<|END_ACTION|>";
    assert_eq!(lines(&cohere.run_at_every_cut("cohere", text)), ["M:A ` b", "C f {}"]);
    let k3 = Setup {
        thinking: ThinkingDialect::by_name("kimi-k3").unwrap(),
        prompt: "",
        ..setup_with("kimi-k3")
    };
    let text = "<|open|>response<|sep|>A ` b<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>";
    assert_eq!(lines(&k3.run_at_every_cut("kimi-k3", text)), ["M:A ` b", "C f {}"]);
}

// Found: P2, P18
#[test]
fn an_opener_in_an_open_span_is_decided_at_the_end_of_its_call() {
    let call = r#"<tool>{"tool_name":"t","arguments":{"a":"x `y` z"}}</tool>"#;
    let called = r#"C t {"a":"x `y` z"}"#;
    #[rustfmt::skip]
    let cases = [
        ("closed",           format!("Write `{call}` so."),         vec![format!("M:Write `{call}` so.")]),
        ("closed later",     format!("The ` key {call} and ` too"), vec![format!("M:The ` key {call} and ` too")]),
        ("another run",      format!("The ` key {call} and `` too"),vec!["M:The ` key ".into(), called.into(), "M: and `` too".into()]),
        ("line ends",        format!("The ` key {call}\nand ` too"),vec!["M:The ` key ".into(), called.into(), "M:\nand ` too".into()]),
        ("text ends",        format!("The ` key {call}"),           vec!["M:The ` key ".into(), called.into()]),
        ("two backticks",    format!("``{call}`` so."),             vec![format!("M:``{call}`` so.")]),
        ("closed in a call", "`<tool>{\"tool_name\":` x".to_owned(), vec!["M:`<tool>{\"tool_name\":` x".into()]),
        ("never a call",     "`<tool>{\"tool_name\":\"` x\ny".into(),  vec!["M:`<tool>{\"tool_name\":\"` x\ny".into()]),
        ("two calls",        format!("a `b {call}{call}\n"),         vec!["M:a `b ".into(), called.into(), called.into(), "M:\n".into()]),
    ];
    for (name, text, want) in cases {
        let want: Vec<_> = want.into_iter().filter(|line| line != "M:\n").collect();
        assert_eq!(lines(&setup_with("forge").run_at_every_cut(name, &text)), want, "{name}");
    }
    let text = format!(
        "a ` b <tool>{{\"tool_name\":\"t\",\"arguments\":{{\"a\":\"{}\"}}}}</tool>` c",
        "x".repeat(70_000)
    );
    let run = setup_with("forge")
        .run(text.as_bytes().chunks(999).map(|piece| str::from_utf8(piece).unwrap()));
    assert_eq!(run.completion.tool_calls.len(), 1, "no more than 64 KiB are held");
}

fn without_repairs(run: &Run) -> Vec<String> {
    lines(run)
        .into_iter()
        .map(|line| line.split(" +").next().unwrap_or_default().to_owned())
        .collect()
}

// Found: P18
#[test]
fn a_fence_that_is_open_at_the_end_gives_back_its_complete_calls() {
    let call = r#"<tool>{"tool_name":"t"}</tool>"#;
    let cut = r#"<tool>{"tool_name":"u"#;
    #[rustfmt::skip]
    let cases = [
        ("open",            format!("a\n```json\n{call}\n"),          vec![format!("M:a\n```json\n{call}\n"), "C t {}".into()]),
        ("two calls",       format!("```\n{call}{call}"),             vec![format!("M:```\n{call}{call}"), "C t {}".into(), "C t {}".into()]),
        ("one is cut",      format!("```\n{call}{cut}"),              vec![format!("M:```\n{call}{cut}"), "C t {}".into()]),
        ("closed",          format!("```\n{call}\n```\n"),            vec![format!("M:```\n{call}\n```\n")]),
        ("closed, no line end", format!("```\n{call}\n```"),          vec![format!("M:```\n{call}\n```")]),
        ("closed, another open", format!("```\n{call}\n```\n~~~\nx"), vec![format!("M:```\n{call}\n```\n~~~\nx")]),
        ("in the first line", format!("~~~ {call}\nx"),               vec![format!("M:~~~ {call}\nx"), "C t {}".into()]),
        ("the second fence", format!("```\n{call}\n```\n~~~\n{call}"), vec![format!("M:```\n{call}\n```\n~~~\n{call}"), "C t {}".into()]),
        ("then thinking",   format!("```\n{call}\n<think>x</think>"), vec![format!("M:```\n{call}\n<think>x</think>"), "C t {}".into()]),
    ];
    for (name, text, want) in cases {
        let run = setup_with("forge").run_at_every_cut(name, &text);
        assert_eq!(without_repairs(&run), want, "{name}");
        assert_eq!(run.completion.text, text, "{name}: each byte once");
        let hidden = text.matches("<tool>").count() - run.completion.tool_calls.len();
        assert_eq!(run.completion.fenced_calls as usize, hidden, "{name}");
        for call in &run.completion.tool_calls {
            assert_eq!(
                call.repairs.last().map(|repair| repair.as_str()),
                Some("recovered_from_code")
            );
        }
    }
    let open = format!("```\n{call}");
    let by_length = Setup { finish: Some(FinishReason::Length), ..setup_with("forge") };
    assert_eq!(lines(&by_length.run([&*open])), [format!("M:{open}")]);
    let cut_off = Setup { is_finished: false, ..setup_with("forge") };
    assert_eq!(lines(&cut_off.run([&*open])), [format!("M:{open}")]);
    let long = format!("{open}{}", "x".repeat(64 << 10));
    assert_eq!(setup_with("forge").run([&*long]).completion.tool_calls, [], "more than 64 KiB");
}

// Found: P18
#[test]
fn every_dialect_gives_back_the_call_in_an_open_fence() {
    for_each(families(), |family| {
        let Some(call) = family.call_after_text(NAME, VALUE) else { return };
        let run = family.setup().run_at_every_cut(family.name, &format!("See:\n~~~~\n{call}\n"));
        let calls: Vec<_> =
            run.completion.tool_calls.iter().filter(|call| call.is_complete()).collect();
        assert_eq!(calls.len(), 1, "{}: {run:?}", family.name);
        assert_eq!(calls[0].name, NAME, "{}", family.name);
        let _ = called(NAME, VALUE);
    });
}

// Found: P18
#[test]
fn text_of_an_open_span_is_reported_before_later_reasoning() {
    let broken = r#"`<tool>{"tool_name":"t"'"x</tool>y"<think>z"#;
    let offset = "string is not closed before the end of the call +single_quotes+missing_comma";
    let run = setup_with("forge").run_at_every_cut("broken", broken);
    let call = format!("C t  malformed at 19: a {offset}");
    assert_eq!(lines(&run), ["M:`".to_owned(), call, "M:y\"".into(), "T:z".into()]);
    let value = "x CLOSER y\"";
    for_each(families(), |family| {
        let Some(call) = family.call_after_text(NAME, VALUE) else { return };
        let text = call.replace(VALUE, &value.replace("CLOSER", family.closer));
        for text in [format!("`{text}"), format!("a ` b {text} c")] {
            let text = format!("{text}<think>z</think>w");
            let run = family.setup().run_at_random_cuts(family.name, &text, 4);
            assert_eq!(family.setup().run(text.split_inclusive(|_| true)), run);
        }
    });
}

// Found: P18
#[test]
fn a_name_behind_the_arguments_is_read_by_both_stages_at_any_cut() {
    let text = "<tool><arguments></arguments><tool_name>f<TOOL ><tool><think>z";
    let run = setup_with("forge").run_at_every_cut("forge", text);
    assert_eq!(lines(&run), ["C f {} +implicit_close", "M:<tool>", "T:z"]);
}
