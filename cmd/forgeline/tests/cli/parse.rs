//! `forgeline parse`: texts from stdin.

use serde_json::{Value, json};

use crate::process::run;

#[test]
fn a_text_of_any_quality_is_no_failure() {
    #[rustfmt::skip]
    let cases: [(&str, &[u8], &str, bool); 7] = [
        ("plain",              b"hello",                          "hello",              true),
        ("empty",              b"",                               "",                   true),
        ("a cut character",    b"caf\xc3",                        "caf\u{fffd}",        true),
        ("no UTF-8",           b"a\xffb",                         "a\u{fffd}b",         true),
        ("open call",          br#"x <tool>{"tool_name":"f","#,   "x ",                 false),
        ("open thinking",      b"<thinking>half",                 "",                   false),
        ("part of a marker",   b"a <too",                         "a <too",             true),
    ];
    for (name, text, want, complete) in cases {
        for size in ["0", "1"] {
            let outcome = run(&["parse", "--json", "--chunk-bytes", size], text);
            assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
            let completion = outcome.completion();
            assert_eq!(completion["text"], want, "{name}");
            assert_eq!(completion["complete"], complete, "{name}");
            assert_eq!(completion["error"], Value::Null, "{name}");
            assert_eq!(completion["usage"], Value::Null, "{name}");
            assert_eq!(completion["finish_reason"], Value::Null, "{name}");
            assert!(!outcome.stdout.contains(r#""type":"error""#), "{name}");
            assert_eq!(outcome.stderr, "", "{name}");
        }
    }
}

#[test]
fn calls_and_thinking_come_out_of_the_text() {
    let text = "<thinking>plan</thinking>\n\nSee. <tool>{\"tool_name\":\"sum\",\"arguments\":{\"a\":1}}</tool>";
    let outcome = run(&["parse", "--json", "--finish", "stop"], text.as_bytes());
    let completion = outcome.completion();
    assert_eq!(completion["thinking"], "plan");
    assert_eq!(completion["text"], "See. ");
    assert_eq!(completion["finish_reason"], "stop");
    assert_eq!(completion["complete"], true);
    let call = &completion["tool_calls"][0];
    let want = json!({
        "index": 0, "id": "call_0", "name": "sum", "server_name": null,
        "arguments_raw": "{\"a\":1}", "arguments": {"a": 1},
        "outcome": "complete", "reason": null, "offset": null, "repairs": [],
    });
    assert_eq!(*call, want);
    let shown = run(&["parse"], text.as_bytes());
    let want = "Thinking\n  plan\n\nSee. \n\n● sum {\"a\":1}\n\nfinish: not reported\n";
    assert_eq!(shown.stdout, want);
    let left =
        run(&["parse", "--json", "--dialect", "none", "--thinking", "none"], text.as_bytes());
    assert_eq!(left.completion()["text"], text);
}

#[test]
fn a_length_finish_leaves_an_open_call_incomplete() {
    let text = br#"<tool>{"tool_name":"f","arguments":{}}"#;
    let outcomes = [("stop", "complete"), ("length", "incomplete")];
    for (finish, want) in outcomes {
        let completion = run(&["parse", "--json", "--finish", finish], text).completion();
        assert_eq!(completion["tool_calls"][0]["outcome"], want, "{finish}");
    }
}

#[test]
fn a_batch_answers_each_line_and_survives_bad_ones() {
    let long = "x".repeat(10 << 20);
    let input = format!(
        "{}\n{}\nnot JSON\n{}\n{}",
        json!({"id": 1, "text": "<thinking>a</thinking>b", "chunk_bytes": 1}),
        json!({"id": "two", "text": "plain", "dialect": "no such"}),
        json!({"id": 3, "text": long}),
        json!({"id": 4, "text": "<tool>", "dialect": "none", "thinking": "none", "finish": "stop"}),
    );
    let outcome = run(&["parse", "--batch"], input.as_bytes());
    assert_eq!(outcome.code, Some(0));
    let answers = outcome.lines();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("two"), json!(null), json!(3), json!(4)]);
    let failed: Vec<_> = answers.iter().map(|answer| !answer["error"].is_null()).collect();
    assert_eq!(failed, [false, true, true, false, false]);
    assert_eq!((&answers[0]["thinking"], &answers[0]["text"]), (&json!("a"), &json!("b")));
    assert_eq!(answers[3]["text"].as_str().map(str::len), Some(10 << 20));
    assert_eq!(
        (&answers[4]["text"], &answers[4]["finish_reason"]),
        (&json!("<tool>"), &json!("stop"))
    );
    assert!(outcome.stdout.starts_with(r#"{"type":"completion","id":1,"text":"b""#));
}

const REASONED: &str = "Six times seven.</think>42";

#[test]
fn the_model_picks_the_dialects_and_explicit_ones_beat_it() {
    let tagged = "<think>Six times seven.</think>42";
    #[rustfmt::skip]
    let cases: [(&str, &[&str], &str, &str, &str); 9] = [
        ("its tags",            &["--model", "Qwen/Qwen3-32B"],                              tagged,   "Six times seven.", "42"),
        ("inside, as prompted", &["--model", "deepseek-ai/DeepSeek-R1"],                     REASONED, "Six times seven.", "42"),
        ("any spelling",        &["--model", "DeepSeek_R1-Q4_K_M.gguf"],                     REASONED, "Six times seven.", "42"),
        ("it does not reason",  &["--model", "Qwen2.5-7B-Instruct"],                         tagged,   "", tagged),
        ("--thinking beats it", &["--model", "Qwen2.5-7B-Instruct", "--thinking", "think"],  tagged,   "Six times seven.", "42"),
        ("--thinking is all",   &["--model", "deepseek-r1:671b", "--thinking", "forge"],     REASONED, "", REASONED),
        ("the prompt closed",   &["--model", "deepseek-r1:671b", "--prompt-tail", "<think></think>"], "42", "", "42"),
        ("the prompt opened",   &["--model", "Qwen3-8B", "--prompt-tail", "<think>\n"],      REASONED, "Six times seven.", "42"),
        ("nobody knows it",     &["--model", "my-own"],                                      tagged,   "Six times seven.", "42"),
    ];
    for (name, flags, text, thinking, message) in cases {
        for size in ["0", "1"] {
            let flags = [&["parse", "--json", "--chunk-bytes", size], flags].concat();
            let completion = run(&flags, text.as_bytes()).completion();
            let got = (&completion["thinking"], &completion["text"]);
            assert_eq!(got, (&json!(thinking), &json!(message)), "{name}");
        }
    }
}

#[test]
fn the_model_picks_the_dialect_of_calls() {
    let call = "<tool>{\"tool_name\":\"f\",\"arguments\":{}}</tool>";
    #[rustfmt::skip]
    let cases: [(&[&str], usize); 3] = [
        (&["--model", "my-own"],                                           1),
        (&["--model", "Qwen/Qwen3-32B", "--dialect", "forge"],             1),
        (&["--model", "Qwen/Qwen3-32B", "--dialect", "none"],              0),
    ];
    for (flags, calls) in cases {
        let flags = [&["parse", "--json"], flags].concat();
        let completion = run(&flags, call.as_bytes()).completion();
        assert_eq!(completion["tool_calls"].as_array().map(Vec::len), Some(calls), "{flags:?}");
    }
}

#[test]
fn a_line_of_a_batch_names_its_model() {
    let lines = [
        json!({"text": REASONED, "model": "deepseek-ai/DeepSeek-R1"}),
        json!({"text": REASONED, "model": "deepseek-ai/DeepSeek-R1", "thinking": "none"}),
        json!({"text": "42", "model": "deepseek-ai/DeepSeek-R1", "prompt_tail": "</think>"}),
        json!({"text": REASONED}),
    ];
    let input = lines.map(|line| line.to_string()).join("\n");
    let flags = ["parse", "--batch", "--model", "Qwen2.5-7B", "--thinking", "forge"];
    let answers = run(&flags, input.as_bytes()).lines();
    let texts: Vec<_> = answers.iter().map(|answer| answer["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["42", REASONED, "42", REASONED]);
}

// Found: P17
#[test]
fn a_call_over_the_limit_is_an_error_with_its_offset() {
    for (bytes, code) in [(3 << 20, 0), (5 << 20, 1)] {
        let value = "x".repeat(bytes);
        let text = format!(
            "Hm. <tool_call>{{\"name\":\"f\",\"arguments\":{{\"a\":\"{value}\"}}}}</tool_call>"
        );
        let outcome = run(&["parse", "--json", "--dialect", "hermes"], text.as_bytes());
        assert_eq!(outcome.code, Some(code), "{bytes}: {}", outcome.stderr);
        let completion = outcome.completion();
        assert_eq!(completion["text"], "Hm. ");
        let message = completion["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains("the call at byte 15 "), code == 1, "{message}");
        let errors = outcome.lines().into_iter().filter(|line| line["type"] == "error").count();
        assert_eq!(errors, usize::from(code == 1), "{bytes}");
    }
}
