use super::AnthropicDecoder;
use crate::{
    BodyDecoder as _, Protocol, ProviderError, StreamChunk,
    protocols::tests::chunk_words::{body, read},
};
use forgeline_types::FinishReason;

const PROTOCOL: Protocol = Protocol::Anthropic;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn start(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{{block}}}}}"#)
}

fn search(index: u32) -> String {
    start(index, r#""type":"server_tool_use","id":"s","name":"web_search","input":{}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{{delta}}}}}"#)
}

// Covers: T-05
#[test]
fn the_end_tells_why_and_what_it_took() {
    let first = r#"{"type":"message_start","message":{"id":"i","model":"m"}}"#;
    let mut model = None;
    let mut keep = |chunk: StreamChunk| model = chunk.details.and_then(|it| it.model.clone());
    AnthropicDecoder::default().push(&body(PROTOCOL, &[first]), &mut keep).unwrap();
    assert_eq!(model.as_deref(), Some("m"));
    #[rustfmt::skip]
    let words = [
        ("end_turn",      FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens",    FinishReason::Length),
        ("tool_use",      FinishReason::ToolCalls),
        ("pause_turn",    FinishReason::Pause),
        ("refusal",       FinishReason::Refusal),
        ("model_context_window_exceeded", FinishReason::ContextExceeded),
        ("new",           FinishReason::Other("new".into())),
    ];
    for (word, reason) in words {
        let mut found = None;
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{word}"}}}}"#);
        AnthropicDecoder::default()
            .push(&body(PROTOCOL, &[end]), &mut |chunk| found = Some(chunk))
            .unwrap();
        let chunk = found.unwrap();
        assert_eq!(chunk.finish_reason, Some(reason));
        assert_eq!(chunk.details.unwrap().finish_reason_raw.as_deref(), Some(word));
    }
}

#[test]
fn what_is_no_list_of_members_costs_no_square() {
    let keys: Vec<_> = (0..100_000).map(|at| format!(r#""k{at}":1"#)).collect();
    let events = [start(0, &format!(r#""type":"new",{}"#, keys.join(","))), STOP.to_owned()];
    let (got, error) = read(PROTOCOL, [body(PROTOCOL, &events).as_slice()]);
    assert!(
        error.is_none()
            && got.starts_with(r#"[{"kind":"other","name":"new""#)
            && got.len() < 10_000,
        "{error:?}"
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let mut decoder = AnthropicDecoder::default();
    let opened = (0..).find_map(|index| {
        let event = body(PROTOCOL, &[start(index, r#""type":"text""#)]);
        Some((index, decoder.push(&event, &mut |_| {}).err()?))
    });
    let (index, error) = opened.unwrap();
    assert_eq!(index, 1024);
    assert!(matches!(error, ProviderError::Decode { offset, .. } if offset > 0), "{error:?}");

    let piece = "x".repeat(1 << 20);
    let arguments = format!(r#""type":"input_json_delta","partial_json":"{piece}""#);
    let text = format!(r#""type":"text_delta","text":"{piece}""#);
    let long_search = search(1).replace("{}", &format!("{piece:?}"));
    for event in [delta(0, &arguments), delta(0, &text), long_search] {
        let mut decoder = AnthropicDecoder::default();
        let mut push = |event: &String| decoder.push(&body(PROTOCOL, &[event]), &mut |_| {}).err();
        assert!(push(&search(0)).is_none());
        let event = |at: u32| event.replace("\"index\":1", &format!("\"index\":{}", at + 1));
        let taken = (0..20).position(|at| push(&event(at)).is_some());
        assert_eq!(taken, Some(7), "8 MiB are kept");
    }

    let mut decoder = AnthropicDecoder::default();
    for at in 0..100 {
        let usage =
            format!(r#"{{"type":"message_delta","usage":{{"{at}{}":1}}}}"#, "k".repeat(1 << 10));
        let mut longest = 0;
        let mut emit = |chunk: StreamChunk| {
            longest = chunk.details.unwrap().usage_raw.unwrap().as_str().len();
        };
        decoder.push(&body(PROTOCOL, &[usage]), &mut emit).unwrap();
        assert!(longest < 70 << 10, "{longest}");
    }
}
