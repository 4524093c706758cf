//! What each decoder makes of the bodies in `testdata/decoded/`; the format is in `testdata/README.md`.

pub(crate) mod chunk_words;

use std::fs;

use crate::{BodyDecoder as _, Progress, Protocol, ProviderError};
use chunk_words::{body, error_words, read, read_at_every_cut};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/decoded");

/// Reads the bodies of a protocol at every cut; all must give the words beside them.
fn check(protocol: Protocol) {
    let text = fs::read_to_string(format!("{FOLDER}/{protocol}.txt")).unwrap();
    let cases: Vec<_> = text.split("== ").skip(1).collect();
    assert!(cases.len() > 20, "{protocol} has {} bodies", cases.len());
    for case in cases {
        let mut lines = case.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
        let (name, want) = lines.next().unwrap().split_once(" =>").unwrap();
        let events: Vec<_> = lines.collect();
        let first = events.first().copied().unwrap_or_default();
        let bytes = if let Some(text) = first.strip_prefix("body: ") {
            text.into()
        } else if let Some(text) = first.strip_prefix("text: ") {
            serde_json::from_str::<String>(text).unwrap().into_bytes()
        } else {
            body(protocol, &events)
        };
        let (words, error) = read_at_every_cut(name, protocol, &bytes);
        let words = format!("{words} {}", error.as_ref().map(error_words).unwrap_or_default());
        assert_eq!(words.trim().replace('\n', "⏎"), want.trim_start(), "{protocol}: {name}");
        // The last event of Responses alone ends an answer.
        if protocol == Protocol::OpenAiResponses && error.is_none() && events.len() > 1 {
            let cut = body(protocol, events.split_last().unwrap().1);
            let (words, error) = read(protocol, [cut.as_slice()]);
            assert!(!words.contains("end:"), "{name}: {words}");
            assert!(matches!(error, Some(ProviderError::EndedEarly { .. })), "{name}: {error:?}");
        }
    }
}

// Found: V3, V5, V6, V9, V10, V11, V13, V14, V15
#[test]
fn bodies_of_chat_completions_read_as_written_beside_them() {
    check(Protocol::OpenAiChat);
}

#[test]
fn bodies_of_responses_read_as_written_beside_them() {
    check(Protocol::OpenAiResponses);
}

#[test]
fn bodies_of_anthropic_read_as_written_beside_them() {
    check(Protocol::Anthropic);
}

// Found: V7, V13
#[test]
fn bodies_of_gemini_read_as_written_beside_them() {
    check(Protocol::Gemini);
}

#[test]
fn bodies_of_ollama_read_as_written_beside_them() {
    check(Protocol::Ollama);
}

#[test]
fn bodies_of_cohere_read_as_written_beside_them() {
    check(Protocol::Cohere);
}

#[test]
fn progress_tells_when_to_stop_reading() {
    use Progress::{Complete, Done, Failed, Open};
    const END: &str = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    const TEXT: &str = r#"{"type":"response.output_text.delta","output_index":0,"delta":"a"}"#;
    const ERROR: &str = r#"{"type":"error"}"#;
    #[rustfmt::skip]
    let cases: [(Protocol, &[(&str, Progress)]); 10] = [
        (Protocol::OpenAiChat, &[
            (r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#,       Open),
            (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,       Complete),
            (r#"{"error":{"message":"late"}}"#,                            Failed),
            ("[DONE]",                                                     Done),
        ]),
        (Protocol::Anthropic, &[
            (r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#, Open),
            (r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, Open),
            (r#"{"type":"error","error":{"message":"late"}}"#,             Failed),
            (r#"{"type":"message_stop"}"#,                                 Done),
        ]),
        (Protocol::Gemini, &[
            (r#"{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}]}"#, Open),
            (r#"{"candidates":[{"finishReason":"STOP"}]}"#,                Complete),
            (r#"{"error":{"message":"late"}}"#,                            Failed),
            ("[DONE]",                                                     Done),
        ]),
        (Protocol::Cohere, &[
            ("[DONE]",                                                     Open),
            (r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}}"#, Open),
            (r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#, Complete),
            (r#"{"error":"late"}"#,                                        Failed),
            ("[DONE]",                                                     Done),
        ]),
        (Protocol::Ollama, &[
            (r#"{"message":{"content":"a"}}"#,                             Open),
            (r#"{"error":"late"}"#,                                        Failed),
            (r#"{"done":true,"done_reason":"stop"}"#,                      Done),
        ]),
        (Protocol::OpenAiResponses, &[(TEXT, Open), ("[DONE]", Open)]),
        (Protocol::OpenAiResponses, &[(TEXT, Open), (END, Done)]),
        (Protocol::OpenAiResponses, &[(TEXT, Open), (r#"{"type":"response.failed","response":{}}"#, Failed)]),
        (Protocol::OpenAiResponses, &[(ERROR, Failed), (END, Failed)]),
        (Protocol::OpenAiResponses, &[(END, Done), (ERROR, Done)]),
    ];
    for (protocol, events) in cases {
        let mut decoder = protocol.decoder();
        for (event, want) in events {
            decoder.push(&body(protocol, &[event]), &mut |_| {}).unwrap();
            assert_eq!(decoder.progress(), *want, "{protocol} after {event}");
        }
    }
}

#[test]
fn a_cut_body_ended_early_wherever_it_is_cut() {
    // The last bytes that may be missing.
    #[rustfmt::skip]
    let cases: [(Protocol, usize, &[&str]); 3] = [
        (Protocol::Gemini, 1, &[
            r#"{"candidates":[{"content":{"parts":[{"text":"aé"}],"role":"model"},"index":0}]}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ]),
        (Protocol::Cohere, 0, &[
            r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"aé"}}}}"#,
            r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
        ]),
        (Protocol::Ollama, 1, &[
            r#"{"message":{"content":"é"}}"#,
            r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"n":-1.5e3}}}]}}"#,
            r#"{"done":true,"done_reason":"stop"}"#,
        ]),
    ];
    for (protocol, missing, events) in cases {
        let body = body(protocol, events);
        for cut in 0..=body.len() {
            let (_, error) = read(protocol, [&body[..cut]]);
            let is_early = matches!(error, Some(ProviderError::EndedEarly { received }) if received == cut as u64);
            assert!(is_early || error.is_none(), "{protocol} at {cut}: {error:?}");
            assert_eq!(is_early, cut + missing < body.len(), "{protocol} at {cut}");
        }
    }
}
