//! The end of a run of the command: stdout, stderr, the exit status and the last line of `--json`.

use forgeline_testkit::server::{ScriptedServer, Step};
use serde_json::{Value, json};

use crate::{
    process::{forgeline, run},
    run::{answer, ask, delta},
};

/// An answer of this delta that ends with this word.
fn ends(content: &Value, finish: &str) -> Vec<Step> {
    let done = Step::chunk("data: [DONE]\n\n");
    vec![Step::stream(), delta(content, None), delta(&json!({}), Some(finish)), done, Step::End]
}

fn refused_key() -> Vec<Step> {
    let head = Step::Head(401, vec![("content-type", "application/json".to_owned())]);
    let body = Step::chunk(r#"{"error":{"message":"No such key.","code":"invalid_api_key"}}"#);
    vec![head, body, Step::End]
}

fn call() -> Value {
    let function = json!({ "name": "calculator", "arguments": "{\"expression\":\"6*7\"}" });
    json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] })
}

/// Ending, code of the error, flags, answers of the server, the answer on stdout, words on stderr.
type Row<'a> = (&'a str, &'a str, &'a [&'a str], Vec<Vec<Step>>, &'a str, &'a str);

/// The rows of the table in the documentation: ending, codes of the error, exit status.
fn documented() -> Vec<(String, String, String)> {
    let page = include_str!("../../../../docs/guide/embedding.md");
    let table = page.split_once("| ending | when |").unwrap().1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        (cells[1].clone(), cells[3].clone(), cells[5].clone())
    };
    rows.map(row).collect()
}

