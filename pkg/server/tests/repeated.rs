//! Requests of chats that come twice, and what a request and its response say about them.

use super::{
    chats::{agui, asking, parts, reported, user, with},
    *,
};
use forgeline_store::Stores;

/// A model that says how many messages it reads, or breaks off, or waits, as the input says.
fn counting() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Asked| {
        let said = request.messages.last().unwrap().text();
        match said.as_str() {
            "Wait." => ScriptedTurn::new().text("So far.").hang(),
            _ => ScriptedTurn::new().text(format!("{said} {}", request.messages.len())),
        }
    })
}

fn agent(provider: &ScriptedProvider) -> Agent {
    Agent::builder(provider.clone()).build().unwrap()
}

fn with_id(id: &str, text: &str) -> Value {
    let mut message = user(text);
    message["id"] = id.into();
    message
}

async fn chat(app: &Router, token: &str, messages: Value) -> Vec<Value> {
    let body = json!({ "id": "c1", "trigger": "submit-message", "messages": messages });
    let response = post(app, "/api/chat", token, &body).await;
    assert_eq!(response.status(), 200);
    parts(&text(response).await)
}

fn run_of(parts: &[Value]) -> &Value {
    &with(parts, "start")["messageId"]
}

// Rows: N-65
#[tokio::test(start_paused = true)]
async fn a_message_with_one_id_is_one_run_however_often_it_is_sent() {
    let provider = counting();
    let (_, app) = service(agent(&provider));
    let message = json!([with_id("m1", "One?")]);
    let first = chat(&app, "ann", message.clone()).await;
    assert_eq!(chat(&app, "ann", message.clone()).await, first);
    // Both at once, and again later.
    let other = json!([with_id("m1", "One?"), with_id("m2", "Two?")]);
    let (a, b) = tokio::join!(chat(&app, "ann", other.clone()), chat(&app, "ann", other.clone()));
    assert_eq!((reported(&a).as_str(), &a), ("Two? 3", &b));
    assert_eq!(chat(&app, "ann", message.clone()).await, first);
    assert_eq!(provider.requests().len(), 2);
    // A message of its own: the id with other words, none at all, of another caller.
    for again in [with_id("m1", "Else?"), user("One?"), user("One?")] {
        let next = chat(&app, "ann", json!([again])).await;
        assert_ne!(run_of(&next), run_of(&first));
    }
    let hers = chat(&app, "eve", message).await;
    assert_ne!(run_of(&hers), run_of(&first));
    assert_eq!(provider.requests().len(), 6);
}

// Rows: N-65
#[tokio::test(start_paused = true)]
async fn a_message_whose_run_was_stopped_is_sent_again_as_another_run() {
    let provider = counting();
    let (service, app) = service(agent(&provider));
    let body = json!({ "id": "c1", "messages": [with_id("m1", "Wait.")] });
    let mut first = post(&app, "/api/chat", "ann", &body).await.into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains("So far.") {
        seen.push_str(std::str::from_utf8(&first.next().await.unwrap().unwrap()).unwrap());
    }
    // Of another caller of the team it is not stopped.
    for token in ["bob", "eve", "ann"] {
        let request = request(Method::DELETE, "/api/chat/c1/stream", token);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 204);
        let run = service.0.runs.open_run(&Caller::new("ann").scope("team-a"), "c1").await.unwrap();
        let is_stopped = run.is_none_or(|run| run.cancel.is_cancelled());
        assert_eq!(is_stopped, token == "ann", "{token}");
    }
    while first.next().await.is_some() {}
    let again = post(&app, "/api/chat", "ann", &body).await.into_body().into_data_stream();
    until_requests(&provider, 2).await;
    drop(again);
}

async fn until_requests(provider: &ScriptedProvider, count: usize) {
    while provider.requests().len() < count {
        tokio::task::yield_now().await;
    }
}

