//! Wrong usage and bad input: a clear error that says what to do, and the right exit code.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::Stdio,
};

use crate::process::{forgeline, run};

/// A file with this content, in the folder that cargo keeps for such files.
fn file(name: &str, content: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_to_do() {
    let body = file("usage.sse", b"data: [DONE]\n\n");
    let no_list = file("no-list.json", b"{\"tools\":1}");
    let no_sizes = file("no-sizes.json", b"[1, -2]");
    #[rustfmt::skip]
    let cases: [(&[&str], &str); 11] = [
        (&["replay", "/no/such/file"],                            "give the path of a file"),
        (&["replay", "/"],                                        "give the path of a file"),
        (&["replay", &body, "--protocol", "morse"],               "possible values: openai-chat, openai-responses, anthropic, gemini, ollama, ollama-generate, cohere"),
        (&["replay", &body, "--dialect", "klingon"],              "choose one of: auto, none, forge"),
        (&["replay", &body, "--thinking", "klingon"],             "choose one of: auto, none"),
        (&["replay", &body, "--chunks", &no_sizes],               "JSON array of byte counts"),
        (&["replay", &body, "--realtime"],                        "omit --realtime"),
        (&["replay", &body, "--no-such-flag"],                    "--help"),
        (&["parse", "--tools", &no_list],                         "is not a tool list such as"),
        (&["parse", "--tools", "/no/such/file"],                  "give the path"),
        (&["parse", "--chunk-bytes", "some"],                     "--help"),
    ];
    for (arguments, advice) in cases {
        let outcome = run(arguments, b"");
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(advice), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
}

#[test]
fn broken_bodies_keep_what_had_arrived_and_end_with_1() {
    let delta = |json: &str| {
        format!(
            "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{json}}}]}}\n\n"
        )
    };
    let long = format!("data: {}\n\n", "x".repeat(10 << 20));
    let call =
        r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":"}}]}"#;
    #[rustfmt::skip]
    let cases = [
        ("no SSE",          "<html><body>502 Bad Gateway</body></html>\n".to_owned(),           "",    0),
        ("no JSON",         delta(r#"{"content":"half"}"#) + "data: {nonsense\n\n",             "half", 0),
        ("10 MB line",      delta(r#"{"content":"half"}"#) + &long,                             "half", 0),
        ("end in mid-call", delta(r#"{"content":"half"}"#) + &delta(call),                      "half", 1),
        ("empty",           String::new(),                                                       "",    0),
    ];
    for (name, body, text, calls) in cases {
        let path = file(&format!("{}.sse", name.replace(' ', "-")), body.as_bytes());
        for size in ["0", "1000"] {
            let outcome = run(&["replay", "--json", "--chunk-bytes", size, &path], b"");
            assert_eq!(outcome.code, Some(1), "{name}: {outcome:?}");
            let completion = outcome.completion();
            assert_eq!(completion["text"], text, "{name}");
            assert_eq!(completion["complete"], false, "{name}");
            assert!(completion["error"]["message"].is_string(), "{name}");
            assert_eq!(completion["tool_calls"].as_array().unwrap().len(), calls, "{name}");
            assert!(
                completion["tool_calls"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|call| call["outcome"] == "incomplete")
            );
            let kinds: Vec<_> = outcome.lines().iter().map(|line| line["type"].clone()).collect();
            assert_eq!(kinds.iter().filter(|kind| *kind == "error").count(), 1, "{name}");
            assert!(
                outcome.stderr.contains("error: ") && outcome.stderr.contains("hint: "),
                "{name}: {}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let text = "word ".repeat(200_000);
    let mut child = forgeline(&["parse", "--json", "--chunk-bytes", "5"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let writing = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!((line.as_str(), stderr.as_str()), ("{\"type\":\"message_start\"}\n", ""));
    writing.join().unwrap();
}

#[test]
fn dialects_are_listed_with_what_is_absent() {
    let rows = run(&["dialects", "--json"], b"").lines();
    let row = |kind: &str, name: &str| {
        rows.iter().find(|row| row["kind"] == kind && row["name"] == name).unwrap()
    };
    assert_eq!(row("tool_calls", "forge")["status"], "present");
    assert!(row("tool_calls", "forge")["example"].as_str().unwrap().contains("<tool>"));
    assert_eq!(row("tool_calls", "hermes")["status"], "present");
    assert_eq!(row("tool_calls", "beam")["status"], "absent");
    assert_eq!(row("thinking", "forge")["status"], "present");
    let shown = run(&["dialects"], b"");
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.contains("forge") && !shown.stdout.contains('\u{1b}'));
}

// Found: R12
#[test]
fn a_reader_that_goes_away_ends_the_command_with_0() {
    let question = ["run", "--provider", "demo", "What is 6 * 7?"];
    let json = ["run", "--provider", "demo", "--json", "What is 6 * 7?"];
    for arguments in [&question[..], &json, &["dialects"], &["dialects", "--json"]] {
        let mut child = crate::process::forgeline(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let outcome = crate::process::Outcome::from(child.wait_with_output().unwrap());
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
        assert!(!outcome.stderr.contains("error:"), "{arguments:?}: {outcome:?}");
    }
}
