//! Titles, partial answers and caches: the parts of a run that are stored, and for whom.

use super::*;
use forgeline_llm::ProviderError;
use forgeline_store::Stores;

/// The texts of a conversation's messages, each with its role.
async fn messages(app: &Router, id: &str) -> Vec<(String, String)> {
    let (status, shown) = value(get(app, &format!("/v1/conversations/{id}"), "ann").await).await;
    assert_eq!(status, 200, "{shown}");
    let messages = shown["page"]["messages"].as_array().unwrap().clone();
    let text = |message: &Value| {
        let parts = message["message"]["parts"].as_array().unwrap().iter();
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    let role = |message: &Value| message["message"]["role"].as_str().unwrap().to_owned();
    messages.iter().map(|message| (role(message), text(message))).collect()
}

// Covers: T-63, E-40
#[tokio::test]
async fn a_title_is_the_first_sixty_characters_of_the_first_message() {
    let (_, app) = service(chatty());
    let long = "Grüße an\n alle,   die \u{1F980} mögen: ".repeat(9);
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    for (id, said, want) in [
        ("long", long.as_str(), words.chars().take(60).chain(['…']).collect::<String>()),
        ("exact", &"x".repeat(60), "x".repeat(60)),
        ("short", "  Hi. ", "Hi.".to_owned()),
    ] {
        for said in [said, "And then?"] {
            let run = begin(&app, "ann", &json!({ "input": said, "conversation_id": id })).await;
            text(get(&app, &format!("{run}/events"), "ann").await).await;
        }
        let (_, shown) = value(get(&app, &format!("/v1/conversations/{id}"), "ann").await).await;
        assert_eq!(shown["title"], want, "{id}");
        assert!(
            want.trim_end_matches('…').chars().count() <= crate::conversations::title::MAX_TITLE
        );
    }
}

// Covers: E-39
#[tokio::test]
async fn what_was_answered_before_a_stop_or_an_error_is_stored() {
    let failed = || ProviderError::ended_early(4);
    let stops = || ScriptedTurn::new().text("So far.").hang();
    let want =
        [("user".to_owned(), "Go.".to_owned()), ("assistant".to_owned(), "So far.".to_owned())];
    let stop =
        |method: Method, path: String| request(method, &path, "ann").body(Body::empty()).unwrap();
    for way in ["chat", "cancel", "disconnect", "error"] {
        let turn = if way == "error" {
            ScriptedTurn::new().text("So far.").fail(failed())
        } else {
            stops()
        };
        let (_, app) = service(scripted([turn]));
        let said = json!({ "id": "c1", "messages": [{ "role": "user", "content": "Go." }] });
        let path = if way == "disconnect" { "/api/chat?on_disconnect=cancel" } else { "/api/chat" };
        let mut body = post(&app, path, "ann", &said).await.into_body().into_data_stream();
        let mut seen = String::new();
        while !seen.contains("So far.") {
            seen.push_str(std::str::from_utf8(&body.next().await.unwrap().unwrap()).unwrap());
        }
        // Before any of it has ended, the user's message exists.
        assert_eq!(messages(&app, "c1").await[..1], want[..1], "{way}");
        let shown = value(get(&app, "/v1/conversations/c1", "ann").await).await.1;
        if way == "chat" {
            let asked = stop(Method::DELETE, "/api/chat/c1/stream".to_owned());
            assert_eq!(app.clone().oneshot(asked).await.unwrap().status(), 204);
        } else if way == "cancel" {
            let run = shown["open_run"].as_str().unwrap();
            post(&app, &format!("/v1/runs/{run}/cancel"), "ann", &json!({})).await;
        } else if way == "disconnect" {
            drop(body);
        }
        let ended = async {
            while value(get(&app, "/v1/conversations/c1", "ann").await).await.1["open_run"]
                .is_string()
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), ended).await.unwrap();
        assert_eq!(messages(&app, "c1").await, want, "{way}");
    }
}

// Covers: T-27
#[tokio::test]
async fn no_answer_is_for_a_cache_that_others_read() {
    let stores = Stores::in_memory();
    let app = router(built(chatty()).stores(stores).build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "What is 6*7?", "conversation_id": "c" })).await;
    text(get(&app, &format!("{run}/events"), "ann").await).await;
    let (events, stream) = (format!("{run}/events?after=0"), format!("{run}/stream"));
    let from = |query: &str| format!("{stream}?offset={query}");
    for (path, want) in [
        (events.as_str(), "no-cache"),
        ("/v1/events", "no-cache"),
        (&from("-1&live=sse"), "no-cache"),
        (&from("-1&live=long-poll"), "private, no-store"),
        (&from("-1"), "private, no-cache"),
        (&from("now"), "no-store"),
        (&run, "no-store"),
        ("/v1/conversations", "no-store"),
        ("/v1/conversations/c", "no-store"),
        ("/api/chat/history", "no-store"),
        ("/api/chat/history?id=c", "no-store"),
        ("/v1/agents", "no-store"),
        ("/v1/tools", "no-store"),
        ("/v1/runs/nope", "no-store"),
        ("/", "no-cache"),
    ] {
        let response = get(&app, path, "ann").await;
        assert_eq!(response.headers()["cache-control"], want, "{path}");
    }
    let said = json!({ "id": "c2", "messages": [{ "role": "user", "content": "What is 6*7?" }] });
    let response = post(&app, "/api/chat", "ann", &said).await;
    assert_eq!(response.headers()["cache-control"], "no-cache");
}

// Rows: N-66
#[tokio::test]
async fn what_a_caller_created_is_erased_with_its_streams_and_counted() {
    let service = built(chatty()).build().unwrap();
    let app = router(service.clone());
    let put = async |token: &str, name: &str| {
        let put = request(Method::PUT, &format!("/v1/streams/{name}"), token);
        let put = put.header("content-type", "text/plain").body(Body::from("kept")).unwrap();
        app.clone().oneshot(put).await.unwrap().status().as_u16()
    };
    for (token, name) in [("ann", "a"), ("ann", "deep/er"), ("bob", "b"), ("eve", "a")] {
        assert_eq!(put(token, name).await, 201, "{token} {name}");
    }
    // Who opens a stream that is there does not own it.
    assert_eq!(put("bob", "a").await, 200);
    let run = begin(&app, "ann", &json!({ "input": "a", "conversation_id": "c1" })).await;
    until(&app, &run, "run_end").await;
    let counts =
        |erased: forgeline_store::Erased| (erased.conversations, erased.runs, erased.streams);
    let read = async |token: &str, name: &str| {
        get(&app, &format!("/v1/streams/{name}?offset=-1"), token).await.status().as_u16()
    };
    let erase = async |mode| counts(service.erase("team-a", "ann", mode).await.unwrap());
    assert_eq!(erase(forgeline_store::EraseMode::Count).await, (1, 1, 2));
    assert_eq!(read("ann", "a").await, 200);
    assert_eq!(erase(forgeline_store::EraseMode::Hard).await, (1, 1, 2));
    for (token, name, want) in
        [("ann", "a", 404), ("ann", "deep/er", 404), ("ann", "b", 200), ("eve", "a", 200)]
    {
        assert_eq!(read(token, name).await, want, "{token} {name}");
    }
    assert_eq!(erase(forgeline_store::EraseMode::Hard).await, (0, 0, 0));
    // The name is free again, and the new stream is of who creates it.
    assert_eq!(put("bob", "a").await, 201);
    assert_eq!(erase(forgeline_store::EraseMode::Hard).await, (0, 0, 0));
    assert_eq!(read("bob", "a").await, 200);
}
