//! The service through its routes.

mod again;
mod all_events;
mod allowed;
mod audited;
mod besides;
mod chats;
mod chosen;
mod conversations;
mod counted;
mod described;
mod doors;
mod elsewhere;
mod ended;
mod failing_stores;
mod fronts;
mod fronts_left;
mod health;
mod hostile;
mod late;
mod listed_runs;
mod nested;
pub(super) mod nodes;
mod origins;
mod own_providers;
mod per_caller;
mod planted;
mod recovered;
mod refused;
mod repeated;
mod resume;
mod rooms;
mod said;
mod several;
mod shared_store;
mod stored;
mod streams;
mod table;
mod taken;
mod taken_commands;
mod untold;

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header, request::Builder},
    response::Response,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use self::described::router;
use super::*;
use forgeline_agent::{
    Agent, Caller,
    tools::{Calculator, ClientTool, Question, ToolContext, ToolEffects, tool_fn},
};
use forgeline_llm::{
    Request as Asked,
    scripted::{ScriptedProvider, ScriptedTurn},
};

/// A service of one agent, for Ann and Bob of one team and Eve of another.
fn service(agent: Agent) -> (Service, Router) {
    limited(agent, Limits::default())
}

fn limited(agent: Agent, limits: Limits) -> (Service, Router) {
    if std::env::var_os(elsewhere::TWO_NODES).is_some() {
        return elsewhere::by_turns(agent, &limits);
    }
    let service = built(agent).limits(limits).build().unwrap();
    (service.clone(), router(service))
}

fn built(agent: Agent) -> ServiceBuilder {
    let caller = |name: &str, scope: &str| Caller::new(name).scope(scope);
    let tokens = Tokens::new()
        .token("ann", caller("ann", "team-a"))
        .token("bob", caller("bob", "team-a"))
        .token("eve", caller("eve", "team-e"));
    Service::builder().agent("main", agent).identify(tokens)
}

/// Returns the metrics of a service as text.
fn metrics_text(service: &Service) -> String {
    let handles = &service.0;
    let node = handles.lifecycle.reported();
    handles.metrics.text(handles.access.usage(), handles.lifecycle.places(), node)
}

fn scripted(turns: impl IntoIterator<Item = ScriptedTurn>) -> Agent {
    Agent::builder(ScriptedProvider::new(turns)).tool(Calculator).build().unwrap()
}

fn chatty() -> Agent {
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let has_result = request.messages.iter().any(|it| it.tool_results().next().is_some());
        if has_result {
            return ScriptedTurn::new().text("It is ").text("42.");
        }
        ScriptedTurn::new().thinking("Hm.").call("calculator", json!({ "expression": "6*7" }))
    });
    Agent::builder(provider).tool(Calculator).build().unwrap()
}

fn request(method: Method, path: &str, token: &str) -> Builder {
    let builder = Request::builder().method(method).uri(path);
    if token.is_empty() {
        builder
    } else {
        builder.header("authorization", format!("Bearer {token}"))
    }
}

async fn get(app: &Router, path: &str, token: &str) -> Response {
    let request = request(Method::GET, path, token).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

async fn post(app: &Router, path: &str, token: &str, body: &Value) -> Response {
    let request = request(Method::POST, path, token)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()));
    app.clone().oneshot(request.unwrap()).await.unwrap()
}

async fn text(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), 64 << 20).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

async fn value(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, serde_json::from_str(&text(response).await).unwrap())
}

/// Begins a run; returns its path.
async fn begin(app: &Router, token: &str, body: &Value) -> String {
    let (status, ids) = value(post(app, "/v1/runs", token, body).await).await;
    assert_eq!(status, 202, "{ids}");
    format!("/v1/runs/{}", ids["run_id"].as_str().unwrap())
}

/// The numbers and kinds of the events of a stream.
fn events(frames: &str) -> Vec<(u64, String)> {
    let frames = frames.split("\n\n").filter(|it| !it.is_empty() && !it.starts_with(':'));
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    frames.map(|frame| (field(frame, "id: ").parse().unwrap(), field(frame, "event: "))).collect()
}

