//! Bad and hostile requests: each gets a problem that says what to do, and others are not slowed.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use tokio::time::Instant;

use super::*;

/// Sends a body under this type; returns the status and the problem.
async fn send(app: &Router, path: &str, kind: &str, body: Body) -> (u16, Value) {
    let request = request(Method::POST, path, "ann").header("content-type", kind);
    value(app.clone().oneshot(request.body(body).unwrap()).await.unwrap()).await
}

const ROUTES: [&str; 6] = [
    "/v1/runs",
    "/v1/runs/nope/approvals",
    "/v1/runs/nope/tool-results",
    "/v1/runs/nope/inputs",
    "/api/chat",
    "/agui",
];

#[tokio::test]
async fn an_oversized_body_is_refused_whether_it_says_its_length_or_not() {
    let (_, app) = service(chatty());
    for path in ROUTES {
        let body = Body::from(vec![b' '; (8 << 20) + 1]);
        let (status, problem) = send(&app, path, "application/json", body).await;
        assert_eq!((status, &problem["code"]), (413, &json!("body_too_large")), "{path}");
        let pieces = (0..9).map(|_| Ok::<_, Infallible>(Bytes::from(vec![b' '; 1 << 20])));
        let body = Body::from_stream(stream::iter(pieces));
        let (status, problem) = send(&app, path, "application/json", body).await;
        assert_eq!((status, &problem["code"]), (413, &json!("body_too_large")), "{path}");
        assert!(problem["detail"].as_str().unwrap().contains("send less"));
    }
}

#[tokio::test]
async fn an_input_that_is_too_long_is_refused() {
    let (_, app) = service(chatty());
    let body = json!({ "input": "a".repeat((1 << 20) + 1) });
    let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
    assert_eq!((status, &problem["code"]), (413, &json!("input_too_long")));
    let said = json!({ "role": "user", "content": "a".repeat((1 << 20) + 1) });
    let body = json!({ "id": "c", "messages": [said] });
    assert_eq!(post(&app, "/api/chat", "ann", &body).await.status(), 413);
}

#[tokio::test]
async fn truncated_nested_and_foreign_bodies_are_refused() {
    let (_, app) = service(chatty());
    let nested = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let deep = [b"{\"input\":".to_vec(), nested.clone(), b"}".to_vec()].concat();
    for path in ROUTES {
        for (name, body) in [
            ("truncated", b"{\"input\":\"a".to_vec()),
            ("not UTF-8", b"{\"input\":\"\xff\xfe\"}".to_vec()),
            ("lone surrogate", b"{\"input\":\"\\ud800\"}".to_vec()),
            ("nested", nested.clone()),
            ("nested below", deep.clone()),
            ("empty", Vec::new()),
            ("two values", b"{} {}".to_vec()),
        ] {
            let (status, problem) = send(&app, path, "application/json", Body::from(body)).await;
            assert_eq!(status, 400, "{path}, {name}: {problem}");
            assert!(!problem["detail"].as_str().unwrap().is_empty());
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            let (status, problem) = send(&app, path, kind, Body::from("{\"input\":\"a\"}")).await;
            assert_eq!(status, 415, "{path}, {kind}: {problem}");
        }
    }
}

// Covers: T-38
#[tokio::test]
async fn unknown_fields_are_refused_where_they_could_mean_something() {
    let (_, app) = service(chatty());
    for field in ["system", "system_prompt", "caller", "scope", "permissions", "tools"] {
        let mut body = json!({ "input": "a" });
        body[field] = json!("x");
        let (status, problem) = value(post(&app, "/v1/runs", "ann", &body).await).await;
        assert_eq!(status, 400, "{field}");
        assert!(problem["detail"].as_str().unwrap().contains(field), "{problem}");
    }
}

