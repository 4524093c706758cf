//! Flags of `run` and `chat` that change what is asked and what is shown.

use std::{fs, path::PathBuf};

use forgeline_testkit::server::{ScriptedServer, Seen};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    process::run,
    run::{answer, ask},
};

pub(crate) fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) async fn body(server: &mut ScriptedServer) -> Value {
    let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
    serde_json::from_slice(&body).unwrap()
}

// Covers: E-32
#[tokio::test(flavor = "multi_thread")]
async fn options_of_the_request_reach_the_server() {
    let mut server = ScriptedServer::start(vec![answer("{}"), answer("A."), answer("B.")]).await;
    let schema = file("answer.schema.json", br#"{"type":"object","properties":{"n":{}}}"#);
    let text = file("beside.txt", b"one\xff\ntwo\n");
    let options = ["-s", "Be brief.", "--temperature", "0.5", "--max-tokens", "77"];
    let files = ["--schema", &schema, "--file", &text];
    let outcome = ask(&server, &[&options[..], &files].concat());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "{}\n"), "{outcome:?}");
    let sent = body(&mut server).await;
    assert_eq!((&sent["model"], &sent["temperature"]), (&json!("m"), &json!(0.5)), "{sent}");
    assert!(sent.to_string().contains(":77"), "{sent}");
    assert_eq!(sent["messages"][0]["content"], "Be brief.");
    let asked = sent["messages"][1]["content"].as_str().unwrap();
    assert_eq!(asked, format!("hello\n\n{text}:\n\none\u{fffd}\ntwo"));
    let schema = &sent["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["properties"], json!({ "n": {} }), "{sent}");

    let url = server.url();
    let arguments = ["chat", "--base-url", &url, "-m", "short", "--file", &text];
    let outcome = block_in_place(|| run(&arguments, b"first\nsecond\n"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let (first, second) = (body(&mut server).await, body(&mut server).await);
    assert_eq!(first["model"], "short");
    let last = |body: &Value| body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last(&first)["content"], format!("first\n\n{text}:\n\none\u{fffd}\ntwo"));
    assert_eq!(last(&second)["content"], "second", "the files go once");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_go_with_the_first_question_by_what_they_are() {
    let answers = vec![answer("A."), answer("B."), answer("C.")];
    let mut server = ScriptedServer::start(answers).await;
    let png = file("picture.jpg", b"\x89PNG\r\n\x1a\nrest");
    let webp = file("picture.bin", b"RIFF\x01\x02\x03\x04WEBPVP8 ");
    let outcome = ask(&server, &["--image", &png, "--image", &webp]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "A.\n"), "{outcome:?}");
    let asked = body(&mut server).await["messages"].as_array().unwrap().last().unwrap().clone();
    let shown = |data: &str| json!({ "type": "image_url", "image_url": { "url": data } });
    let want = json!([
        { "type": "text", "text": "hello" },
        shown("data:image/png;base64,iVBORw0KGgpyZXN0"),
        shown("data:image/webp;base64,UklGRgECAwRXRUJQVlA4IA=="),
    ]);
    assert_eq!(asked["content"], want);

    let url = server.url();
    let arguments = ["chat", "--base-url", &url, "-m", "short", "--image", &png];
    let outcome = block_in_place(|| run(&arguments, b"first\nsecond\n"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let (first, second) = (body(&mut server).await, body(&mut server).await);
    let pictures = |body: &Value| body.to_string().matches("image_url\":{").count();
    // The conversation keeps it; the second question has no other.
    assert_eq!((pictures(&first), pictures(&second)), (1, 1), "{second}");
    let last = second["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"], "second");
}

// Covers: H-32
#[test]
fn a_trace_shows_requests_answers_and_calls_with_their_times_and_sizes() {
    let question = ["run", "--provider", "demo", "What is 6 * 7?"];
    let plain = run(&question, b"");
    for _ in 0..3 {
        let traced = run(&[&question[..], &["--trace"]].concat(), b"");
        assert_eq!((traced.code, &traced.stdout), (Some(0), &plain.stdout), "{traced:?}");
        let times: Vec<_> = traced.stderr.lines().filter(|line| line.contains(" s  ")).collect();
        for part in [
            "turn 1, demo",
            "asked with 1 message, the last of 14 characters, 4 tools",
            "system prompt of ",
            "answered in ",
            "s, first after ",
            "1 call",
            "tokens in",
            "calculator {\"expression\":\"6 * 7\"}",
            "calculator returned 2 characters in ",
            "asked with 3 messages, the last of ",
            "\"6 * 7 = 42\"",
        ] {
            assert!(times.iter().any(|line| line.contains(part)), "{part}: {}", traced.stderr);
        }
        // The last line is there when the program ends.
        assert!(times.last().unwrap().ends_with("the run ends"), "{}", traced.stderr);
        for line in times {
            assert!(line.chars().count() <= 80 && !line.contains('\u{1b}'), "{line}");
        }
    }
    assert!(!plain.stderr.contains("turn 1, "), "{}", plain.stderr);
}

#[test]
fn a_trace_of_a_chat_has_all_its_runs_and_no_secrets() {
    // Put together here, so that no scanner takes it for a leaked one.
    let key = ["sk", "-A1b2C3d4E5f6"].concat();
    let input = format!("What is 6 * 7?\nIs {key} my key?\n");
    let traced = run(&["chat", "--provider", "demo", "--trace"], input.as_bytes());
    let times: Vec<_> = traced.stderr.lines().filter(|line| line.contains(" s  ")).collect();
    let ends = times.iter().filter(|line| line.ends_with("the run ends")).count();
    assert_eq!((traced.code, ends), (Some(0), 2), "{traced:?}");
    assert!(!times.concat().contains(&key), "{times:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_is_read_as_the_flag_says() {
    let said = "<think>Hm.</think>Yes.";
    let server = ScriptedServer::start(vec![answer(said), answer(said)]).await;
    for (name, text, thinking) in [("think", "Yes.", "Hm."), ("none", said, "")] {
        let completion = ask(&server, &["--json", "--thinking", name]).completion();
        assert_eq!(
            (&completion["text"], &completion["thinking"]),
            (&json!(text), &json!(thinking))
        );
    }
}

#[test]
fn quiet_is_the_answer_alone_and_verbose_folds_nothing() {
    let demo = ["--provider", "demo", "Which file mentions cancellation most?"];
    let quiet = run(&[&["run", "-q"][..], &demo].concat(), b"");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet:?}");
    let usual = run(&[&["run"][..], &demo].concat(), b"");
    assert_eq!(usual.stdout, quiet.stdout);
    let whole = run(&[&["run", "--verbose"][..], &demo].concat(), b"");
    assert_eq!(whole.stdout, quiet.stdout);
    assert!(whole.stderr.contains("asking demo, "), "{}", whole.stderr);
    assert!(!whole.stderr.contains("… (+"), "{}", whole.stderr);
    let chat = run(&["chat", "-q", "--provider", "demo"], b"What is 6 * 7?\n");
    assert_eq!((chat.code, chat.stderr.as_str()), (Some(0), ""), "{chat:?}");
    assert!(!chat.stdout.contains("2 turns"), "{}", chat.stdout);
}

#[test]
fn wrong_values_of_flags_say_what_is_expected() {
    let binary = file("binary.bin", b"a\0b");
    let list = file("list.json", b"[]");
    #[rustfmt::skip]
    let cases: [(&[&str], &str); 13] = [
        (&["--timeout", "0"],             "expected a number of seconds greater than 0"),
        (&["--timeout", "soon"],          "expected a number of seconds greater than 0"),
        (&["--thinking", "klingon"],      "choose one of: auto, none"),
        (&["--temperature=-1"],            "a non-negative number"),
        (&["--temperature", "warm"],      "expected a non-negative number"),
        (&["--max-tokens", "0"],          "--help"),
        (&["--schema", "/no/such/file"],  "give --schema the path of a file"),
        (&["--schema", &list],            "is not a JSON schema such as"),
        (&["--file", "/no/such/file"],    "give --file the path of a text file"),
        (&["--file", &binary],            "is not a text file; --file takes text files only"),
        (&["--image", "/no/such/file"],   "give --image the path of a picture"),
        (&["--image", &list],             "is not a picture; --image takes PNG, JPEG, GIF and WebP"),
        (&["-q", "-v"],                   "cannot be used with"),
    ];
    for command in ["run", "chat"] {
        for (flags, advice) in cases {
            let question: &[&str] = if command == "run" { &["hi"] } else { &[] };
            let outcome = run(&[&[command, "--provider", "demo"], flags, question].concat(), b"");
            assert_eq!(outcome.code, Some(2), "{command} {flags:?}: {outcome:?}");
            assert!(outcome.stderr.contains(advice), "{command} {flags:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn completions_know_the_flags() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = run(&["completions", shell], b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        for word in ["replay", "models", "max-tokens", "image", "continue", "trace", "timeout"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "cmd"], b"").code, Some(2));
}
