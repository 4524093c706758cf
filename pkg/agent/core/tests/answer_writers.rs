//! Events that are written as a response of Messages or Responses, and read again, are the same events.

use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use super::harness::{check_brackets, join};
use crate::{EventStream, StreamOptions};
use forgeline_llm::{
    BodyDecoder, ContentType, ProviderError, StreamChunk, ToolCallDelta,
    anthropic::{AnthropicDecoder, MessageWriter},
    gateway::AnswerWriter,
    openai::{ChunkWriter, OpenAiDecoder},
    responses::{ResponseWriter, ResponsesDecoder},
};
use forgeline_types::{
    AgentError, AgentEvent, CallOutcome, Citation, Completion, ErrorCode, FinishReason, ItemKind,
    Json, Part, ProviderItem, Signature, Text, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent, UsageInfo,
};

/// The events of these chunks, joined, and their completion; `writer` gets each event as a gateway passes it on.
fn run(
    chunks: Vec<Result<StreamChunk, ProviderError>>,
    mut writer: impl FnMut(Option<&Signature>, &AgentEvent),
) -> (Vec<AgentEvent>, Completion) {
    let mut events = EventStream::with_parts(stream::iter(chunks), &StreamOptions::default());
    let mut seen = Vec::new();
    while let Some(Some(event)) = events.next().now_or_never() {
        writer(events.signature(), &event);
        seen.push(event);
    }
    check_brackets(&seen);
    (join(seen), events.completion().unwrap().clone())
}

/// The body of a response, and the events and the completion that it has.
fn write(
    writer: &mut impl AnswerWriter,
    chunks: &[StreamChunk],
) -> (String, Vec<AgentEvent>, Completion) {
    let mut body = String::new();
    let chunks = chunks.iter().cloned().map(Ok).collect();
    let (events, completion) = run(chunks, |signature, event| {
        writer.sign(signature);
        body.push_str(&writer.frames(event));
    });
    if completion.error.is_none() {
        let reason = completion.finish_reason.as_ref().unwrap();
        body.push_str(&writer.last_frames(reason, completion.usage.as_ref()));
    }
    (body, events, completion)
}

fn decode<D: BodyDecoder + Default>(pieces: Vec<&[u8]>) -> (Vec<AgentEvent>, Completion) {
    let (mut chunks, mut decoder) = (Vec::new(), D::default());
    for piece in pieces {
        decoder.push(piece, &mut |chunk| chunks.push(Ok(chunk))).unwrap();
    }
    if let Err(error) = decoder.finish(&mut |chunk| chunks.push(Ok(chunk))) {
        chunks.push(Err(error));
    }
    run(chunks, |_, _| {})
}

/// The frames of a body: the name and the data of each.
fn frames(body: &str) -> Vec<(String, Value)> {
    let frames = body.split("\n\n").filter(|frame| !frame.is_empty());
    let parted = frames.map(|frame| {
        let (name, data) = frame.split_once("\ndata: ").unwrap();
        (name.strip_prefix("event: ").unwrap().to_owned(), serde_json::from_str(data).unwrap())
    });
    parted.collect()
}

fn names(body: &str) -> Vec<String> {
    frames(body).into_iter().map(|(name, _)| name).collect()
}

fn call(index: u32, arguments: &str) -> ToolCallDelta {
    ToolCallDelta::new(index).arguments(arguments)
}

fn item(protocol: &str, kind: ItemKind, raw: Value) -> StreamChunk {
    let item = ProviderItem::new(protocol, kind, Json::from(raw));
    StreamChunk::events(vec![AgentEvent::ProviderItem(item)])
}

fn end(reason: FinishReason) -> StreamChunk {
    let usage = UsageInfo::default().input_tokens(70).output_tokens(30);
    let mut end = StreamChunk::end(reason);
    end.usage = Some(usage.cache_read_tokens(20).cache_write_tokens(5).reasoning_tokens(1));
    end
}

/// Answers that both protocols can say whole.
fn answers() -> Vec<(&'static str, Vec<StreamChunk>)> {
    let message = |text: &str| StreamChunk::message(text);
    #[rustfmt::skip]
    let answers = vec![
        ("text",         vec![message("Hé"), message("llo\n\u{1f600} \"quoted\""), end(FinishReason::Stop)]),
        ("calls",        vec![
            message("Two calls."),
            StreamChunk::calls(vec![call(0, "").id("a").name("f")]),
            StreamChunk::calls(vec![call(0, "{\"x\": "), call(0, "1.50}")]),
            StreamChunk::calls(vec![call(1, "{\"y\":\"\\u65e5\"}").id("b").name("g")]),
            end(FinishReason::ToolCalls),
        ]),
        ("at once",      vec![StreamChunk::calls(vec![call(0, "{\"x\":").id("a").name("f"), call(1, "{").id("b").name("g"), call(0, "1}"), call(1, "}")]), end(FinishReason::ToolCalls)]),
        ("no arguments", vec![StreamChunk::calls(vec![call(0, "").id("a").name("f")]), end(FinishReason::ToolCalls)]),
        ("cut text",     vec![message("It is"), end(FinishReason::Length)]),
        ("cut call",     vec![StreamChunk::calls(vec![call(0, "{\"x\": ").id("a").name("f")]), end(FinishReason::Length)]),
        ("nothing",      vec![end(FinishReason::Stop)]),
    ];
    answers
}