// Covers: T-27, T-29, T-30
#[tokio::test]
async fn a_run_is_read_from_any_place_as_often_as_is_wanted() {
    let (_, app) = service(chatty());
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?" })).await;
    let path = format!("{run}/events");
    let response = get(&app, &path, "ann").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let whole = text(response).await;
    let all = events(&whole);
    let last = all.last().unwrap();
    assert_eq!(last.1, "run_end");
    assert!(all.iter().map(|(number, _)| *number).eq(0..all.len() as u64), "{all:?}");
    assert_eq!(text(get(&app, &path, "ann").await).await, whole, "again");
    for seen in 0..last.0 {
        let rest = text(get(&app, &format!("{path}?after={seen}"), "ann").await).await;
        assert!(whole.ends_with(&rest) && events(&rest)[0].0 == seen + 1, "after {seen}");
        let request = request(Method::GET, &format!("{path}?after=0"), "ann");
        let request = request.header("last-event-id", seen).body(Body::empty()).unwrap();
        assert_eq!(text(app.clone().oneshot(request).await.unwrap()).await, rest, "after {seen}");
    }
    let end = format!("{path}?after={}", last.0);
    assert_eq!(get(&app, &end, "ann").await.status(), StatusCode::NO_CONTENT);

    let (status, shown) = value(get(&app, &run, "ann").await).await;
    assert_eq!((status, &shown["status"]), (200, &json!("completed")));
    assert_eq!(shown["end"]["seq"], last.0);

    let behind = format!("{path}?after={}", last.0 + 1);
    let (status, problem) = value(get(&app, &behind, "ann").await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("log_behind")));
    assert_eq!(problem["last_event_id"], last.0);
    for cursor in ["-1", "x", "1.5", "", "99999999999999999999", "18446744073709551615"] {
        let (status, problem) =
            value(get(&app, &format!("{path}?after={cursor}"), "ann").await).await;
        assert_eq!((status, &problem["code"]), (400, &json!("bad_request")), "{cursor}");
    }
}

// Covers: T-24, T-27
#[tokio::test(start_paused = true)]
async fn readers_that_come_go_and_stay_get_each_event_once() {
    let slow = tool_fn("slow", "", |_: ToolContext, _: Value| async {
        sleep(Duration::from_secs(20)).await;
        "slow"
    });
    let turns = [
        ScriptedTurn::new().text("Wait.").call("slow", json!({})),
        ScriptedTurn::new().text("Done."),
    ];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(slow).build().unwrap();
    let (_, app) = service(agent);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let path = format!("{run}/events");
    // One that goes away in the middle does not end the run.
    let mut leaving = get(&app, &path, "ann").await.into_body().into_data_stream();
    assert!(leaving.next().await.is_some());
    drop(leaving);
    let stayed = text(get(&app, &path, "ann").await).await;
    assert!(stayed.contains(": keep-alive\n\n"), "{stayed}");
    let all = events(&stayed);
    assert!(all.iter().map(|(number, _)| *number).eq(0..all.len() as u64), "{all:?}");
    assert_eq!(all.last().unwrap().1, "run_end");
}

// Covers: T-65
#[tokio::test]
async fn nobody_sees_or_touches_the_run_of_another() {
    let (_, app) = service(chatty());
    let body = json!({ "input": "What is 6*7?", "conversation_id": "ours" });
    let run = begin(&app, "ann", &body).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    for token in ["eve", "bob"] {
        for path in [run.clone(), format!("{run}/events"), format!("{run}/events?after=1")] {
            assert_eq!(get(&app, &path, token).await.status(), 404, "{token} {path}");
        }
        let approval = json!({ "approval_id": "a", "decision": "grant" });
        let result = json!({ "client_call_id": "a", "result": { "content": "b" } });
        for (path, body) in [
            ("cancel", json!({})),
            ("approvals", approval),
            ("tool-results", result),
            ("inputs", json!({ "input": "b" })),
        ] {
            let response = post(&app, &format!("{run}/{path}"), token, &body).await;
            assert_eq!(response.status(), 404, "{token} {path}");
        }
        assert_eq!(get(&app, "/api/chat/ours/stream", token).await.status(), 204);
    }
    // One of the same scope does not go on with it, one of another has its own.
    assert_eq!(post(&app, "/v1/runs", "bob", &body).await.status(), 404);
    assert_eq!(post(&app, "/v1/runs", "eve", &body).await.status(), 202);
    for (method, path) in
        [(Method::GET, run.as_str()), (Method::POST, "/v1/runs"), (Method::GET, "/v1/agents")]
    {
        for token in ["", "other"] {
            let request = request(method.clone(), path, token).body(Body::empty()).unwrap();
            let response = app.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), 401, "{path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            assert_eq!(response.headers()["content-type"], "application/problem+json");
        }
    }
    assert_eq!(get(&app, "/health", "").await.status(), 200);
}

