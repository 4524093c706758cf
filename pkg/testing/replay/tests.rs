use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::record::Recording;
use forgeline_llm::{
    Provider, ProviderError, Request, TimeoutKind,
    transport::{HttpRequest, Transport as _, TransportError},
};
use forgeline_types::{ErrorCode, Message, MessageRole, Part, ToolResult, Transcript};

const BODY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn exchange(turn: u32, body: &Value, response: &Value, ended: &str) -> Value {
    let request = json!({ "method": "POST", "url": "http://h/v1/chat/completions", "headers": {}, "body": body });
    json!({ "turn": turn, "request": request, "response": response, "ended": ended })
}

fn response(status: u16, body: &str, reads: &Value) -> Value {
    json!({ "status": status, "head_ms": 100, "headers": { "retry-after": "7" }, "body": body, "reads": reads })
}

fn asks(text: &str) -> Value {
    json!({ "messages": [{ "role": "system", "content": "Be \"brief\"." }, { "role": "user", "content": text }] })
}

fn recording(exchanges: &[Value]) -> Recording {
    let header = json!({ "forgeline_recording": 1, "recorded": "2026-11-22T09:00:00Z" });
    let lines: Vec<_> = [&header].into_iter().chain(exchanges).map(Value::to_string).collect();
    lines.join("\n").parse().unwrap()
}

fn session() -> Recording {
    let reads = json!([[40, 150], [BODY.len() - 40, 400]]);
    recording(&[
        exchange(1, &asks("One"), &response(200, BODY, &reads), "whole"),
        exchange(
            2,
            &asks("Two"),
            &response(429, "{\"error\":{\"message\":\"slow down\"}}", &json!([[33, 100]])),
            "whole",
        ),
        exchange(
            3,
            &asks("Three"),
            &response(200, BODY.split_at(50).0, &json!([[50, 110]])),
            "broken",
        ),
    ])
}

fn request(text: &str) -> Request {
    Request::prompt(text).system("Be \"brief\".")
}