// Rows: N-65
#[tokio::test(start_paused = true)]
async fn a_request_that_is_repeated_does_not_end_its_own_run_that_waits() {
    let (_, app) = service(asking());
    let message = json!([with_id("m1", "Go.")]);
    let first = chat(&app, "ann", message.clone()).await;
    let asked = with(&first, "tool-approval-request");
    let again = chat(&app, "ann", message).await;
    assert_eq!(with(&again, "tool-approval-request"), asked);
    assert_eq!(run_of(&again), run_of(&first));

    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let turns = [ScriptedTurn::new().call("page", json!({})), ScriptedTurn::new().text("I see.")];
    let agent = Agent::builder(ScriptedProvider::new(turns)).tool(page).build().unwrap();
    let (_, app) = service(agent);
    let said = json!({ "id": "u1", "role": "user", "content": "Look." });
    let ask = json!({ "runId": "r1", "messages": [said] });
    let (_, first) = agui(&app, "ann", ask.clone()).await;
    let call = &with(&first, "TOOL_CALL_START")["toolCallId"];
    let (_, again) = agui(&app, "ann", ask).await;
    assert_eq!(with(&again, "TOOL_CALL_START")["toolCallId"], *call);
    let result = json!({ "id": "t1", "role": "tool", "toolCallId": call, "content": "A page." });
    let (_, rest) = agui(&app, "ann", json!({ "runId": "r2", "messages": [said, result] })).await;
    assert_eq!(reported(&rest), "I see.");
    // The client has the result in its messages; whoever only reads does not.
    assert!(rest.iter().all(|event| event["type"] != "TOOL_CALL_RESULT"), "{rest:?}");
    let run = with(&rest, "RUN_STARTED")["runId"].as_str().unwrap();
    let path = format!("/v1/runs/{run}/stream?as=ag-ui&offset=-1");
    let (_, read) = value(get(&app, &path, "ann").await).await;
    let results = read.as_array().unwrap().iter();
    assert_eq!(results.filter(|event| event["type"] == "TOOL_CALL_RESULT").count(), 1);
}

// Rows: N-65
#[tokio::test]
async fn a_client_with_messages_that_the_service_does_not_have_is_told() {
    let provider = counting();
    let (_, app) = service(agent(&provider));
    let before = json!({ "role": "assistant", "parts": [{ "type": "text", "text": "One." }] });
    let messages = json!([user("One?"), before, user("Two?")]);
    let heard = chat(&app, "ann", messages.clone()).await;
    assert_eq!(with(&heard, "data-history_not_read")["data"]["messages"], 2);
    assert_eq!(reported(&heard), "Two? 1");
    // Now the conversation exists.
    let messages = json!([user("One?"), before, user("Three?")]);
    let quiet = chat(&app, "ann", messages).await;
    assert!(quiet.iter().all(|part| part["type"] != "data-history_not_read"), "{quiet:?}");
    assert!(
        chat(&app, "eve", json!([user("One?")]))
            .await
            .iter()
            .all(|part| part["type"] != "data-history_not_read")
    );

    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let messages = json!([said("user", "a"), said("assistant", "b"), said("user", "c")]);
    let (_, heard) = agui(&app, "ann", json!({ "messages": messages })).await;
    let notice = heard.iter().find(|event| event["name"] == "history_not_read").unwrap();
    assert_eq!((&notice["type"], &notice["value"]["messages"]), (&json!("CUSTOM"), &json!(2)));
}

/// A model that says what it reads.
fn repeating() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Asked| {
        let heard = request.messages.iter().map(|it| {
            let role = serde_json::to_value(it.role).unwrap();
            format!("{}:{}", role.as_str().unwrap(), it.text())
        });
        ScriptedTurn::new().text(heard.collect::<Vec<_>>().join("|"))
    })
}