fn check<W: AnswerWriter, D: BodyDecoder + Default>(
    name: &str,
    new: impl Fn() -> W,
    chunks: &[StreamChunk],
) -> String {
    let (body, events, completion) = write(&mut new(), chunks);
    let step = if std::env::var_os("FORGELINE_QUICK").is_some() { 16 } else { 1 };
    let bytes = body.as_bytes();
    let cuts = (0..=body.len()).step_by(step).map(|at| <[_; 2]>::from(bytes.split_at(at)).to_vec());
    let sizes = [1, 7].map(|size| bytes.chunks(size).collect());
    for pieces in cuts.chain(sizes) {
        let first = pieces[0].len();
        let (again, read) = decode::<D>(pieces);
        assert_eq!(again, events, "{name}, whose first piece has {first} bytes: {body}");
        assert_eq!(read.usage, completion.usage, "{name}");
        assert_eq!(read.parts, completion.parts, "{name}");
        let of_calls = |reason: &Option<FinishReason>| {
            // Responses has no word for it.
            reason
                .clone()
                .map(|it| if it == FinishReason::ToolCalls { FinishReason::Stop } else { it })
        };
        assert_eq!(of_calls(&read.finish_reason), of_calls(&completion.finish_reason), "{name}");
        assert_eq!((read.model.as_deref(), read.response_id.as_deref()), (Some("m"), Some("id")));
    }
    // The same answer, sent whole.
    let whole = new().complete(&completion);
    let (_, read) = decode::<D>(whole.as_bytes().chunks(7).collect());
    let reads =
        |of: &Completion| (of.text.clone(), of.thinking.clone(), of.refusal.clone(), of.usage);
    assert_eq!(reads(&read), reads(&completion), "{name}: {whole}");
    let calls = |of: &Completion| -> Vec<_> {
        let written = |it: &Option<Json>| it.as_ref().map(Json::to_value);
        of.tool_calls
            .iter()
            .map(|it| (it.id.clone(), it.name.clone(), written(&it.arguments)))
            .collect()
    };
    if name != "cut call" {
        assert_eq!(calls(&read), calls(&completion), "{name}: {whole}");
    }
    body
}

