//! `forgeline run` and `forgeline chat`: against the demo and a scripted server.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Command,
};

use forgeline_testkit::server::{ScriptedServer, Seen, Step};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::process::{Outcome, forgeline, run};

/// One event of a Chat Completions stream.
pub(crate) fn delta(delta: &Value, finish: Option<&str>) -> Step {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk =
        json!({ "object": "chat.completion.chunk", "model": "served", "choices": [choice] });
    Step::chunk(format!("data: {chunk}\n\n"))
}

/// A whole answer of this text.
pub(crate) fn answer(text: &str) -> Vec<Step> {
    let done = Step::chunk("data: [DONE]\n\n");
    vec![
        Step::stream(),
        delta(&json!({ "content": text }), None),
        delta(&json!({}), Some("stop")),
        done,
        Step::End,
    ]
}

/// `forgeline run` against this server.
pub(crate) fn ask(server: &ScriptedServer, flags: &[&str]) -> Outcome {
    let url = server.url();
    block_in_place(|| {
        run(&[&["run", "--base-url", &url, "--model", "m"], flags, &["hello"]].concat(), b"")
    })
}

#[test]
fn the_demo_thinks_calls_tools_and_answers_offline() {
    let question = "What is 6 * 7?";
    let outcome = run(&["run", "--provider", "demo", "--json", question], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let lines = outcome.lines();
    let (completion, events) = lines.split_last().unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], at, "{event}");
        assert!(
            event["run_id"].is_string() && event["turn"].is_u64() && event["at"].is_u64(),
            "{event}"
        );
    }
    assert_eq!(completion["type"], "completion");
    assert!(completion["text"].as_str().unwrap().contains("42"), "{completion}");
    assert!(!completion["thinking"].as_str().unwrap().is_empty());
    assert_eq!(completion["tool_calls"][0]["name"], "calculator");
    assert!(events.iter().any(|event| event["type"] == "tool_result"));
    let shown = run(&["run", "--provider", "demo", question], b"");
    assert!(shown.stderr.contains("● calculator"), "{}", shown.stderr);
    assert_eq!(shown.stdout, "6 * 7 = 42\n");
    assert!(!shown.stdout.contains('\u{1b}') && !shown.stderr.contains('\u{1b}'), "{shown:?}");
    assert!(shown.stderr.contains("provider: demo"), "{}", shown.stderr);
}

/// The case, its flags, the answers of the server with calls, and the number of notices about them.
type ToldRow<'a> = (&'a str, &'a [&'a str], Vec<Vec<Step>>, usize);

// Rows: N-38
#[tokio::test(flavor = "multi_thread")]
async fn n38_calls_in_the_text_of_an_unknown_model_are_told_once() {
    let told = "calls came in the text of my-own, which is not a known model, and are read there\n";
    let written = |expression: &str| {
        let call = json!({ "name": "calculator", "arguments": { "expression": expression } });
        answer(&format!("<tool_call>\n{call}\n</tool_call>"))
    };
    let call = json!([{ "index": 0, "id": "c", "function": { "name": "calculator", "arguments": "{\"expression\":\"6*7\"}" } }]);
    let native = || {
        let call = delta(&json!({ "tool_calls": call }), Some("tool_calls"));
        vec![Step::stream(), call, Step::chunk("data: [DONE]\n\n"), Step::End]
    };
    let in_text = || vec![written("5*8"), written("6*7")];
    #[rustfmt::skip]
    let rows: [ToldRow<'_>; 5] = [
        ("an unknown model",        &["--model", "my-own"],                        in_text(),      1),
        ("native calls",            &["--model", "my-own"],                        vec![native()], 0),
        ("no calls",                &["--model", "my-own"],                        vec![],         0),
        ("a known model",           &["--model", "Qwen/Qwen3-8B"],                 in_text(),      0),
        ("a dialect that is named", &["--model", "my-own", "--dialect", "hermes"], in_text(),      0),
    ];
    for (name, flags, mut turns, times) in rows {
        let calls = turns.len();
        turns.push(answer("42."));
        let server = ScriptedServer::start(turns).await;
        let url = server.url();
        let outcome = block_in_place(|| {
            run(&[&["run", "--base-url", &url], flags, &["hello"]].concat(), b"")
        });
        assert_eq!(outcome.stdout, "42.\n", "{name}: {outcome:?}");
        assert_eq!(outcome.stderr.matches("● calculator").count(), calls, "{name}: {outcome:?}");
        assert_eq!(outcome.stderr.matches(told).count(), times, "{name}: {outcome:?}");
    }
}