#[tokio::test]
async fn ten_thousand_headers_and_long_addresses_are_refused() {
    let (_, app) = service(chatty());
    let mut builder = request(Method::GET, "/v1/agents", "ann");
    for at in 0..10_000 {
        builder = builder.header(format!("x-{at}"), "a");
    }
    let response = app.clone().oneshot(builder.body(Body::empty()).unwrap()).await.unwrap();
    let (status, problem) = value(response).await;
    assert_eq!((status, &problem["code"]), (431, &json!("head_too_large")));
    let path = format!("/v1/runs/{}", "a".repeat(40_000));
    assert_eq!(get(&app, &path, "ann").await.status(), 431);
    let long = request(Method::GET, "/v1/agents", "ann").header("cookie", "a".repeat(40_000));
    let response = app.clone().oneshot(long.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 431);
}

#[tokio::test]
async fn the_headers_and_the_bytes_of_a_head_are_counted_each_by_itself() {
    let limits = Limits { headers: 10, head_bytes: 400, ..Limits::default() };
    let (_, app) = limited(chatty(), limits);
    let path = "/v1/agents";
    // Headers besides, the length of each of their values, and whether the head is taken.
    for (headers, length, fits) in [
        (0, 1, true),
        (9, 1, true),
        (10, 1, false),
        (40, 1, false),
        (1, 300, true),
        (1, 400, false),
        (9, 50, false),
    ] {
        let mut asked = request(Method::GET, path, "ann");
        let own = asked.headers_ref().unwrap().len();
        assert_eq!(own, 1, "the token");
        for at in 0..headers {
            asked = asked.header(format!("x-{at}"), "a".repeat(length));
        }
        let response = app.clone().oneshot(asked.body(Body::empty()).unwrap()).await.unwrap();
        let (status, problem) = value(response).await;
        assert_eq!(status, if fits { 200 } else { 431 }, "{headers} {length}: {problem}");
        assert!(fits || problem["code"] == "head_too_large", "{problem}");
    }
}

/// A body of which a byte comes each second.
fn slow() -> Body {
    let bytes = stream::unfold((), |()| async {
        sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
    });
    Body::from_stream(bytes)
}

#[tokio::test(start_paused = true)]
async fn a_slow_sender_is_let_go_and_others_are_not_slowed() {
    let limits = Limits { scope_uploads: 2, ..Limits::default() };
    let (_, app) = limited(chatty(), limits);
    let begun = Instant::now();
    let (first, second, (third, others)) = tokio::join!(
        send(&app, "/v1/runs", "application/json", slow()),
        send(&app, "/agui", "application/json", slow()),
        async {
            tokio::task::yield_now().await;
            let third = send(&app, "/v1/runs", "application/json", slow()).await;
            begin(&app, "ann", &json!({ "input": "a" })).await;
            begin(&app, "eve", &json!({ "input": "a" })).await;
            (third, begun.elapsed())
        }
    );
    for (status, problem) in [first, second] {
        assert_eq!((status, &problem["code"]), (408, &json!("body_too_slow")));
    }
    assert_eq!((third.0, &third.1["code"]), (429, &json!("too_many_uploads")));
    assert!(others < Duration::from_secs(1), "{others:?}");
    assert!(begun.elapsed() < Duration::from_secs(31));
}

#[tokio::test]
async fn a_body_is_an_upload_by_its_length_and_answers_keep_theirs() {
    let limits = Limits { scope_uploads: 0, ..Limits::default() };
    let (_, app) = limited(chatty(), limits);
    let small = 64 << 10;
    for (bytes, is_upload) in [(2, false), (small, false), (small + 1, true), (1 << 20, true)] {
        let body = Body::from(vec![b' '; bytes]);
        let (_, problem) = send(&app, "/v1/runs", "application/json", body).await;
        assert_eq!(problem["code"] == "too_many_uploads", is_upload, "{bytes}: {problem}");
    }
    let response = get(&app, "/v1/agents", "ann").await;
    let length = axum::body::HttpBody::size_hint(response.body()).exact();
    assert_eq!(length, Some(text(response).await.len() as u64));
}

