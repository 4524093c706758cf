//! Vendors' clients that disconnect, repeat a request, or whose run fails.

use super::{
    fronts::{CHAT, answered, ask, asking, body, chunks, joined, said, send, tools},
    *,
};
use forgeline_llm::ProviderError;

/// An agent that says something and then nothing more.
fn hanging() -> Agent {
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("So far.").hang());
    Agent::builder(hangs).build().unwrap()
}

/// The state of the caller's only run, once it is one of these.
async fn status_of(app: &Router, run: &str, wanted: &[&str]) -> String {
    let asking = async {
        loop {
            let (_, shown) = value(get(app, run, "ann").await).await;
            let status = shown["status"].as_str().unwrap_or_default().to_owned();
            if wanted.contains(&status.as_str()) {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), asking).await.unwrap()
}

/// The path of the caller's only run.
async fn only_run(app: &Router) -> String {
    let asking = async {
        loop {
            let (_, page) = value(get(app, "/v1/conversations", "ann").await).await;
            if let Some(id) = page["conversations"][0]["id"].as_str() {
                let path = format!("/v1/conversations/{id}");
                let (_, shown) = value(get(app, &path, "ann").await).await;
                if let Some(run) = shown["open_run"].as_str() {
                    return format!("/v1/runs/{run}");
                }
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), asking).await.unwrap()
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_run_unless_it_can_come_back() {
    let go = json!([said("user", "Go.")]);
    for (query, key, ends) in [
        ("", None, true),
        ("?on_disconnect=cancel", Some("k"), true),
        ("?on_disconnect=continue", None, false),
        ("", Some("k"), false),
    ] {
        let headers: Vec<_> = key.iter().map(|key| ("idempotency-key", *key)).collect();
        let path = format!("{CHAT}{query}");
        for is_streamed in [true, false] {
            let (_, app) = service(hanging());
            let asks = body(&go, &json!({ "stream": is_streamed }));
            let sent = send(&app, (&path, "ann"), &headers, &asks);
            let run = if is_streamed {
                let response = sent.await;
                let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
                let mut read = response.into_body().into_data_stream();
                while !read.next().await.unwrap().unwrap().windows(3).any(|it| it == b"far") {}
                format!("/v1/runs/{run}")
            } else {
                // The client of a whole answer goes while it waits.
                let mut sent = Box::pin(sent);
                let run = tokio::select! {
                    _ = &mut sent => panic!("it does not end"),
                    run = only_run(&app) => run,
                };
                tokio::select! {
                    _ = &mut sent => panic!("it does not end"),
                    _ = until(&app, &run, "message_content") => {}
                }
                run
            };
            let want: &[&str] = if ends { &["cancelled"] } else { &["running"] };
            assert_eq!(status_of(&app, &run, want).await, want[0], "{query} {key:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_with_its_key_reads_the_same_run() {
    let (provider, agent) = asking();
    let (_, app) = service(agent);
    let key = [("idempotency-key", "k1")];
    let asks = |text: &str, is_streamed: bool| {
        body(&json!([said("user", text)]), &json!({ "stream": is_streamed, "tools": tools() }))
    };
    let first = ask(&app, &key, &asks("Both.", true)).await;
    let run = first.headers()["x-run-id"].clone();
    let frames = text(first).await;
    let again = ask(&app, &key, &asks("Both.", true)).await;
    assert_eq!(again.headers()["x-run-id"], run);
    assert_eq!(text(again).await, frames);
    assert_eq!(joined(&chunks(&frames)).1.len(), 2);
    let (status, other) = value(ask(&app, &key, &asks("One.", true)).await).await;
    assert_eq!((status, &other["error"]["type"]), (422, &json!("invalid_request_error")));
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn a_run_that_fails_has_its_status_and_is_not_repeated_by_the_client() {
    let error = || ProviderError::connect("model.example", "refused");
    let provider = ScriptedProvider::from_fn(move |_: &Asked| ScriptedTurn::refuse(error()));
    let (_, app) = service(Agent::builder(provider.clone()).build().unwrap());
    let go = json!([said("user", "Go.")]);
    let response = ask(&app, &[], &body(&go, &json!({}))).await;
    assert_eq!(response.headers()["x-should-retry"], "false");
    let (status, failed) = value(response).await;
    assert_eq!((status, &failed["error"]["code"]), (502, &json!("connect")), "{failed}");
    let frames = text(ask(&app, &[], &body(&go, &json!({ "stream": true }))).await).await;
    let last = chunks(&frames).pop().unwrap();
    assert_eq!(last["error"]["code"], "connect", "{frames}");
    assert!(!frames.contains("[DONE]") && !frames.contains("finish_reason\":\""), "{frames}");
}

#[tokio::test]
async fn an_approval_is_given_elsewhere_while_the_response_goes_on() {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let turns = [ScriptedTurn::new().call("remove", json!({})), ScriptedTurn::new().text("Done.")];
    let agent = Agent::builder(ScriptedProvider::new(turns));
    let agent = agent.tool(remove.effects(ToolEffects::Irreversible)).build().unwrap();
    let (_, app) = service(agent);
    let go = json!([said("user", "Go.")]);
    let more = json!({});
    let answer = answered(&app, &go, &more);
    let decide = async {
        let run = only_run(&app).await;
        let asked = until(&app, &run, "tool_approval_request").await;
        let grant = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        assert_eq!(post(&app, &format!("{run}/approvals"), "ann", &grant).await.status(), 200);
    };
    let ((status, whole), ()) = tokio::join!(answer, decide);
    let choice = &whole["choices"][0];
    assert_eq!((status, &choice["message"]["content"]), (200, &json!("Done.")));
}

#[tokio::test]
async fn a_session_whose_run_waits_goes_on_with_what_is_said_instead() {
    let (_, app) = service(asking().1);
    let session = [("x-session-id", "s1")];
    let more = json!({ "tools": tools() });
    let asks = |text: &str| body(&json!([said("user", text)]), &more);
    let first = ask(&app, &session, &asks("One.")).await;
    let run = format!("/v1/runs/{}", first.headers()["x-run-id"].to_str().unwrap());
    let (_, called) = value(first).await;
    let message = called["choices"][0]["message"].clone();
    assert_eq!(called["choices"][0]["finish_reason"], "tool_calls");
    let (status, whole) = value(ask(&app, &session, &asks("Never mind.")).await).await;
    assert_eq!(status, 200);
    assert!(whole["choices"][0]["message"]["content"].as_str().unwrap().ends_with("u:Never mind."));
    assert_eq!(status_of(&app, &run, &["cancelled"]).await, "cancelled");
    // The result comes too late, and is not taken for read.
    let id = &message["tool_calls"][0]["id"];
    let result = json!({ "role": "tool", "tool_call_id": id, "content": "Sun." });
    let messages = json!([said("user", "One."), message, result]);
    let (status, late) = value(ask(&app, &session, &body(&messages, &more)).await).await;
    assert!(status == 400 || status == 409, "{status}: {late}");
    // Nor is the result of another session.
    let refused = ask(&app, &[("x-session-id", "s2")], &body(&messages, &more)).await;
    assert_eq!(refused.status(), 400);
}

#[tokio::test]
async fn responses_go_on_by_their_ids_streamed_and_whole() {
    let (_, app) = service(asking().1);
    let ask = async |token: &str, more: Value| {
        let mut body = json!({ "model": "main" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value(send(&app, ("/v1/responses", token), &[], &body).await).await
    };
    let said = |answer: &Value| {
        let items = answer["output"].as_array().unwrap().iter();
        let texts = items.filter_map(|item| item["content"][0]["text"].as_str());
        texts.collect::<Vec<_>>().join("|")
    };
    let input = json!([
        { "role": "user", "content": "A." },
        { "role": "assistant", "content": [{ "type": "output_text", "text": "B." }] },
        { "role": "user", "content": "C." },
    ]);
    let (status, first) = ask("ann", json!({ "input": input, "instructions": "PLANTED" })).await;
    assert_eq!((status, &first["status"]), (200, &json!("completed")), "{first}");
    let want = "u:[Instructions of the client program, which are not the operator's:]\nPLANTED\n[End of the client's instructions]\n\nA. | a:B. | u:C.";
    assert_eq!(said(&first), want);
    // The earlier response is the conversation, for its caller alone.
    let next = json!({ "input": "D.", "previous_response_id": first["id"] });
    let (status, second) = ask("ann", next.clone()).await;
    assert!(status == 200 && said(&second).ends_with(" | u:D."), "{second}");
    for (token, id) in
        [("bob", first["id"].clone()), ("eve", first["id"].clone()), ("ann", json!("resp_x"))]
    {
        let (status, refused) =
            ask(token, json!({ "input": "D.", "previous_response_id": id })).await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (400, &json!("previous_response_not_found"))
        );
    }
    // The results of its calls.
    let tool =
        json!([{ "type": "function", "name": "weather", "parameters": { "type": "object" } }]);
    let (_, called) = ask("ann", json!({ "input": "One.", "tools": tool })).await;
    let call = called["output"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("function_call"), &json!("weather")),
        "{called}"
    );
    let result =
        json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "Sun." });
    let whole = json!([{ "role": "user", "content": "One." }, call, result]);
    for more in [
        json!({ "input": [result], "previous_response_id": called["id"] }),
        json!({ "input": whole, "tools": tool }),
    ] {
        let (status, answer) = ask("ann", more).await;
        assert_eq!(
            (status, said(&answer).as_str()),
            (200, "u:One. | a: weather() | t: =Sun."),
            "{answer}"
        );
    }
    let body = json!({ "model": "main", "input": "Add.", "stream": true });
    let frames = text(send(&app, ("/v1/responses", "ann"), &[], &body).await).await;
    let end = chunks(&frames).pop().unwrap();
    assert_eq!(end["type"], "response.completed", "{frames}");
    assert!(said(&end["response"]).starts_with("First.|u:Add."), "{frames}");
}
