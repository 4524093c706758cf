//! Events that are written as Chat Completions chunks and read again are the same events.

use super::harness::{check_brackets, join};
use crate::{StreamEnd, StreamMachine, StreamOptions};
use forgeline_llm::{
    BodyDecoder as _, ProviderError, StreamChunk, ToolCallDelta,
    openai::{ChunkWriter, OpenAiDecoder},
};
use forgeline_types::{
    AgentEvent, Completion, ErrorEvent, FinishReason, Text, ToolCallEndEvent, ToolCallStartEvent,
    UsageInfo,
};

/// The events of these chunks, joined, and how they ended.
fn run(chunks: Vec<StreamChunk>) -> (Vec<AgentEvent>, Completion) {
    let mut machine = StreamMachine::new(&StreamOptions::default());
    let mut events = Vec::new();
    for chunk in chunks {
        assert!(machine.chunk(chunk, &mut |event| events.push(event)).is_continue());
    }
    let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
    check_brackets(&events);
    (join(events), completion)
}

/// The events and the completion as the body of a Chat Completions response.
fn body(events: &[AgentEvent], completion: &Completion) -> String {
    let mut writer = ChunkWriter::new("id-1", "model-1");
    let mut data: Vec<_> = events.iter().filter_map(|event| writer.event(event)).collect();
    if completion.complete {
        data.extend(completion.finish_reason.as_ref().map(|reason| writer.finish(reason)));
        data.extend(completion.usage.as_ref().map(|usage| writer.usage(usage)));
        data.push(ChunkWriter::DONE.to_owned());
    }
    assert!(data.iter().all(|data| !data.contains('\n')), "{data:?}");
    data.iter().flat_map(|data| ["data: ", data, "\n\n"]).collect()
}

fn decode(body: &str, size: usize) -> (Vec<StreamChunk>, Option<ProviderError>) {
    let (mut chunks, mut decoder) = (Vec::new(), OpenAiDecoder::default());
    for piece in body.as_bytes().chunks(size) {
        decoder.push(piece, &mut |chunk| chunks.push(chunk)).unwrap();
    }
    let error = decoder.finish(&mut |chunk| chunks.push(chunk)).err();
    (chunks, error)
}

#[test]
fn what_is_written_reads_as_the_same_events() {
    let call = |index, arguments: &str| ToolCallDelta::new(index).arguments(arguments);
    let usage = UsageInfo::default()
        .input_tokens(7)
        .output_tokens(3)
        .cache_read_tokens(2)
        .reasoning_tokens(1);
    let mut refused = StreamChunk::message("No \"way\"\n.");
    refused.content_type = forgeline_llm::ContentType::Refusal;
    #[rustfmt::skip]
    let cases = [
        ("text",    vec![StreamChunk::message("Hé"), StreamChunk::message("llo\n\u{1f600}"), StreamChunk::end(FinishReason::Stop)]),
        ("reasoning and calls", vec![
            StreamChunk::thinking("Let me\tsee."),
            StreamChunk::message("Two calls."),
            StreamChunk::calls(vec![call(0, "").id("a").name("f")]),
            StreamChunk::calls(vec![call(0, "{\"x\": "), call(0, "1.50}")]),
            StreamChunk::calls(vec![call(1, "{\"y\":\"\\u65e5\"}").id("b").name("g")]),
            { let mut it = StreamChunk::end(FinishReason::ToolCalls); it.usage = Some(usage); it },
        ]),
        ("a call without arguments", vec![StreamChunk::calls(vec![call(0, "").id("a").name("f")]), StreamChunk::end(FinishReason::ToolCalls)]),
        ("a refusal", vec![refused, StreamChunk::end(FinishReason::ContentFilter)]),
        ("cut by the limit", vec![StreamChunk::calls(vec![call(0, "{\"x\": ").id("a").name("f")]), StreamChunk::end(FinishReason::Length)]),
    ];
    for (name, chunks) in cases {
        let (events, completion) = run(chunks);
        let body = body(&events, &completion);
        for size in [1, 7, body.len()] {
            let (chunks, error) = decode(&body, size);
            assert!(error.is_none(), "{name}: {error:?}");
            let (again, read) = run(chunks);
            assert_eq!(again, events, "{name}");
            assert_eq!(read.finish_reason, completion.finish_reason, "{name}");
            assert_eq!(read.usage, completion.usage, "{name}");
            assert_eq!(
                (read.model.as_deref(), read.response_id.as_deref()),
                (Some("model-1"), Some("id-1"))
            );
        }
    }
}

#[test]
fn an_error_is_read_as_the_server_s() {
    let (events, completion) = run(vec![StreamChunk::message("Hi")]);
    let (chunks, error) = decode(&body(&events, &completion), 7);
    assert_eq!(chunks.iter().map(|chunk| &*chunk.content).collect::<String>(), "Hi");
    let Some(ProviderError::InStream { message, .. }) = error else { panic!("{error:?}") };
    let Some(AgentEvent::Error(ErrorEvent { error: written, .. })) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(message, written.message);
}

#[test]
fn a_name_that_comes_late_is_written_when_it_is_known() {
    let mut writer = ChunkWriter::new("i", "m");
    let start = AgentEvent::ToolCallStart(ToolCallStartEvent::new(2, "a"));
    let end = AgentEvent::ToolCallEnd(
        ToolCallEndEvent::new(2, forgeline_types::CallOutcome::Complete).tool_name(Text::from("f")),
    );
    let first = writer.event(&start).unwrap();
    assert!(
        first.contains(
            r#""tool_calls":[{"index":2,"id":"a","type":"function","function":{"arguments":""}}]"#
        ),
        "{first}"
    );
    let last = writer.event(&end).unwrap();
    assert!(
        last.contains(r#""tool_calls":[{"index":2,"function":{"name":"f","arguments":""}}]"#),
        "{last}"
    );
    assert_eq!(writer.event(&end), None, "once");
    assert_eq!(writer.event(&AgentEvent::MessageStart), None);
}

// Rows: N-84
#[test]
fn an_answer_with_calls_never_ends_with_stop() {
    let call = || StreamChunk::calls(vec![ToolCallDelta::new(0).id("c").name("f").arguments("{}")]);
    let text = || StreamChunk::message("<tool>{\"tool_name\":\"f\",\"arguments\":{}}</tool>");
    #[rustfmt::skip]
    let cases = [
        ("native, stop",       vec![call()], FinishReason::Stop,      "tool_calls"),
        ("text, stop",         vec![text()], FinishReason::Stop,      "tool_calls"),
        ("native, tool_calls", vec![call()], FinishReason::ToolCalls, "tool_calls"),
        ("native, cut",        vec![call()], FinishReason::Length,    "length"),
        ("no call",            vec![StreamChunk::message("f")], FinishReason::Stop, "stop"),
    ];
    for (name, mut chunks, reason, want) in cases {
        chunks.push(StreamChunk::end(reason));
        let (events, completion) = run(chunks);
        let body = body(&events, &completion);
        assert!(body.contains(&format!("\"finish_reason\":\"{want}\"")), "{name}: {body}");
    }
}
