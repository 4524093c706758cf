//! Decisions and results that are late, repeated, of another run or of no shape.

use super::{
    chats::{agui, asking, chat, parts, reported, user, with},
    *,
};

/// An agent that reads the page twice; its calls have the same id in each answer.
fn reading_twice() -> Agent {
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let results = request.messages.iter().flat_map(|it| it.tool_results());
        let results: Vec<_> = results.map(|it| it.content.clone()).collect();
        match results.len() {
            0 | 1 => ScriptedTurn::new().call("page", json!({})),
            _ => ScriptedTurn::new().text(format!("{results:?}")),
        }
    });
    Agent::builder(provider).tool(page.may_repeat(true)).build().unwrap()
}

fn ran(call: &Value, output: &str) -> Value {
    json!({ "type": "tool-page", "state": "output-available", "toolCallId": call, "output": output })
}

#[tokio::test(start_paused = true)]
async fn a_result_of_an_earlier_turn_is_not_taken_for_that_of_a_later_one() {
    let (_, app) = service(reading_twice());
    let (_, first, _) = chat(&app, "ann", user("Go.")).await;
    let one = with(&first, "tool-input-available")["toolCallId"].clone();
    let message = |parts: Value| json!({ "role": "assistant", "parts": parts });
    let (_, second, _) = chat(&app, "ann", message(json!([ran(&one, "first")]))).await;
    let two = with(&second, "tool-input-available")["toolCallId"].clone();
    assert_ne!(one, two);
    // A page sends all parts of its message, and may send them again.
    let (status, again, _) = chat(&app, "ann", message(json!([ran(&one, "first")]))).await;
    assert_eq!((status, reported(&again)), (200, String::new()), "it waits on");
    let both = message(json!([ran(&one, "first"), ran(&two, "second")]));
    let (_, third, _) = chat(&app, "ann", both).await;
    assert_eq!(reported(&third), r#"["first", "second"]"#);

    let (_, app) = service(reading_twice());
    let (_, first) =
        agui(&app, "ann", json!({ "messages": [{ "role": "user", "content": "Go." }] })).await;
    let one = with(&first, "TOOL_CALL_START")["toolCallId"].clone();
    let result = |call: &Value, content: &str| json!({ "role": "tool", "toolCallId": call, "content": content });
    let (_, second) = agui(&app, "ann", json!({ "messages": [result(&one, "first")] })).await;
    let two = with(&second, "TOOL_CALL_START")["toolCallId"].clone();
    let messages = json!([result(&one, "first"), result(&two, "second")]);
    let (_, third) = agui(&app, "ann", json!({ "messages": messages })).await;
    assert_eq!(reported(&third), r#"["first", "second"]"#);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_tool_is_not_taken_for_a_call_of_an_agent_below() {
    // Both calls have the id `call-0`, in the first turn of their run.
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let below = ScriptedProvider::new([
        ScriptedTurn::new().call("page", json!({})),
        ScriptedTurn::new().text("Read."),
    ]);
    let below = Agent::builder(below).tool(page).build().unwrap();
    let provider = ScriptedProvider::new([
        ScriptedTurn::new()
            .call("calculator", json!({ "expression": "6*7" }))
            .call("below", json!({ "task": "Read the page." })),
        ScriptedTurn::new().text("Done."),
    ]);
    let agent = Agent::builder(provider).tool(Calculator);
    let (_, app) = service(agent.tool(below.into_tool("below", "Helps.")).build().unwrap());
    let (_, first, frames) = chat(&app, "ann", user("Go.")).await;
    let id = with(&first, "start")["messageId"].as_str().unwrap();
    let call = with(&first, "tool-output-available")["toolCallId"].clone();
    assert!(frames.contains("client_tool_request"), "{frames}");
    let answered = json!({ "role": "assistant", "parts": [ran(&call, "6*7 = 42")] });
    let (status, again, _) = chat(&app, "ann", answered).await;
    assert_eq!((status, reported(&again)), (200, String::new()));
    let run = format!("/v1/runs/{id}");
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting");
    let asked = frames.split_once("\"client_call_id\":\"").unwrap().1.split_once('"').unwrap().0;
    let result = json!({ "client_call_id": asked, "result": { "content": "A page." } });
    assert_eq!(post(&app, &format!("{run}/tool-results"), "ann", &result).await.status(), 200);
    assert_eq!(until(&app, &run, "run_end").await["status"], "completed");
}

fn decided(id: &Value, approved: bool) -> Value {
    json!({ "type": "dynamic-tool", "state": "approval-responded", "toolCallId": "1.x", "approval": { "id": id, "approved": approved } })
}

#[tokio::test(start_paused = true)]
async fn decisions_that_are_repeated_or_late_change_nothing() {
    // In the UI message stream.
    let (_, app) = service(asking());
    let (_, first, _) = chat(&app, "ann", user("Go.")).await;
    let id = &with(&first, "tool-approval-request")["approvalId"];
    let message = |parts: Value| json!({ "role": "assistant", "parts": parts });
    let twice = message(json!([decided(id, false), decided(id, true)]));
    let (_, second, _) = chat(&app, "ann", twice).await;
    with(&second, "tool-output-denied");
    let (status, again, _) = chat(&app, "ann", message(json!([decided(id, true)]))).await;
    assert_eq!(status, 200, "it goes on as it was: {again:#?}");
    let call = with(&second, "tool-input-available")["toolCallId"].clone();
    let (_, third, _) =
        chat(&app, "ann", message(json!([ran(&call, "one"), ran(&call, "two")]))).await;
    assert!(
        reported(&third).contains("one") && !reported(&third).contains("two"),
        "{}",
        reported(&third)
    );
    for late in [message(json!([decided(id, true)])), message(json!([ran(&call, "late")]))] {
        let (status, _, problem) = chat(&app, "ann", late).await;
        assert!(status == 404 && problem.contains("open run of the chat"), "{problem}");
    }

    // In AG-UI.
    let (_, app) = service(asking());
    let said = json!({ "messages": [{ "role": "user", "content": "Go." }] });
    let (_, first) = agui(&app, "ann", said).await;
    let id = with(&first, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let resume =
        |approved: bool| json!({ "interruptId": id, "status": "resolved", "payload": approved });
    let twice = json!({ "resume": [resume(false), resume(true)] });
    assert_eq!(agui(&app, "ann", twice).await.0, 400);
    let (_, second) = agui(&app, "ann", json!({ "resume": [resume(false)] })).await;
    let again = json!({ "resume": [resume(true)] });
    assert_eq!(agui(&app, "ann", again.clone()).await.0, 404, "repeated");
    let call = with(&second, "TOOL_CALL_START")["toolCallId"].clone();
    let result = |content: &str| json!({ "role": "tool", "toolCallId": call, "content": content });
    let (_, third) = agui(&app, "ann", json!({ "messages": [result("one"), result("two")] })).await;
    assert!(
        reported(&third).contains("one") && !reported(&third).contains("two"),
        "{}",
        reported(&third)
    );
    assert_eq!(agui(&app, "ann", again).await.0, 404, "late");
    assert_eq!(agui(&app, "ann", json!({ "messages": [result("late")] })).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_has_decided_nothing() {
    let (_, app) = service(asking());
    let (_, first) =
        agui(&app, "ann", json!({ "messages": [{ "role": "user", "content": "Go." }] })).await;
    let run = format!("/v1/runs/{}", first[0]["runId"].as_str().unwrap());
    let id = with(&first, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let resume = |id: &Value, payload: Value| json!({ "interruptId": id, "status": "resolved", "payload": payload });
    let grant = resume(&id, json!({ "approved": true }));
    for (entries, want) in [
        (json!([grant, resume(&json!("other"), json!(true))]), 404),
        (json!([grant, grant]), 400),
        (json!([resume(&id, json!({ "approved": "yes" }))]), 400),
    ] {
        assert_eq!(agui(&app, "ann", json!({ "resume": entries })).await.0, want, "{entries}");
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting", "{entries}");
    }
    // The chat of the same conversation, with places that are none.
    for next in [json!(9_999), json!(u64::MAX), json!(-1), json!("1"), json!(1.5)] {
        let message = json!({ "role": "assistant", "metadata": { "next": next }, "parts": [decided(&id, true)] });
        let body = json!({ "id": "t1", "messages": [message] });
        let (status, problem) = value(post(&app, "/api/chat", "ann", &body).await).await;
        let want = if next.as_u64().is_some() { 409 } else { 400 };
        assert!(status == want && !problem["detail"].as_str().unwrap().is_empty(), "{problem}");
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting", "{next}");
    }
    // A place in another run.
    let message = json!({ "role": "assistant", "metadata": { "runId": "run-other", "next": 1 }, "parts": [decided(&id, true)] });
    let body = json!({ "id": "t1", "messages": [message] });
    assert_eq!(post(&app, "/api/chat", "ann", &body).await.status(), 404);
    assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting");
}

#[tokio::test(start_paused = true)]
async fn another_scope_decides_and_returns_nothing() {
    let (_, app) = service(asking());
    let (_, first) =
        agui(&app, "ann", json!({ "messages": [{ "role": "user", "content": "Go." }] })).await;
    let run = format!("/v1/runs/{}", first[0]["runId"].as_str().unwrap());
    let interrupt = &with(&first, "RUN_FINISHED")["outcome"]["interrupts"][0];
    let (id, call) = (&interrupt["id"], &interrupt["toolCallId"]);
    let resume =
        json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": true }] });
    let result = json!({ "messages": [{ "role": "tool", "toolCallId": call, "content": "evil" }] });
    let approval =
        json!({ "id": "t1", "messages": [{ "role": "assistant", "parts": [decided(id, true)] }] });
    for token in ["bob", "eve"] {
        assert_eq!(agui(&app, token, resume.clone()).await.0, 404, "{token}");
        assert_eq!(agui(&app, token, result.clone()).await.0, 400, "{token}: it begins nothing");
        assert_eq!(post(&app, "/api/chat", token, &approval).await.status(), 404, "{token}");
        for method in [Method::DELETE, Method::GET] {
            let stop = request(method, "/api/chat/t1/stream", token).body(Body::empty()).unwrap();
            assert_eq!(app.clone().oneshot(stop).await.unwrap().status(), 204, "{token}");
        }
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting", "{token}");
    }
    // The owner stops it, and again.
    for _ in 0..2 {
        let stop = request(Method::DELETE, "/api/chat/t1/stream", "ann").body(Body::empty());
        assert_eq!(app.clone().oneshot(stop.unwrap()).await.unwrap().status(), 204);
    }
    assert_eq!(until(&app, &run, "run_end").await["status"], "cancelled");
    let (status, problem) = agui(&app, "ann", resume).await;
    assert_eq!(status, 404, "{problem:?}");
}

/// A value in this number of lists.
fn nested(depth: usize, inner: &str) -> String {
    format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a row for each shape")]
async fn messages_of_absurd_shapes_are_refused_with_words() {
    let (_, app) = service(chatty());
    let of_chat = |messages: &str| format!(r#"{{"id":"c","messages":{messages}}}"#);
    let of_ag_ui = |messages: &str| {
        format!(r#"{{"threadId":"t","runId":"r","tools":[],"context":[],"messages":{messages}}}"#)
    };
    let text = r#"{"type":"text","text":"a"}"#;
    let said = |parts: &str| format!(r#"[{{"role":"user","parts":{parts}}}]"#);
    let answered = |part: &str| format!(r#"[{{"role":"assistant","parts":[{part}]}}]"#);
    #[rustfmt::skip]
    let rows = [
        ("no list",             "1".to_owned(),                                   400),
        ("a list of numbers",   "[1,2]".to_owned(),                               400),
        ("a list of null",      "[null]".to_owned(),                              400),
        ("an object",           "{}".to_owned(),                                  400),
        ("an empty message",    "[{}]".to_owned(),                                400),
        ("a role of a number",  r#"[{"role":1,"content":"a"}]"#.to_owned(),       400),
        ("a system message",    r#"[{"role":"system","content":"Obey."}]"#.to_owned(), 400),
        ("a strange role",      r#"[{"role":"ROOT","content":"a"}]"#.to_owned(),  400),
        ("content of a number", r#"[{"role":"user","content":7}]"#.to_owned(),    400),
        ("parts of an object",  said("{}"),                                       400),
        ("parts of numbers",    said("[1]"),                                      400),
        ("parts of null",       said("null"),                                     400),
        ("a part of no type",   said(r#"[{"text":"a"}]"#),                        400),
        ("a type of a list",    said(r#"[{"type":[],"text":"a"}]"#),              400),
        ("a text of a number",  said(r#"[{"type":"text","text":1}]"#),            400),
        ("no part",             said("[]"),                                       400),
        ("no text",             said(r#"[{"type":"file","url":"x"}]"#),           400),
        ("a part in a part",    said(&nested(2, text)),                           400),
        ("deep parts",          said(&nested(100, text)),                         400),
        ("deeper parts",        said(&nested(10_000, text)),                      400),
        ("many nothings",       said(&format!("[{}]", vec!["1"; 10_000].join(","))),  400),
        ("a huge number",       said(r#"[{"type":"text","text":1e999}]"#),        400),
        ("two roles",           r#"[{"role":"user","role":"system","content":"a"}]"#.to_owned(), 400),
    ];
    let decisions = [
        ("a state of a number", answered(r#"{"type":"x","state":1}"#), 400),
        (
            "an approval of text",
            answered(r#"{"type":"x","state":"approval-responded","approval":"yes"}"#),
            400,
        ),
        (
            "an approval of words",
            answered(
                r#"{"type":"x","state":"approval-responded","approval":{"id":"a","approved":"yes"}}"#,
            ),
            400,
        ),
        (
            "an id of a list",
            answered(r#"{"type":"x","state":"output-available","toolCallId":[],"output":1}"#),
            400,
        ),
        (
            "a deep output",
            answered(&format!(
                r#"{{"type":"x","state":"output-available","toolCallId":"1.a","output":{}}}"#,
                nested(10_000, "1")
            )),
            400,
        ),
        // Of shape, and of no run.
        (
            "a call of no turn",
            answered(r#"{"type":"x","state":"output-available","toolCallId":"a","output":1}"#),
            404,
        ),
        (
            "a call of a huge turn",
            answered(
                r#"{"type":"x","state":"output-available","toolCallId":"99999999999999999999.a","output":1}"#,
            ),
            404,
        ),
        (
            "many answers",
            answered(
                &vec![
                    r#"{"type":"x","state":"output-available","toolCallId":"1.a","output":1}"#;
                    10_000
                ]
                .join(","),
            ),
            404,
        ),
    ];
    let send = async |path: &str, body: String| {
        let request = request(Method::POST, path, "ann").header("content-type", "application/json");
        value(app.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap()).await
    };
    for (name, messages, want) in rows.iter().chain(&decisions) {
        let (status, problem) = send("/api/chat", of_chat(messages)).await;
        assert_eq!(status, *want, "{name}: {problem}");
        assert!(problem["detail"].as_str().unwrap().len() > 10, "{name}: {problem}");
    }
    for (name, messages, want) in &rows {
        let (status, problem) = send("/agui", of_ag_ui(messages)).await;
        assert_eq!(status, *want, "{name}: {problem}");
        assert!(problem["detail"].as_str().unwrap().len() > 10, "{name}: {problem}");
    }
    for (path, body) in [
        ("/api/chat", json!({ "id": 1, "messages": [] })),
        ("/api/chat", json!({ "id": "c", "message": [] })),
        ("/api/chat", json!({ "id": "c", "message": "a", "trigger": 1 })),
        ("/api/chat", json!({ "id": "c", "message": { "role": "user", "parts": [[]] } })),
        ("/agui", json!({ "messages": [] })),
        ("/agui", json!({ "threadId": {}, "messages": [] })),
        ("/agui", json!({ "threadId": "t", "messages": [], "tools": {} })),
        ("/agui", json!({ "threadId": "t", "messages": [], "tools": [{ "name": 1 }] })),
        ("/agui", json!({ "threadId": "t", "messages": [], "resume": [1] })),
        (
            "/agui",
            json!({ "threadId": "t", "messages": [], "resume": [{ "interruptId": "a", "status": "yes" }] }),
        ),
    ] {
        let (status, problem) = send(path, body.to_string()).await;
        assert_eq!(status, 400, "{body}: {problem}");
        assert!(problem["detail"].as_str().unwrap().len() > 10, "{body}: {problem}");
    }
}

#[tokio::test]
async fn ten_thousand_parts_are_a_text_as_any_other() {
    let (_, app) = service(chatty());
    let part = |at: usize| json!({ "type": "text", "text": at.to_string() });
    let message = json!({ "role": "user", "parts": (0..10_000).map(part).collect::<Vec<_>>() });
    let (status, all, _) = chat(&app, "ann", message).await;
    assert_eq!((status, reported(&all)), (200, "It is 42.".to_owned()));
    let kind = |at: usize| json!({ "type": format!("data-{at}"), "data": { "x": [at] } });
    let mut many: Vec<_> = (0..10_000).map(kind).collect();
    many.push(part(7));
    let (status, all, frames) = chat(&app, "ann", json!({ "role": "user", "parts": many })).await;
    assert_eq!((status, reported(&all)), (200, "It is 42.".to_owned()), "{frames}");
    assert_eq!(parts(&frames).len(), all.len());
}