#[test]
fn messages_read_as_the_same_events() {
    let new = || MessageWriter::new("id", "m");
    for (name, chunks) in answers() {
        check::<_, AnthropicDecoder>(name, new, &chunks);
    }
    let vendor = |kind, raw| item("anthropic", kind, raw);
    let citation = {
        let mut citation = Citation::default();
        (citation.url, citation.title) = (Some("https://x".into()), Some("X".into()));
        ItemKind::Citation(citation)
    };
    let search = ItemKind::server_tool_call("s", "web_search", Json::from(json!({ "query": "x" })));
    let chunks = [
        StreamChunk::thinking("Let me\tsee."),
        StreamChunk::signature("anthropic", "proof"),
        vendor(ItemKind::Reasoning, json!({ "type": "redacted_thinking", "data": "x" })),
        vendor(
            search,
            json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "x" } }),
        ),
        StreamChunk::message("It is so."),
        vendor(
            citation,
            json!({ "type": "web_search_result_location", "url": "https://x", "title": "X" }),
        ),
        vendor(ItemKind::other("stop_sequence"), json!("END")),
        end(FinishReason::Stop),
    ];
    let body = check::<_, AnthropicDecoder>("items", new, &chunks);
    assert!(body.contains(r#"{"type":"signature_delta","signature":"proof"}"#), "{body}");
    assert!(body.contains(r#""stop_reason":"stop_sequence""#), "{body}");
}

#[test]
fn responses_read_as_the_same_events() {
    let new = || ResponseWriter::new("id", "m");
    for (name, chunks) in answers() {
        check::<_, ResponsesDecoder>(name, new, &chunks);
    }
    let refusal = |text: &str| {
        let mut chunk = StreamChunk::message(text);
        chunk.content_type = ContentType::Refusal;
        chunk
    };
    check::<_, ResponsesDecoder>(
        "a refusal",
        new,
        &[refusal("No "), refusal("way."), end(FinishReason::Stop)],
    );
    let vendor = |kind, raw| item("openai-responses", kind, raw);
    let summary = json!([{ "type": "summary_text", "text": "Let me see." }]);
    let chunks = [
        StreamChunk::thinking("Let me "),
        StreamChunk::thinking("see."),
        vendor(
            ItemKind::Reasoning,
            json!({ "type": "reasoning", "id": "r", "summary": summary, "encrypted_content": "e" }),
        ),
        StreamChunk::message("It is so."),
        vendor(ItemKind::other("phase"), json!("commentary")),
        vendor(
            ItemKind::other("compaction"),
            json!({ "type": "compaction", "id": "c", "encrypted_content": "e" }),
        ),
        end(FinishReason::Stop),
    ];
    let body = check::<_, ResponsesDecoder>("items", new, &chunks);
    let mut numbers = frames(&body).into_iter().map(|(_, data)| data["sequence_number"].as_u64());
    assert!((0..numbers.len() as u64).all(|at| numbers.next() == Some(Some(at))), "{body}");
    let (_, last) = frames(&body).pop().unwrap();
    let output = last["response"]["output"].as_array().unwrap();
    let kinds: Vec<_> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "compaction"]);
    assert_eq!(output[1]["phase"], "commentary");
}

#[test]
fn frames_come_in_the_order_of_the_vendors() {
    let chunks = [
        StreamChunk::thinking("hm"),
        StreamChunk::message("Hi"),
        StreamChunk::calls(vec![call(0, "{}").id("a").name("f")]),
        StreamChunk::end(FinishReason::Stop),
    ];
    let (body, ..) = write(&mut MessageWriter::new("id", "m"), &chunks);
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let want = [&["message_start"][..], &block, &block, &block, &["message_delta", "message_stop"]];
    assert_eq!(names(&body), want.concat());
    assert!(body.contains(r#""stop_reason":"tool_use""#), "clients run calls only then: {body}");
    let (body, ..) = write(&mut ResponseWriter::new("id", "m"), &chunks);
    let want = [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(names(&body), want.map(|name| format!("response.{name}")));
    for (name, data) in frames(&body) {
        assert_eq!(data["type"], name.as_str());
    }
}

#[test]
fn a_call_that_is_named_late_is_written_whole() {
    fn late(mut writer: impl AnswerWriter, events: [&AgentEvent; 3]) -> [String; 3] {
        events.map(|event| writer.frames(event))
    }
    let start = AgentEvent::ToolCallStart(ToolCallStartEvent::new(0, "a"));
    let more = AgentEvent::ToolCallContent(ToolCallContentEvent::new(0, "{}", "{}"));
    let end = ToolCallEndEvent::new(0, CallOutcome::Complete).tool_name(Text::from("f"));
    let end = AgentEvent::ToolCallEnd(end);
    let [none, still, whole] = late(MessageWriter::new("id", "m"), [&start, &more, &end]);
    assert_eq!((none.as_str(), still.as_str()), ("", ""));
    assert!(whole.contains(r#""name":"f""#) && whole.contains(r#""partial_json":"{}""#), "{whole}");
    let [none, still, whole] = late(ResponseWriter::new("id", "m"), [&start, &more, &end]);
    assert_eq!((none.as_str(), still.as_str()), ("", ""));
    assert!(whole.contains(r#""name":"f","arguments":"{}""#), "{whole}");
}

#[test]
fn a_failed_answer_is_read_as_the_server_s_failure() {
    fn fails<D: BodyDecoder + Default>(mut writer: impl AnswerWriter) {
        let (body, events, _) = write(&mut writer, &[StreamChunk::message("Hi")]);
        let Some(AgentEvent::Error(written)) = events.last() else { panic!("{events:?}") };
        let (_, read) = decode::<D>(body.as_bytes().chunks(7).collect());
        assert_eq!(read.text, "Hi");
        let error = read.error.unwrap();
        assert!(error.message.contains(&*written.error.message), "{error:?}: {body}");
    }
    fails::<OpenAiDecoder>(ChunkWriter::new("id", "m"));
    fails::<AnthropicDecoder>(MessageWriter::new("id", "m"));
    fails::<ResponsesDecoder>(ResponseWriter::new("id", "m"));
    let rows = [
        (ErrorCode::Overloaded, "overloaded_error"),
        (ErrorCode::RateLimited, "rate_limit_error"),
        (ErrorCode::Timeout, "timeout_error"),
        (ErrorCode::ContextExceeded, "invalid_request_error"),
        (ErrorCode::Auth, "api_error"),
    ];
    for (code, kind) in rows {
        let body = MessageWriter::failure(&AgentError::new(code, "why"));
        let want = json!({ "type": "error", "error": { "type": kind, "message": "why" } });
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), want);
    }
}

#[test]
fn a_signature_of_another_vendor_is_not_written() {
    let chunks = [
        StreamChunk::thinking("hm"),
        StreamChunk::signature("gemini", "proof"),
        StreamChunk::message("Hi"),
        StreamChunk::end(FinishReason::Stop),
    ];
    let (body, _, completion) = write(&mut MessageWriter::new("id", "m"), &chunks);
    assert!(!body.contains("proof"), "{body}");
    assert!(matches!(&completion.parts[0], Part::Thinking { signature: Some(_), .. }));
    assert!(!MessageWriter::new("id", "m").complete(&completion).contains("proof"));
}
