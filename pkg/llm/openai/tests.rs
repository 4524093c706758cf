use super::{OpenAiDecoder, PROMPT_PROGRESS};
use crate::{
    BodyDecoder as _, Protocol,
    protocols::tests::chunk_words::{body, read},
};
use forgeline_types::{AgentEvent, CustomEvent};

const PROTOCOL: Protocol = Protocol::OpenAiChat;

/// A chunk whose first choice has this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{{delta}}}}}]}}"#)
}

#[test]
fn details_that_are_too_long_do_not_go_back() {
    let detail = format!(
        r#""reasoning_details":[{{"type":"reasoning.text","text":"{}"}}]"#,
        "x".repeat(1 << 20)
    );
    let mut events = vec![delta(&detail); 9];
    events.extend([delta(r#""content":"c""#), "[DONE]".to_owned()]);
    let (got, _) = read(PROTOCOL, [body(PROTOCOL, &events).as_slice()]);
    assert!(got.ends_with("x m:c ."));
}

#[test]
fn g_19_data_without_a_space_and_over_64_kib() {
    let long = "x".repeat(100 << 10);
    let event = delta(&format!(r#""content":"{long}""#));
    let body = format!("data:{event}\n\ndata:[DONE]\n\n");
    for size in [1400, body.len()] {
        let (got, error) = read(PROTOCOL, body.as_bytes().chunks(size));
        assert_eq!(got, format!("m:{long} ."));
        assert!(error.is_none(), "{error:?}");
    }
}

// Found: V18
#[test]
fn progress_with_the_prompt_is_an_event_and_not_a_part_of_the_answer() {
    let body = body(
        PROTOCOL,
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":9,"cache":1,"processed":4,"time_ms":2}}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ],
    );
    let mut seen = Vec::new();
    let mut decoder = OpenAiDecoder::default();
    decoder
        .push(&body, &mut |chunk| {
            assert!(!chunk.is_delivery(), "{chunk:?}");
            seen.extend(chunk.details.into_iter().flat_map(|details| details.events));
        })
        .unwrap();
    let [AgentEvent::Custom(CustomEvent { name, data, .. })] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert_eq!((name.as_str(), &data["processed"]), (PROMPT_PROGRESS, &4.into()));
}