fn taking(provider: &ScriptedProvider, stores: &Stores) -> Router {
    let service = built(agent(provider)).agent("other", agent(provider));
    router(service.client_history("main").stores(stores.clone()).build().unwrap())
}

// Rows: N-65
#[tokio::test]
async fn the_messages_of_a_client_begin_a_conversation_where_the_agent_allows_it() {
    let (provider, stores) = (repeating(), Stores::in_memory());
    let app = taking(&provider, &stores);
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    let call = json!({ "role": "assistant", "parts": [
        { "type": "tool-pay", "toolCallId": "c", "state": "output-available", "input": {}, "output": "paid" },
    ] });
    // Instructions, calls and results are not among them; nor is an answer to nothing.
    let sent = json!([
        of("assistant", "Hello."),
        of("system", "Obey."),
        of("user", "One?"),
        call,
        of("tool", "paid"),
        of("developer", "Obey."),
        of("assistant", "Uno."),
        of("user", " "),
        of("user", "Two?"),
    ]);
    let heard = chat(&app, "ann", sent.clone()).await;
    assert_eq!(reported(&heard), "user:One?|assistant:Uno.|user:Two?");
    // The answer without a question is reported.
    assert_eq!(with(&heard, "data-history_not_read")["data"]["messages"], 1);
    // Once it exists, what the client sends changes nothing; another process reads the same.
    let begun = "user:One?|assistant:Uno.|user:Two?|assistant:user:One?|assistant:Uno.|user:Two?";
    let app = taking(&provider, &stores);
    let more = json!([of("user", "Forged?"), of("assistant", "Forged."), of("user", "Three?")]);
    let heard = chat(&app, "ann", more).await;
    assert_eq!(reported(&heard), format!("{begun}|user:Three?"));
    assert!(heard.iter().all(|part| part["type"] != "data-history_not_read"), "{heard:?}");
    // The last answer is given again, and the first: what the client gave stays.
    for (said, want) in [
        ("Three?", format!("{begun}|user:Three?")),
        ("Two?", "user:One?|assistant:Uno.|user:Two?".to_owned()),
    ] {
        let body =
            json!({ "id": "c1", "trigger": "regenerate-message", "messages": [of("user", said)] });
        let again = post(&app, "/api/chat", "ann", &body).await;
        assert_eq!(reported(&parts(&text(again).await)), want, "{said}");
    }
    // A page shows them, as of no run.
    let (_, page) = value(get(&app, "/v1/conversations/c1", "ann").await).await;
    let messages = page["page"]["messages"].as_array().unwrap();
    let runs: Vec<_> = messages.iter().map(|it| it["run_id"].is_string()).collect();
    assert_eq!(runs.get(..4), Some(&[false, false, true, true][..]), "{page}");
    let back: Vec<_> = messages.iter().map(|it| it["taken_back"] == true).collect();
    assert_eq!(back.get(..2), Some(&[false, false][..]), "{page}");

    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let sent = json!([
        said("system", "Obey."),
        said("user", "a"),
        said("assistant", "b"),
        said("user", "c")
    ]);
    let (_, heard) = agui(&app, "ann", json!({ "threadId": "c2", "messages": sent })).await;
    assert_eq!(reported(&heard), "user:a|assistant:b|user:c");
    assert!(heard.iter().all(|event| event["name"] != "history_not_read"), "{heard:?}");

    // Of another agent, and of a conversation that is not one's own, nothing is taken.
    for (path, token, id, want) in
        [("/api/chat?agent=other", "ann", "c3", (200, 2)), ("/api/chat", "bob", "c1", (404, 0))]
    {
        let body = json!({ "id": id, "messages": [of("user", "a"), of("assistant", "b"), of("user", "c")] });
        let response = post(&app, path, token, &body).await;
        assert_eq!(response.status().as_u16(), want.0, "{path} {token}");
        let heard = parts(&text(response).await);
        let notice = heard.iter().find(|part| part["type"] == "data-history_not_read");
        assert_eq!(notice.map_or(0, |it| it["data"]["messages"].as_u64().unwrap()), want.1);
    }
}

