//! Answers in several choices: the parts of one answer, unless the request asked for several answers.

use serde_json::{Value, json};

use crate::{
    Protocol, Request,
    gemini::Gemini,
    http::{HttpProvider, WireFormat},
    openai::OpenAi,
    protocols::tests::chunk_words::{body, read_by},
};

/// Reads the body of a response to `request` in pieces of this size.
fn answer_of<W: WireFormat>(
    _: &HttpProvider<W>,
    request: &Request,
    protocol: Protocol,
    bytes: &[u8],
    size: usize,
) -> String {
    let decoder = W::default().answer_decoder(&W::defaults(), request);
    let (words, error) = read_by(protocol, decoder, bytes.chunks(size));
    words + error.map(|error| format!(" !{error}")).as_deref().unwrap_or_default()
}

/// One choice of a chunk, or of a whole answer.
fn choice(index: Option<u32>, member: &str, content: &Value, reason: &str) -> Value {
    let reason = Some(reason).filter(|reason| !reason.is_empty());
    let mut choice = json!({ "index": index, member: content, "finish_reason": reason });
    if choice["index"].is_null() {
        choice.as_object_mut().unwrap().remove("index");
    }
    choice
}

fn call(index: u32, id: &str) -> Value {
    let function = json!({ "name": "add", "arguments": format!("{{\"to\":\"{id}\"}}") });
    json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] })
}

fn chunks(choices: &[Value]) -> Vec<u8> {
    let events = choices.iter().map(|choice| json!({ "choices": [choice] }).to_string());
    let end = "[DONE]".to_owned();
    body(Protocol::OpenAiChat, &events.chain([end]).collect::<Vec<_>>())
}

fn whole(choices: &[Value]) -> Vec<u8> {
    json!({ "choices": choices }).to_string().into_bytes()
}