#[tokio::test]
async fn a_thousand_readers_of_one_scope_do_not_keep_others_out() {
    let limits = Limits { scope_connections: 1_000, ..Limits::default() };
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("So far.").hang());
    let (service, app) = limited(Agent::builder(hangs).build().unwrap(), limits);
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let mut readers = Vec::new();
    for at in 0..1_000 {
        let path = [
            "/v1/events".to_owned(),
            format!("{run}/events"),
            format!("{run}/stream?live=sse&offset=-1"),
        ];
        let response = get(&app, &path[at % 3], ["ann", "bob"][usize::from(at % 3 == 0)]).await;
        assert_eq!(response.status(), 200, "{at}");
        readers.push(response.into_body().into_data_stream());
    }
    let (status, problem) = value(get(&app, "/v1/agents", "ann").await).await;
    assert_eq!((status, &problem["code"]), (429, &json!("too_many_connections")));
    assert!(!problem["detail"].as_str().unwrap().is_empty());
    let begun = Instant::now();
    let run = begin(&app, "eve", &json!({ "input": "Go." })).await;
    let mut other = get(&app, &format!("{run}/events"), "eve").await.into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains("So far.") {
        seen.push_str(std::str::from_utf8(&other.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    drop(readers);
    assert_eq!(get(&app, "/v1/agents", "ann").await.status(), 200, "they give back what they held");
    assert!(metrics_text(&service).contains("forgeline_connections 1\n"));
}

#[tokio::test]
async fn a_cancelled_upload_leaves_nothing() {
    let mut limits = Limits::default();
    (limits.scope_uploads, limits.scope_connections) = (1, 1);
    let (service, app) = limited(chatty(), limits);
    for _ in 0..10 {
        let request = request(Method::POST, "/v1/runs", "ann")
            .header("content-type", "application/json")
            .body(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()));
        let sent = tokio::spawn(app.clone().oneshot(request.unwrap()));
        while !metrics_text(&service).contains("forgeline_uploads 1\n") {
            tokio::task::yield_now().await;
        }
        sent.abort();
        assert!(sent.await.unwrap_err().is_cancelled());
        assert!(metrics_text(&service).contains("forgeline_uploads 0\n"));
        // One that breaks off by itself.
        let broken = stream::iter([
            Ok(Bytes::from_static(b"{\"input\":")),
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
        ]);
        let (status, _) =
            send(&app, "/v1/runs", "application/json", Body::from_stream(broken)).await;
        assert_eq!(status, 400);
    }
    assert_eq!(get(&app, "/v1/agents", "ann").await.status(), 200);
}

// Covers: T-28
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_let_go_and_others_are_not_slowed() {
    let flood = ScriptedProvider::from_fn(|_: &Asked| {
        (0..2_000).fold(ScriptedTurn::new(), |turn, at| turn.text(format!("{at} ")))
    });
    let (_, app) = service(Agent::builder(flood).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let path = format!("{run}/events");
    let mut slow = get(&app, &path, "ann").await.into_body().into_data_stream();
    let begun = Instant::now();
    let whole = text(get(&app, &path, "ann").await).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    sleep(Duration::from_secs(6)).await;
    let mut seen = Vec::new();
    while let Some(Ok(chunk)) = slow.next().await {
        seen.extend_from_slice(&chunk);
    }
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.len() < whole.len() && whole.starts_with(&seen), "it was cut off");
    let last = events(&seen).last().unwrap().0;
    let rest = text(get(&app, &format!("{path}?after={last}"), "ann").await).await;
    assert_eq!(seen + &rest, whole, "and goes on where it was");
}

// Covers: T-55, CT-23
#[tokio::test]
async fn what_is_late_double_or_of_nothing_is_told_and_changes_nothing() {
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let turns = [ScriptedTurn::new().call("page", json!({})), ScriptedTurn::new().text("Done.")];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(page);
    let (_, app) = service(agent.build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "client_tool_request").await;
    let result = |content: &str| json!({ "client_call_id": asked["client_call_id"], "result": { "content": content } });
    let path = format!("{run}/tool-results");
    for token in ["bob", "eve"] {
        assert_eq!(post(&app, &path, token, &result("evil")).await.status(), 404, "{token}");
    }
    assert_eq!(post(&app, &path, "ann", &result("first")).await.status(), 200);
    assert_eq!(post(&app, &path, "ann", &result("second")).await.status(), 404, "repeated");
    until(&app, &run, "run_end").await;
    assert_eq!(post(&app, &path, "ann", &result("third")).await.status(), 404, "late");
    let events = text(get(&app, &format!("{run}/events"), "ann").await).await;
    assert!(events.contains("first") && !events.contains("second") && !events.contains("evil"));
    // A cancel after the end, and again: it is as it is.
    for _ in 0..2 {
        assert_eq!(post(&app, &format!("{run}/cancel"), "ann", &json!({})).await.status(), 200);
    }
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "completed");
    let hidden = ["nope", "..", "%2e%2e", "%00", "run_'; DROP TABLE runs; --", "🦀"];
    for id in hidden {
        let id = id.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        for path in ["", "/events", "/stream"] {
            let status = get(&app, &format!("/v1/runs/{id}{path}"), "ann").await.status();
            assert_eq!(status, 404, "{id}{path}");
        }
        for (path, body) in [
            ("cancel", json!({})),
            ("approvals", json!({ "approval_id": "a", "decision": "grant" })),
            ("tool-results", result("x")),
            ("inputs", json!({ "input": "x" })),
        ] {
            let status = post(&app, &format!("/v1/runs/{id}/{path}"), "ann", &body).await.status();
            assert_eq!(status, 404, "{id}/{path}");
        }
    }
}