// Rows: N-01, N-02, N-03, N-04, N-05, N-06, N-09, N-11
#[tokio::test(flavor = "multi_thread")]
async fn each_ending_is_reported_on_stderr_by_the_exit_status_and_in_json_as_documented() {
    let text = |words: &str| json!({ "content": words });
    let nothing = || ends(&json!({}), "stop");
    let schema = concat!(env!("CARGO_TARGET_TMPDIR"), "/endings-schema.json");
    std::fs::write(schema, r#"{"type":"object","required":["n"]}"#).unwrap();
    let (limit, typed) = (["--max-turns", "1"], ["--schema", schema]);
    let refusal = json!({ "refusal": "I must not." });
    #[rustfmt::skip]
    let rows: [Row<'_>; 17] = [
        ("answered",  "",                 &[],    vec![answer("Hi.")],                                          "Hi.",      ""),
        ("answered",  "",                 &[],    vec![ends(&call(), "tool_calls"), answer("42.")],             "42.",      ""),
        ("answered",  "",                 &[],    vec![nothing(), answer("Hi.")],                               "Hi.",      ""),
        ("answered",  "",                 &typed, vec![answer("Hi."), answer("{\"n\":1}")],                     "{\"n\":1}", ""),
        ("limit",     "",                 &limit, vec![ends(&call(), "tool_calls"), answer("So far.")],         "So far.",  ""),
        ("limit",     "max_turns",        &limit, vec![ends(&call(), "tool_calls"), ends(&call(), "tool_calls")], "",       "the limit of 1 turns is reached"),
        ("limit",     "max_turns",        &limit, vec![ends(&call(), "tool_calls"), nothing()],                 "",         "the limit of 1 turns is reached"),
        ("refused",   "refused",          &[],    vec![ends(&refusal, "stop")],                                 "",         "refused to answer: I must not."),
        ("filtered",  "content_filtered", &[],    vec![ends(&text("I can"), "content_filter")],                 "I can",    "content filter"),
        ("filtered",  "content_filtered", &[],    vec![ends(&json!({}), "content_filter")],                     "",         "content filter"),
        ("filtered",  "content_filtered", &[],    vec![ends(&call(), "content_filter"), answer("42.")],         "",         "content filter"),
        ("malformed", "malformed_answer", &[],    vec![ends(&json!({}), "tool_calls"), ends(&json!({}), "tool_calls")], "", "says that it calls a tool"),
        ("empty",     "empty_answer",     &[],    vec![nothing(), nothing()],                                   "",         "The model gave no answer"),
        ("empty",     "empty_answer",     &[],    vec![ends(&json!({ "reasoning_content": "Hm." }), "stop"), nothing()], "", "The model gave no answer"),
        ("invalid",   "invalid_answer",   &typed, vec![answer("Hi."), answer("Ho.")],                           "Ho.",      "not JSON"),
        ("cut",       "cut_answer",       &[],    vec![ends(&text("a"), "length"), ends(&text("b"), "length"), ends(&text("c"), "length")], "abc", "cut off"),
        ("failed",    "auth",             &[],    vec![refused_key()],                                           "",         "No such key."),
    ];
    let documented = documented();
    assert_eq!(documented.len(), 10);
    for (ending, code, flags, script, said, words) in rows {
        let name = format!("{ending}, {words:?}, {} answers", script.len());
        let status = i32::from(!code.is_empty());
        let script = || script.clone();
        let server = ScriptedServer::start(script()).await;
        let outcome = ask(&server, &[&["--json"], flags].concat());
        let completion = outcome.completion();
        assert_eq!(
            (outcome.code, completion["ending"].as_str()),
            (Some(status), Some(ending)),
            "{name}: {outcome:?}"
        );
        assert_eq!(completion["error"]["code"].as_str().unwrap_or_default(), code, "{name}");
        assert_eq!(completion["complete"].as_bool(), Some(status == 0), "{name}");
        assert_eq!(completion["text"], said, "{name}: the last turn's text");
        assert!(!completion["turns"].as_array().unwrap().is_empty(), "{name}");
        assert!(outcome.stderr.contains(words), "{name}: {}", outcome.stderr);
        let (_, codes, statuses) = documented.iter().find(|row| row.0 == ending).unwrap();
        assert!(statuses.contains(&status.to_string()), "{name}: {statuses}");
        assert!(codes.contains(code) || ending == "failed", "{name}: {codes}");

        let server = ScriptedServer::start(script()).await;
        let outcome = ask(&server, &[&["-q"], flags].concat());
        assert_eq!(outcome.code, Some(status), "{name}: {outcome:?}");
        assert!(outcome.stdout.trim_end().ends_with(said), "{name}: {outcome:?}");
        assert!(!outcome.stdout.contains("The model gave no answer"), "{name}: {outcome:?}");
        assert!(outcome.stderr.contains(words), "{name}: {}", outcome.stderr);
    }
}

// Rows: N-07, N-08
#[test]
fn what_cannot_work_is_refused_before_the_first_request() {
    let at = ["run", "--base-url", "http://127.0.0.1:9/v1", "-m", "of-nobody"];
    let cost = ["--budget-cost", "0.01"];
    let priced = ["--budget-cost", "0.01", "--price", "2.5,10"];
    #[rustfmt::skip]
    let rows: [(&str, Vec<&str>, i32, &str); 8] = [
        ("no price",        [&at[..], &cost, &["hi"]].concat(),                                     2, "--price"),
        ("a wrong price",   [&at[..], &["--price", "cheap", "hi"]].concat(),                        2, "--price"),
        ("a price",         [&at[..], &priced, &["hi"]].concat(),                                   1, "127.0.0.1:9"),
        ("the demo's",      vec!["run", "--provider", "demo", "--budget-cost", "1", "hi"],          2, "--price"),
        ("nobody",          vec!["run", "hi"],                                                      2, "set OPENAI_API_KEY"),
        ("nobody, quietly", vec!["run", "-q", "hi"],                                                2, "--provider demo"),
        ("nobody, chat",    vec!["chat"],                                                           2, "--base-url"),
        ("the demo by name", vec!["run", "-q", "--provider", "demo", "hi"],                         0, ""),
    ];
    let is_local = {
        let ports = [11434, 8080, 1234, 8000, 8081, 9931, 30000];
        ports.iter().any(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok())
    };
    for (name, arguments, status, told) in rows {
        if is_local && name.starts_with("nobody") {
            continue;
        }
        let outcome = run(&arguments, b"");
        assert_eq!(outcome.code, Some(status), "{name}: {outcome:?}");
        assert!(outcome.stderr.contains(told), "{name}: {}", outcome.stderr);
        assert!(status == 0 || outcome.stdout.is_empty(), "{name}: {outcome:?}");
    }
    let help = String::from_utf8(forgeline(&["run", "--help"]).output().unwrap().stdout).unwrap();
    for word in ["Exit status: 0", "refused, filtered, malformed, empty, invalid, cut", "130"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(word), "{word}");
    }
}