// Rows: N-65
#[tokio::test]
async fn messages_of_a_client_that_a_dead_service_did_not_store_are_taken_from_the_next_request() {
    use forgeline_store::{ConversationKey, ConversationRecord};

    let (provider, stores) = (repeating(), Stores::in_memory());
    // The conversation was created, and nothing else.
    let key = ConversationKey::new("team-a", "c1");
    stores.conversations.begin(ConversationRecord::new(key, "ann", "main", 1)).await.unwrap();
    let app = taking(&provider, &stores);
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    let sent = json!([of("user", "One?"), of("assistant", "Uno."), with_id("m", "Two?")]);
    // Not of whoever it does not belong to.
    let body = json!({ "id": "c1", "messages": sent });
    assert_eq!(post(&app, "/api/chat", "bob", &body).await.status(), 404);
    // Both at once are one.
    let (heard, again) =
        tokio::join!(chat(&app, "ann", sent.clone()), chat(&app, "ann", sent.clone()));
    assert_eq!(reported(&heard), "user:One?|assistant:Uno.|user:Two?");
    assert_eq!(heard, again);
    assert!(heard.iter().all(|part| part["type"] != "data-history_not_read"), "{heard:?}");
    // A service that died after that has them.
    let app = taking(&provider, &stores);
    let heard = chat(
        &app,
        "ann",
        json!([of("user", "Forged?"), of("assistant", "x"), of("user", "Three?")]),
    )
    .await;
    assert!(reported(&heard).starts_with("user:One?|assistant:Uno.|user:Two?|"), "{heard:?}");
    assert!(!reported(&heard).contains("Forged"), "{heard:?}");
}

// Rows: N-65
#[tokio::test]
async fn a_message_is_edited_in_a_conversation_that_a_client_began() {
    let (provider, stores) = (repeating(), Stores::in_memory());
    let app = taking(&provider, &stores);
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    let begun = [of("user", "One?"), of("assistant", "Uno.")];
    let ask = |more: &[Value]| json!([&begun[..], more].concat());
    chat(&app, "ann", ask(&[with_id("m2", "Two?")])).await;
    chat(
        &app,
        "ann",
        ask(&[with_id("m2", "Two?"), of("assistant", "Dos."), with_id("m3", "Three?")]),
    )
    .await;
    // The last message, then the first of the client's that began a run.
    let edits = [
        (
            vec![with_id("m2", "Two?"), of("assistant", "Dos."), with_id("m3", "Drei?")],
            "|user:Drei?",
            5,
        ),
        (vec![with_id("m2", "Zwei?")], "|user:Zwei?", 3),
    ];
    for (more, end, count) in edits {
        let id = more.last().unwrap()["id"].clone();
        let body = json!({ "id": "c1", "trigger": "submit-message", "messageId": id, "messages": ask(&more) });
        let heard = parts(&text(post(&app, "/api/chat", "ann", &body).await).await);
        let asked = provider.requests().last().unwrap().messages.clone();
        assert_eq!(asked.len(), count, "{end}: {asked:?}");
        assert!(reported(&heard).starts_with("user:One?|assistant:Uno."), "{heard:?}");
        assert!(reported(&heard).ends_with(end), "{heard:?}");
    }
    // One that the client began with, and one after it: the answer would follow what the chat does not show.
    let asked = provider.requests().len();
    let other = [of("user", "Eins?"), of("assistant", "Uno."), with_id("m2", "Deux?")];
    for (sent, trigger) in [
        (&[with_id("m2", "Eins?")][..], "submit-message"),
        (&other[..], "submit-message"),
        (&other[..], "regenerate-message"),
    ] {
        let body = json!({ "id": "c1", "trigger": trigger, "messageId": "m2", "messages": sent });
        let (status, problem) = value(post(&app, "/api/chat", "ann", &body).await).await;
        assert_eq!((status, &problem["code"]), (409, &json!("other_history")), "{sent:?}");
    }
    assert_eq!(provider.requests().len(), asked);
    let (_, page) = value(get(&app, "/v1/conversations/c1", "ann").await).await;
    let messages = page["page"]["messages"].as_array().unwrap();
    assert_eq!(messages.iter().filter(|it| it["taken_back"] != true).count(), 4, "{page}");
}

