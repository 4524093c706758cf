//! Answers of a chat that are given again.

use super::*;
use forgeline_store::Stores;

/// A model that names what it is asked, and how many messages it saw.
fn naming() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Asked| {
        let said = request.messages.last().unwrap().text();
        if said == "Wait." && request.messages.len() == 1 {
            return ScriptedTurn::new().text("So far.").hang();
        }
        ScriptedTurn::new().text(format!("{said} {}", request.messages.len()))
    })
}

fn over(provider: &ScriptedProvider, stores: Stores) -> Router {
    let agent = Agent::builder(provider.clone()).build().unwrap();
    router(built(agent).stores(stores).build().unwrap())
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "parts": [{ "type": "text", "text": text }] })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "parts": [{ "type": "text", "text": text }] })
}

/// Asks in a chat; returns the status and the text of the answer.
async fn ask(app: &Router, token: &str, body: Value) -> (u16, String) {
    let mut whole = json!({ "id": "c1", "trigger": "submit-message" });
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let response = post(app, "/api/chat", token, &whole).await;
    let status = response.status().as_u16();
    let frames = text(response).await;
    let parts = frames.lines().filter_map(|line| line.strip_prefix("data: "));
    let parts = parts.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let deltas = parts.filter(|part| part["type"] == "text-delta");
    (status, deltas.map(|part| part["delta"].as_str().unwrap().to_owned()).collect())
}

/// The texts of the last request.
fn seen(provider: &ScriptedProvider) -> Vec<String> {
    let requests = provider.requests();
    requests.last().unwrap().messages.iter().map(|message| message.text()).collect()
}

const AGAIN: &str = "regenerate-message";

