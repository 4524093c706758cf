//! Conversations, tools and notifications over the stores.

use super::*;
use forgeline_store::{ConversationKey, ConversationRecord, Entry, Stores};
use forgeline_types::Message;

/// A service with three conversations of Ann, one of Bob and one of Eve.
async fn kept() -> Router {
    let stores = Stores::in_memory();
    for (scope, owner, id, at) in [
        ("team-a", "ann", "a1", 1),
        ("team-a", "ann", "a2", 2),
        ("team-a", "ann", "a3", 3),
        ("team-a", "bob", "b1", 4),
        ("team-e", "eve", "a1", 5),
    ] {
        let key = ConversationKey::new(scope, id);
        let conversation = ConversationRecord::new(key.clone(), owner, "main", at);
        stores.conversations.begin(conversation).await.unwrap();
        let said = |at: u64| Entry::new(at).message(Message::user(format!("{owner} says {at}")));
        for at in 0..3 {
            stores.conversations.append(&key, at, said(at), None).await.unwrap();
        }
    }
    router(built(chatty()).stores(stores).build().unwrap())
}

async fn ask(app: &Router, method: Method, path: &str, token: &str, body: &Value) -> Response {
    let request = request(method, path, token)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()));
    app.clone().oneshot(request.unwrap()).await.unwrap()
}

// Covers: T-64
#[tokio::test]
async fn conversations_are_listed_page_by_page_and_are_ones_own() {
    let app = kept().await;
    let ids = |page: &Value| -> Vec<String> {
        let all = page["conversations"].as_array().unwrap().iter();
        all.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let (mut seen, mut path) = (Vec::new(), "/v1/conversations?limit=2".to_owned());
    loop {
        let (status, page) = value(get(&app, &path, "ann").await).await;
        assert_eq!(status, 200, "{page}");
        seen.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/conversations?limit=2&after={next}");
    }
    seen.sort();
    assert_eq!(seen, ["a1", "a2", "a3"]);
    assert_eq!(ids(&value(get(&app, "/v1/conversations", "bob").await).await.1), ["b1"]);
    assert_eq!(ids(&value(get(&app, "/api/chat/history", "eve").await).await.1), ["a1"]);
    for path in ["?limit=0", "?limit=201", "?limit=x", "?after=nonsense", "?owner=bob"] {
        let status = get(&app, &format!("/v1/conversations{path}"), "ann").await.status();
        assert_eq!(status, 400, "{path}");
    }
}

// Covers: T-63, T-64
#[tokio::test]
async fn a_conversation_is_read_renamed_and_deleted() {
    let app = kept().await;
    let path = "/v1/conversations/a1";
    let (status, first) = value(get(&app, &format!("{path}?limit=2"), "ann").await).await;
    assert_eq!((status, &first["page"]["next"]), (200, &json!(1)), "{first}");
    let (_, rest) = value(get(&app, &format!("{path}?limit=2&after=1"), "ann").await).await;
    assert_eq!(rest["page"]["messages"][0]["number"], 2);
    assert_eq!(rest["page"]["next"], Value::Null);
    assert!(rest.to_string().contains("ann says 2"), "{rest}");
    let (status, renamed) =
        value(ask(&app, Method::PATCH, path, "ann", &json!({ "title": " Mine " })).await).await;
    assert_eq!((status, &renamed["title"]), (200, &json!("Mine")));
    for body in [
        json!({}),
        json!({ "title": " " }),
        json!({ "title": "a\nb" }),
        json!({ "title": "a", "owner": "eve" }),
    ] {
        assert_eq!(ask(&app, Method::PATCH, path, "ann", &body).await.status(), 400, "{body}");
    }
    assert_eq!(ask(&app, Method::DELETE, path, "ann", &json!({})).await.status(), 204);
    assert_eq!(get(&app, path, "ann").await.status(), 404);
    assert_eq!(get(&app, path, "eve").await.status(), 200, "another scope's stays");
    let chat = "/api/chat/history?id=a2";
    assert!(text(get(&app, chat, "ann").await).await.contains("ann says 0"));
    assert_eq!(ask(&app, Method::DELETE, chat, "ann", &json!({})).await.status(), 204);
    assert_eq!(get(&app, chat, "ann").await.status(), 404);
    assert_eq!(
        ask(&app, Method::DELETE, "/api/chat/history", "ann", &json!({})).await.status(),
        400
    );
}

// Covers: T-65
#[tokio::test]
async fn the_conversation_of_another_is_not_found_in_any_route() {
    let app = kept().await;
    for (id, token) in [("b1", "ann"), ("a2", "bob"), ("a2", "eve"), ("b1", "eve"), ("x", "ann")] {
        let path = format!("/v1/conversations/{id}");
        let answers = [
            get(&app, &path, token).await,
            get(&app, &format!("{path}?after=1"), token).await,
            get(&app, &format!("/api/chat/history?id={id}"), token).await,
            ask(&app, Method::PATCH, &path, token, &json!({ "title": "x" })).await,
            ask(&app, Method::DELETE, &path, token, &json!({})).await,
            ask(&app, Method::DELETE, &format!("/api/chat/history?id={id}"), token, &json!({}))
                .await,
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.status(), 404, "{id} {token} {at}");
        }
    }
}