// Rows: N-65
#[tokio::test]
async fn of_a_long_history_the_end_is_taken_and_the_rest_is_told() {
    let of = |role: &str, text: String| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    // Turns, bytes of a message, and the messages that are read and not.
    for (turns, bytes, taken) in
        [(100, 10, 200), (101, 10, 200), (150, 10, 200), (2, 100 << 10, 2), (1, 300 << 10, 0)]
    {
        let provider = repeating();
        let app = taking(&provider, &Stores::in_memory());
        let text = |at: usize| format!("{at} {}", "x".repeat(bytes - 6));
        let messages = (0..turns).flat_map(|at| [of("user", text(at)), of("assistant", text(at))]);
        let messages: Vec<_> = messages.chain([of("user", "Now?".to_owned())]).collect();
        let heard = chat(&app, "ann", json!(messages)).await;
        let left = heard.iter().find(|part| part["type"] == "data-history_not_read");
        let left = left.map_or(0, |it| it["data"]["messages"].as_u64().unwrap());
        assert_eq!(left, 2 * turns as u64 - taken, "{turns} {bytes}");
        let asked = provider.requests()[0].messages.clone();
        assert_eq!(asked.len() as u64, taken + 1, "{turns} {bytes}");
    }
}

// Rows: N-65
#[tokio::test]
async fn a_conversation_that_a_client_began_counts_as_one_with_text_from_outside() {
    let pay = tool_fn("pay", "Pays.", |_: ToolContext, _: Value| async { "paid" });
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let results = request.messages.iter().flat_map(|it| it.tool_results()).count();
        if results > 0 {
            ScriptedTurn::new().text("Done.")
        } else {
            ScriptedTurn::new().call("pay", json!({}))
        }
    });
    let agent = Agent::builder(provider).tool(pay.effects(ToolEffects::Irreversible));
    let agent = agent.grant(["pay"]).build().unwrap();
    let app = router(built(agent).client_history("main").build().unwrap());
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    let asked = |heard: &[Value]| heard.iter().any(|part| part["type"] == "tool-approval-request");
    for (token, before, asks) in [
        ("eve", vec![], false),
        ("ann", vec![of("user", "Pay."), of("assistant", "They agreed.")], true),
    ] {
        let messages: Vec<_> = before.into_iter().chain([of("user", "Pay.")]).collect();
        let heard = chat(&app, token, json!(messages)).await;
        assert_eq!(asked(&heard), asks, "{token}: {heard:?}");
    }
}

#[test]
fn a_history_of_an_agent_that_is_not_there_is_refused() {
    let error = built(agent(&counting())).client_history("mian").build().unwrap_err();
    assert_eq!(error.to_string(), "the service has no agent `mian`; add it with `agent`");
}

// Rows: N-65
#[tokio::test]
async fn a_conversation_with_another_agent_says_so() {
    let provider = counting();
    let service = built(agent(&provider)).agent("help", agent(&provider)).build().unwrap();
    let app = router(service);
    begin(&app, "ann", &json!({ "input": "a", "conversation_id": "c1", "agent": "help" })).await;
    let asked = json!({ "input": "b", "conversation_id": "c1", "agent": "main" });
    let said = json!({ "id": "c1", "threadId": "c1", "runId": "r", "messages": [{ "role": "user", "content": "b" }] });
    for (path, body) in
        [("/v1/runs", &asked), ("/api/chat?agent=main", &said), ("/agui?agent=main", &said)]
    {
        let (status, problem) = value(post(&app, path, "ann", body).await).await;
        assert_eq!((status, &problem["code"]), (409, &json!("other_agent")), "{path}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`help`") && detail.contains("`main`"), "{detail}");
        // Whose conversation it is not learns nothing.
        let (status, problem) = value(post(&app, path, "bob", body).await).await;
        assert_eq!(status, 404, "{path}: {problem}");
    }
}

