//! Flags of `run` and `chat` that change what is asked and what is shown.

use std::{fs, path::PathBuf};

use forgeline_testkit::server::{ScriptedServer, Seen};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    process::run,
    run::{answer, ask},
};

fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn body(server: &mut ScriptedServer) -> Value {
    let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
    serde_json::from_slice(&body).unwrap()
}

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
    let cases: [(&[&str], &str); 11] = [
        (&["--timeout", "0"],             "expected a number of seconds above 0"),
        (&["--timeout", "soon"],          "expected a number of seconds above 0"),
        (&["--thinking", "klingon"],      "choose one of: auto, none"),
        (&["--temperature=-1"],            "a number that is not negative"),
        (&["--temperature", "warm"],      "expected a number that is not negative"),
        (&["--max-tokens", "0"],          "--help"),
        (&["--schema", "/no/such/file"],  "give --schema the path of a file"),
        (&["--schema", &list],            "is not a JSON schema such as"),
        (&["--file", "/no/such/file"],    "give --file the path of a text file"),
        (&["--file", &binary],            "is not a text file, which --file takes"),
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
        for word in ["replay", "max-tokens"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "cmd"], b"").code, Some(2));
}
