//! Values in tags: their ends, and what only occurs in them.

use super::harness::{Setup, lines, schema};
use forgeline_parser::ToolDialect;

const TYPES: &str = r#"{"o":{"type":"object"},"u":{"anyOf":[{"type":"string"},{"type":"object"}]},
    "s":{"type":"string"},"l":{"type":"array","items":{"type":"string"}}}"#;

fn setup_with(dialect: &str) -> Setup {
    let tools = ToolDialect::by_name(dialect).unwrap();
    let setup = Setup::default();
    Setup { options: setup.options.tools(tools).schemas(schema(TYPES)), ..setup }
}

fn check(cases: &[(&str, &str, &[&str])]) {
    for (dialect, text, want) in cases {
        let got = lines(&setup_with(dialect).run_at_every_cut(dialect, text));
        assert_eq!(got, *want, "{dialect}: {text:?}");
    }
}

// Found: RT
#[test]
fn tags_and_closers_in_the_strings_of_json_are_data() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=o>\n{\"a\":\"</parameter></function>\"}\n</parameter>\n</function>\n</tool_call>", &[r#"C t {"o":{"a":"</parameter></function>"}}"#]),
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=o>\n{\"a\":\"</tool_call><tool_call><function=g><parameter=q>1\"}\n</parameter>\n</function>\n</tool_call>", &[r#"C t {"o":{"a":"</tool_call><tool_call><function=g><parameter=q>1"}}"#]),
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=l>\n[\"</parameter>\",\n\"</parameter>\\n<parameter=s>\\\"\", \"x\"]\n</parameter>\n</function>\n</tool_call>", &["C t {\"l\":[\"</parameter>\",\n\"</parameter>\\n<parameter=s>\\\"\", \"x\"]}"]),
        ("glm",         "<tool_call>t<arg_key>o</arg_key><arg_value>{'a':'</arg_value><arg_key>k</arg_key>'}</arg_value></tool_call>", &[r#"C t {"o":{"a":"</arg_value><arg_key>k</arg_key>"}} +single_quotes"#]),
        ("glm",         "<tool_call>t<arg_key>u</arg_key><arg_value>{\"a\":\"</arg_value></tool_call>\"}</arg_value></tool_call>", &[r#"C t {"u":{"a":"</arg_value></tool_call>"}}"#]),
        ("dsml",        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"t\">\n<｜DSML｜parameter name=\"z\" string=\"false\">{\"a\":\"</｜DSML｜parameter></｜DSML｜invoke>\"}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", &[r#"C t {"z":{"a":"</｜DSML｜parameter></｜DSML｜invoke>"}}"#]),
        ("minimax-m2",  "<minimax:tool_call>\n<invoke name=\"t\">\n<parameter name=\"arguments\">{\"s\":\"</parameter></invoke>\"}</parameter>\n</invoke>\n</minimax:tool_call>", &[r#"C t {"s":"</parameter></invoke>"} +string_arguments"#]),
    ]);
}

// Found: RT
#[test]
fn a_string_of_json_that_is_broken_ends_with_its_value() {
    #[rustfmt::skip]
    check(&[
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=o>\n{\"a\":\"x</parameter>\n</function>\n</tool_call>tail", &[r#"C t {"o":{"a":"x"},"o":"{\"a\":\"x"} +unquoted_string"#, "M:tail"]),
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=o>\n{\"a\":\"x</parameter>\n<parameter=s>\n\"q\"\n</parameter>\n</function>\n</tool_call>", &[r#"C t {"o":{"a":"x"},"o":"{\"a\":\"x","s":"\"q\""} +unquoted_string"#]),
        ("qwen3-coder", "<tool_call>\n<function=t>\n<parameter=o>\n{\"a\":\"x\n</function>\n</tool_call> \"b\"", &[r#"C t {"o":{"a":"x"},"o":"{\"a\":\"x"} +implicit_close+unquoted_string"#, "M: \"b\""]),
        ("glm",         "<tool_call>t<arg_key>o</arg_key><arg_value>{\"a\":\"</arg_value><arg_key>s</arg_key><arg_value>v</arg_value></tool_call>b", &[r#"C t {"o":{"a":""},"o":"{\"a\":\"","s":"v"} +unquoted_string"#, "M:b"]),
        ("glm",         "<tool_call>t<arg_key>u</arg_key><arg_value>{\"a</arg_value></tool_call>b", &[r#"C t {"u":"{\"a"}"#, "M:b"]),
    ]);
    let front = "<tool_call>t<arg_key>o</arg_key><arg_value>{\"a\":\"</arg_value></tool_call>";
    let text = format!("{front}{}", "x".repeat(70 << 10));
    let run = setup_with("glm").run([text.as_str()]);
    assert!(!run.completion.tool_calls[0].is_complete(), "64 KiB on, the closer was data");
    assert_eq!(run.completion.text, "");
}

// Found: RT
#[test]
fn a_key_in_a_value_is_one_only_when_it_is_whole() {
    #[rustfmt::skip]
    check(&[
        ("glm",    "<tool_call>t<arg_key>s</arg_key><arg_value>a\n<arg_key></tool_call> b</arg_value></tool_call>", &[r#"C t {"s":"a\n<arg_key></tool_call> b"}"#]),
        ("glm",    "<tool_call>t<arg_key>s</arg_key><arg_value>a <arg_key></tool_call><tool_call><arg_key> b</arg_value></tool_call>", &[r#"C t {"s":"a <arg_key></tool_call><tool_call><arg_key> b"}"#]),
        ("glm",    "<tool_call>t<arg_key>s</arg_key><arg_value>\n<arg_key>\n</arg_value></tool_call>", &[r#"C t {"s":"\n<arg_key>\n"}"#]),
        ("glm",    "<tool_call>t<arg_key>s</arg_key><arg_value>a\n<arg_key>o</arg_key><arg_value>{}</arg_value></tool_call>", &[r#"C t {"s":"a","o":{}} +implicit_close"#]),
        ("iquest", "<iquest_tool_call>t<arg_key>s</arg_key><arg_value><arg_key></arg_value></iquest_tool_call>", &[r#"C t {"s":"<arg_key>"}"#]),
    ]);
}

// Found: RT
#[test]
fn keys_names_and_escapes_are_what_their_family_writes() {
    #[rustfmt::skip]
    check(&[
        ("kimi-k3",   "<|open|>tools<|sep|><|open|>call tool=\"t\" index=\"1\"<|sep|><|open|>argument key=\" a \" type=\"number\"<|sep|>1<|close|>argument<|sep|><|open|>argument key=\"\" type=\"string\"<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", &[r#"C t {" a ":1,"":"x"}"#]),
        ("apertus",   r#"<|tools_prefix|>[{"name": {"a": 1}}, {"arguments": {"b": 2}}, {"parameters": {}}, {"name": "t", "arguments": {}}]<|tools_suffix|>"#, &[r#"C name {"a": 1}"#, r#"C arguments {"b": 2}"#, "C parameters {}", "C t {}"]),
        ("hermes",    r"<tool_call>{'name': 't', 'arguments': {'p': '\x1b[1m\xe9\x4'}}</tool_call>", &[r#"C t {"p": "\u001b[1m\u00e9\\x4"} +single_quotes+invalid_escape"#]),
    ]);
}

// Found: RT
#[test]
fn elements_of_forge_that_may_be_two_things() {
    #[rustfmt::skip]
    let cases = [
        ("<u><a>1</a><b>x</b></u>",      r#"{"u":{"a":1,"b":"x"}}"#),
        ("<u>{\"a\": 1}</u>",            r#"{"u":{"a": 1}}"#),
        ("<u>{no</u>",                   r#"{"u":"{no"}"#),
        ("<u> plain</u>",                r#"{"u":" plain"}"#),
        ("<u>a <b>bold</b> word</u>",    r#"{"u":"a <b>bold</b> word"}"#),
        ("<u></u>",                      r#"{"u":""}"#),
        ("<l></l>",                      r#"{"l":[]}"#),
        ("<l></l><l> </l><l>a</l>",      r#"{"l":[""," ","a"]}"#),
        ("<l>a</l><l></l><s>x</s>",      r#"{"l":["a",""],"s":"x"}"#),
        ("<l>[1]</l>",                   r#"{"l":["[1]"]}"#),
        ("<l>[\"1\", \"2\"]</l>",        r#"{"l":["1", "2"]}"#),
        ("<o><k></k><k>b</k></o>",       r#"{"o":{"k":["","b"]}}"#),
    ];
    for (arguments, want) in cases {
        let text =
            format!("<tool><tool_name>t</tool_name><arguments>{arguments}</arguments></tool>");
        let got = lines(&setup_with("forge").run_at_every_cut("forge", &text));
        assert_eq!(got, [format!("C t {want}")], "{arguments}");
    }
}

// Found: P17
#[test]
fn a_carriage_return_and_a_line_feed_are_one_line_end_of_framing() {
    let call = |open: &str, value: &str, close: &str| {
        format!(
            "<tool_call>\r\n<function=t>\r\n<parameter=s>{open}{value}{close}</parameter>\r\n</function>\r\n</tool_call>"
        )
    };
    #[rustfmt::skip]
    let cases = [
        ("\r\n", "v",          "\r\n", "v"),
        ("\r\n", "v",          "\n",   "v"),
        ("\n",   "v\r",        "",     "v\\r"),
        ("\r\n", "\r\nv\r\n",  "\r\n", "\\r\\nv\\r\\n"),
        ("\r\n", "a\r\nb",     "\r\n", "a\\r\\nb"),
        ("",     "\rv\n\r",    "",     "\\rv\\n\\r"),
        ("\r\n", "",           "",     ""),
        ("",     "\r",         "",     "\\r"),
        ("\r\n", "\r",         "",     "\\r"),
    ];
    for (open, value, close, want) in cases {
        let text = call(open, value, close);
        let got = lines(&setup_with("qwen3-coder").run_at_every_cut("qwen3-coder", &text));
        assert_eq!(got, [format!("C t {{\"s\":\"{want}\"}}")], "{text:?}");
    }
    // A family without framing keeps both.
    let text = "<seed:tool_call><function=t><parameter=s>\r\nv\r\n</parameter></function></seed:tool_call>";
    let got = lines(&setup_with("seed-oss").run_at_every_cut("seed-oss", text));
    assert_eq!(got, [r#"C t {"s":"\r\nv\r\n"}"#]);
}
