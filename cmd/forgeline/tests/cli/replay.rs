//! `forgeline replay`: recorded bodies give what was recorded with them.

use forgeline::llm::{
    Protocol,
    parser::{ThinkingDialect, ToolDialect},
};
use forgeline_cli::{input::Cuts, pipeline::Reading, replay::decode_chunks};
use serde_json::{Value, json};

use crate::{
    process::run,
    shared::{Body, chat_bodies},
};

const FLAGS: [&str; 6] = ["replay", "--json", "--dialect", "none", "--thinking", "none"];

#[test]
fn every_chat_body_reads_as_recorded_at_every_chunk_size() {
    let mut checks = 0;
    for body in chat_bodies().into_iter().flatten() {
        let Some(expected) = &body.expected else { continue };
        let want = expectation(expected);
        for (size, cuts) in sizes(&body) {
            let reading = Reading {
                tools: ToolDialect::NONE,
                thinking: ThinkingDialect::NONE,
                ..Reading::default()
            };
            let chunks = cuts.apply(&body.bytes);
            let read = decode_chunks(Protocol::OpenAiChat, reading, chunks, &mut |_| {});
            let got = part_of(&serde_json::to_value(&read).unwrap());
            assert_eq!(got, want, "{} at {size}", body.name);
            checks += 1;
        }
    }
    forgeline_testkit::say(format!("{checks} readings compared"));
}

#[test]
fn the_process_reads_bodies_as_recorded_and_its_events_say_the_same() {
    let mut checks = 0;
    // Whole processes are slow; every seventh body is a sample of all kinds.
    for body in chat_bodies().into_iter().flatten().step_by(7) {
        let Some(expected) = &body.expected else { continue };
        let path = body.path.to_str().unwrap();
        for size in ["1", "64", "0"] {
            let outcome = run(&[&FLAGS[..], &["--chunk-bytes", size, path]].concat(), b"");
            let completion = outcome.completion();
            assert_eq!(part_of(&completion), expectation(expected), "{} at {size}", body.name);
            let broken = expected["complete"] == false;
            assert_eq!(outcome.code, Some(i32::from(broken)), "{}: {outcome:?}", body.name);
            assert_eq!(outcome.lines().iter().any(|line| line["type"] == "error"), broken);
            assert_eq!(!completion["error"].is_null(), broken);
            assert_eq!(!outcome.stderr.is_empty(), broken);
            let joined = |kind: &str| -> String {
                let lines = outcome.lines();
                let deltas =
                    lines.iter().filter(|line| line["type"] == kind && line["refusal"].is_null());
                deltas.map(|line| line["content"].as_str().unwrap()).collect()
            };
            assert_eq!(completion["text"], joined("message_content"));
            assert_eq!(completion["thinking"], joined("thinking_content"));
            checks += 1;
        }
    }
    forgeline_testkit::say(format!("{checks} processes compared"));
}

/// The chunk sizes of the contract, and the recorded ones where there are any.
fn sizes(body: &Body) -> Vec<(&'static str, Cuts)> {
    let mut sizes = vec![
        ("1 byte", Cuts::every(1)),
        ("7 bytes", Cuts::every(7)),
        ("64 bytes", Cuts::every(64)),
        ("whole", Cuts::Whole),
    ];
    sizes.extend(body.chunks.clone().map(|chunks| ("recorded chunks", Cuts::Sizes(chunks))));
    sizes
}

/// The compared part of a completion.
fn part_of(completion: &Value) -> Value {
    let calls = completion["tool_calls"].as_array().unwrap().iter().map(|call| {
        json!({
            "id": call["id"], "name": call["name"],
            "arguments_raw": call["arguments_raw"], "arguments": call["arguments"],
        })
    });
    json!({
        "text": completion["text"], "thinking": completion["thinking"],
        "refusal": completion["refusal"], "tool_calls": calls.collect::<Vec<_>>(),
        "finish_reason_raw": completion["finish_reason_raw"],
        "usage_raw": completion["usage_raw"], "error_raw": completion["error_raw"],
        "complete": completion["complete"],
    })
}

/// What the recording's expectation says, in the words of a completion.
fn expectation(expected: &Value) -> Value {
    let calls = expected["tool_calls"].as_array().unwrap().iter().map(|call| {
        // Absent arguments are `{}` (rules.md R11); the recording's decoder left them unread.
        let absent = matches!(call["arguments"].as_str(), Some("" | "null"));
        let arguments = if absent { json!({}) } else { call["arguments_json"].clone() };
        json!({
            "id": call["id"], "name": call["name"],
            "arguments_raw": call["arguments"], "arguments": arguments,
        })
    });
    json!({
        "text": expected["text"], "thinking": expected["thinking"],
        "refusal": expected["refusal"], "tool_calls": calls.collect::<Vec<_>>(),
        "finish_reason_raw": expected["finish_reason"],
        "usage_raw": expected["usage"], "error_raw": expected["error"],
        "complete": expected["complete"],
    })
}