// Found: F13
#[tokio::test(flavor = "multi_thread")]
async fn in_a_pipe_stdout_is_the_answer_alone_and_stdin_goes_beside_the_question() {
    let call = json!([{ "index": 0, "id": "c", "function": { "name": "calculator", "arguments": "{\"expression\":\"6*7\"}" } }]);
    let first = vec![
        Step::stream(),
        delta(&json!({ "reasoning_content": "Hm." }), None),
        delta(&json!({ "content": "Let me see." }), None),
        delta(&json!({ "tool_calls": call }), Some("tool_calls")),
        Step::chunk("data: [DONE]\n\n"),
        Step::End,
    ];
    let mut server = ScriptedServer::start(vec![first, answer("42.")]).await;
    let url = server.url();
    let arguments = ["run", "--base-url", &url, "--model", "m", "What", "is", "this?"];
    let outcome = block_in_place(|| run(&arguments, b"6 *\xff 7\n"));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42.\n"), "{outcome:?}");
    for beside in ["Hm.", "Let me see.", "● calculator", "2 turns"] {
        assert!(outcome.stderr.contains(beside), "{beside}: {}", outcome.stderr);
    }
    let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
    let body: Value = serde_json::from_slice(&body).unwrap();
    let asked = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(asked, "What is this?\n\n6 *\u{fffd} 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_tools_is_asked_in_text_and_stderr_says_so() {
    let refusal = || {
        let error = json!({ "error": { "code": 400, "message": "no grammar\nfor tools" } });
        let head = Step::Head(400, vec![("content-type", "application/json".to_owned())]);
        vec![head, Step::chunk(error.to_string()), Step::End]
    };
    let scripts = vec![refusal(), answer("Hi."), refusal(), answer("Hi."), refusal(), refusal()];
    let mut server = ScriptedServer::start(scripts).await;
    let shown = ask(&server, &[]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stdout, "Hi.\n");
    let want = "the provider does not accept tools, so calls are now written as text \
                (the server answered 400: no grammar for tools)\n";
    assert!(shown.stderr.contains(want), "{}", shown.stderr);
    for has_tools in [true, false] {
        let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.get("tools").is_some(), has_tools, "{body}");
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert_eq!(system.contains("# Tools"), !has_tools, "{system}");
    }
    let json = ask(&server, &["--json"]);
    assert!(json.lines().iter().any(|event| event["name"] == "call_mode_fallback"), "{json:?}");
    assert_eq!(json.completion()["complete"], true);
    let failed = ask(&server, &["--json"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(failed.completion()["error"]["code"], "invalid_request", "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_answer_is_streamed_and_ends_with_its_completion() {
    let server = ScriptedServer::start(vec![answer("Hi there."), answer("\u{1b}[31mred")]).await;
    let outcome = ask(&server, &["--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let completion = outcome.completion();
    assert_eq!(
        (&completion["text"], &completion["finish_reason"]),
        (&json!("Hi there."), &json!("stop"))
    );
    assert_eq!((&completion["complete"], &completion["error"]), (&json!(true), &Value::Null));
    let shown = ask(&server, &["--no-tools"]);
    assert_eq!(shown.stdout, "\\x1b[31mred\n");
    assert!(shown.stderr.contains("(--base-url)"), "{}", shown.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn ollama_is_asked_in_its_own_protocol_and_gets_its_calls_and_thinking_back() {
    let lines = |lines: &[Value]| {
        let mut steps =
            vec![Step::Head(200, vec![("content-type", "application/x-ndjson".to_owned())])];
        steps.extend(lines.iter().map(|line| Step::chunk(format!("{line}\n"))));
        steps.push(Step::End);
        steps
    };
    let call =
        json!({ "function": { "name": "calculator", "arguments": { "expression": "6 * 7" } } });
    let end =
        json!({ "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2 });
    let first = [
        json!({ "model": "m", "message": { "role": "assistant", "content": "", "thinking": "Hm." } }),
        json!({ "message": { "content": "", "tool_calls": [call] } }),
        end.clone(),
    ];
    let second = [json!({ "message": { "role": "assistant", "content": "It is 42." } }), end];
    let mut server = ScriptedServer::start(vec![lines(&first), lines(&second)]).await;
    let outcome = ask(&server, &["--json", "--provider", "ollama"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let completion = outcome.completion();
    assert_eq!(
        (&completion["text"], &completion["thinking"]),
        (&json!("It is 42."), &json!("Hm."))
    );
    assert_eq!(completion["usage"]["input_tokens"], 6);
    assert!(outcome.stderr.contains("provider: ollama with m at http://127."), "{outcome:?}");
    let Seen::Request { head, .. } = server.seen().await else { panic!("no request") };
    assert!(head.starts_with("POST /api/chat "), "{head}");
    let Seen::Request { body, .. } = server.seen().await else { panic!("no second request") };
    let body: Value = serde_json::from_slice(&body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let [.., answer, result] = messages.as_slice() else { panic!("{body}") };
    assert_eq!(answer["thinking"], "Hm.");
    assert_eq!(answer["tool_calls"][0]["function"], call["function"]);
    assert_eq!((&result["role"], &result["tool_name"]), (&json!("tool"), &json!("calculator")));
    assert!(result["content"].as_str().unwrap().contains("42"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_says_so_and_is_not_shown() {
    let body = Step::chunk(
        r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
    );
    let head = Step::Head(401, vec![("content-type", "application/json".to_owned())]);
    let server = ScriptedServer::start(vec![vec![head, body, Step::End]]).await;
    let url = server.url();
    let mut command = forgeline(&[
        "run",
        "--json",
        "--base-url",
        &url,
        "--model",
        "m",
        "--api-key-env",
        "MY_KEY",
        "hi",
    ]);
    let outcome =
        block_in_place(|| Outcome::from(command.env("MY_KEY", "sk-secret").output().unwrap()));
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(outcome.completion()["error"]["code"], "auth");
    assert!(
        outcome.stderr.contains("401") && outcome.stderr.contains("hint: check the key"),
        "{}",
        outcome.stderr
    );
    assert!(!format!("{outcome:?}").contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_answer_is_kept_and_the_failure_reported() {
    let half = vec![Step::stream(), delta(&json!({ "content": "half" }), None), Step::End];
    let server = ScriptedServer::start(vec![half]).await;
    let outcome = ask(&server, &["--json"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let completion = outcome.completion();
    assert_eq!((&completion["text"], &completion["complete"]), (&json!("half"), &json!(false)));
    assert_eq!(completion["error"]["code"], "ended_early");
    assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
}

#[test]
fn a_dead_server_and_wrong_flags_say_what_to_do() {
    // A port that a connection holds, so that nobody can listen on it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let held = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = held.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    #[rustfmt::skip]
    let cases: [(&[&str], i32, &str); 8] = [
        (&["run", "--base-url", &url, "--model", "m", "hi"],            1, "check the address and that the server is running"),
        (&["run", "--base-url", "localhost", "--model", "m", "hi"],     2, "http://127.0.0.1:8080"),
        (&["run", "--provider", "openai", "hi"],                        2, "set OPENAI_API_KEY"),
        (&["run", "--provider", "demo", "--base-url", &url, "hi"],      2, "omit --base-url"),
        (&["run", "--provider", "demo", "--root", "/no/such/dir", "x"], 2, "--root: the folder `/no/such/dir` cannot be opened"),
        (&["run", "--provider", "demo", "--max-turns", "0", "x"],       2, "--help"),
        (&["run", "--provider", "demo", " "],                           2, "the prompt is empty"),
        (&["run", "--provider", "demo"],                                2, "PROMPT"),
    ];
    for (arguments, code, advice) in cases {
        let outcome = run(arguments, b"");
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(advice), "{arguments:?}: {}", outcome.stderr);
    }
}

// Found: R4
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_takes_too_long_is_stopped_by_the_limit() {
    let half = vec![Step::stream(), delta(&json!({ "content": "half" }), None), Step::Stall];
    let mut server = ScriptedServer::start(vec![half]).await;
    let outcome = ask(&server, &["--json", "--timeout", "6"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let completion = outcome.completion();
    assert_eq!(
        (&completion["text"], &completion["error"]["code"]),
        (&json!("half"), &json!("timeout"))
    );
    assert!(outcome.stderr.contains("longer than 6s"), "{}", outcome.stderr);
    assert!(matches!(server.seen().await, Seen::Request { .. }));
    assert_eq!(server.seen().await, Seen::Closed);
}

// Found: F2
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_read_in_the_form_that_a_flag_names() {
    let call = "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}}\n</tool_call>";
    let scripts = vec![answer(call), answer("It is 42."), answer(call), answer("42.")];
    let mut server = ScriptedServer::start(scripts).await;
    for (flags, is_native) in [
        (&["--dialect", "hermes"][..], true),
        (&["--call-mode", "text", "--dialect", "hermes"], false),
    ] {
        let outcome = ask(&server, &[&["--json"], flags].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.completion()["tool_calls"][0]["name"], "calculator", "{flags:?}");
        for _ in 0..2 {
            let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body.get("tools").is_some(), is_native, "{flags:?}: {body}");
        }
    }
    let outcome = run(&["run", "--provider", "demo", "--dialect", "klingon", "hi"], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("klingon"), "{}", outcome.stderr);
}

// Found: R12
#[cfg(unix)]
#[test]
fn a_key_that_is_not_utf_8_is_an_error_that_does_not_show_it() {
    use std::os::unix::ffi::OsStrExt as _;
    let key = std::ffi::OsStr::from_bytes(b"sk-\xff-hidden");
    let mut command = forgeline(&["run", "--provider", "openai", "hi"]);
    let outcome = Outcome::from(command.env("OPENAI_API_KEY", key).output().unwrap());
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("OPENAI_API_KEY is not valid UTF-8"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("hidden"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_closes_the_connection_and_the_events_end_properly() {
    let script = vec![Step::stream(), delta(&json!({ "content": "half" }), None), Step::Stall];
    let mut server = ScriptedServer::start(vec![script]).await;
    let url = server.url();
    let mut child =
        forgeline(&["run", "--json", "--base-url", &url, "--model", "m", "hi"]).spawn().unwrap();
    let outcome = block_in_place(|| {
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("message_content") {
            assert_ne!(stdout.read_line(&mut text).unwrap(), 0, "{text}");
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        stdout.read_to_string(&mut text).unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Outcome { code: child.wait().unwrap().code(), stdout: text, stderr }
    });
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let kinds: Vec<_> = outcome.lines().iter().map(|line| line["type"].clone()).collect();
    for kind in ["message_start", "message_end", "error"] {
        assert_eq!(kinds.iter().filter(|found| *found == kind).count(), 1, "{kinds:?}");
    }
    let completion = outcome.completion();
    assert_eq!(
        (&completion["text"], &completion["error"]["code"]),
        (&json!("half"), &json!("cancelled"))
    );
    assert!(matches!(server.seen().await, Seen::Request { .. }));
    assert_eq!(server.seen().await, Seen::Closed);
}

#[test]
fn a_chat_from_a_pipe_answers_each_line_and_ends_with_it() {
    let input =
        "What is 6 * 7?\n\n/tools\n/usage\n/nonsense\n/compact\n/clear\n/help\nWhat is 2 + 3?";
    let outcome = run(&["chat", "--provider", "demo"], input.as_bytes());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for want in [
        "42",
        "calculator: ",
        "Unknown command /nonsense",
        "with your next message",
        "was cleared",
        "/quit",
        "5",
    ] {
        assert!(outcome.stdout.contains(want), "{want}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains('\u{1b}'), "{}", outcome.stdout);
    let left = run(&["chat", "--provider", "demo"], b"/quit\nWhat is 6 * 7?\n");
    assert_eq!((left.code, left.stdout.as_str()), (Some(0), ""));
}
