//! Requests that are refused: by name, whole, before anything of them is taken, and without their own words.

use std::pin::Pin;

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::*;

/// Sends a body as it is; returns the status and the problem.
async fn send(app: &Router, method: Method, path: &str, body: &str) -> (u16, Value) {
    let request = request(method, path, "ann").header("content-type", "application/json");
    let request = request.body(Body::from(body.to_owned())).unwrap();
    value(app.clone().oneshot(request).await.unwrap()).await
}

// Covers: T-38
#[tokio::test]
async fn unknown_fields_are_refused_in_each_body_of_v1_and_lists_are_no_objects() {
    let (_, app) = service(chatty());
    let (runs, approvals) = ("/v1/runs", "/v1/runs/x/approvals");
    let (results, inputs) = ("/v1/runs/x/tool-results", "/v1/runs/x/inputs");
    let (cancel, notify) = ("/v1/runs/x/cancel", "/v1/notifications");
    #[rustfmt::skip]
    let rows = [
        (runs,      r#"{"input":"a","BOGUS":1}"#),
        (runs,      r#"{"input":[{"type":"text","text":"a","BOGUS":"b"}]}"#),
        (runs,      r#"{"input":[{"type":"image","media_type":"image/png","data":"AAAA","BOGUS":1}]}"#),
        (runs,      r#"{"input":[{"type":"document","media_type":"text/plain","data":"AAAA","BOGUS":1}]}"#),
        (approvals, r#"{"approval_id":"a","decision":"grant","BOGUS":1}"#),
        (results,   r#"{"client_call_id":"a","result":{"content":"b"},"BOGUS":1}"#),
        (results,   r#"{"client_call_id":"a","result":{"content":"b","BOGUS":1}}"#),
        (results,   r#"{"client_call_id":"a","failure":{"kind":"tool_threw","message":"b","BOGUS":1}}"#),
        (inputs,    r#"{"input":"a","BOGUS":1}"#),
        (inputs,    r#"{"input":[{"type":"text","text":"a","BOGUS":"b"}]}"#),
        (inputs,    r#"{"question_id":"a","answer":{"action":"accept","content":{},"BOGUS":1}}"#),
        (inputs,    r#"{"question_id":"a","answer":{"action":"decline","BOGUS":1}}"#),
        (cancel,    r#"{"BOGUS":1}"#),
        (notify,    r#"{"kind":"a","data":1,"BOGUS":1}"#),
    ];
    for (path, body) in rows {
        let (status, problem) = send(&app, Method::POST, path, body).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(status == 400 && detail.contains("unknown field `BOGUS`"), "{body}: {problem}");
    }
    let rename = r#"{"title":"a","BOGUS":1}"#;
    assert_eq!(send(&app, Method::PATCH, "/v1/conversations/x", rename).await.0, 400);
    #[rustfmt::skip]
    let rows = [
        (runs,      r#"[null,"hi",null,null,null,null,{}]"#,                                              "must be a JSON object"),
        (runs,      r#"{"input":[["text","hi"]]}"#,                                                       "an object, not an array"),
        (approvals, r#"["a","grant","",null]"#,                                                           "must be a JSON object"),
        (results,   r#"{"client_call_id":"a","result":["b"]}"#,                                           "an object, not an array"),
        (results,   r#"{"client_call_id":"a","result":{"content":"b"},"failure":{"kind":"tool_threw","message":"c"}}"#, "not both"),
        (results,   r#"{"client_call_id":"a"}"#,                                                          "send `result`"),
        (inputs,    r#"{"question_id":"a","answer":["decline"]}"#,                                        "an object, not an array"),
        (cancel,    "[]",                                                                                 "must be a JSON object"),
        (cancel,    "x=1",                                                                                "must be a JSON object"),
        ("/agui",   "[]",                                                                                 "must be a JSON object"),
        ("/api/chat", "[]",                                                                               "must be a JSON object"),
    ];
    for (path, body, said) in rows {
        let (status, problem) = send(&app, Method::POST, path, body).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(status == 400 && detail.contains(said), "{path} {body}: {problem}");
    }
    // What is right is read, and clients of other protocols may have more.
    for (path, body, want) in [
        (cancel, "", 404),
        (cancel, " {} ", 404),
        (results, r#"{"client_call_id":"a","failure":{"kind":"tool_threw","message":"b"}}"#, 404),
        (inputs, r#"{"question_id":"a","answer":{"action":"cancel"}}"#, 404),
    ] {
        assert_eq!(send(&app, Method::POST, path, body).await.0, want, "{body}");
    }
    for (path, body) in [
        (
            "/api/chat",
            json!({ "more": 1, "messages": [{ "role": "user", "content": "Go.", "more": 1 }] }),
        ),
        (
            "/agui",
            json!({ "threadId": "t", "more": 1, "messages": [{ "role": "user", "content": "Go.", "more": 1 }] }),
        ),
    ] {
        assert_eq!(post(&app, path, "ann", &body).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn an_error_repeats_neither_what_was_said_nor_names_of_types() {
    const SECRET: &str = "my secret prompt";
    let (_, app) = service(chatty());
    let said = format!("\"{SECRET}\"");
    let long = "planted".repeat(2_000);
    let bodies = [
        said.clone(),
        format!("[{said}]"),
        format!("{{\"input\":{{\"a\":{said}}}}}"),
        format!("{{\"input\":[{said}]}}"),
        format!("{{\"input\":\"a\",\"metadata\":{said}}}"),
        format!("{{\"input\":\"a\",\"agent\":[{said}]}}"),
        format!("{{\"{long}\":{said}}}"),
        format!("{{\"client_call_id\":\"x\",\"result\":{said}}}"),
        r#"{"client_call_id":"x"}"#.to_owned(),
        format!("{{\"approval_id\":{{}},\"decision\":{said}}}"),
        format!("{{\"approval_id\":\"x\",\"decision\":\"{long}\"}}"),
        format!("{{\"message\":[{said}],\"messages\":{said}}}"),
        format!("{{\"messages\":[{{\"role\":7,\"content\":{said}}}]}}"),
        format!("{{\"threadId\":\"t\",\"messages\":[{{\"content\":{{\"a\":{said}}}}}]}}"),
        format!("{{\"threadId\":[{said}],\"tools\":{said},\"resume\":{said}}}"),
        format!("{{\"input\":{said}"),
    ];
    for path in [
        "/v1/runs",
        "/v1/runs/x/approvals",
        "/v1/runs/x/tool-results",
        "/v1/runs/x/inputs",
        "/api/chat",
        "/agui",
        "/v1/notifications",
    ] {
        for body in &bodies {
            let (status, problem) = send(&app, Method::POST, path, body).await;
            let reported = problem["detail"].as_str().unwrap();
            assert_eq!(status, 400, "{path} {body}: {problem}");
            let inside = [SECRET, "struct", "enum", "variant", "identifier"];
            assert!(
                !inside.iter().any(|word| reported.contains(word)),
                "{path} {body}: {reported}"
            );
            assert!(reported.len() < 400, "{path}: {reported}");
        }
    }
    let named = |name: &str| json!({ "input": "a", name: long });
    let approval = json!({ "approval_id": long, "decision": "grant" });
    for (path, body, want) in [
        ("/v1/runs", named("agent"), 404),
        ("/v1/runs", named("model"), 400),
        ("/v1/runs", named("conversation_id"), 400),
        ("/v1/runs/x/approvals", approval, 404),
    ] {
        let (status, problem) = value(post(&app, path, "ann", &body).await).await;
        let reported = problem["detail"].as_str().unwrap();
        assert!(status == want && reported.len() < 400, "{path}: {problem}");
    }
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let (status, problem) = value(
        post(
            &app,
            &format!("{run}/approvals"),
            "ann",
            &json!({ "approval_id": long, "decision": "grant" }),
        )
        .await,
    )
    .await;
    assert!(status == 404 && problem["detail"].as_str().unwrap().len() < 200, "{problem}");
    for query in ["limit=planted-query", "planted-query=1", "after=1&after=planted-query"] {
        let (status, problem) =
            value(get(&app, &format!("/v1/conversations?{query}"), "ann").await).await;
        let reported = problem["detail"].as_str().unwrap();
        assert!(
            status == 400 && !reported.contains('=') && !reported.contains("struct"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn a_tool_of_a_request_that_cannot_be_offered_is_named_and_nothing_begins() {
    let provider = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Done."));
    let agent = Agent::builder(provider.clone()).tool(Calculator);
    let (_, app) = service(agent.build().unwrap());
    let good =
        json!({ "name": "pick", "description": "Picks.", "parameters": { "type": "object" } });
    let ask = |tools: Value| json!({ "threadId": "t", "tools": tools, "messages": [{ "role": "user", "content": "Go." }] });
    let long = format!("PLANTED{}", "x".repeat(200_000));
    #[rustfmt::skip]
    let rows = [
        (json!({ "name": "bad name" }),                                      "`bad name` is not valid"),
        (json!({ "name": "" }),                                              "`` is not valid"),
        (json!({ "name": long }),                                            "expected at most 64"),
        (json!({ "name": "_sdk.x" }),                                        "`_sdk.x` is reserved"),
        (good.clone(),                                                       "`pick` is taken"),
        (json!({ "name": "calculator" }),                                    "`calculator` of the request"),
        (json!({ "name": "look", "parameters": "x" }),                       "`look` must have"),
        (json!({ "name": "look", "parameters": { "type": "string" } }),      "`look` must have"),
        (json!({ "name": "look", "parameters": { "$ref": "#/$defs/A" } }),   "`look` must have"),
        (json!({ "name": "look", "description": "x".repeat(20_000) }),       "`look` have more than"),
        (json!({ "name": "look", "parameters": { "title": "x".repeat(20_000) } }), "`look` have more than"),
    ];
    for (bad, said) in rows {
        for tools in [json!([good, bad]), json!([bad, good])] {
            let (status, problem) = value(post(&app, "/agui", "ann", &ask(tools)).await).await;
            let reported = problem["detail"].as_str().unwrap();
            assert!(status == 400 && reported.contains(said) && reported.len() < 400, "{problem}");
        }
    }
    assert_eq!(provider.requests().len(), 0, "nothing was asked");
    assert_eq!(get(&app, "/v1/conversations/t", "ann").await.status(), 404, "nothing was begun");
    // A schema that says nothing of its type is one of an object.
    let open = json!({ "name": "look", "parameters": { "properties": { "a": {} } } });
    let tools = json!([good, open, { "name": "none", "parameters": {} }, { "name": "null", "parameters": null }]);
    text(post(&app, "/agui", "ann", &ask(tools)).await).await;
    let offered: Vec<_> =
        provider.requests()[0].tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(offered, ["calculator", "pick", "look", "none", "null"]);
}

// Covers: T-55
#[tokio::test]
async fn arguments_of_an_approval_that_do_not_fit_leave_it_open() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Remove {
        path: String,
    }
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, it: Remove| async move {
        format!("removed {}", it.path)
    });
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        let result = asked.messages.iter().flat_map(|it| it.tool_results()).last();
        match result {
            None => ScriptedTurn::new().call("remove", json!({ "path": "a" })),
            Some(result) => ScriptedTurn::new().text(result.content.clone()),
        }
    });
    let agent = Agent::builder(provider).tool(remove.effects(ToolEffects::Irreversible));
    let (_, app) = service(agent.build().unwrap());
    let wrong = [json!([1]), json!("str"), json!({ "path": 7 }), json!({}), json!(null)];
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "tool_approval_request").await;
    let approve = |arguments: &Value| json!({ "approval_id": asked["approval_id"], "decision": "grant", "arguments": arguments });
    let path = format!("{run}/approvals");
    for arguments in &wrong[..4] {
        let (status, problem) = value(post(&app, &path, "ann", &approve(arguments)).await).await;
        let reported = problem["detail"].as_str().unwrap();
        assert!(status == 400 && reported.contains("the arguments do not fit"), "{problem}");
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting", "{arguments}");
    }
    assert_eq!(post(&app, &path, "ann", &approve(&json!({ "path": "b" }))).await.status(), 200);
    let events = text(get(&app, &format!("{run}/events"), "ann").await).await;
    assert!(events.contains("removed b"), "{events}");

    let said = json!({ "threadId": "t", "messages": [{ "role": "user", "content": "Go." }] });
    let frames = text(post(&app, "/agui", "ann", &said).await).await;
    let id = frames.split("\"interrupts\":[{\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let resume = |arguments: &Value| {
        let payload = json!({ "approved": true, "editedArgs": arguments });
        json!({ "threadId": "t", "resume": [{ "interruptId": id, "status": "resolved", "payload": payload }] })
    };
    for arguments in &wrong {
        let (status, problem) = value(post(&app, "/agui", "ann", &resume(arguments)).await).await;
        let reported = problem["detail"].as_str().unwrap();
        assert!(status == 400 && reported.contains("the arguments do not fit"), "{problem}");
    }
    let frames = text(post(&app, "/agui", "ann", &resume(&json!({ "path": "c" }))).await).await;
    assert!(frames.contains("removed c"), "{frames}");
}

#[tokio::test]
async fn more_words_than_a_run_takes_are_told_to_come_later() {
    let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    until(&app, &run, "message_content").await;
    let (path, word) = (format!("{run}/inputs"), json!({ "input": "And this.", "when": "end" }));
    for at in 0..64 {
        assert_eq!(post(&app, &path, "ann", &word).await.status(), 200, "{at}");
    }
    let response = post(&app, &path, "ann", &word).await;
    assert!(response.headers().contains_key("retry-after"));
    let (status, problem) = value(response).await;
    assert_eq!((status, &problem["code"]), (429, &json!("too_many_wait")), "{problem}");
    assert_eq!(post(&app, &format!("{run}/cancel"), "ann", &json!({})).await.status(), 200);
}

#[tokio::test]
async fn a_compressed_body_is_told_to_come_plain() {
    let (_, app) = service(chatty());
    let ask = async |coding: &str, body: &[u8]| {
        let request = request(Method::POST, "/v1/runs", "ann")
            .header("content-type", "application/json")
            .header("content-encoding", coding);
        let request = request.body(Body::from(body.to_vec())).unwrap();
        value(app.clone().oneshot(request).await.unwrap()).await
    };
    for coding in ["gzip", "br", "zstd", "identity, gzip", "GZIP"] {
        let (status, problem) = ask(coding, b"\x1f\x8b\x08").await;
        assert_eq!((status, &problem["code"]), (415, &json!("coded_body")), "{coding}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("Content-Encoding"), "{problem}");
    }
    for coding in ["", "identity", "Identity"] {
        assert_eq!(ask(coding, br#"{"input":"a"}"#).await.0, 202, "{coding}");
    }
}

/// A large body that must not be asked for.
struct Unread;

impl axum::body::HttpBody for Unread {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        panic!("the body was asked for")
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(900 << 20)
    }
}

#[tokio::test]
async fn who_asks_before_sending_too_much_is_refused_before_it_is_sent() {
    let (_, app) = service(chatty());
    let request = request(Method::POST, "/v1/runs", "ann")
        .header("content-type", "application/json")
        .header("expect", "100-continue");
    let request = request.body(Body::new(Unread)).unwrap();
    let (status, problem) = value(app.clone().oneshot(request).await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (413, &json!("body_too_large")));
}

#[tokio::test]
async fn a_title_turns_no_line_whoever_gives_it() {
    let (_, app) = service(chatty());
    let said = "Pay\u{0} \u{202e}gpj.exe now";
    let run = begin(&app, "ann", &json!({ "input": said, "conversation_id": "c" })).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    let path = "/v1/conversations/c";
    assert_eq!(value(get(&app, path, "ann").await).await.1["title"], "Pay gpj.exe now");
    for title in ["a\u{0}", "a\u{202e}b", "a\u{2066}b", "a\u{2028}b"] {
        let body = json!({ "title": title }).to_string();
        assert_eq!(send(&app, Method::PATCH, path, &body).await.0, 400, "{title:?}");
    }
    let body = json!({ "title": "Größe \u{1f980}" }).to_string();
    assert_eq!(send(&app, Method::PATCH, path, &body).await.0, 200);
}
