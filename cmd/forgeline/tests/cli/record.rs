//! `forgeline run --record` and `forgeline replay` of what it wrote.

use std::{fs, path::PathBuf, process::Stdio, time::Instant};

use forgeline_testkit::server::{ScriptedServer, Step};
use serde_json::json;
use tokio::task::block_in_place;

use crate::process::{finish, forgeline, run};

fn path(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().to_owned()
}

fn event(delta: &serde_json::Value, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk = json!({ "object": "chat.completion.chunk", "model": "m", "choices": [choice] });
    format!("data: {chunk}\n\n").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_without_its_key_and_each_turn_plays() {
    let call = json!({ "index": 0, "id": "c1", "function": { "name": "calculator", "arguments": "{\"expression\":\"6*7\"}" } });
    let call = event(&json!({ "tool_calls": [call] }), Some("tool_calls"));
    let (said, end) =
        (event(&json!({ "content": "It is 42." }), None), event(&json!({}), Some("stop")));
    let (front, back) = said.split_at(50);
    let done = || [Step::chunk("data: [DONE]\n\n"), Step::End];
    let first = [vec![Step::stream(), Step::chunk(call)], done().to_vec()].concat();
    let second = [Step::stream(), Step::chunk(front), Step::chunk(back), Step::chunk(end)];
    let second = [second.to_vec(), done().to_vec()].concat();
    let server = ScriptedServer::start(vec![first, second]).await;
    let file = path("session.jsonl");
    let key = "a-planted-key-0815";
    let url = server.url();
    let arguments = ["run", "--base-url", &url, "--record", &file, "--force", "What", "is", "6*7?"];
    let mut command = forgeline(&arguments);
    let command = command.env("OPENAI_API_KEY", key).stdin(Stdio::piped());
    let recorded = block_in_place(|| finish(command.spawn().unwrap(), b""));
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert!(recorded.stderr.contains("recorded 2 exchanges in "), "{}", recorded.stderr);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains(key) && text.contains("calculator"), "{text}");

    let start = Instant::now();
    for (flags, calls, said) in [
        (&[][..], 1, ""),
        (&["--turn", "2"], 0, "It is 42."),
        (&["--turn", "2", "--chunk-bytes", "1", "--realtime"], 0, "It is 42."),
        (&["--turn", "2", "--protocol", "openai-chat", "--chunk-bytes", "0"], 0, "It is 42."),
    ] {
        let outcome = block_in_place(|| run(&[&["replay", "--json", &file], flags].concat(), b""));
        assert_eq!(outcome.code, Some(0), "{flags:?}: {outcome:?}");
        let completion = outcome.completion();
        assert_eq!(completion["text"], said, "{flags:?}");
        assert_eq!(completion["tool_calls"].as_array().unwrap().len(), calls, "{flags:?}");
        assert_eq!(completion["complete"], true);
    }
    assert!(start.elapsed().as_secs() < 60);
    let outcome = block_in_place(|| run(&["replay", &file, "--turn", "3"], b""));
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--turn takes one of: 1, 2"), "{}", outcome.stderr);
}

// Found: R7
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_is_stopped_has_what_had_arrived() {
    use std::{io::Read as _, process::Command};

    let half: Vec<_> = (0..100).map(|at| format!("half an answer {at}\n")).collect();
    let half = event(&json!({ "content": half.concat() }), None);
    let script = vec![Step::stream(), Step::chunk(half), Step::Stall];
    let server = ScriptedServer::start(vec![script]).await;
    let (file, url) = (path("stopped.jsonl"), server.url());
    let arguments =
        ["run", "--base-url", &url, "--record", &file, "--force", "A_PASSWORD=hunter22"];
    let mut child = forgeline(&arguments).spawn().unwrap();
    let code = block_in_place(|| {
        child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        child.wait().unwrap().code()
    });
    assert_eq!(code, Some(130));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 2, "the head, and the exchange that was stopped");
    assert!(text.contains("half an answer") && text.contains("A_PASSWORD=xxxxxxxx"), "{text}");
}

fn recording(name: &str, exchange: &str) -> String {
    let file = path(name);
    let header = r#"{"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}"#;
    let request = r#""request":{"method":"POST","url":"http://h/v1/chat/completions","headers":{},"body":{}}"#;
    fs::write(&file, format!("{header}\n{{\"turn\":1,{request},{exchange}}}\n")).unwrap();
    file
}

#[test]
fn recorded_failure_is_replayed() {
    let body = r#"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n"#;
    let broken = format!(
        r#""response":{{"status":200,"head_ms":1,"headers":{{}},"body":"{body}","reads":[[50,2]]}},"ended":"broken""#
    );
    let refused = r#""response":{"status":401,"head_ms":1,"headers":{},"body":"{\"error\":{\"message\":\"no such key\"}}","reads":[[35,2]]},"ended":"whole""#;
    let gone = r#""failed":{"kind":"connect","host":"h:80","message":"no route"},"ended":"broken""#;
    for (name, exchange, text, code) in [
        ("broken.jsonl", broken.as_str(), "half", "connect"),
        ("refused.jsonl", refused, "", "auth"),
        ("gone.jsonl", gone, "", "connect"),
    ] {
        let outcome = run(&["replay", "--json", &recording(name, exchange)], b"");
        assert_eq!(outcome.code, Some(1), "{name}: {outcome:?}");
        let completion = outcome.completion();
        assert_eq!(completion["text"], text, "{name}");
        assert_eq!(completion["error"]["code"], code, "{name}: {completion}");
    }
}

// Found: R7
#[test]
fn a_recording_that_was_cut_plays_and_says_so() {
    let body = r#"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"#;
    let exchange = format!(
        r#""response":{{"status":200,"head_ms":1,"headers":{{}},"body":"{body}","reads":[[85,2]]}},"ended":"whole""#
    );
    let file = recording("killed.jsonl", &exchange);
    let mut text = fs::read_to_string(&file).unwrap();
    let begun = text.len();
    text.push_str("{\"turn\":2,\"request\":{\"met");
    fs::write(&file, text).unwrap();
    let outcome = run(&["replay", &file], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("Hi"), "{outcome:?}");
    assert!(outcome.stderr.contains(&format!("at byte {begun}, is left out")), "{outcome:?}");
}

#[test]
fn a_recording_that_cannot_be_played_is_wrong_usage() {
    let other = path("other-version.jsonl");
    fs::write(&other, "{\"forgeline_recording\":7}\n").unwrap();
    let body = path("plain-body.sse");
    fs::write(&body, "data: [DONE]\n\n").unwrap();
    let taken = path("taken.jsonl");
    fs::write(&taken, "mine").unwrap();
    for (arguments, advice) in [
        (&["run", "--base-url", "http://127.0.0.1:9", "--record", &taken, "hi"][..], "add --force"),
        (&["replay", other.as_str()], "record it anew"),
        (&["replay", &recording("bad.jsonl", "\"ended\":5")], "line 2"),
        (&["replay", &body, "--turn", "1"], "omit --turn"),
        (&["run", "--provider", "demo", "--record", "/x", "hi"], "omit --record"),
        (
            &["run", "--base-url", "http://127.0.0.1:9", "--record", "/no/such/folder/f", "hi"],
            "path of a new file",
        ),
    ] {
        let outcome = run(arguments, b"");
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(advice), "{arguments:?}: {}", outcome.stderr);
    }
}
