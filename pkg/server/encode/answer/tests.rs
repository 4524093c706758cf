//! A run as one answer: whole wherever it is cut, and `stop` only for an answer.

use serde_json::{Value, json};

use super::*;
use crate::encode::{
    EncodeMessages, RunEnd, RunStatus,
    message_writer::MessageWriter,
    tests::{ENCODED, data, envelopes, kinds},
};
use forgeline_llm::{openai::ChunkWriter, responses::ResponseWriter};
use forgeline_types::{
    AgentError, AgentEvent, Ending, Envelope, ErrorCode, FinishReason, MessageContentEvent, Text,
};

/// The frames of these events, to the end of the run or to a pause.
fn frames<P: FrontProtocol>(events: &[Envelope], end: Option<&RunEnd>, sent: &[Text]) -> String {
    let mut encoder = AnswerStream::<P>::new("main").after(sent.to_vec());
    let mut out = Vec::new();
    let writer = &mut MessageWriter::frames(&mut out);
    for event in events {
        encoder.encode_event(event, writer);
    }
    match end {
        Some(end) => encoder.encode_end(end, writer),
        None => encoder.pause("run", writer),
    }
    String::from_utf8(out).unwrap()
}

/// The whole answer of these events.
fn whole<P: FrontProtocol>(
    events: &[Envelope],
    end: Option<&RunEnd>,
    sent: &[Text],
) -> Result<Value, AgentError> {
    let (mut encoder, answer) = AnswerWhole::<P>::new("main", sent.to_vec());
    let mut out = Vec::new();
    for event in events {
        encoder.encode_event(event, &mut MessageWriter::frames(&mut out));
    }
    match end {
        Some(end) => encoder.encode_end(end, &mut MessageWriter::frames(&mut out)),
        None => encoder.pause("run"),
    }
    assert!(out.is_empty());
    let answer = answer.get().unwrap().clone();
    answer.map(|body| serde_json::from_str(&body).unwrap())
}

/// The text, the ids of the calls, and the end of a stream of chunks.
fn joined(frames: &str) -> (String, Vec<Value>, Option<String>) {
    let (mut text, mut calls, mut reason) = (String::new(), Vec::new(), None);
    for chunk in data(frames) {
        assert!(
            reason.is_none() || chunk.get("usage").is_some(),
            "nothing after the end: {frames}"
        );
        if let Some(error) = chunk.get("error") {
            assert!(error["message"].is_string(), "{frames}");
            reason = Some("error".to_owned());
        }
        let choice = &chunk["choices"][0];
        text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        let called = choice["delta"]["tool_calls"][0]["id"].clone();
        calls.extend(Some(called).filter(Value::is_string));
        reason = choice["finish_reason"].as_str().map(str::to_owned).or(reason);
    }
    (text, calls, reason)
}

fn ended(status: RunStatus, ending: Option<Ending>, reason: Option<FinishReason>) -> RunEnd {
    let mut end = RunEnd::new("run", 0, status);
    (end.ending, end.finish_reason) = (ending, reason);
    end
}

fn event(turn: u32, event: Value) -> Envelope {
    Envelope::new("run".into(), turn, 0, 1_700_000_000_000, serde_json::from_value(event).unwrap())
}

fn request(turn: u32, id: &str) -> Envelope {
    event(
        turn,
        json!({ "type": "client_tool_request", "client_call_id": format!("client-{id}"), "id": id,
            "tool_name": "weather", "tool_module": null, "arguments": { "at": 1.50 } }),
    )
}

fn result(turn: u32, id: &str) -> Envelope {
    event(
        turn,
        json!({ "type": "tool_result", "id": id, "tool_name": "weather", "content": "Sun.", "duration_ms": 1 }),
    )
}

fn text(turn: u32, text: &str) -> Envelope {
    let event = AgentEvent::MessageContent(MessageContentEvent::new(text));
    Envelope::new("run".into(), turn, 0, 1_700_000_000_000, event)
}

