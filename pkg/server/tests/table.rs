//! Each endpoint, cell by cell: who may, what does not exist, and what cannot be read.

use super::*;

/// The statuses of an endpoint; 0 where a cell means nothing for it.
struct Row {
    method: Method,
    /// With `RUN`, `CONV` and `STREAM` for what Ann has.
    path: &'static str,
    /// A body that it takes.
    body: &'static str,
    /// A request without a token, that of Bob of the same team, and that of Eve of another.
    others: [u16; 3],
    unknown: u16,
    malformed: u16,
    /// A body of another type, and one that is too large.
    kind: u16,
    large: u16,
    ok: u16,
}

const fn row(
    method: Method,
    path: &'static str,
    body: &'static str,
    others: [u16; 3],
    [unknown, malformed, kind, large]: [u16; 4],
    ok: u16,
) -> Row {
    Row { method, path, body, others, unknown, malformed, kind, large, ok }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(Method::POST,   "/v1/runs",                   r#"{"input":"a","conversation_id":"CONV"}"#,   [401, 404, 202], [0,   400, 415, 413], 202),
    row(Method::GET,    "/v1/runs/RUN",               "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::GET,    "/v1/runs/RUN/events",        "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::POST,   "/v1/runs/RUN/cancel",        "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::POST,   "/v1/runs/RUN/approvals",     r#"{"approval_id":"a","decision":"grant"}"#,   [401, 404, 404], [404, 400, 415, 413], 404),
    row(Method::POST,   "/v1/runs/RUN/tool-results",  r#"{"client_call_id":"a","result":{"content":"b"}}"#, [401, 404, 404], [404, 400, 415, 413], 404),
    row(Method::POST,   "/v1/runs/RUN/inputs",        r#"{"input":"b"}"#,                            [401, 404, 404], [404, 400, 415, 413], 404),
    row(Method::GET,    "/v1/runs/RUN/stream",        "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::HEAD,   "/v1/runs/RUN/stream",        "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::PUT,    "/v1/streams/STREAM",         "",                                            [401, 200, 200], [0,   400, 409, 413], 200),
    row(Method::POST,   "/v1/streams/STREAM",         "[1]",                                         [401, 204, 204], [404, 400, 409, 413], 204),
    row(Method::GET,    "/v1/streams/STREAM",         "",                                            [401, 200, 200], [404, 0,   0,   413], 200),
    row(Method::HEAD,   "/v1/streams/STREAM",         "",                                            [401, 200, 200], [404, 0,   0,   413], 200),
    row(Method::DELETE, "/v1/streams/STREAM",         "",                                            [401, 0,   204], [404, 0,   0,   413], 204),
    row(Method::GET,    "/v1/streams/STREAM",         "",                                            [401, 404, 404], [404, 0,   0,   413], 404),
    row(Method::GET,    "/v1/events",                 "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::POST,   "/v1/notifications",          r#"{"kind":"k","data":{}}"#,                   [401, 403, 403], [0,   400, 415, 413], 202),
    row(Method::GET,    "/v1/agents",                 "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::GET,    "/v1/tools",                  "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::POST,   "/api/chat",                  r#"{"id":"CONV","message":"a"}"#,              [401, 404, 200], [0,   400, 415, 413], 200),
    row(Method::GET,    "/api/chat/CONV/stream",      "",                                            [401, 204, 204], [204, 0,   0,   413], 204),
    row(Method::DELETE, "/api/chat/CONV/stream",      "",                                            [401, 204, 204], [204, 0,   0,   413], 204),
    row(Method::POST,   "/agui",                      r#"{"threadId":"CONV","runId":"r","messages":[{"role":"user","content":"a"}]}"#, [401, 404, 200], [0, 400, 415, 413], 200),
    row(Method::POST,   "/v1/chat/completions",       r#"{"model":"main","messages":[{"role":"user","content":"a"}]}"#, [401, 200, 200], [0, 400, 415, 413], 200),
    row(Method::POST,   "/v1/responses",              r#"{"model":"main","input":"a"}"#,             [401, 200, 200], [0,   400, 415, 413], 200),
    row(Method::GET,    "/v1/models",                 "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::GET,    "/v1/models/main",            "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::GET,    "/v1/models/other",           "",                                            [401, 404, 404], [404, 0,   0,   413], 404),
    row(Method::GET,    "/v1/conversations",          "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::GET,    "/v1/conversations/OWN",      "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::PATCH,  "/v1/conversations/OWN",      r#"{"title":"t"}"#,                            [401, 404, 404], [404, 400, 415, 413], 200),
    row(Method::GET,    "/api/chat/history",          "",                                            [401, 200, 200], [0,   0,   0,   413], 200),
    row(Method::GET,    "/api/chat/history?id=OWN",   "",                                            [401, 404, 404], [404, 0,   0,   413], 200),
    row(Method::DELETE, "/api/chat/history",          "",                                            [401, 400, 400], [0,   0,   0,   413], 400),
    row(Method::DELETE, "/api/chat/history?id=OWN",   "",                                            [401, 404, 404], [404, 0,   0,   413], 204),
    row(Method::DELETE, "/v1/conversations/OTHER",    "",                                            [401, 404, 404], [404, 0,   0,   413], 204),
    row(Method::GET,    "/metrics",                   "",                                            [401, 403, 403], [0,   0,   0,   413], 200),
    row(Method::GET,    "/dev/latency",               "",                                            [401, 403, 403], [0,   0,   0,   413], 200),
    // For whoever asks: they hold no data.
    row(Method::GET,    "/health",                    "",                                            [200, 200, 200], [0,   0,   0,   200], 200),
    row(Method::GET,    "/ready",                     "",                                            [200, 200, 200], [0,   0,   0,   200], 200),
    row(Method::GET,    "/",                          "",                                            [200, 200, 200], [0,   0,   0,   200], 200),
    // Not there yet, for whoever asks.
    row(Method::GET,    "/v1/provider-instances",     "",                                            [404, 404, 404], [0,   0,   0,   404], 404),
    row(Method::GET,    "/v1/runs/RUN/socket",        "",                                            [404, 404, 404], [0,   0,   0,   404], 404),
];

/// The service of Ann, who has all permissions, of Bob and of Eve; the id of a run of hers, which has ended.
async fn served() -> (Router, String) {
    let ann = Caller::new("ann")
        .scope("team-a")
        .permission("service.notify")
        .permission("service.observe");
    let tokens = Tokens::new()
        .token("ann", ann)
        .token("bob", Caller::new("bob").scope("team-a"))
        .token("eve", Caller::new("eve").scope("team-e"));
    let agent =
        Agent::builder(ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Yes.")));
    let service = Service::builder().agent("main", agent.build().unwrap()).identify(tokens);
    let app = router(service.dev(true).build().unwrap());
    let mut run = String::new();
    for conversation in ["OWN", "OTHER", "CONV"] {
        run = begin(&app, "ann", &json!({ "input": "a", "conversation_id": conversation })).await;
        text(get(&app, &format!("{run}/events"), "ann").await).await;
    }
    for token in ["ann", "eve"] {
        let put = request(Method::PUT, "/v1/streams/STREAM", token);
        let put = put.header("content-type", "application/json").body(Body::empty()).unwrap();
        assert_eq!(app.clone().oneshot(put).await.unwrap().status(), 201);
    }
    (app, run.rsplit('/').next().unwrap().to_owned())
}

async fn send(
    app: &Router,
    method: &Method,
    path: &str,
    token: &str,
    kind: &str,
    body: Vec<u8>,
) -> Response {
    let request = request(method.clone(), path, token).header("content-type", kind);
    app.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap()
}

/// Checks a status; an error is a problem that says something, and has no more in it.
async fn check(response: Response, want: u16, cell: &str) {
    let status = response.status().as_u16();
    let fields = response.headers().clone();
    // This one has no end.
    let said = if cell.contains("/v1/events") && status < 400 {
        String::new()
    } else {
        text(response).await
    };
    if status < 400 {
        assert_eq!(status, want, "{cell}");
        return;
    }
    assert_eq!(status, want, "{cell}: {said}");
    let is_front = ["/v1/chat/completions", "/v1/responses", "/v1/models"]
        .iter()
        .any(|path| cell.contains(path));
    let form = if is_front { "application/json" } else { "application/problem+json" };
    assert_eq!(fields["content-type"], form, "{cell}: {said}");
    assert_eq!(fields.contains_key("allow"), status == 405, "{cell}: {fields:?}");
    assert_eq!(fields.contains_key("www-authenticate"), status == 401, "{cell}: {fields:?}");
    if is_front {
        let error: Value = serde_json::from_str(&said).unwrap();
        for member in ["message", "type", "code"] {
            assert!(
                error["error"][member].as_str().is_some_and(|it| !it.is_empty()),
                "{cell}: {said}"
            );
        }
    } else if !cell.starts_with("HEAD") {
        let problem: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(problem["status"], status, "{cell}");
        for member in ["type", "title", "code", "detail"] {
            assert!(problem[member].as_str().is_some_and(|it| !it.is_empty()), "{cell}: {said}");
        }
    }
}

#[tokio::test]
async fn each_endpoint_answers_as_its_row_says() {
    let (app, run) = served().await;
    for row in ROWS {
        let (method, json) = (&row.method, "application/json");
        let path = row.path.replace("RUN", &run);
        let body = row.body.as_bytes().to_vec();
        let cell = |name: &str| format!("{method} {}: {name}", row.path);
        for (token, want) in ["", "bob", "eve"].into_iter().zip(row.others) {
            if want > 0 {
                let response = send(&app, method, &path, token, json, body.clone()).await;
                check(response, want, &cell(token)).await;
            }
        }
        let known = ["RUN", "CONV", "STREAM", "OWN", "OTHER"];
        let unknown = known.iter().fold(row.path.to_owned(), |path, id| path.replace(id, "nope"));
        let cells = [
            ("unknown", row.unknown, &unknown, json, body.clone()),
            ("malformed", row.malformed, &path, json, b"{".to_vec()),
            ("another type", row.kind, &path, "text/plain", body.clone()),
            ("too large", row.large, &path, json, vec![b' '; (8 << 20) + 1]),
        ];
        for (name, want, path, kind, body) in cells {
            if want > 0 {
                let response = send(&app, method, path, "ann", kind, body).await;
                check(response, want, &cell(name)).await;
            }
        }
        let wrong =
            if row.path.contains("/v1/conversations/") { Method::PUT } else { Method::PATCH };
        let is_route = row.ok != 404 || row.unknown > 0;
        let response = send(&app, &wrong, &path, "ann", json, Vec::new()).await;
        check(response, if is_route { 405 } else { 404 }, &cell("another method")).await;
        let response = send(&app, method, &path, "ann", json, body).await;
        check(response, row.ok, &cell("as it should be")).await;
    }
}

#[tokio::test]
async fn queries_and_names_that_cannot_be_read_are_problems() {
    let (app, run) = served().await;
    #[rustfmt::skip]
    let rows = [
        (Method::GET,  "/v1/conversations?limit=x",             400),
        (Method::GET,  "/v1/conversations?limit=0",             400),
        (Method::GET,  "/v1/conversations?limit=201",           400),
        (Method::GET,  "/v1/conversations?limit=-1",            400),
        (Method::GET,  "/v1/conversations?after=x",             400),
        (Method::GET,  "/v1/conversations?other=1",             400),
        (Method::GET,  "/v1/conversations?limit=1&limit=2",     400),
        (Method::GET,  "/v1/conversations/OWN?after=-1",        400),
        (Method::GET,  "/v1/conversations/OWN?after=1e3",       400),
        (Method::GET,  "/v1/conversations/%ff",                 400),
        (Method::GET,  "/v1/conversations/%00",                 400),
        (Method::GET,  "/api/chat/history?id=a&id=b",           400),
        (Method::GET,  "/v1/runs/%ff",                          400),
        (Method::GET,  "/v1/runs/RUN/events?after=x",           400),
        (Method::GET,  "/v1/runs/RUN/events?after=1&after=2",   400),
        (Method::GET,  "/v1/runs/RUN/events?after=9999",        409),
        (Method::GET,  "/v1/runs/RUN/stream?as=xml",            400),
        (Method::GET,  "/v1/runs/RUN/stream?as=ag-ui&as=native", 400),
        (Method::GET,  "/v1/runs/RUN/stream?live=perhaps",      400),
        (Method::GET,  "/v1/runs/RUN/stream?offset=x",          400),
        (Method::GET,  "/v1/streams/STREAM?offset=x",           400),
        (Method::GET,  "/v1/streams/%ff",                       400),
        (Method::GET,  "/v1/events?after=x",                    400),
        (Method::GET,  "/v1/events?after=999.0",                409),
        (Method::GET,  "/v1/events?after=1.0&after=2.0",        400),
        (Method::POST, "/api/chat?on_disconnect=perhaps",       400),
        (Method::POST, "/api/chat?model=a&model=b",             400),
        (Method::GET,  "/api/chat/%ff/stream",                  400),
        (Method::GET,  "/api/chat/CONV/stream?on_disconnect=x", 400),
        (Method::POST, "/agui?on_disconnect=x",                 400),
        (Method::GET,  "/%ff",                                  404),
    ];
    for (method, path, want) in rows {
        let at = path.replace("RUN", &run);
        let body = if method == Method::POST {
            r#"{"id":"x","threadId":"x","message":"a","messages":[{"role":"user","content":"a"}]}"#
        } else {
            ""
        };
        let response = send(&app, &method, &at, "ann", "application/json", body.into()).await;
        check(response, want, &format!("{method} {path}")).await;
    }
}