#[tokio::test]
async fn bad_requests_are_problems_that_say_what_to_do() {
    let (_, app) = service(chatty());
    #[rustfmt::skip]
    let rows = [
        (json!({}),                                                        400, "missing field `input`"),
        (json!({ "input": "" }),                                           400, "`input` is empty"),
        (json!({ "input": [{ "type": "text", "text": " " }] }),            400, "`input` is empty"),
        (json!({ "input": 1 }),                                            400, "a string, or an array of parts"),
        (json!({ "input": [{ "type": "thinking", "text": "a" }] }),        400, "expected one of `text`, `image`, `document`"),
        (json!({ "input": [{ "type": "image", "media_type": "image/svg+xml", "data": "PHN2Zy8+" }] }), 400, "PNG, JPEG, GIF and WebP"),
        (json!({ "input": [{ "type": "image", "media_type": "image/png", "data": "http://a.example/b" }] }), 400, "`https:` URL"),
        (json!({ "input": "a", "system": "You are root." }),               400, "unknown field `system`"),
        (json!({ "input": "a", "agent": "nope" }),                         404, "no agent `nope`"),
        (json!({ "input": "a", "conversation_id": "" }),                   400, "`conversation_id` must have"),
        (json!({ "input": "a", "conversation_id": "a".repeat(201) }),      400, "`conversation_id` must have"),
    ];
    for (body, want, said) in rows {
        let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(status == want && detail.contains(said), "{body}: {problem}");
    }
    let send = async |body: &[u8], kind: &str| {
        let request = request(Method::POST, "/v1/runs", "ann").header("content-type", kind);
        let response = app.clone().oneshot(request.body(Body::from(body.to_vec())).unwrap()).await;
        value(response.unwrap()).await
    };
    let nested = [vec![b'['; 10_000], vec![b']'; 10_000]].concat();
    for (body, kind, want) in [
        (&b"{"[..], "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"{\"input\":\"a\"}", "text/plain", 415),
        (&nested, "application/json", 400),
        (&vec![b' '; 9 << 20], "application/json", 413),
    ] {
        let (status, problem) = send(body, kind).await;
        assert_eq!((status, &problem["status"]), (want, &json!(want)), "{problem}");
    }
    assert_eq!(get(&app, "/nope", "ann").await.status(), 404);
    assert_eq!(get(&app, "/v1/agents/nope", "ann").await.status(), 404);
    assert_eq!(get(&app, "/v1/runs/nope/cancel", "ann").await.status(), 405);
    assert_eq!(get(&app, "/v1/runs/nope/events", "ann").await.status(), 404);
}

#[tokio::test]
async fn a_request_with_the_same_key_is_the_same_run() {
    let (_, app) = service(chatty());
    let send = async |key: &str, body: Value| {
        let request = request(Method::POST, "/v1/runs", "ann")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body.to_string()));
        value(app.clone().oneshot(request.unwrap()).await.unwrap()).await
    };
    let (_, first) = send("one", json!({ "input": "a" })).await;
    assert_eq!(send("one", json!({ "input": "a" })).await.1, first);
    let (_, other) = send("two", json!({ "input": "a" })).await;
    assert_ne!(other["run_id"], first["run_id"]);
    let (status, problem) = send("one", json!({ "input": "b" })).await;
    assert_eq!((status, &problem["code"]), (422, &json!("other_request")));
}

/// Reads until an event of this kind; returns its data.
async fn until(app: &Router, run: &str, kind: &str) -> Value {
    let mut stream = get(app, &format!("{run}/events"), "ann").await.into_body().into_data_stream();
    let mut seen = String::new();
    while let Some(Ok(chunk)) = stream.next().await {
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
        let frames = seen.split("\n\n");
        let found = frames.clone().find(|frame| frame.contains(&format!("event: {kind}\n")));
        if let Some(data) = found.and_then(|frame| frame.split_once("data: ")) {
            return serde_json::from_str(data.1).unwrap();
        }
    }
    panic!("no {kind} in {seen}");
}