#[test]
fn each_kind_of_event_has_its_place_in_an_answer() {
    let (events, mut end) = (kinds(), ended(RunStatus::Completed, Some(Ending::Answered), None));
    let asks = events.iter().position(|event| event.event.kind() == "client_tool_request").unwrap();
    end.seq = events.len() as u64;
    let pretty = |answer: Value| serde_json::to_string_pretty(&answer).unwrap() + "\n";
    for (name, written) in [
        ("chat-completions.sse", frames::<ChunkWriter>(&events, Some(&end), &[])),
        ("chat-completions-calls.sse", frames::<ChunkWriter>(&events[..=asks], None, &[])),
        ("chat-completions.json", pretty(whole::<ChunkWriter>(&events, Some(&end), &[]).unwrap())),
        ("responses.sse", frames::<ResponseWriter>(&events, Some(&end), &[])),
        ("responses.json", pretty(whole::<ResponseWriter>(&events, Some(&end), &[]).unwrap())),
    ] {
        let path = format!("{ENCODED}/{name}");
        if std::env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        let want = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, want, "{name}: FORGELINE_WRITE_GOLDEN=1 writes the file anew");
    }
    let (mut encoder, mut out, mut places) =
        (AnswerStream::<ChunkWriter>::new("main"), Vec::new(), Vec::new());
    for event in &events {
        encoder.encode_event(event, &mut MessageWriter::texts(&mut out, &mut places));
    }
    encoder.encode_end(&end, &mut MessageWriter::texts(&mut out, &mut places));
    let texts = places.into_iter().map(|place| serde_json::from_slice(&out[place]).unwrap());
    let want = data(&frames::<ChunkWriter>(&events, Some(&end), &[]));
    assert_eq!(texts.collect::<Vec<Value>>(), want);
}

#[tokio::test]
async fn a_stream_and_a_whole_answer_say_the_same_wherever_the_run_ends() {
    for answers in [true, false] {
        let (all, end) = envelopes(answers).await;
        for cut in 0..=all.len() {
            for status in [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled] {
                let mut end = end.clone();
                end.status = status;
                if status != RunStatus::Completed {
                    end.ending = None;
                }
                let events = &all[..cut];
                let (text, calls, reason) = joined(&frames::<ChunkWriter>(events, Some(&end), &[]));
                assert!(calls.is_empty(), "the calls are of tools of the service");
                match whole::<ChunkWriter>(events, Some(&end), &[]) {
                    Ok(answer) => {
                        let choice = &answer["choices"][0];
                        assert_eq!(choice["message"]["content"].as_str().unwrap_or_default(), text);
                        assert_eq!(choice["finish_reason"].as_str(), reason.as_deref());
                        assert_eq!(status, RunStatus::Completed);
                    }
                    Err(_) => assert_eq!(reason.as_deref(), Some("error")),
                }
                let streamed = frames::<ResponseWriter>(events, Some(&end), &[]);
                let kind = data(&streamed).pop().unwrap()["type"].clone();
                let want = if status == RunStatus::Completed { "completed" } else { "failed" };
                assert_eq!(kind, format!("response.{want}"), "{streamed}");
            }
        }
    }
}

#[test]
fn only_an_answer_ends_with_stop() {
    let said = [text(1, "So far.")];
    for ending in Ending::ALL.into_iter().map(Some).chain([None]) {
        for status in
            [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled, RunStatus::Interrupted]
        {
            let reasons = [
                FinishReason::Stop,
                FinishReason::Length,
                FinishReason::ToolCalls,
                FinishReason::ContentFilter,
                FinishReason::Refusal,
            ];
            for reason in reasons {
                let mut end = ended(status, ending, Some(reason.clone()));
                end.error = ending.is_none().then(|| AgentError::new(ErrorCode::Internal, "x"));
                let (_, _, shown) = joined(&frames::<ChunkWriter>(&said, Some(&end), &[]));
                let is_answer = ending == Some(Ending::Answered)
                    || (ending.is_none() && status == RunStatus::Completed);
                let want = match (ending, &reason) {
                    (_, FinishReason::Length) if is_answer => "length",
                    (_, FinishReason::ContentFilter | FinishReason::Refusal) if is_answer => {
                        "content_filter"
                    }
                    _ if is_answer => "stop",
                    (Some(Ending::Limit | Ending::Cut), _) => "length",
                    (Some(Ending::Filtered | Ending::Refused), _) => "content_filter",
                    _ => "error",
                };
                assert_eq!(shown.as_deref(), Some(want), "{ending:?} {status:?} {reason:?}");
                let answer = whole::<ChunkWriter>(&said, Some(&end), &[]);
                assert_eq!(answer.is_err(), want == "error", "{ending:?} {status:?}");
            }
        }
    }
}

