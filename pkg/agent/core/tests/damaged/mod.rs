//! Calls whose tags are lost, repeated or misplaced: what is read, and what must never be.

use serde_json::{Value, json};

mod mutations;

use super::harness::{Run, Setup};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{CallOutcome, FinishReason, Text};

/// The tools that are offered.
fn offered() -> Vec<(Text, Value)> {
    let text = json!({"type": "string"});
    let tool = |name: &str, keys: &[&str]| {
        let properties: Value = keys.iter().map(|key| ((*key).to_owned(), text.clone())).collect();
        let schema = json!({"type": "object", "properties": properties, "required": keys});
        (Text::from(name), schema)
    };
    vec![
        tool("save", &["body", "file"]),
        tool("tide", &["port"]),
        tool("calculator", &["expression"]),
        tool("bell", &[]),
        tool("level_2", &[]),
    ]
}

fn setup(dialect: &str) -> Setup {
    let setup = Setup::default();
    let options = setup.options.tools(ToolDialect::by_name(dialect).unwrap());
    Setup { options: options.schemas(offered()), thinking: ThinkingDialect::AUTO, ..setup }
}

/// The calls that may run, and `-` for each other one.
fn calls(run: &Run) -> Vec<String> {
    let calls = run.completion.tool_calls.iter();
    calls
        .map(|call| match (&call.outcome, &call.arguments) {
            (CallOutcome::Complete, Some(arguments)) => {
                let json: Value = serde_json::from_str(arguments.as_str()).unwrap();
                let repairs: Vec<_> = call.repairs.iter().map(|it| format!(" +{it}")).collect();
                format!("{} {json}{}", call.name, repairs.concat())
            }
            _ => "-".to_owned(),
        })
        .collect()
}

