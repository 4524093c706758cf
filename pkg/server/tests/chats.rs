//! Chats whose reader is asked: the answer ends where the run waits, and another goes on there.

use super::*;
use forgeline_types::{Capabilities, Part};

/// An agent that asks to remove, then reads the page, then has an end.
pub(super) fn asking() -> Agent {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let results =
            request.messages.iter().flat_map(|it| it.tool_results()).map(|it| it.content.clone());
        let results: Vec<_> = results.collect();
        match results.len() {
            0 => ScriptedTurn::new().text("First.").call("remove", json!({})),
            1 => ScriptedTurn::new().call("page", json!({})),
            _ => ScriptedTurn::new().text(format!("{results:?}")),
        }
    });
    let agent = Agent::builder(provider).tool(remove.effects(ToolEffects::Irreversible)).tool(page);
    agent.build().unwrap()
}

/// The parts of an answer.
pub(super) fn parts(frames: &str) -> Vec<Value> {
    let data = frames.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

pub(super) fn with<'p>(parts: &'p [Value], kind: &str) -> &'p Value {
    parts.iter().find(|part| part["type"] == kind).unwrap_or_else(|| panic!("{kind}: {parts:#?}"))
}

/// The text of an answer.
pub(super) fn reported(parts: &[Value]) -> String {
    let kinds = ["text-delta", "TEXT_MESSAGE_CONTENT"];
    let deltas = parts.iter().filter(|part| kinds.iter().any(|kind| part["type"] == *kind));
    deltas.map(|part| part["delta"].as_str().unwrap()).collect()
}

pub(super) async fn chat(app: &Router, token: &str, message: Value) -> (u16, Vec<Value>, String) {
    let body = json!({ "id": "c1", "messages": [message] });
    let response = post(app, "/api/chat", token, &body).await;
    let status = response.status().as_u16();
    let frames = text(response).await;
    (status, parts(&frames), frames)
}

pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "parts": [{ "type": "text", "text": text }] })
}