#[tokio::test]
async fn what_a_caller_stored_is_no_page_that_does_anything() {
    let (_, app) = service(chatty());
    let script = "<script xmlns='http://www.w3.org/1999/xhtml'>fetch('/v1/runs')</script>";
    let run = begin(&app, "ann", &json!({ "input": script, "conversation_id": "c" })).await;
    until(&app, &run, "run_end").await;
    let mut paths = vec![
        run.clone(),
        format!("{run}/events"),
        format!("{run}/stream?offset=-1"),
        "/v1/conversations/c".to_owned(),
        "/v1/conversations".to_owned(),
        "/api/chat/history?id=c".to_owned(),
        "/nope<script>".replace('<', "%3C").replace('>', "%3E"),
        "/health".to_owned(),
    ];
    for (at, kind) in
        ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/pdf"]
            .into_iter()
            .enumerate()
    {
        let path = format!("/v1/streams/{at}");
        let put = request(Method::PUT, &path, "ann").header("content-type", kind);
        let put = put.body(Body::from(script)).unwrap();
        assert_eq!(app.clone().oneshot(put).await.unwrap().status(), 201);
        let response = get(&app, &path, "ann").await;
        assert_eq!(response.headers()["content-type"], kind);
        assert_eq!(text(response).await, script);
        paths.extend(
            ["", "?offset=-1", "?offset=-1&live=long-poll", "?offset=now"]
                .map(|query| format!("{path}{query}")),
        );
    }
    for path in paths {
        for method in [Method::GET, Method::HEAD, Method::DELETE, Method::OPTIONS] {
            let asked = request(method.clone(), &path, "ann").body(Body::empty()).unwrap();
            let response = app.clone().oneshot(asked).await.unwrap();
            let field = |name: &str| response.headers()[name].to_str().unwrap();
            let policy = field("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; sandbox"), "{method} {path}: {policy}");
            assert_eq!(field("x-content-type-options"), "nosniff", "{method} {path}");
            assert_eq!(field("cross-origin-resource-policy"), "same-origin", "{method} {path}");
            if method == Method::HEAD {
                assert_eq!(text(response).await, "", "{path}");
            }
        }
    }
    let console = get(&app, "/", "").await;
    let policy = console.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("script-src 'self'"), "the console has its own: {policy}");
}
