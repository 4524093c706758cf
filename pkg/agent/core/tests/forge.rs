//! Every input on which Go's Forge is known to go wrong, at every cut.

use super::harness::{Setup, lines};
use forgeline_types::FinishReason;

const JSON: &str = r#"<tool>{"tool_name":"t","arguments":{"a":1}}</tool>"#;
const XML: &str = "<tool><tool_name>t</tool_name><arguments><a>1</a></arguments></tool>";

#[test]
fn every_wrong_answer_of_go_is_right_at_every_cut() {
    let prose = "if a < b then c < d, as x<y & y>z. ".repeat(29);
    let only_prose = format!("M:{prose}");
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("G-1 text before a call", format!("Let me check that. {JSON}"), vec!["M:Let me check that. ", r#"C t {"a":1}"#]),
        ("G-2 a tail with an angle bracket", "< 3 and that is all".into(), vec!["M:< 3 and that is all"]),
        ("G-3 prose with angle brackets", prose.clone(), vec![&only_prose]),
        ("G-4 thinking in the middle", "Answer first. <thinking>then plan</thinking> more".into(), vec!["M:Answer first. ", "T:then plan", "M: more"]),
        ("G-5 text around a call", format!("before {JSON} after"), vec!["M:before ", r#"C t {"a":1}"#, "M: after"]),
        ("G-6 thinking tag in CDATA", "<tool><tool_name>t</tool_name><arguments><a><![CDATA[<thinking>x</thinking>]]></a></arguments></tool>".into(), vec![r#"C t {"a":"<thinking>x</thinking>"}"#]),
        ("G-6 thinking tag in a JSON string", r#"<tool>{"tool_name":"t","arguments":{"a":"<thinking>x</thinking>"}}</tool>"#.into(), vec![r#"C t {"a":"<thinking>x</thinking>"}"#]),
        ("G-7 closer in CDATA", "<tool><tool_name>t</tool_name><arguments><a><![CDATA[</tool>]]></a></arguments></tool>".into(), vec![r#"C t {"a":"</tool>"}"#]),
        ("G-7 closer in a JSON string", r#"<tool>{"tool_name":"t","arguments":{"a":"x</tool>y"}}</tool>ok"#.into(), vec![r#"C t {"a":"x</tool>y"}"#, "M:ok"]),
        ("G-7 closer in a comment", "<tool><!-- </tool> --><tool_name>t</tool_name></tool>".into(), vec!["C t {}"]),
        ("G-8 JSON payload", JSON.into(), vec![r#"C t {"a":1}"#]),
        ("G-8 XML payload", XML.into(), vec![r#"C t {"a":1}"#]),
        ("G-9 two calls", format!("{JSON}{XML}"), vec![r#"C t {"a":1}"#, r#"C t {"a":1}"#]),
        ("G-11 a mention in a code span", "Use the `<tool>` tag. Bye.".into(), vec!["M:Use the `<tool>` tag. Bye."]),
        ("G-11 a mention in a fence", "See:\n```\n<tool>x</tool>\n```\nBye.".into(), vec!["M:See:\n```\n<tool>x</tool>\n```\nBye."]),
        ("G-14 blanks between thinking and call", format!("<thinking>a</thinking>\n\n \n{JSON}\n"), vec!["T:a", r#"C t {"a":1}"#]),
        ("G-15 nested and repeated arguments", "<tool><tool_name>t</tool_name><arguments><f><n>x</n><n>y</n></f><g><h>z</h></g></arguments></tool>".into(), vec![r#"C t {"f":{"n":["x","y"]},"g":{"h":"z"}}"#]),
        ("G-16 Thinking", "<Thinking>a</Thinking>b".into(), vec!["T:a", "M:b"]),
        ("G-16 thinking with a blank", "<thinking >a</thinking >b".into(), vec!["T:a", "M:b"]),
        ("G-16 think", "<think>a</think>b".into(), vec!["T:a", "M:b"]),
        ("G-16 tool with an attribute", JSON.replace("<tool>", "<tool name=\"x\">"), vec![r#"C t {"a":1}"#]),
        ("G-20 secret", "<thinking>secret</thinking>public".into(), vec!["T:secret", "M:public"]),
        ("G-22 angle bracket in XML", "<tool><tool_name>t</tool_name><arguments><q>if a < b {} && c</q></arguments></tool>".into(), vec![r#"C t {"q":"if a < b {} && c"}"#]),
        ("G-23 blanks around a name", "<tool><tool_name>\n converse \n</tool_name></tool>".into(), vec!["C converse {}"]),
        ("G-24 a call that does not parse", "<tool>{converse}</tool>x".into(), vec!["C   malformed at 9: a colon is missing after a key +unquoted_key", "M:x"]),
    ];
    for (name, text, want) in cases {
        let run = Setup::default().run_at_every_cut(name, &text);
        assert_eq!(lines(&run), want, "{name}");
        assert!(run.completion.error.is_none(), "{name}");
    }
}

#[test]
fn g_12_a_cut_inside_a_call_is_incomplete_and_a_whole_one_is_closed() {
    for cut in 6..JSON.len() {
        let text = &JSON[..cut];
        let setup = Setup { finish: Some(FinishReason::Length), ..Setup::default() };
        let run = setup.run_at_every_cut("length", text);
        let [call] = run.completion.tool_calls.as_slice() else { panic!("{text}") };
        assert_eq!(call.outcome, forgeline_types::CallOutcome::Incomplete, "{text}");
        let run = Setup::default().run([text]);
        let is_whole = text.ends_with("}}") || text.contains("}}<");
        assert_eq!(run.completion.tool_calls[0].is_complete(), is_whole, "{text}");
    }
}

#[test]
fn g_18_a_stream_without_an_end_is_an_error_and_never_runs_a_call() {
    let setup = Setup { is_finished: false, ..Setup::default() };
    let run = setup.run_at_every_cut(
        "ended early",
        &format!("Half <thinking>a</thinking>{}", &JSON[..JSON.len() - 7]),
    );
    assert_eq!(run.completion.error.unwrap().code, forgeline_types::ErrorCode::EndedEarly);
    assert!(!run.completion.tool_calls[0].is_complete());
    assert_eq!(run.completion.text, "Half ");
}
