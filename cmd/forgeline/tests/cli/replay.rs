//! `forgeline replay`: recorded bodies give what was recorded with them.

use forgeline::llm::{
    Protocol,
    parser::{ThinkingDialect, ToolDialect},
};
use forgeline_cli::{input::ChunkCuts, pipeline::ReadOptions, replay::decode_chunks};
use forgeline_testkit::{
    fixtures,
    recorded::{Body, bodies_with_expectation},
};
use serde_json::{Value, json};

use crate::process::run;

const FLAGS: [&str; 6] = ["replay", "--json", "--dialect", "none", "--thinking", "none"];

#[test]
fn chat_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::OpenAiChat);
}

#[test]
fn responses_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::OpenAiResponses);
}

#[test]
fn anthropic_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::Anthropic);
}

#[test]
fn gemini_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::Gemini);
}

#[test]
fn ollama_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::Ollama);
    every_body_reads_as_recorded(Protocol::OllamaGenerate);
}

#[test]
fn cohere_bodies_read_as_recorded() {
    every_body_reads_as_recorded(Protocol::Cohere);
}

#[test]
fn the_protocol_of_every_body_is_guessed() {
    for &protocol in Protocol::ALL {
        for body in bodies_with_expectation(protocol).iter().flatten() {
            assert_eq!(Protocol::guess(&body.bytes), protocol, "{}", body.name);
        }
    }
    for body in fixtures::bodies().iter().filter(|body| body.is_stream()) {
        assert_eq!(Protocol::guess(&body.bytes), body.protocol, "{}", body.path.display());
    }
}

/// In process at every chunk size, then a sample through the whole program.
fn every_body_reads_as_recorded(protocol: Protocol) {
    let bodies = bodies_with_expectation(protocol).unwrap_or_default();
    let mut checks = 0;
    for body in &bodies {
        let want = expectation(&body.expected);
        for (size, cuts) in sizes(body) {
            let reading = ReadOptions {
                tools: ToolDialect::NONE,
                thinking: ThinkingDialect::NONE,
                ..ReadOptions::default()
            };
            let chunks = cuts.apply(&body.bytes);
            let read = decode_chunks(protocol, reading, chunks, &mut |_| {});
            let got = part_of(&serde_json::to_value(&read).unwrap());
            assert_eq!(got, want, "{} at {size}", body.name);
            checks += 1;
        }
    }
    // Whole processes are slow; every seventh body is a sample of all kinds.
    let sample: Vec<_> = bodies.iter().step_by(7).collect();
    for body in &sample {
        the_process_reads_it_as_recorded(body, protocol);
    }
    forgeline_testkit::say(format!("{checks} readings compared, {} with processes", sample.len()));
}

/// The program reads it as recorded, and its events say what its completion says.
fn the_process_reads_it_as_recorded(body: &Body, protocol: Protocol) {
    let expected = &body.expected;
    let path = body.path.to_str().unwrap();
    let named = ["--protocol", protocol.name()];
    let ways: [(&[&str], &str); 3] = [(&[], "1"), (&named, "64"), (&[], "0")];
    for (flags, size) in ways {
        let outcome = run(&[&FLAGS[..], flags, &["--chunk-bytes", size, path]].concat(), b"");
        let completion = outcome.completion();
        assert_eq!(part_of(&completion), expectation(expected), "{} at {size}", body.name);
        let broken = expected["complete"] == false || !expected["error"].is_null();
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
    }
}

/// The chunk sizes of the contract, and the recorded ones where there are any.
fn sizes(body: &Body) -> Vec<(&'static str, ChunkCuts)> {
    let mut sizes = vec![
        ("1 byte", ChunkCuts::every(1)),
        ("7 bytes", ChunkCuts::every(7)),
        ("64 bytes", ChunkCuts::every(64)),
        ("whole", ChunkCuts::Whole),
    ];
    sizes.extend(body.chunks.clone().map(|chunks| ("recorded chunks", ChunkCuts::Sizes(chunks))));
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
    let calls = expected["tool_calls"].as_array().unwrap().iter().enumerate();
    let calls = calls.map(|(index, call)| {
        // Absent arguments are `{}` (rules.md R11); the recording's decoder left them unread.
        let absent = matches!(call["arguments"].as_str(), Some("" | "null"));
        let arguments = if absent { json!({}) } else { call["arguments_json"].clone() };
        // A call without an id gets one (rules.md R19).
        let id = if call["id"] == "" { json!(format!("call_{index}")) } else { call["id"].clone() };
        json!({
            "id": id, "name": call["name"],
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