#[tokio::test]
async fn the_model_does_not_see_the_answer_that_is_given_again() {
    for restarts in [false, true] {
        let (provider, stores) = (naming(), Stores::in_memory());
        let mut app = over(&provider, stores.clone());
        for said in ["One?", "Two?", "Three?"] {
            ask(&app, "ann", json!({ "messages": [user(said)] })).await;
        }
        let whole = ["One?", "One? 1", "Two?", "Two? 3", "Three?"];
        assert_eq!(seen(&provider), whole);
        for (body, want) in [
            // The last answer: of the whole chat, of its end, with the answer that is not wanted, of one message.
            (
                json!({ "messages": [user("One?"), assistant("a"), user("Two?"), assistant("a"), user("Three?")] }),
                &whole[..],
            ),
            (json!({ "messages": [user("Three?")] }), &whole),
            (json!({ "messages": [user("Three?"), assistant("a")] }), &whole),
            (json!({ "message": user("Three?") }), &whole),
            (json!({ "message": "Three?" }), &whole),
            // An earlier one: what came after it goes too.
            (json!({ "messages": [user("One?"), assistant("a"), user("Two?")] }), &whole[..3]),
            // The chat has ended there.
            (json!({ "messages": [user("Three?")] }), &whole),
            (json!({ "messages": [user("One?")] }), &whole[..1]),
        ] {
            if restarts {
                app = over(&provider, stores.clone());
            }
            let mut body = body;
            body["trigger"] = json!(AGAIN);
            let (status, told) = ask(&app, "ann", body.clone()).await;
            let last = want.last().unwrap();
            assert_eq!((status, told), (200, format!("{last} {}", want.len())), "{body}");
            assert_eq!(seen(&provider), want, "{body}");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_made_twice_takes_back_no_more() {
    let (provider, stores) = (naming(), Stores::in_memory());
    let app = over(&provider, stores);
    for said in ["One?", "Two?"] {
        ask(&app, "ann", json!({ "messages": [user(said)] })).await;
    }
    let body =
        json!({ "trigger": AGAIN, "messages": [user("One?"), assistant("a"), user("Two?")] });
    for _ in 0..3 {
        ask(&app, "ann", body.clone()).await;
        assert_eq!(seen(&provider), ["One?", "One? 1", "Two?"]);
    }
    // One that the service does not know begins like any other.
    let body = json!({ "id": "c2", "trigger": AGAIN, "messages": [user("New?")] });
    assert_eq!(ask(&app, "ann", body).await, (200, "New? 1".to_owned()));
    for messages in [json!([]), json!([assistant("a")])] {
        let body = json!({ "trigger": AGAIN, "messages": messages });
        assert_eq!(ask(&app, "ann", body).await.0, 400);
    }
}

#[tokio::test]
async fn a_message_that_was_edited_takes_the_place_of_what_it_was() {
    let (provider, stores) = (naming(), Stores::in_memory());
    let app = over(&provider, stores);
    for said in ["One?", "Two?", "Three?"] {
        ask(&app, "ann", json!({ "messages": [user(said)] })).await;
    }
    let mut edited = user("Other?");
    edited["id"] = json!("m2");
    let chat =
        |id: &str| json!({ "messageId": id, "messages": [user("One?"), assistant("a"), edited] });
    // The id is that of the message: of another it says nothing of the kind.
    ask(&app, "ann", chat("m7")).await;
    assert_eq!(seen(&provider).len(), 7);
    ask(&app, "ann", chat("m2")).await;
    assert_eq!(seen(&provider), ["One?", "One? 1", "Other?"]);
}

/// The texts of a page of messages.
async fn listed(app: &Router, path: &str) -> Vec<(String, bool)> {
    let (status, shown) = value(get(app, path, "ann").await).await;
    assert_eq!(status, 200, "{path}");
    let messages = shown["page"]["messages"].as_array().unwrap().iter();
    let text = |it: &Value| it["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
    messages.map(|it| (text(it), it["taken_back"] == true)).collect()
}

#[tokio::test]
async fn a_chat_that_is_read_again_is_without_what_was_taken_back() {
    for restarts in [false, true] {
        let (provider, stores) = (naming(), Stores::in_memory());
        let mut app = over(&provider, stores.clone());
        ask(&app, "ann", json!({ "messages": [user("One?")] })).await;
        for _ in 0..2 {
            // It is known of what was read before, and of what comes.
            listed(&app, "/v1/conversations/c1").await;
            ask(&app, "ann", json!({ "trigger": AGAIN, "messages": [user("One?")] })).await;
        }
        if restarts {
            app = over(&provider, stores.clone());
        }
        let own = |texts: &[&str]| texts.iter().map(|it| ((*it).to_owned(), false)).collect();
        let whole: Vec<_> = own(&["One?", "One? 1"]);
        for limit in ["", "&limit=2", "&after=0&limit=5"] {
            let path = format!("/api/chat/history?id=c1{limit}");
            assert_eq!(listed(&app, &path).await, whole, "{path}");
        }
        let marks: Vec<_> =
            listed(&app, "/v1/conversations/c1").await.iter().map(|(_, it)| *it).collect();
        assert_eq!(marks, [true, true, true, true, false, false]);
        // The page that was loaded so edits its last message.
        let mut edited = user("Other?");
        edited["id"] = json!("m5");
        let body = json!({ "messageId": "m5", "messages": [edited] });
        ask(&app, "ann", body).await;
        assert_eq!(seen(&provider), ["Other?"]);
        assert_eq!(listed(&app, "/api/chat/history?id=c1").await.len(), 2);
    }
}

// Covers: T-65, E-03
#[tokio::test]
async fn the_chat_of_another_is_not_taken_back() {
    let (provider, stores) = (naming(), Stores::in_memory());
    let app = over(&provider, stores);
    ask(&app, "ann", json!({ "messages": [user("One?")] })).await;
    let body = json!({ "trigger": AGAIN, "messages": [user("One?")] });
    assert_eq!(ask(&app, "bob", body.clone()).await.0, 404);
    assert_eq!(ask(&app, "eve", body).await, (200, "One? 1".to_owned()), "a chat of her own");
    ask(&app, "ann", json!({ "messages": [user("Two?")] })).await;
    assert_eq!(seen(&provider), ["One?", "One? 1", "Two?"]);
}

#[tokio::test]
async fn an_answer_that_goes_on_is_ended_and_given_again() {
    let (provider, stores) = (naming(), Stores::in_memory());
    let app = over(&provider, stores);
    let body = json!({ "id": "c1", "messages": [user("Wait.")] });
    let mut first = post(&app, "/api/chat", "ann", &body).await.into_body().into_data_stream();
    let mut frames = String::new();
    while !frames.contains("So far.") {
        frames.push_str(std::str::from_utf8(&first.next().await.unwrap().unwrap()).unwrap());
    }
    let id = frames.split_once("\"messageId\":\"").unwrap().1.split_once('"').unwrap().0;
    let id = id.to_owned();
    // The model hangs again, so this one is read as far as it goes.
    let body = json!({ "id": "c1", "trigger": AGAIN, "messages": [user("Wait.")] });
    let mut second = post(&app, "/api/chat", "ann", &body).await.into_body().into_data_stream();
    while let Some(Ok(chunk)) = first.next().await {
        frames.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(frames.contains("\"type\":\"abort\"") && frames.ends_with("[DONE]\n\n"), "{frames}");
    let (_, shown) = value(get(&app, &format!("/v1/runs/{id}"), "ann").await).await;
    assert_eq!(shown["status"], "cancelled");
    let mut frames = String::new();
    while !frames.contains("So far.") {
        frames.push_str(std::str::from_utf8(&second.next().await.unwrap().unwrap()).unwrap());
    }
    assert_eq!(seen(&provider), ["Wait."]);
}