// Rows: N-27
#[test]
fn choices_that_were_not_asked_for_are_one_answer() {
    const CALL: &str = r#"c0#a:add({"to":"a"}…)"#;
    let part =
        |at: u32, member: &str, content: Value, reason| choice(Some(at), member, &content, reason);
    let no_index = |content: Value, reason| choice(None, "message", &content, reason);
    let said = |words: &str| json!({ "content": words });
    #[rustfmt::skip]
    let rows = [
        ("text, then a call", chunks(&[
            part(0, "delta", said("I add."), ""), part(1, "delta", call(0, "a"), "tool_calls"), part(0, "delta", json!({}), "tool_calls"),
        ]), format!("m:I add. {CALL} end:tool_calls . ."), "m:I add. +1 end:tool_calls ."),
        ("the text ends first", chunks(&[
            part(0, "delta", said("I add."), "stop"), part(1, "delta", call(0, "a"), "tool_calls"),
        ]), format!("m:I add. end:stop . {CALL} end:tool_calls ."), "m:I add. end:stop . +1"),
        ("the call ends first", chunks(&[
            part(1, "delta", call(0, "a"), "tool_calls"), part(0, "delta", said("I add."), "stop"),
        ]), format!("{CALL} end:tool_calls . m:I add. ."), "+1 m:I add. end:stop ."),
        ("a part is cut", chunks(&[
            part(0, "delta", said("I ad"), "length"), part(1, "delta", call(0, "a"), "tool_calls"),
        ]), format!("m:I ad end:length . {CALL} ."), "m:I ad end:length . +1"),
        ("calls in both", chunks(&[
            part(0, "delta", call(0, "a"), ""), part(1, "delta", call(0, "b"), "tool_calls"), part(0, "delta", json!({}), "tool_calls"),
        ]), format!(r#"{CALL} c1#b:add({{"to":"b"}}…) end:tool_calls . ."#), &format!("{CALL} +1 end:tool_calls .")),
        ("a whole answer", whole(&[
            part(0, "message", said("I add."), "tool_calls"), part(1, "message", call(0, "a"), "tool_calls"),
        ]), format!("m:I add. {CALL} end:tool_calls ."), "m:I add. +1 end:tool_calls ."),
        ("a whole answer without indexes", whole(&[
            no_index(said("I add."), "stop"), no_index(call(0, "a"), "tool_calls"),
        ]), format!("m:I add. {CALL} end:tool_calls ."), "m:I add. +1 end:stop ."),
        ("the same index twice", whole(&[
            part(0, "message", said("I add."), "stop"), part(0, "message", call(0, "a"), "tool_calls"),
        ]), format!("m:I add. {CALL} end:tool_calls ."), "m:I add. +1 end:stop ."),
        ("the second first", whole(&[
            part(1, "message", call(0, "a"), "tool_calls"), part(0, "message", said("I add."), "stop"),
        ]), format!("m:I add. {CALL} end:tool_calls ."), "m:I add. +1 end:stop ."),
        ("one choice", whole(&[part(0, "message", said("Hi."), "stop")]), "m:Hi. end:stop .".to_owned(), "m:Hi. end:stop ."),
        ("too many", whole(&[
            part(0, "message", said("Hi."), "stop"), part(64, "message", said("No."), "stop"),
        ]), "m:Hi. +64 end:stop .".to_owned(), "m:Hi. +64 end:stop ."),
    ];
    let provider = OpenAi::new("k", "m").unwrap();
    let asking = |count: Value| Request::prompt("Go.").extra("n", count);
    for (name, bytes, merged, first) in &rows {
        for size in [1, 7, bytes.len()] {
            let read = |request: &Request| {
                answer_of(&provider, request, Protocol::OpenAiChat, bytes, size)
            };
            assert_eq!(read(&Request::prompt("Go.")), *merged, "{name} in {size}s");
            assert_eq!(read(&asking(json!(1))), *merged, "{name}, n = 1");
            assert_eq!(read(&asking(Value::Null)), *merged, "{name}, no n");
            assert_eq!(read(&asking(json!(2))), *first, "{name}, n = 2");
            // A body does not say what was asked for.
            let alone = read_by(Protocol::OpenAiChat, Protocol::OpenAiChat.decoder(), [&**bytes]);
            assert_eq!((alone.0.as_str(), alone.1.is_none()), (*first, true), "{name}, alone");
        }
    }
}

// Rows: N-27
#[test]
fn candidates_that_were_not_asked_for_are_one_answer() {
    let candidate = |index: u32, part: Value, reason: Option<&str>| json!({ "index": index, "content": { "parts": [part] }, "finishReason": reason });
    let text = || json!({ "text": "I add." });
    let call = || json!({ "functionCall": { "name": "add", "args": {} } });
    let both = [candidate(0, text(), None), candidate(1, call(), Some("STOP"))];
    let events = [
        json!({ "candidates": [both[0]] }).to_string(),
        json!({ "candidates": [both[1]] }).to_string(),
        json!({ "candidates": [{ "finishReason": "STOP" }] }).to_string(),
    ];
    let ended = [candidate(0, text(), Some("STOP")), candidate(1, call(), Some("STOP"))];
    #[rustfmt::skip]
    let rows = [
        ("streamed", body(Protocol::Gemini, &events), "m:I add. c0:add({}) end:stop . .", "m:I add. +1 end:stop ."),
        ("whole", json!({ "candidates": ended }).to_string().into_bytes(), "m:I add. end:stop . c0:add({}) .", "m:I add. end:stop . +1"),
    ];
    let provider = Gemini::new("k", "m").unwrap();
    let asking = |count: u32| {
        Request::prompt("Go.").extra("generationConfig", json!({ "candidateCount": count }))
    };
    for (name, bytes, merged, first) in rows {
        for size in [1, 7, bytes.len()] {
            let read =
                |request: &Request| answer_of(&provider, request, Protocol::Gemini, &bytes, size);
            assert_eq!(read(&Request::prompt("Go.")), merged, "{name} in {size}s");
            assert_eq!(read(&asking(1)), merged, "{name}, one");
            assert_eq!(read(&asking(2)), first, "{name}, two");
        }
    }
}