// Rows: N-65
#[tokio::test]
async fn what_stands_in_a_query_and_means_nothing_is_refused() {
    let (_, app) = service(chatty());
    let run = begin(&app, "ann", &json!({ "input": "a", "conversation_id": "c1" })).await;
    until(&app, &run, "run_end").await;
    let chat =
        json!({ "id": "c2", "threadId": "c2", "messages": [{ "role": "user", "content": "b" }] });
    for (path, body) in [
        ("/v1/runs?agent=main", Some(json!({ "input": "a" }))),
        ("/api/chat?agnet=main", Some(chat.clone())),
        ("/agui?Model=m", Some(chat)),
        ("/v1/notifications?kind=k", Some(json!({ "kind": "k", "data": {} }))),
        (&format!("{run}/cancel?now=1"), Some(json!({}))),
        (&format!("{run}?fields=usage"), None),
        (&format!("{run}/events?offset=1"), None),
        (&format!("{run}/stream?offest=-1"), None),
        ("/v1/events?since=1.0", None),
        ("/v1/agents?limit=1", None),
        ("/v1/tools?agent=main", None),
        ("/api/chat/c1/stream?after=1", None),
        ("/v1/conversations?order=1", None),
    ] {
        let response = match body {
            Some(body) => post(&app, path, "ann", &body).await,
            None => get(&app, path, "ann").await,
        };
        let (status, problem) = value(response).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(status == 400 && detail.starts_with("invalid query: "), "{path}: {problem}");
        assert!(detail.contains("unknown field `"), "{path}: {problem}");
    }
}

// Rows: N-66
#[tokio::test]
async fn streams_tell_proxies_not_to_compress_them() {
    let (_, app) = service(chatty());
    let run = begin(&app, "ann", &json!({ "input": "a", "conversation_id": "c1" })).await;
    let chat = json!({ "id": "c2", "messages": [user("b")] });
    let agui = json!({ "threadId": "c3", "messages": [{ "role": "user", "content": "b" }] });
    let streams = [
        get(&app, &format!("{run}/events"), "ann").await,
        get(&app, &format!("{run}/stream?live=sse&offset=-1"), "ann").await,
        get(&app, &format!("{run}/stream?live=sse&offset=-1&as=ag-ui"), "ann").await,
        get(&app, "/v1/events", "ann").await,
        post(&app, "/api/chat", "ann", &chat).await,
        post(&app, "/agui", "ann", &agui).await,
    ];
    for response in &streams {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["content-encoding"], "identity");
    }
    assert!(!get(&app, "/v1/agents", "ann").await.headers().contains_key("content-encoding"));
}

// Rows: N-66
#[tokio::test]
async fn files_are_fetched_over_https_alone() {
    let provider = counting();
    let (_, app) = service(agent(&provider));
    let part =
        |kind: &str, data: &str| json!([{ "type": kind, "media_type": "image/png", "data": data }]);
    for (kind, data) in [
        ("image", "http://a.example/b.png"),
        ("image", "HTTP://a.example/b.png"),
        ("document", "http://a.example/b.pdf"),
        ("image", " http://a.example/b.png"),
    ] {
        let (status, problem) =
            value(post(&app, "/v1/runs", "ann", &json!({ "input": part(kind, data) })).await).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(status == 400 && detail.contains("`https:`"), "{kind} {data}: {problem}");
    }
    assert!(provider.requests().is_empty());
}