/// Runs each text at every cut, and compares the calls and the message.
fn check(cases: &[(&str, &str, &[&str], &str)]) {
    let mut wrong = Vec::new();
    for (dialect, text, want, message) in cases {
        let run = setup(dialect).run_at_every_cut(dialect, text);
        let got = calls(&run);
        if got != *want || run.completion.text.trim() != *message {
            wrong.push(format!("{dialect}: {text:?}\n  {got:?} {:?}", run.completion.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const TIDE: &str = r#"tide {"port":"Kiel"}"#;
const SAVE: &str = r#"save {"body":"b","file":"f"}"#;
const SAVED: &str = r#"save {"body":"b","file":"f"} +duplicate_tag"#;

// Rows: N-30
#[test]
fn a_call_in_an_open_value_ends_the_one_before_it_and_is_read() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\nb\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>\n</tool_call>", &["-", TIDE], ""),
        ("seed-oss",    "<seed:tool_call><function=save>\n<parameter=body>b\n<function=tide>\n<parameter=port>Kiel</parameter>\n</function></seed:tool_call>", &["-", TIDE], ""),
        ("minimax-m2",  "<minimax:tool_call>\n<invoke name=\"save\">\n<parameter name=\"body\">b\n<invoke name=\"tide\">\n<parameter name=\"port\">Kiel</parameter>\n</invoke>\n</minimax:tool_call>", &["-", TIDE], ""),
        ("step3",       "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"save\"><steptml:parameter name=\"body\">b\n<steptml:invoke name=\"tide\"><steptml:parameter name=\"port\">Kiel</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>", &["-", TIDE], ""),
        ("minicpm5",    "<function name=\"save\"><param name=\"body\">b\n<function name=\"tide\"><param name=\"port\">Kiel</param></function>", &["-", TIDE], ""),
        ("minimax-m3",  "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"save\">]<]minimax[>[<body>b]<]minimax[>[<invoke name=\"tide\">]<]minimax[>[<port>Kiel]<]minimax[>[</port>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>", &["-", TIDE], ""),
        // A special token counts anywhere.
        ("dsml",        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"save\"><｜DSML｜parameter name=\"body\" string=\"true\">b<｜DSML｜invoke name=\"tide\"><｜DSML｜parameter name=\"port\" string=\"true\">Kiel</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>", &["-", TIDE], ""),
        ("kimi-k3",     "<|open|>tools<|sep|><|open|>call tool=\"save\" index=\"1\"<|sep|><|open|>argument key=\"body\" type=\"string\"<|sep|>b<|open|>call tool=\"tide\" index=\"2\"<|sep|><|open|>argument key=\"port\" type=\"string\"<|sep|>Kiel<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", &["-", TIDE], ""),
        // A name, then keys; and a call without arguments.
        ("glm",         "<tool_call>save\n<arg_key>body</arg_key>\n<arg_value>b\n<tool_call>tide\n<arg_key>port</arg_key>\n<arg_value>Kiel</arg_value>\n</tool_call>", &["-", TIDE], ""),
        ("glm",         "<tool_call>save\n<arg_key>body</arg_key>\n<arg_value>b\n<tool_call>bell</tool_call>", &["-", "bell {}"], ""),
        ("iquest",      "<iquest_tool_call>save<arg_key>body</arg_key><arg_value>b\n<iquest_tool_call>tide<arg_key>port</arg_key><arg_value>Kiel</arg_value></iquest_tool_call>", &["-", TIDE], ""),
        ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\nb\n<function=bell>\n</function>\n</tool_call>", &["-", "bell {}"], ""),
        // In a string.
        ("hermes",      "<tool_call>{\"name\": \"save\", \"arguments\": {\"body\": \"b\n<tool_call>{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}</tool_call>", &["-", TIDE], ""),
        ("longcat",     "<longcat_tool_call>{\"name\": \"save\", \"arguments\": {\"body\": \"b\n<longcat_tool_call>{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}</longcat_tool_call>", &["-", TIDE], ""),
        ("kimi-k2",     "<|tool_calls_section_begin|><|tool_call_begin|>functions.save:0<|tool_call_argument_begin|>{\"body\": \"b<|tool_call_begin|>functions.tide:1<|tool_call_argument_begin|>{\"port\": \"Kiel\"}<|tool_call_end|><|tool_calls_section_end|>", &["-", TIDE], ""),
        ("gemma4",      "<|tool_call>call:save{body:<|\"|>b<|tool_call>call:tide{port:<|\"|>Kiel<|\"|>}<tool_call|>", &["-", TIDE], ""),
        ("forge",       "<tool>{\"tool_name\": \"save\", \"arguments\": {\"body\": \"b\n<tool>{\"tool_name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}</tool>", &["-", TIDE], ""),
    ]);
}

// Rows: N-30
#[test]
fn a_call_in_a_value_that_is_closed_is_data() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\nSo:\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>\n</parameter>\n<parameter=file>\nf\n</parameter>\n</function>\n</tool_call>",
            &[r#"save {"body":"So:\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>","file":"f"}"#], ""),
        ("hermes",      "<tool_call>{\"name\": \"save\", \"arguments\": {\"body\": \"b\n<tool_call>{\\\"name\\\": \\\"x\\\"}\", \"file\": \"<tool_call>\"}}</tool_call>",
            &[r#"save {"body":"b\n<tool_call>{\"name\": \"x\"}","file":"<tool_call>"} +raw_control"#], ""),
        ("glm",         "<tool_call>save<arg_key>body</arg_key><arg_value>b\n<tool_call>tide\n</arg_value><arg_key>file</arg_key><arg_value>f</arg_value></tool_call>",
            &[r#"save {"body":"b\n<tool_call>tide\n","file":"f"}"#], ""),
    ]);
}

// Rows: N-31
#[test]
fn a_tag_that_repeats_the_one_before_it_is_dropped() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\nb\n</parameter>\n</parameter>\n<parameter=file>\nf\n</parameter>\n</function>\n</tool_call>", &[SAVED], ""),
        ("qwen3-coder", "<tool_call>\n<function=save>\n<parameter=body>\n<parameter=body>\nb\n</parameter>\n<parameter=file>\nf\n</parameter>\n</function>\n</tool_call>", &[SAVED], ""),
        ("minimax-m2",  "<minimax:tool_call><invoke name=\"save\"><parameter name=\"body\">b</parameter><parameter name=\"file\">f</parameter></parameter></invoke></minimax:tool_call>", &[SAVED], ""),
        ("minimax-m3",  "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"save\">]<]minimax[>[<body>b]<]minimax[>[</body>]<]minimax[>[</body>]<]minimax[>[<file>f]<]minimax[>[</file>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>", &[SAVED], ""),
        ("dsml",        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"save\"><｜DSML｜parameter name=\"body\">b</｜DSML｜parameter></｜DSML｜parameter><｜DSML｜parameter name=\"file\">f</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>", &[SAVED], ""),
        ("muse",        "<atem:function_calls><atem:invoke name=\"save\"><atem:parameter name=\"body\">b</atem:parameter>\n</atem:parameter><atem:parameter name=\"file\">f</atem:parameter></atem:invoke></atem:function_calls>", &[SAVED], ""),
        ("glm",         "<tool_call>save<arg_key>body</arg_key><arg_value>b</arg_value><arg_key>file</arg_key><arg_value>f</arg_value></arg_value></tool_call>", &[SAVED], ""),
        ("glm",         "<tool_call>save<arg_key><arg_key>body</arg_key><arg_value>b</arg_value><arg_key>file</arg_key><arg_value>f</arg_value></tool_call>", &[SAVED], ""),
        ("hy4",         "<tool_calls><tool_call>save<tool_sep><arg_key>body</arg_key></arg_key><arg_value>b</arg_value><arg_key>file</arg_key><arg_value>f</arg_value></tool_call></tool_calls>", &[SAVED], ""),
        ("k2-horizon",  "<ifm|tool_calls><ifm|tool_call>save<ifm|arg_key>body</ifm|arg_key><ifm|arg_value><ifm|arg_value>b</ifm|arg_value><ifm|arg_key>file</ifm|arg_key><ifm|arg_value>f</ifm|arg_value></ifm|tool_call></ifm|tool_calls>", &[SAVED], ""),
        ("solar-open2", "<|tool_call:start|>save<|tool_arg:start|><|tool_arg:start|>body<|tool_arg:value|>b<|tool_arg:end|><|tool_arg:start|>file<|tool_arg:value|>f<|tool_arg:end|><|tool_call:end|>", &[SAVED], ""),
        // A value that opens a parameter itself keeps its tags.
        ("seed-oss",    "<seed:tool_call><function=save><parameter=body>a <parameter=x>1</parameter></parameter><parameter=file>f</parameter></function></seed:tool_call>",
            &[r#"save {"body":"a <parameter=x>1</parameter>","file":"f"}"#], ""),
    ]);
}

// Rows: N-31
#[test]
fn an_element_of_forge_that_is_repeated_is_dropped() {
    let parts = [
        "<tool>",
        "<tool_name>",
        "save",
        "</tool_name>",
        "<arguments>",
        "<body>",
        "b",
        "</body>",
        "<file>",
        "f",
        "</file>",
        "</arguments>",
        "</tool>",
    ];
    let mut wrong = Vec::new();
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.starts_with('<')) {
        for between in ["", "\n"] {
            let text = [&parts[..=at], &[between, part], &parts[at + 1..]].concat().concat();
            let read = calls(&setup("forge").run_at_every_cut(part, &text));
            // One outside the arguments matters to nobody.
            let outside = matches!(at, 0 | 1 | 3 | 11 | 12)
                .then(|| format!("{SAVE}{}", if at == 1 { " +implicit_close" } else { "" }));
            if read != [outside.as_deref().unwrap_or(SAVED)] {
                wrong.push(format!("{text}\n  {read:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Rows: N-31
#[test]
fn an_element_of_forge_in_one_of_its_own_name_is_not_one_that_is_repeated() {
    let number = json!({"type": "object", "properties": {"count": {"type": "integer"}, "body": {"type": "string"}}});
    let setup = setup("forge");
    let options = setup.options.clone().schemas(vec![(Text::from("set"), number)]);
    let setup = Setup { options, ..setup };
    #[rustfmt::skip]
    let cases = [
        ("<count><count>5</count>",            r#"set {"count":5} +duplicate_tag"#),
        ("<count>5</count></count>",           r#"set {"count":5} +duplicate_tag"#),
        ("<count><count>5</count></count>",    "-"),
        ("<body><body>x</body></body>",        "-"),
        ("<body>x</body></count>",             "-"),
        ("<count>5</count><arguments>x</arguments>", r#"set {"count":5,"arguments":"x"}"#),
    ];
    for (elements, want) in cases {
        assert_eq!(
            calls(&setup.run_at_every_cut(elements, &forge("set", elements))),
            [want],
            "{elements}"
        );
    }
}

// Rows: N-32
#[test]
fn a_name_ends_at_markup_or_its_call_is_malformed() {
    #[rustfmt::skip]
    check(&[
        ("glm",         "<tool_call>bell</arg_value></tool_call>", &["bell {} +duplicate_tag"], ""),
        ("solar-open2", "<|tool_call:start|>bell<|tool_arg:end|><|tool_call:end|>", &["bell {} +duplicate_tag"], ""),
        ("iquest",      "<iquest_tool_call>bell</arg_value>\n</iquest_tool_call>", &["bell {} +duplicate_tag"], ""),
        ("hunyuan",     "<tool_calls><tool_call>tide<tool_sep></arg_value><arg_key>port</arg_key><arg_value>Kiel</arg_value></tool_call></tool_calls>", &[r#"tide {"port":"Kiel"} +duplicate_tag"#], ""),
        // The opener of a key is missing: the offered tools say where the name ends.
        ("glm",         "<tool_call>tideport</arg_key><arg_value>Kiel</arg_value></tool_call>", &[TIDE], ""),
        ("k2-horizon",  "<ifm|tool_calls><ifm|tool_call>tideport</ifm|arg_key><ifm|arg_value>Kiel</ifm|arg_value></ifm|tool_call></ifm|tool_calls>", &[TIDE], ""),
        ("glm",         "<tool_call>gateport</arg_key><arg_value>Kiel</arg_value></tool_call>", &["-"], ""),
        // An object behind the name.
        ("glm",         "<tool_call>tide{\"port\":\"Kiel\"}</tool_call>", &[TIDE], ""),
        ("auto",        "<tool_call>call:tide{port: \"Kiel\"}</tool_call>", &[r#"tide {"port":"Kiel"} +unquoted_key +corrected_name"#], ""),
        // Other markup.
        ("glm",         "<tool_call>tide<b>\n</tool_call>", &["-"], ""),
        ("glm",         "<tool_call>tide<arg_value>Kiel</arg_value></tool_call>", &["-"], ""),
        ("deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜><｜tool▁sep｜>bell\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", &["-"], ""),
        ("mistral",     "[TOOL_CALLS]tide[AR{\"port\": \"Kiel\"}", &["-"], ""),
        ("hermes",      "<tool_call>{\"name\": \"tide</b>\", \"arguments\": {}}</tool_call>", &["-"], ""),
        // A tag in a key.
        ("glm",         "<tool_call>tide<arg_key>port<arg_value></arg_key>Kiel</arg_value></tool_call>", &["-"], ""),
        ("dsml",        "<｜DSML｜tool_calls><｜DSML｜invoke name=\"save\"><｜DSML｜parameter name=\"b</｜DSML｜parameter><｜DSML｜parameter name=\"file\">f</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>", &["-"], ""),
    ]);
}

// Rows: N-33
#[test]
fn a_name_that_no_tool_has_means_the_only_one_that_it_fits() {
    #[rustfmt::skip]
    check(&[
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions_tide_2<|tool_call_argument_begin|>{\"port\": \"Kiel\"}<|tool_call_end|><|tool_calls_section_end|>", &[r#"tide {"port":"Kiel"} +corrected_name"#], ""),
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.level.2:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", &["level_2 {} +corrected_name"], ""),
        ("hermes",  "<tool_call>{\"name\": \"functions.tide\", \"arguments\": {\"port\": \"Kiel\"}}</tool_call>", &[r#"tide {"port":"Kiel"} +corrected_name"#], ""),
        ("gemma4",  "<|tool_call>call:default_api:tide{port:<|\"|>Kiel<|\"|>}<tool_call|>", &[r#"tide {"port":"Kiel"} +corrected_name"#], ""),
        ("qwen3-coder", "<tool_call>\n<function=tools.bell>\n</function>\n</tool_call>", &["bell {} +corrected_name"], ""),
        ("pythonic", "[functions.tide(port=\"Kiel\"), bell()]", &[r#"tide {"port":"Kiel"} +corrected_name"#, "bell {}"], ""),
        // Nothing fits.
        ("hermes",  "<tool_call>{\"name\": \"functions.ebb\", \"arguments\": {}}</tool_call>", &["functions.ebb {}"], ""),
    ]);
}

/// A call of Kimi K2 with this id.
fn kimi(id: &str, json: &str) -> String {
    format!("<|tool_call_begin|>{id}<|tool_call_argument_begin|>{json}<|tool_call_end|>")
}

// Rows: N-33
#[test]
fn an_id_that_names_no_tool_leaves_the_name_to_the_arguments() {
    let named = r#"{"name": "tide", "arguments": {"port": "Kiel"}}"#;
    let inferred = format!("{TIDE} +inferred_name");
    #[rustfmt::skip]
    let cases = [
        ("call_9f2", named, &*inferred),
        ("toolu_01Ab", r#"{"id": "x", "type": "function", "function": {"name": "tide", "arguments": "{\"port\": \"Kiel\"}"}}"#, r#"tide {"port":"Kiel"} +string_arguments +inferred_name"#),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", r#"{"tool_name": "functions.tide", "parameters": {"port": "Kiel"}}"#, r#"tide {"port":"Kiel"} +inferred_name +corrected_name"#),
        ("7", r#"{"arguments": {"port": "Kiel"}, "name": "tide"}"#, &*inferred),
        // The arguments themselves.
        ("call_9f2", r#"{"port": "Kiel"}"#, &*inferred),
        // No tool has the name, or there is none.
        ("call_9f2", r#"{"name": "ebb", "arguments": {"port": "Kiel"}}"#, "-"),
        ("call_9f2", r#"{"name": "tide"}"#, "-"),
        ("call_9f2", r#"{"arguments": {"port": "Kiel"}}"#, "-"),
        ("call_9f2", r#"{"name": "tide", "arguments": {"port": "Kiel""#, r#"tide {"port":"Kiel"} +missing_bracket +inferred_name"#),
        // The id has the name.
        ("functions.tide:0", r#"{"port": "Kiel"}"#, TIDE),
    ];
    for (id, json, want) in cases {
        check(&[("kimi-k2", &kimi(id, json), &[want], "")]);
    }
    // The arguments of one tool look like a call of the other.
    let text = json!({"type": "string"});
    let run =
        json!({"type": "object", "properties": {"name": text, "arguments": {"type": "object"}}});
    let tide = json!({"type": "object", "properties": {"port": text}});
    let both = vec![(Text::from("run"), run.clone()), (Text::from("tide"), tide)];
    let read = |tools: Vec<(Text, Value)>, json: &str| {
        let setup = setup("kimi-k2");
        let setup = Setup { options: setup.options.clone().schemas(tools), ..setup };
        calls(&setup.run_at_every_cut(json, &kimi("call_1", json)))
    };
    assert_eq!(read(both.clone(), named), ["-"], "two fit");
    let other = r#"{"name": "a.sh", "arguments": {"x": 1}}"#;
    assert_eq!(read(both, other), [r#"run {"name":"a.sh","arguments":{"x":1}} +inferred_name"#]);
    assert_eq!(
        read(vec![(Text::from("run"), run)], other),
        [r#"run {"name":"a.sh","arguments":{"x":1}} +inferred_name"#]
    );
    let only = vec![offered().swap_remove(1)];
    assert_eq!(read(only, named), [inferred], "the only tool");
}

// Rows: N-34
#[test]
fn variants_of_a_notation_are_read() {
    #[rustfmt::skip]
    check(&[
        ("gemma4", "<|tool_call>tide{port:<|\"|>Kiel<|\"|>}<tool_call|>", &[TIDE], ""),
        ("gemma4", "<|tool_call>-tide{port:<|\"|>Kiel<|\"|>}<tool_call|>", &[TIDE], ""),
        ("gemma4", "<|tool_call>call:tide(port=<|\"|>Kiel<|\"|>)<tool_call|>", &[TIDE], ""),
        ("gemma4", "<|tool_call>sea.north:tide{port:<|\"|>Kiel<|\"|>}<tool_call|>", &[r#"sea.north:tide {"port":"Kiel"}"#], ""),
        ("gemma4", "tide{port:<|\"|>Kiel<|\"|>}", &[TIDE], ""),
        ("gemma4", "ebb{port:<|\"|>Kiel<|\"|>}", &[], "ebb{port:<|\"|>Kiel<|\"|>}"),
        ("functiongemma", "<start_function_call>tide{port:<escape>Kiel<escape>}<end_function_call>", &[TIDE], ""),
        ("granite", "<|tool_call|>[{\"name\": \"bell\", \"arguments\": {}}]", &["bell {}"], ""),
        ("dsml", "<｜DSML｜toolcalls>\n<｜DSML｜invoke name=\"tide\">\n<｜DSML｜parameter name=\"port\" string=\"true\">Kiel</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>", &[TIDE], ""),
        ("mistral", "tide[ARGS]{\"port\": \"Kiel\"}", &[TIDE], ""),
        ("mistral", "bell[ARGS]{}", &["bell {}"], ""),
        ("mistral", "bell [ARGS]", &[], "bell [ARGS]"),
        ("harmony", "<|channel|>commentary? to=functions.tide<|message|>{\"port\": \"Kiel\"}<|call|>", &[TIDE], ""),
        ("harmony", "<|channel|>commentary?<|message|>Soon.<|end|>", &[], "Soon."),
    ]);
}

// Rows: N-34
#[test]
fn a_call_in_parentheses_without_markers_is_a_whole_line() {
    #[rustfmt::skip]
    check(&[
        ("gemma4",   "tide(port=<|\"|>Kiel<|\"|>)", &[TIDE], ""),
        ("gemma4",   "\ncall:tide(port=\"Kiel\")\nbell()\n", &[TIDE, "bell {} +implicit_close"], ""),
        ("gemma4",   "tide(port=\"Kiel\")<turn|>", &[TIDE], ""),
        ("gemma4",   "tide(port=\"Kiel\") is high.", &[], "tide(port=\"Kiel\") is high."),
        ("gemma4",   "ebb(port=\"Kiel\")", &[], "ebb(port=\"Kiel\")"),
        ("gemma4",   "So:\ntide(port=\"Kiel\")", &[], "So:\ntide(port=\"Kiel\")"),
        ("granite4", "tide(port=\"Kiel\")\nbell()", &[TIDE, "bell {}"], ""),
        ("granite4", "tide(port=\"Kiel\"), bell()", &[], "tide(port=\"Kiel\"), bell()"),
        ("granite",  "bell()\nIt rang: bell() works.", &["bell {}"], "It rang: bell() works."),
        ("granite",  "tide (port=\"Kiel\")", &[], "tide (port=\"Kiel\")"),
        ("auto",     "tide(port=\"Kiel\")", &[], "tide(port=\"Kiel\")"),
    ]);
}

// Rows: N-34
#[test]
fn a_call_of_forge_ends_where_another_begins() {
    #[rustfmt::skip]
    check(&[
        ("forge", "<tool><tool_name>save</tool_name>\n<tool><tool_name>tide</tool_name><arguments><port>Kiel</port></arguments></tool>", &["-", TIDE], ""),
        ("forge", "<tool><tool_name>save\n<tool><tool_name>tide</tool_name><arguments><port>Kiel</port></arguments></tool>", &["-", TIDE], ""),
        ("forge", "<tool><tool_name>save</tool_name>\n<tool>{\"tool_name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}</tool>", &["-", TIDE], ""),
        ("forge", "<tool><server_name>s</server_name><tool_name>save</tool_name><tool><tool_name>bell</tool_name></tool>", &["-", "bell {}"], ""),
        // Before a name, the tag is only repeated.
        ("forge", "<tool><tool><tool_name>tide</tool_name><arguments><port>Kiel</port></arguments></tool>", &[TIDE], "<tool>"),
        // In the arguments it is an element.
        ("forge", "<tool><tool_name>save</tool_name><arguments><body><tool>x</body><file>f</file></arguments></tool>", &[r#"save {"body":"<tool>x","file":"f"}"#], ""),
    ]);
}

/// A call of Forge in XML with these elements as its arguments.
fn forge(name: &str, elements: &str) -> String {
    format!("<tool><tool_name>{name}</tool_name><arguments>{elements}</arguments></tool>")
}

// Rows: N-30, N-33, N-34
#[test]
fn a_call_of_forge_in_an_element_that_is_not_closed_is_read() {
    let tide = forge("tide", "<port>Kiel</port>");
    let bell = "<tool><tool_name>bell</tool_name></tool>";
    let json = r#"<tool>{"tool_name": "tide", "arguments": {"port": "Kiel"}}</tool>"#;
    let saved = forge("save", "<body>b</body><file>f</file>");
    let open = |text: &str| {
        format!("<tool><tool_name>save</tool_name><arguments><file>f</file><body>b\n{text}")
    };
    let value = |body: &str| format!("save {}", json!({"file": "f", "body": body}));
    let shown = format!("as {tide} or {bell}, or <tool> and </tool>, or <tool>.");
    let same = forge("save", "<body>x</body><file>f</file>");
    let rows: [(&str, String, Vec<&str>, &str); 17] = [
        ("xml", open(&tide), vec!["-", TIDE], ""),
        ("json", open(json), vec!["-", TIDE], ""),
        ("no arguments", open(bell), vec!["-", "bell {}"], ""),
        ("text after it", open(&format!("{tide}\nSoon.")), vec!["-", TIDE], "Soon."),
        ("two", open(&format!("{tide}\n{bell}")), vec!["-", TIDE, "bell {}"], ""),
        ("elements of the same name", open(&saved), vec!["-", SAVE], ""),
        ("open ones in a row", open(&open(&tide)), vec!["-", TIDE], ""),
        ("the arguments are open", open(&format!("</body>{tide}")), vec!["-", TIDE], ""),
        ("no tool has the name", open(&forge("ebb", "<port>Kiel</port>")), vec!["-"], ""),
        ("it is not whole", open("<tool><tool_name>tide</tool_name>"), vec!["-"], ""),
        // In a value that is closed it is data.
        ("closed", forge("save", &format!("<file>f</file><body>{shown}</body>")), vec![""], ""),
        (
            "the same name in it",
            forge("save", &format!("<file>f</file><body>{same}</body>")),
            vec![""],
            "",
        ),
        ("a mention", forge("save", "<file>f</file><body>a <tool> b</body>"), vec![""], ""),
        ("in CDATA", open(&format!("<![CDATA[{tide}]]></body></arguments></tool>")), vec![""], ""),
        (
            "closed in CDATA",
            open(&tide.replace("Kiel", "<![CDATA[</body>]]>")),
            vec!["-", r#"tide {"port":"</body>"}"#],
            "",
        ),
        (
            "one of them is not whole",
            open(&format!("{tide}<tool><tool_name></body></arguments></tool>")),
            vec!["-"],
            "</arguments></tool>",
        ),
        ("cut", open(&tide), vec!["-"], ""),
    ];
    let mut wrong = Vec::new();
    for (name, text, want, message) in rows {
        let setup = setup("forge");
        let finish = (name == "cut").then_some(FinishReason::Length);
        let setup = Setup { finish: finish.or(setup.finish), ..setup };
        let run = setup.run_at_every_cut(name, &text);
        let want: Vec<_> = match name {
            "closed" => vec![value(&shown)],
            "the same name in it" => vec![value(&same)],
            "a mention" => vec![value("a <tool> b")],
            "in CDATA" => vec![value(&format!("b\n{tide}"))],
            _ => want.into_iter().map(str::to_owned).collect(),
        };
        let got = calls(&run);
        if got != want || run.completion.text.trim() != message {
            wrong.push(format!("{name}: {text}\n  {got:?} {:?}", run.completion.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Rows: N-34
#[test]
fn a_call_without_a_closer_needs_all_its_brackets() {
    const JSON: &str = r#"{"name": "tide", "arguments": {"port": "Kiel"}}"#;
    let list = format!("[{JSON}]");
    let closed = format!("{TIDE} +implicit_close");
    #[rustfmt::skip]
    let rows = [
        ("mistral",     "[TOOL_CALLS]",           &*list,                TIDE),
        ("mistral",     "[TOOL_CALLS]tide",       r#"{"port": "Kiel"}"#, TIDE),
        ("mistral",     "[TOOL_CALLS]tide[ARGS]", r#"{"port": "Kiel"}"#, TIDE),
        ("granite",     "<|tool_call|>",          &*list,                TIDE),
        ("granite",     "<|tool_call|>",          JSON,                  TIDE),
        ("granite",     "<function_call>",        JSON,                  TIDE),
        ("granite4",    "<tool_call>",            JSON,                  &*closed),
        ("llama3-json", "<|python_tag|>",         JSON,                  TIDE),
        ("llama3-json", "<|python_tag|>",         &*list,                TIDE),
        ("llama3-json", "",                       JSON,                  TIDE),
        ("jamba",       "<tool_calls>",           &*list,                &*closed),
        ("nemotron",    "<TOOLCALL>",             &*list,                &*closed),
    ];
    for (dialect, opener, json, want) in rows {
        let text = format!("{opener}{json}");
        check(&[(dialect, &text, &[want], "")]);
        for cut in opener.len()..text.len() {
            let read = calls(&setup(dialect).run([&text[..cut]]));
            assert!(read.iter().all(|call| call == "-"), "{dialect}: {} {read:?}", &text[..cut]);
        }
        // A payload that ends itself needs no closer.
        let setup = Setup { finish: Some(FinishReason::Length), ..setup(dialect) };
        let want = if want == closed { "-" } else { want };
        assert_eq!(calls(&setup.run_at_every_cut(dialect, &text)), [want], "{dialect}: by length");
    }
}

// Rows: N-35
#[test]
fn a_lone_closer_in_a_closed_span_is_text() {
    #[rustfmt::skip]
    let cases = [
        ("closed",             "Write `</think>` at the end.",     "Write `</think>` at the end.", 0),
        ("two ticks",          "Write ``a ` </think>`` there.",    "Write ``a ` </think>`` there.", 0),
        ("another tag",        "It is `</reasoning>`",             "It is `</reasoning>`", 0),
        ("two spans",          "`a` or `</think>`, `</think>`.",   "`a` or `</think>`, `</think>`.", 0),
        ("open",               "so `a </think>b\nc`",              "so `a b\nc", 6),
        ("no span",            "plan</think>b",                    "planb", 4),
        ("nothing before it",  "`</think>`b",                      "``b", 1),
        ("a span, then one",   "see `</think>` so</think>b",       "see `</think>` sob", 17),
    ];
    for (name, text, want, late) in cases {
        for dialect in ["glm", "qwen3-coder", "auto"] {
            let run = setup(dialect).run_at_every_cut(name, text);
            let want = if name == "open" { "so `a b\nc`" } else { want };
            assert_eq!(run.completion.text, want, "{dialect}: {name}");
            assert_eq!(run.completion.late_thinking_bytes, late, "{dialect}: {name}");
        }
    }
}

// Rows: N-35a
#[test]
fn the_beginning_of_a_token_at_the_end_of_an_answer_is_text() {
    for dialect in ToolDialect::all() {
        for text in ["a <|", "a <｜", "a <|tool", "let f = x <|", "a </", "a [TOOL"] {
            let run = setup(dialect.name()).run_at_every_cut(dialect.name(), text);
            assert_eq!(run.completion.text, text, "{}", dialect.name());
        }
    }
}

// Rows: N-36
#[test]
fn a_call_without_its_markers_counts_unless_other_text_follows_it() {
    const CALL: &str = "<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>";
    let shown = format!("This is how:\n\n{CALL}\n\nThe port is yours.");
    let question = format!("See\n{CALL}? Then");
    let two = format!("Now\n{CALL}\n<function=bell>\n</function>\n");
    let in_value = CALL.replace("Kiel", "a > b </function> c");
    #[rustfmt::skip]
    let rows: [(&str, String, &[&str], &str); 8] = [
        ("prose goes on",       shown.clone(), &[], &shown),
        ("a mark after the call",    question.clone(),                   &[],     &question),
        ("the end",             format!("Now.\n{CALL}"),            &[TIDE], "Now."),
        ("blanks after the call",    format!("Now.\n{CALL}\n\n"),       &[TIDE], "Now."),
        ("an orphan closer",    format!("Now.\n{CALL}\n</tool_call>\nDone."), &[TIDE], "Now.\n\nDone."),
        ("another call",        two,                                &[TIDE, "bell {}"], "Now"),
        ("nothing before it",   format!("{CALL}\nSo."),             &[TIDE], "So."),
        ("its end in a value",  format!("Now\n{in_value}"),         &[r#"tide {"port":"a > b </function> c"}"#], "Now"),
    ];
    let mut wrong = Vec::new();
    for dialect in ["qwen3-coder", "iquest", "auto"] {
        for (name, text, want, message) in &rows {
            let run = setup(dialect).run_at_every_cut(dialect, text);
            let got = calls(&run);
            if got != *want || run.completion.text.trim() != *message {
                wrong.push(format!("{dialect}, {name}: {got:?} {:?}", run.completion.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Rows: N-37
#[test]
fn a_key_and_a_value_in_one_tag_are_a_pair_of_the_tool() {
    const DRIFT: &str = r#"tide {"port":"Kiel"} +implicit_close"#;
    #[rustfmt::skip]
    check(&[
        ("glm",        "<tool_call>tide<arg_key>port=Kiel</arg_value></tool_call>", &[DRIFT], ""),
        ("poolside",   "<tool_call>tide<arg_key>port = a=b</arg_value></tool_call>", &[r#"tide {"port":" a=b"} +implicit_close"#], ""),
        ("iquest",     "<iquest_tool_call>tide\n<arg_key>port=Kiel</arg_value>\n</iquest_tool_call>", &[DRIFT], ""),
        ("k2-horizon", "<ifm|tool_calls><ifm|tool_call>tide<ifm|arg_key>port=Kiel</ifm|arg_value></ifm|tool_call></ifm|tool_calls>", &[DRIFT], ""),
        ("telechat4",  "<tool_call>save<param_key>body=b</param_value><param_key>file</param_key><param_value>f</param_value></tool_call>",
            &[r#"save {"body":"b","file":"f"} +implicit_close"#], ""),
        // No tool has the key.
        ("glm",        "<tool_call>tide<arg_key>gate=Kiel</arg_value></tool_call>", &["-"], ""),
    ]);
}

// Rows: N-32
#[test]
fn the_opener_of_a_call_may_stand_for_that_of_a_key() {
    const FIXED: &str = r#"tide {"port":"Kiel"} +duplicate_tag"#;
    #[rustfmt::skip]
    check(&[
        ("glm",        "<tool_call>tide<tool_call>port</arg_key><arg_value>Kiel</arg_value></tool_call>", &[FIXED], ""),
        ("poolside",   "<tool_call>tide<tool_call>port</arg_key>\n<arg_value>Kiel</arg_value></tool_call>", &[FIXED], ""),
        ("iquest",     "<iquest_tool_call>tide<iquest_tool_call>port</arg_key><arg_value>Kiel</arg_value></iquest_tool_call>", &[FIXED], ""),
        ("k2-horizon", "<ifm|tool_calls><ifm|tool_call>tide<ifm|tool_call>port</ifm|arg_key><ifm|arg_value>Kiel</ifm|arg_value></ifm|tool_call></ifm|tool_calls>", &[FIXED], ""),
        ("telechat4",  "<tool_call>save<tool_call>body</param_key><param_value>b</param_value><param_key>file</param_key><param_value>f</param_value></tool_call>", &[SAVED], ""),
        // It is the next call: the first takes no arguments, and has no closer.
        ("glm",        "<tool_call>bell<tool_call>tide<arg_key>port</arg_key><arg_value>Kiel</arg_value></tool_call>", &["-", TIDE], ""),
        ("glm",        "<tool_call>save<tool_call>tide\n<arg_key>port</arg_key><arg_value>Kiel</arg_value></tool_call>", &["-", TIDE], ""),
        ("glm",        "<tool_call>save<tool_call>bell</tool_call>", &["-", "bell {}"], ""),
        // No tool has the key.
        ("glm",        "<tool_call>tide<tool_call>gate</arg_key><arg_value>Kiel</arg_value></tool_call>", &["-"], ""),
    ]);
}