#[tokio::test]
async fn a_whole_session_is_played_with_its_failures() {
    let provider = ReplayProvider::recording(session());
    assert_eq!(provider.complete(request("One")).await.unwrap().text, "Hi");
    let error = provider.complete(request("Two")).await.unwrap_err();
    assert_eq!(
        (error.code(), error.retry_after()),
        (ErrorCode::RateLimited, Some(Duration::from_secs(7)))
    );
    let mut stream = provider.stream_completion(request("Three")).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().content, "Hi");
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(matches!(error, ProviderError::Body { received: 50, .. }), "{error:?}");
    let error = provider.complete(request("Four")).await.unwrap_err();
    assert_eq!(error.to_string(), "the recording has 3 answers, and this is call 4; record more");
    assert_eq!(error.code(), ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_session_that_says_something_else_is_refused() {
    let play = |request| async {
        let error = ReplayProvider::recording(session()).complete(request).await;
        error.map(|_| ()).map_err(|error| error.to_string())
    };
    play(request("One")).await.unwrap();
    let error = play(request("Another")).await.unwrap_err();
    assert_eq!(error, "the recording is stale: in turn 1, message 1 differs; record it anew");
    let error = play(Request::prompt("One").system("Be long.")).await.unwrap_err();
    assert!(error.contains("system prompt"), "{error}");
    let result = Part::ToolResult(ToolResult::new("c", "t", "a result"));
    let messages = vec![Message::user("One"), Message::new(MessageRole::Tool, vec![result])];
    let error = play(Request::new(Transcript::from(messages))).await.unwrap_err();
    assert!(error.contains("message 2"), "{error}");
    let provider = ReplayProvider::recording(session()).lenient();
    assert_eq!(provider.complete(request("Another")).await.unwrap().text, "Hi");
}

/// When each chunk of the first answer comes, in milliseconds.
async fn times(provider: ReplayProvider) -> Vec<u128> {
    let start = Instant::now();
    let mut stream = provider.stream_completion(request("One")).await.unwrap();
    let mut times = vec![start.elapsed().as_millis()];
    while let Some(chunk) = stream.next().await {
        chunk.unwrap();
        times.push(start.elapsed().as_millis());
    }
    times
}

#[tokio::test(start_paused = true)]
async fn answers_come_at_the_pace_that_is_asked_for() {
    let provider = || ReplayProvider::recording(session());
    // The head, the text, the end; the first read ends inside the first event.
    assert_eq!(times(provider()).await, [0, 0, 0]);
    assert_eq!(times(provider().pace(Pace::Recorded)).await, [100, 400, 400]);
    assert_eq!(times(provider().pace(Pace::Scaled(0.5))).await, [50, 200, 200]);
    assert_eq!(times(provider().pace(Pace::Scaled(-1.0))).await, [0, 0, 0]);
    assert_eq!(times(provider().pace(Duration::from_millis(30))).await, [0, 30, 30]);
    // Other pieces come when their last byte did.
    let pieces = provider().chunks(ChunkSizes::Bytes(20)).pace(Pace::Recorded);
    assert_eq!(times(pieces).await, [100, 400, 400]);
    let bodies = ReplayProvider::new([BODY]).chunks(ChunkSizes::Bytes(50));
    assert_eq!(times(bodies.clone().pace(Duration::from_secs(1))).await, [0, 0, 2000]);
    let bodies = ReplayProvider::new([BODY]).pace(Pace::Recorded);
    assert_eq!(times(bodies).await, [0, 0, 0]);
}

fn sent(path: &str, body: &Value) -> HttpRequest {
    HttpRequest::new("POST", format!("https://other{path}?key=k"))
        .body(vec![body.to_string().into()])
}

#[tokio::test]
async fn a_stale_recording_is_refused_at_its_turn_and_pointer() {
    let path = "/v1/chat/completions";
    let refused = |transport: ReplayTransport, request| async move {
        match transport.send(request).await {
            Ok(_) => String::new(),
            Err(TransportError::Refused { message, .. }) => message.to_string(),
            Err(error) => panic!("{error:?}"),
        }
    };
    let new = || ReplayTransport::new(session());
    assert_eq!(refused(new(), sent(path, &asks("One"))).await, "");
    let error = refused(new(), sent("/v1/responses", &asks("One"))).await;
    assert!(error.contains("the path is /v1/responses, not /v1/chat/completions"), "{error}");
    let error = refused(new(), HttpRequest::new("GET", "http://h/v1/chat/completions")).await;
    assert!(error.contains("the method is GET, not POST"), "{error}");
    let replay = new();
    assert_eq!(refused(replay.clone(), sent(path, &asks("One"))).await, "");
    let error = refused(replay.clone(), sent(path, &asks("Zwei"))).await;
    assert_eq!(
        error,
        "the recording is stale: in turn 2, /messages/1/content is \"Zwei\", not \"Two\"; record it anew"
    );
    assert_eq!(refused(replay.clone(), sent(path, &asks("Three"))).await, "");
    let error = refused(replay, sent(path, &asks("Four"))).await;
    assert_eq!(error, "the recording has 3 answers, and this is call 4; record more");
    let ignoring = new().ignore("/messages/*/content");
    assert_eq!(refused(ignoring, sent(path, &asks("Eins"))).await, "");
    assert_eq!(refused(new().lenient(), sent("/x", &Value::Null)).await, "");
    let mut more = asks("One");
    more["seed"] = json!(7);
    let error = refused(new(), sent(path, &more)).await;
    assert!(error.contains("/seed is new"), "{error}");
}

#[tokio::test]
async fn recorded_failures_are_met_again() {
    let failed = |kind: &str| {
        let mut line = exchange(1, &Value::Null, &Value::Null, "broken");
        line.as_object_mut().unwrap().remove("response");
        line["failed"] = json!({ "kind": kind, "host": "h:1", "message": "no route" });
        ReplayProvider::recording(recording(&[line])).lenient()
    };
    let error = failed("connect").complete(request("x")).await.unwrap_err();
    assert!(matches!(&error, ProviderError::Connect { host, .. } if host == "h:1"), "{error:?}");
    let error = failed("connect_timeout").complete(request("x")).await.unwrap_err();
    assert!(
        matches!(error, ProviderError::Timeout { which: TimeoutKind::Connect, .. }),
        "{error:?}"
    );
    let error = failed("refused").complete(request("x")).await.unwrap_err();
    assert_eq!(error.to_string(), "no route");
}

#[tokio::test(start_paused = true)]
async fn a_piece_comes_when_its_last_byte_did() {
    let reads = json!([[10, 110], [10, 250], [4, 250], [6, 400]]);
    let recording = recording(&[exchange(
        1,
        &asks("One"),
        &response(200, "x".repeat(30).as_str(), &reads),
        "whole",
    )]);
    #[rustfmt::skip]
    let cases: [(ChunkSizes, &[u128]); 5] = [
        (ChunkSizes::Sizes([10, 10, 4].into()), &[110, 250, 250, 400]),
        (ChunkSizes::Bytes(5),                  &[110, 110, 250, 250, 400, 400]),
        (ChunkSizes::Bytes(11),                 &[250, 250, 400]),
        (ChunkSizes::Bytes(24),                 &[250, 400]),
        (ChunkSizes::Whole,                     &[400]),
    ];
    for (sizes, want) in cases {
        let transport =
            ReplayTransport::new(recording.clone()).lenient().pace(Pace::Recorded).chunks(sizes);
        let start = Instant::now();
        let mut body = transport.send(sent("/v1", &json!({}))).await.unwrap().body;
        let mut times = Vec::new();
        while let Some(piece) = body.next().await {
            piece.unwrap();
            times.push(start.elapsed().as_millis());
        }
        assert_eq!(times, want);
    }
}