// Covers: T-55, CT-24
#[tokio::test]
async fn a_run_that_waits_is_answered_steered_and_cancelled() {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let call = |name: &str| ScriptedTurn::new().call(name, json!({}));
    let turns = [call("remove"), call("page"), ScriptedTurn::new().text("So far.").hang()];
    let agent = Agent::builder(ScriptedProvider::new(turns))
        .tool(remove.effects(ToolEffects::Irreversible))
        .tool(page);
    let (_, app) = service(agent.build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;

    let asked = until(&app, &run, "tool_approval_request").await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting");
    let approve = async |id: &Value, body: Value| {
        let mut body = body;
        body["approval_id"] = id.clone();
        value(post(&app, &format!("{run}/approvals"), "ann", &body).await).await
    };
    let id = &asked["approval_id"];
    assert_eq!(approve(&json!("other"), json!({ "decision": "grant" })).await.0, 404);
    assert_eq!(approve(id, json!({ "decision": "perhaps" })).await.0, 400);
    let wrong = json!({ "decision": "reject", "arguments": {} });
    assert_eq!(approve(id, wrong).await.0, 400);
    assert_eq!(approve(id, json!({ "decision": "grant" })).await.0, 200);
    assert_eq!(approve(id, json!({ "decision": "grant" })).await.0, 404, "once");

    let asked = until(&app, &run, "client_tool_request").await;
    let path = format!("{run}/tool-results");
    let result = |id: &Value| json!({ "client_call_id": id, "result": { "content": "A page." } });
    assert_eq!(post(&app, &path, "ann", &result(&json!("other"))).await.status(), 404);
    let wrong = json!({ "client_call_id": asked["client_call_id"], "results": 1 });
    assert_eq!(post(&app, &path, "ann", &wrong).await.status(), 400);
    let result = result(&asked["client_call_id"]);
    assert_eq!(post(&app, &path, "ann", &result).await.status(), 200);
    assert_eq!(post(&app, &path, "ann", &result).await.status(), 404, "once");

    until(&app, &run, "message_content").await;
    let steer = json!({ "input": "And this.", "when": "end" });
    assert_eq!(post(&app, &format!("{run}/inputs"), "ann", &steer).await.status(), 200);
    let cancel = format!("{run}/cancel");
    assert_eq!(post(&app, &cancel, "ann", &json!({})).await.status(), 200);
    let end = until(&app, &run, "run_end").await;
    assert_eq!((&end["status"], &end["error"]["code"]), (&json!("cancelled"), &json!("cancelled")));
    assert_eq!(post(&app, &cancel, "ann", &json!({})).await.status(), 200, "twice");
    assert_eq!(post(&app, &format!("{run}/inputs"), "ann", &steer).await.status(), 404);
}

// Covers: E-02, E-03, E-04
#[tokio::test]
async fn a_chat_is_read_by_the_clients_of_both_protocols() {
    let (_, app) = service(chatty());
    let said = |text: &str| json!({ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    let body =
        json!({ "id": "c1", "trigger": "submit-message", "messages": [said("What is 6*7?")] });
    let response = post(&app, "/api/chat", "ann", &body).await;
    assert_eq!(response.headers()["x-vercel-ai-ui-message-stream"], "v1");
    assert_eq!(response.headers()["x-chat-id"], "c1");
    let frames = text(response).await;
    for part in ["\"type\":\"start\"", "\"type\":\"tool-output-available\"", "data: [DONE]\n\n"] {
        assert!(frames.contains(part), "{part}: {frames}");
    }
    assert_eq!(get(&app, "/api/chat/c1/stream", "ann").await.status(), 204, "it has ended");
    assert_eq!(get(&app, "/api/chat/c9/stream", "ann").await.status(), 204);
    for messages in
        [json!([]), json!([said(" ")]), json!([{ "role": "assistant", "content": "a" }])]
    {
        let (status, problem) =
            value(post(&app, "/api/chat", "ann", &json!({ "messages": messages })).await).await;
        assert_eq!((status, &problem["detail"]), (400, &json!("Message is required")));
    }
    // A chat without an id is a new one.
    let response = post(&app, "/api/chat", "ann", &json!({ "message": "What is 6*7?" })).await;
    assert!(response.headers()["x-chat-id"].to_str().unwrap().starts_with("conv-"));

    let body = json!({ "threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": "u1", "role": "user", "content": "What is 6*7?" }] });
    let frames = text(post(&app, "/agui", "ann", &body).await).await;
    assert!(frames.starts_with("data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t1\""), "{frames}");
    assert!(frames.contains("\"type\":\"RUN_FINISHED\""), "{frames}");
}

#[tokio::test]
async fn a_chat_that_goes_on_is_resumed_from_its_beginning() {
    let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
    let body = json!({ "id": "c1", "messages": [{ "role": "user", "content": "Go." }] });
    let mut first = post(&app, "/api/chat", "ann", &body).await.into_body().into_data_stream();
    assert!(first.next().await.is_some());
    drop(first);
    let response = get(&app, "/api/chat/c1/stream", "ann").await;
    assert_eq!(response.headers()["x-vercel-ai-ui-message-stream"], "v1");
    let mut again = response.into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains("So far.") {
        seen.push_str(std::str::from_utf8(&again.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(seen.starts_with("data: {\"type\":\"start\""), "{seen}");
}

// Covers: T-24
#[tokio::test]
async fn a_service_that_is_busy_or_ends_says_so() {
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().hang());
    let limits = Limits { scope_runs: 1_000, ..Limits::default() };
    let agent = Agent::builder(hangs).build().unwrap();
    let (service, app) = limited(agent, limits);
    let mut runs = Vec::new();
    for _ in 0..64 + 256 {
        runs.push(begin(&app, "ann", &json!({ "input": "Go." })).await);
        tokio::task::yield_now().await;
    }
    let response = post(&app, "/v1/runs", "ann", &json!({ "input": "Go." })).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "5");
    let status = async |run: &str| value(get(&app, run, "ann").await).await.1["status"].clone();
    assert_eq!(
        (status(&runs[0]).await, status(&runs[319]).await),
        (json!("running"), json!("queued"))
    );
    let ended = timeout(Duration::from_secs(20), service.shutdown(Duration::from_millis(10))).await;
    assert!(ended.is_ok());
    for run in [&runs[0], &runs[319]] {
        assert_eq!(status(run).await, "cancelled", "{run}");
        assert_eq!(
            events(&text(get(&app, &format!("{run}/events"), "ann").await).await).pop().unwrap().1,
            "run_end"
        );
    }
    let (code, problem) =
        value(post(&app, "/v1/runs", "ann", &json!({ "input": "Go." })).await).await;
    assert_eq!((code, &problem["code"]), (503, &json!("busy")));
}

#[tokio::test]
async fn a_question_of_a_tool_is_answered_once_with_what_fits() {
    let schema =
        json!({ "type": "object", "properties": { "seat": { "type": "string", "maxLength": 3 } } });
    let book = tool_fn("book", "Books.", move |context: ToolContext, _: Value| {
        let question = Question::form("Which seat?", schema.clone());
        async move { format!("{:?}", context.ask(question).await) }
    });
    let turns = [ScriptedTurn::new().call("book", json!({})), ScriptedTurn::new().text("Done.")];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(book).build().unwrap();
    let (_, app) = service(agent);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "tool_question").await;
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting");
    let path = format!("{run}/inputs");
    let answer = |id: &Value, seat: &str| json!({ "question_id": id, "answer": { "action": "accept", "content": { "seat": seat } } });
    let id = &asked["question_id"];
    for (body, want) in [
        (answer(&json!("other"), "12A"), 404),
        (answer(id, "window"), 400),
        (json!({ "question_id": id }), 400),
        (answer(id, "12A"), 200),
        (answer(id, "12A"), 404),
    ] {
        assert_eq!(post(&app, &path, "ann", &body).await.status().as_u16(), want, "{body}");
    }
    until(&app, &run, "run_end").await;
}

/// Returns a folder for a single test.
fn folder(name: &str) -> std::path::PathBuf {
    let name = format!("forgeline-server-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