// Covers: E-04
#[tokio::test(start_paused = true)]
async fn use_chat_decides_and_runs_what_it_is_asked() {
    let (_, app) = service(asking());
    let (_, first, frames) = chat(&app, "ann", user("Go.")).await;
    assert!(frames.ends_with("data: [DONE]\n\n"), "{frames}");
    let asked = with(&first, "tool-approval-request");
    let metadata = &with(&first, "finish")["messageMetadata"];
    assert_eq!(first.iter().filter(|part| part["type"] == "start").count(), 1);

    let decided = json!({ "role": "assistant", "metadata": metadata, "parts": [{
        "type": "dynamic-tool", "state": "approval-responded", "toolCallId": asked["toolCallId"],
        "approval": { "id": asked["approvalId"], "approved": true },
    }] });
    // Who is not asked has nothing to answer.
    for token in ["bob", "eve"] {
        assert_eq!(chat(&app, token, decided.clone()).await.0, 404, "{token}");
    }
    let (status, second, _) = chat(&app, "ann", decided.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(with(&second, "start")["messageId"], with(&first, "start")["messageId"]);
    assert_eq!(with(&second, "tool-output-available")["toolCallId"], asked["toolCallId"]);
    assert!(!second.iter().any(|part| part["type"] == "text-delta"), "sent before: {second:#?}");
    let call = with(&second, "tool-input-available");
    assert_eq!(call["toolName"], "page");

    let ran = json!({ "role": "assistant", "metadata": with(&second, "finish")["messageMetadata"], "parts": [
        decided["parts"][0],
        { "type": "tool-page", "state": "output-available", "toolCallId": call["toolCallId"], "output": { "title": "A" } },
    ] });
    let (_, third, _) = chat(&app, "ann", ran.clone()).await;
    assert_eq!(reported(&third), r#"["removed", "{\"title\":\"A\"}"]"#);
    assert_eq!(with(&third, "finish")["finishReason"], "stop");
    // Ids of sections are not sent twice.
    let ids = |parts: &[Value]| {
        let begun = parts.iter().filter(|part| part["type"] == "text-start");
        begun.map(|part| part["id"].clone()).collect::<Vec<_>>()
    };
    assert_ne!(ids(&first), ids(&third));
    // Another page that answers the same reads how it went on, and one of another run or place nothing.
    let (status, again, _) = chat(&app, "ann", ran.clone()).await;
    assert_eq!((status, &again), (200, &third));
    for (member, other) in [("runId", json!("run-x")), ("next", json!(9_999))] {
        let mut other_place = ran.clone();
        other_place["metadata"][member] = other;
        let status = chat(&app, "ann", other_place).await.0;
        assert_eq!(status, if member == "next" { 409 } else { 404 }, "{member}");
    }
    for token in ["bob", "eve"] {
        assert_eq!(chat(&app, token, ran.clone()).await.0, 404, "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_and_a_failure_at_the_client_are_told() {
    let (_, app) = service(asking());
    let (_, first, _) = chat(&app, "ann", user("Go.")).await;
    let id = &with(&first, "tool-approval-request")["approvalId"];
    let rejected = json!({ "role": "assistant", "parts": [{ "type": "tool-remove", "state": "approval-responded",
        "approval": { "id": id, "approved": false, "reason": "Not mine." } }] });
    let (_, second, _) = chat(&app, "ann", rejected).await;
    with(&second, "tool-output-denied");
    let call = &with(&second, "tool-input-available")["toolCallId"];
    let failed = json!({ "role": "assistant", "parts": [{ "type": "tool-page", "state": "output-error",
        "toolCallId": call, "errorText": "no page" }] });
    let (_, third, _) = chat(&app, "ann", failed).await;
    assert_eq!(with(&third, "tool-output-error")["toolCallId"], *call);
    let reported = reported(&third);
    assert!(reported.contains("Not mine.") && reported.contains("no page"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_run_and_a_closed_page_only_where_it_says_so() {
    for (query, cancels) in [("", false), ("?on_disconnect=cancel", true)] {
        let (_, app) = service(scripted([ScriptedTurn::new().text("So far.").hang()]));
        let body = json!({ "id": "c1", "messages": [user("Go.")] });
        let response = post(&app, &format!("/api/chat{query}"), "ann", &body).await;
        let mut frames = response.into_body().into_data_stream();
        let mut seen = String::new();
        while !seen.contains("So far.") {
            seen.push_str(std::str::from_utf8(&frames.next().await.unwrap().unwrap()).unwrap());
        }
        drop(frames);
        let id = with(&parts(&seen), "start")["messageId"].as_str().unwrap().to_owned();
        sleep(Duration::from_secs(1)).await;
        let status = async || {
            value(get(&app, &format!("/v1/runs/{id}"), "ann").await).await.1["status"].clone()
        };
        assert_eq!(status().await, if cancels { "cancelled" } else { "running" }, "{query}");
        let stop = request(Method::DELETE, "/api/chat/c1/stream", "eve").body(Body::empty());
        app.clone().oneshot(stop.unwrap()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(status().await, if cancels { "cancelled" } else { "running" }, "of another");
        let stop = request(Method::DELETE, "/api/chat/c1/stream", "ann").body(Body::empty());
        assert_eq!(app.clone().oneshot(stop.unwrap()).await.unwrap().status(), 204);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(status().await, "cancelled");
    }
}

/// An input of an agent with these members.
pub(super) fn whole_input(body: &Value) -> Value {
    let mut whole = json!({ "threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [],
        "messages": [] });
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    whole
}

pub(super) async fn agui(app: &Router, token: &str, body: Value) -> (u16, Vec<Value>) {
    let response = post(app, "/agui", token, &whole_input(&body)).await;
    let status = response.status().as_u16();
    (status, parts(&text(response).await))
}

#[tokio::test(start_paused = true)]
async fn ag_ui_is_interrupted_and_goes_on_by_resume() {
    let (_, app) = service(asking());
    let said = json!({ "messages": [{ "id": "u1", "role": "user", "content": "Go." }] });
    let (_, first) = agui(&app, "ann", said.clone()).await;
    let end = &with(&first, "RUN_FINISHED")["outcome"];
    assert_eq!(end["type"], "interrupt");
    let interrupt = &end["interrupts"][0];
    assert_eq!(interrupt["responseSchema"]["required"], json!(["approved"]));
    let id = &interrupt["id"];
    assert_eq!(agui(&app, "ann", said).await.0, 409, "an answer is waited for");
    let resume = |id: &Value, payload: Value| json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": payload }] });
    for (body, want) in [
        (resume(&json!("other"), json!({ "approved": true })), 404),
        (resume(id, json!({ "yes": true })), 400),
        (json!({ "resume": [{ "interruptId": id, "status": "resolved" }] }), 400),
    ] {
        assert_eq!(agui(&app, "ann", body.clone()).await.0, want, "{body}");
    }
    assert_eq!(agui(&app, "eve", resume(id, json!({ "approved": true }))).await.0, 404);
    let (_, second) = agui(&app, "ann", resume(id, json!({ "approved": true }))).await;
    with(&second, "RUN_STARTED");
    assert_eq!(with(&second, "TOOL_CALL_RESULT")["content"], "removed");
    assert_eq!(with(&second, "RUN_FINISHED")["outcome"]["type"], "success");
    let call = &with(&second, "TOOL_CALL_START")["toolCallId"];
    let result = json!({ "messages": [{ "id": "x", "role": "tool", "toolCallId": call, "content": "A page." }] });
    let (_, third) = agui(&app, "ann", result).await;
    assert_eq!(reported(&third), r#"["removed", "A page."]"#);
}

// Covers: T-38
#[tokio::test(start_paused = true)]
async fn tools_of_an_ag_ui_request_run_at_its_client() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().call("colour", json!({ "of": "sky" })),
        ScriptedTurn::new().text("Done."),
    ]);
    let (_, app) = service(Agent::builder(provider.clone()).tool(Calculator).build().unwrap());
    let tool = |name: &str| {
        json!({ "name": name, "description": "Sets the colour.",
        "parameters": { "type": "object", "properties": { "of": { "type": "string" } } } })
    };
    let many: Vec<_> = (0..129).map(|number| tool(&format!("t{number}"))).collect();
    let said = json!([{ "id": "u1", "role": "user", "content": "Go." }]);
    let body = json!({ "messages": said, "tools": many });
    assert_eq!(agui(&app, "ann", body).await.0, 400);
    let body = json!({ "messages": said, "tools": [tool("colour")] });
    let (_, first) = agui(&app, "ann", body).await;
    let call = &with(&first, "TOOL_CALL_START")["toolCallId"];
    let result = json!({ "messages": [{ "id": "x", "role": "tool", "toolCallId": call, "error": "no colour", "content": "" }] });
    let (_, second) = agui(&app, "ann", result).await;
    assert_eq!(reported(&second), "Done.");
    let requests = provider.requests();
    let names: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["calculator", "colour"]);
    assert!(requests[0].system.as_deref().unwrap_or_default().is_empty(), "no member gets there");
}

/// An agent that reads the page when the input says go, and asks to remove when it says so.
fn leaving() -> Agent {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        match request.messages.iter().last().unwrap().text().as_str() {
            "Go." => ScriptedTurn::new().call("page", json!({})),
            "Remove." => ScriptedTurn::new().call("remove", json!({})),
            said => ScriptedTurn::new().text(format!("You say {said}")),
        }
    });
    let agent = Agent::builder(provider).tool(remove.effects(ToolEffects::Irreversible)).tool(page);
    agent.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_of_another_matter_ends_the_run_that_waits_for_its_reader() {
    for first in ["Go.", "Remove."] {
        let (_, app) = service(leaving());
        let (_, asked, _) = chat(&app, "ann", user(first)).await;
        let id = with(&asked, "start")["messageId"].as_str().unwrap();
        for _ in 0..2 {
            let (status, next, frames) = chat(&app, "ann", user("Hello.")).await;
            assert_eq!((status, reported(&next).as_str()), (200, "You say Hello."), "{frames}");
        }
        let (_, shown) = value(get(&app, &format!("/v1/runs/{id}"), "ann").await).await;
        assert_eq!(shown["status"], "cancelled", "{first}");
    }
    // In AG-UI the same for a call; what a person is asked has to be answered.
    let (_, app) = service(leaving());
    let said = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let (_, asked) = agui(&app, "ann", said("Go.")).await;
    let id = asked[0]["runId"].as_str().unwrap().to_owned();
    let (status, next) = agui(&app, "ann", said("Hello.")).await;
    assert_eq!((status, reported(&next).as_str()), (200, "You say Hello."));
    let (_, shown) = value(get(&app, &format!("/v1/runs/{id}"), "ann").await).await;
    assert_eq!(shown["status"], "cancelled");
    agui(&app, "ann", said("Remove.")).await;
    assert_eq!(agui(&app, "ann", said("Hello.")).await.0, 409);
}

#[tokio::test(start_paused = true)]
async fn pictures_of_both_chats_reach_the_model_and_other_files_are_refused() {
    let provider = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("I see."));
    let provider = provider.capabilities(Capabilities::ALL);
    let (_, app) = service(Agent::builder(provider.clone()).build().unwrap());
    let picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let file = json!({ "type": "file", "mediaType": "image/png", "url": format!("data:image/png;base64,{picture}") });
    let words = json!({ "type": "text", "text": "What is it?" });
    for parts in [json!([words, file]), json!([file])] {
        let (status, all, _) = chat(&app, "ann", json!({ "role": "user", "parts": parts })).await;
        assert_eq!((status, reported(&all).as_str()), (200, "I see."));
    }
    let binary = json!({ "type": "binary", "mimeType": "image/png", "data": picture });
    let said = json!({ "messages": [{ "role": "user", "content": [words, binary] }] });
    assert_eq!(agui(&app, "ann", said).await.0, 200);
    let pictures = |at: usize| {
        let requests = provider.requests();
        let parts = requests[at].messages.iter().last().unwrap().parts.clone();
        parts
            .iter()
            .filter(|part| matches!(part, Part::Image { data, .. } if data == picture))
            .count()
    };
    assert_eq!([pictures(0), pictures(1), pictures(2)], [1, 1, 1]);
    for (kind, url) in [
        ("audio/wav", "data:audio/wav;base64,AAAA"),
        ("image/png", "data:image/png;base64,%%%"),
        ("image/png", ""),
    ] {
        let file = json!({ "type": "file", "mediaType": kind, "url": url });
        let (status, _, problem) =
            chat(&app, "ann", json!({ "role": "user", "parts": [words, file] })).await;
        assert_eq!(status, 400, "{kind} {url}: {problem}");
    }
}