#[tokio::test]
async fn a_caller_sees_the_tools_that_it_may_use() {
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let own = tool_fn("own", "Is for some.", |_: ToolContext, _: Value| async { "" });
    let agent = Agent::builder(ScriptedProvider::new([])).tool(page);
    let (_, app) = service(agent.tool(own.permission("some")).build().unwrap());
    let (_, tools) = value(get(&app, "/v1/tools", "ann").await).await;
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!((&tools[0]["name"], &tools[0]["place"]), (&json!("page"), &json!("client")));
}

#[tokio::test]
async fn a_host_notifies_a_scope_and_others_may_not() {
    let host = Caller::new("host").scope("team-a").permission("service.notify");
    let tokens = Tokens::new().token("host", host).token("ann", Caller::new("ann").scope("team-a"));
    let stores = Stores::in_memory();
    let service = Service::builder().agent("main", chatty()).identify(tokens);
    let app = router(service.stores(stores.clone()).build().unwrap());
    let body = json!({ "kind": "report_ready", "data": { "id": 7 } });
    assert_eq!(post(&app, "/v1/notifications", "ann", &body).await.status(), 403);
    let (status, answer) = value(post(&app, "/v1/notifications", "host", &body).await).await;
    assert_eq!((status, &answer["number"]), (202, &json!(0)), "{answer}");
    let kept = stores.notifications.read("team-a", 0, 9).await.unwrap();
    assert_eq!((kept[0].1.kind.as_str(), kept[0].1.data.as_str()), ("report_ready", "{\"id\":7}"));
    assert!(stores.notifications.read("team-e", 0, 9).await.unwrap().is_empty());
    for body in [
        json!({ "kind": "", "data": 1 }),
        json!({ "kind": "a\n", "data": 1 }),
        json!({ "kind": "a" }),
        json!({ "kind": "a", "data": 1, "scope": "team-e" }),
    ] {
        assert_eq!(post(&app, "/v1/notifications", "host", &body).await.status(), 400, "{body}");
    }
    let long = json!({ "kind": "a", "data": "a".repeat(65 << 10) });
    assert_eq!(post(&app, "/v1/notifications", "host", &long).await.status(), 413);
}

#[tokio::test]
async fn a_page_ends_behind_4_mib_and_the_next_goes_on_there() {
    let long = "a".repeat(900 << 10);
    let answers = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("Yes."));
    let (_, app) = service(Agent::builder(answers).build().unwrap());
    for _ in 0..10 {
        let run = begin(&app, "ann", &json!({ "input": long, "conversation_id": "c" })).await;
        text(get(&app, &format!("{run}/events"), "ann").await).await;
    }
    let (mut seen, mut path, mut pages) = (0, "/v1/conversations/c?limit=200".to_owned(), 0);
    loop {
        let whole = text(get(&app, &path, "ann").await).await;
        assert!(whole.len() < 6 << 20, "{}", whole.len());
        let page: Value = serde_json::from_str(&whole).unwrap();
        let messages = page["page"]["messages"].as_array().unwrap();
        assert!(messages.iter().enumerate().all(|(at, it)| it["number"] == seen + at));
        (seen, pages) = (seen + messages.len(), pages + 1);
        let Some(next) = page["page"]["next"].as_u64() else { break };
        path = format!("/v1/conversations/c?limit=200&after={next}");
    }
    assert_eq!((seen, pages), (20, 3));
}

#[tokio::test]
async fn a_damaged_journal_is_no_fault_of_the_caller() {
    let stores = Stores::in_memory();
    let key = ConversationKey::new("team-a", "c");
    let conversation = ConversationRecord::new(key.clone(), "ann", "main", 1);
    stores.conversations.begin(conversation).await.unwrap();
    stores.conversations.append(&key, 0, Entry::new(2).line("{garbage"), None).await.unwrap();
    let app = router(built(chatty()).stores(stores).build().unwrap());
    let said = json!({ "id": "c", "messages": [{ "role": "user", "content": "Go." }] });
    let thread = json!({ "threadId": "c", "runId": "r", "messages": said["messages"] });
    for (path, body) in [
        ("/v1/runs", json!({ "input": "Go.", "conversation_id": "c" })),
        ("/api/chat", said),
        ("/agui", thread),
    ] {
        let (status, problem) = value(post(&app, path, "ann", &body).await).await;
        assert_eq!((status, &problem["code"]), (500, &json!("store_unusable")), "{path}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("in the service's logs") && !detail.contains("line"),
            "{path}: {detail}"
        );
    }
    // Existing messages can be read.
    assert_eq!(get(&app, "/v1/conversations/c", "ann").await.status(), 200);
}