#[test]
fn an_answer_ends_with_the_calls_that_wait_and_goes_on_after_their_results() {
    let deeper = json!({ "run_id": "sub", "turn": 4, "seq": 0, "at": 1, "type": "client_tool_request",
        "client_call_id": "k", "id": "d", "tool_name": "weather", "tool_module": null, "arguments": {} });
    let below = json!({ "type": "custom", "name": "sub_agent",
        "data": { "parent_run_id": "run", "call_id": "s", "name": "helper", "envelope": deeper } });
    let first =
        [text(1, "I look."), request(1, "a"), request(1, "b"), event(1, below), result(1, "b")];
    let (said, calls, reason) = joined(&frames::<ChunkWriter>(&first, None, &[]));
    assert_eq!((said.as_str(), reason.as_deref()), ("I look.", Some("tool_calls")));
    assert_eq!(calls, ["run.1.a", "run.sub.4.d"], "not the one that has its result");
    let answer = whole::<ChunkWriter>(&first, None, &[]).unwrap();
    let called = &answer["choices"][0]["message"]["tool_calls"];
    assert_eq!(called[0]["function"]["arguments"], "{\"at\":1.5}");
    assert_eq!(called[1]["id"], "run.sub.4.d");
    // The same as it is repeated after a restart.
    let mut again = first.to_vec();
    again.push(request(1, "a"));
    assert_eq!(joined(&frames::<ChunkWriter>(&again, None, &[])).1.len(), 2);

    let sent = ["run.1.a".into(), "run.sub.4.d".into()];
    let mut rest = first.to_vec();
    rest.extend([result(1, "a"), text(2, "It is sunny.")]);
    let end = ended(RunStatus::Completed, Some(Ending::Answered), None);
    let (said, calls, reason) = joined(&frames::<ChunkWriter>(&rest, Some(&end), &sent));
    assert_eq!((said.as_str(), calls.len(), reason.as_deref()), ("It is sunny.", 0, Some("stop")));
    // Wherever the response ends, no call of an earlier one is said again, and no text.
    for cut in 0..rest.len() {
        let (said, calls, reason) = joined(&frames::<ChunkWriter>(&rest[..cut], None, &sent));
        assert!(said.is_empty(), "{cut}: {said}");
        // One whose result the client did not send is said again while it waits.
        let waits = cut == 4;
        assert_eq!(
            (calls.len(), reason.as_deref()),
            (usize::from(waits), Some(if waits { "tool_calls" } else { "error" })),
            "{cut}"
        );
    }
    // A result that came too late was not read.
    let late = json!({ "type": "client_tool_cancelled", "client_call_id": "client-a", "id": "a", "tool_name": "weather" });
    rest.insert(5, event(1, late));
    let error = whole::<ChunkWriter>(&rest, Some(&end), &sent).unwrap_err();
    assert!(error.message.contains("run.1.a"), "{error}");
    assert_eq!(
        joined(&frames::<ChunkWriter>(&rest, Some(&end), &sent)).2.as_deref(),
        Some("error")
    );
}

#[test]
fn an_answer_that_begins_again_is_taken_back_or_fails() {
    let start = || event(1, json!({ "type": "api_call_start", "provider": "p", "model": "m" }));
    let again = || {
        event(
            1,
            json!({ "type": "custom", "name": "answer_restarted", "data": { "turn": 1, "attempt": 2 } }),
        )
    };
    let end = ended(RunStatus::Completed, Some(Ending::Answered), None);
    let events = [text(0, "A."), start(), text(1, "B, and"), again(), text(1, "C.")];
    let answer = whole::<ChunkWriter>(&events, Some(&end), &[]).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "A.\n\nC.");
    let (_, _, reason) = joined(&frames::<ChunkWriter>(&events, Some(&end), &[]));
    assert_eq!(reason.as_deref(), Some("error"), "the client has a part of it");
    let events = [text(0, "A."), start(), again(), text(1, "C.")];
    let (said, _, reason) = joined(&frames::<ChunkWriter>(&events, Some(&end), &[]));
    assert_eq!((said.as_str(), reason.as_deref()), ("A.\n\nC.", Some("stop")));
}

#[test]
fn a_whole_answer_has_its_calls_after_its_texts_and_reasoning() {
    let thinking = event(1, json!({ "type": "thinking_content", "content": "Weather." }));
    for before in [
        vec![],
        vec![text(1, "I look.")],
        vec![thinking.clone()],
        vec![thinking, text(1, "I look.")],
    ] {
        let count = before.len();
        let events = [before, vec![request(1, "a"), request(1, "b")]].concat();
        let response = whole::<ResponseWriter>(&events, None, &[]).unwrap();
        let output = response["output"].as_array().unwrap();
        let kinds: Vec<_> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
        assert_eq!(kinds[count..], ["function_call", "function_call"], "{response}");
        let chat = whole::<ChunkWriter>(&events, None, &[]).unwrap();
        let calls = chat["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        assert_eq!(calls.len(), 2, "{chat}");
    }
}