// Covers: T-64
#[tokio::test]
async fn the_history_of_chats_is_read_to_its_end() {
    let stores = Stores::in_memory();
    for at in 0..60 {
        let key = ConversationKey::new("team-a", format!("c{at}"));
        let conversation = ConversationRecord::new(key.clone(), "ann", "main", at);
        stores.conversations.begin(conversation).await.unwrap();
    }
    let key = ConversationKey::new("team-a", "c7");
    for at in 0..60 {
        let said = Entry::new(at).message(Message::user(at.to_string()));
        stores.conversations.append(&key, at, said, None).await.unwrap();
    }
    let app = router(built(chatty()).stores(stores).build().unwrap());
    let history = async |query: &str| {
        value(get(&app, &format!("/api/chat/history{query}"), "ann").await).await
    };
    let (mut seen, mut query) = (std::collections::BTreeSet::new(), String::new());
    loop {
        let (status, page) = history(&query).await;
        assert_eq!(status, 200, "{page}");
        let ids = page["conversations"].as_array().unwrap().iter();
        seen.extend(ids.map(|it| it["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        query = format!("?limit=9&after={next}");
    }
    assert_eq!(seen.len(), 60);
    let numbers = |page: &Value| -> Vec<u64> {
        let messages = page["page"]["messages"].as_array().unwrap().iter();
        messages.map(|it| it["number"].as_u64().unwrap()).collect()
    };
    // A page shows the last messages, and goes on to the first.
    let (_, last) = history("?id=c7").await;
    assert_eq!(numbers(&last), (10..60).collect::<Vec<_>>());
    assert_eq!((&last["page"]["previous"], &last["page"]["next"]), (&json!(10), &Value::Null));
    let (_, first) = history("?id=c7&before=10").await;
    assert_eq!(numbers(&first), (0..10).collect::<Vec<_>>());
    assert_eq!((&first["page"]["previous"], &first["page"]["next"]), (&Value::Null, &json!(9)));
    let (_, some) = history("?id=c7&before=10&limit=3").await;
    assert_eq!(numbers(&some), [7, 8, 9]);
    let (_, some) = history("?id=c7&after=9&limit=3").await;
    assert_eq!(numbers(&some), [10, 11, 12]);
    assert!(numbers(&history("?id=c7&before=0").await.1).is_empty());
    for query in ["?limit=0", "?before=1", "?id=c7&after=1&before=2", "?id=c7&before=x", "?x=1"] {
        assert_eq!(history(query).await.0, 400, "{query}");
    }
}

// Covers: T-64
#[tokio::test]
async fn messages_tell_their_runs_and_the_calls_in_their_text() {
    let demo = forgeline_llm::demo::DemoProvider::new();
    let agent = Agent::builder(demo).tool(Calculator).build().unwrap();
    let app = router(built(agent).build().unwrap());
    let mut runs = Vec::new();
    for _ in 0..2 {
        let body = json!({ "input": "What is 6 * 7?", "conversation_id": "c" });
        let begun = value(ask(&app, Method::POST, "/v1/runs", "ann", &body).await).await.1;
        let run = begun["run_id"].as_str().unwrap().to_owned();
        text(get(&app, &format!("/v1/runs/{run}/events"), "ann").await).await;
        runs.push(run);
    }
    let (_, page) = value(get(&app, "/v1/conversations/c", "ann").await).await;
    let messages = page["page"]["messages"].as_array().unwrap();
    let half = messages.len() / 2;
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message["run_id"], json!(runs[usize::from(at >= half)]), "{at}: {message}");
    }
    let called = &messages[1];
    let kinds = |parts: &Value| -> Vec<String> {
        let all = parts.as_array().unwrap().iter();
        all.map(|it| it["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&called["message"]["parts"]), ["thinking", "text"], "{called}");
    assert_eq!(kinds(&called["as_read"]), ["thinking", "text", "tool_call"], "{called}");
    assert_eq!(called["as_read"][2]["arguments"], json!({ "expression": "6 * 7" }));
    let result = &messages[2]["message"]["parts"][0];
    assert_eq!(called["as_read"][2]["id"], result["call_id"]);
    let others = messages.iter().enumerate().filter(|(at, _)| at % half != 1);
    assert!(others.map(|(_, it)| &it["as_read"]).all(Value::is_null), "{page}");
    // A page between the call and its result.
    let part = value(get(&app, "/v1/conversations/c?before=2&limit=1", "ann").await).await.1;
    let part = part["page"]["messages"].as_array().unwrap();
    assert_eq!(part[0]["run_id"], json!(runs[0]));
    assert_eq!(kinds(&part[0]["as_read"]), ["thinking", "text", "tool_call"]);
}
