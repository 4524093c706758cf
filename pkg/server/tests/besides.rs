//! Messages of the user behind answers to what a run asks: both are taken, or neither.

use super::{
    chats::{agui, reported, user, with},
    recovered::{dies, dies_at_once, lives, over},
    *,
};
use crate::input::{
    pending::{JournaledAnswers, PendingAnswer},
    stored_input::{StoredInput, left_note},
};
use forgeline_agent::{approval::Decision, private::RequestAnswer};
use forgeline_store::{LogKey, RunChange, Stores};

/// The texts of the user and the results that a model reads.
fn seen(request: &Asked) -> Vec<String> {
    let mut seen = Vec::new();
    for message in &request.messages {
        seen.extend(message.tool_results().map(|result| result.content.clone()));
        if message.role == forgeline_types::MessageRole::User {
            seen.push(message.text());
        }
    }
    seen
}

/// An agent that asks to remove, or reads the page, or both, as the input says; it repeats all that it reads.
fn reading() -> (ScriptedProvider, Agent) {
    reading_where(false)
}

/// The same, where the call may not end.
fn reading_where(hangs: bool) -> (ScriptedProvider, Agent) {
    let remove = tool_fn("remove", "Removes.", move |_: ToolContext, _: Value| async move {
        if hangs {
            std::future::pending::<()>().await;
        }
        "removed"
    });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        let called = ScriptedTurn::new();
        match request.messages.iter().last().unwrap().text().as_str() {
            "Remove." => called.call("remove", json!({})),
            "Read." => called.call("page", json!({})),
            "Both." => called.call("remove", json!({})).call("page", json!({})),
            _ => ScriptedTurn::new().text(seen(request).join(" | ")),
        }
    });
    let agent = Agent::builder(provider.clone());
    let agent = agent.tool(remove.effects(ToolEffects::Irreversible).idempotent()).tool(page);
    (provider, agent.build().unwrap())
}

fn said(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn resume(id: &Value) -> Value {
    json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }])
}

#[tokio::test(start_paused = true)]
async fn words_behind_an_answer_are_read_with_it_in_ag_ui() {
    for (first, at) in [("Read.", 0), ("Read.", 1), ("Remove.", 0), ("Remove.", 1), ("Remove.", 2)]
    {
        let (provider, agent) = reading();
        let (_, app) = service(agent);
        let (_, asked) = agui(&app, "ann", json!({ "messages": [said(first)] })).await;
        let call = &with(&asked, "TOOL_CALL_START")["toolCallId"];
        let calls =
            json!({ "role": "assistant", "toolCalls": [{ "id": call, "type": "function" }] });
        let result = json!({ "role": "tool", "toolCallId": call, "content": "A page." });
        let (a, b) = (said("And now?"), said("Tell me."));
        let (body, want) = if first == "Read." {
            let messages = match at {
                0 => json!([said(first), calls, result, a, b]),
                _ => json!([said(first), calls, a, b, result]),
            };
            (json!({ "messages": messages }), "Read. | A page. | And now?Tell me.")
        } else {
            let id = &with(&asked, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"];
            let (messages, want) = match at {
                0 => (json!([said(first), calls, a]), "Remove. | removed | And now?"),
                // A client that keeps no messages of the model.
                1 => (json!([said(first), a]), "Remove. | removed | And now?"),
                _ => (json!([said(first)]), "Remove. | removed"),
            };
            (json!({ "messages": messages, "resume": resume(id) }), want)
        };
        let (status, parts) = agui(&app, "ann", body.clone()).await;
        assert_eq!((status, reported(&parts).as_str()), (200, want), "{body}");
        assert_eq!(provider.requests().len(), 2, "{body}");
        let kept = text(get(&app, "/v1/conversations/t1", "ann").await).await;
        assert_eq!(kept.contains("And now?"), want.contains("And now?"), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_wait_for_the_rest_of_the_answers_are_said_once() {
    let (provider, agent) = reading();
    let (_, app) = service(agent);
    let (_, asked) = agui(&app, "ann", json!({ "messages": [said("Both.")] })).await;
    let id = &with(&asked, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"];
    let calls: Vec<_> = asked.iter().filter(|it| it["type"] == "TOOL_CALL_START").collect();
    let call = |at: usize| calls[at]["toolCallId"].clone();
    let calls = json!({ "role": "assistant", "toolCalls": [{ "id": call(0) }, { "id": call(1) }] });
    let result = json!({ "role": "tool", "toolCallId": call(1), "content": "A page." });
    let messages = json!([said("Both."), calls, result, said("And now?")]);
    let (status, waits) = agui(&app, "ann", json!({ "messages": messages })).await;
    assert_eq!(status, 200);
    assert_eq!(with(&waits, "RUN_FINISHED")["outcome"]["type"], "interrupt", "of the other");
    let body = json!({ "messages": messages, "resume": resume(id) });
    let (status, parts) = agui(&app, "ann", body).await;
    assert_eq!((status, reported(&parts).as_str()), (200, "Both. | removed | A page. | And now?"));
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn words_that_cannot_be_taken_take_no_answer_along() {
    let (_, agent) = reading();
    let limits = Limits { input_bytes: 40, ..Limits::default() };
    let (_, app) = limited(agent, limits);
    let (_, asked) = agui(&app, "ann", json!({ "messages": [said("Read.")] })).await;
    let run = format!("/v1/runs/{}", asked[0]["runId"].as_str().unwrap());
    let call = &with(&asked, "TOOL_CALL_START")["toolCallId"];
    let result = json!({ "role": "tool", "toolCallId": call, "content": "A page." });
    let picture = json!({ "type": "binary", "mimeType": "image/png", "data": "%%%" });
    for (words, want) in
        [(said(&"a".repeat(41)), 413), (json!({ "role": "user", "content": [picture] }), 400)]
    {
        let body = json!({ "messages": [said("Read."), result, words] });
        assert_eq!(agui(&app, "ann", body).await.0, want, "{words}");
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "waiting", "{words}");
    }
    // Words beside a result of another call answer nothing.
    let stale = json!({ "role": "tool", "toolCallId": "9.x", "content": "Old." });
    let calls = json!({ "role": "assistant", "toolCalls": [{ "id": call }] });
    let body = json!({ "messages": [said("Read."), calls, said("And now?"), stale] });
    assert_eq!(agui(&app, "ann", body).await.0, 409);
}

/// The message of the model, with these parts of its reader.
fn answered(asked: &[Value], parts: &[Value]) -> Value {
    json!({ "id": with(asked, "start")["messageId"], "role": "assistant",
        "metadata": with(asked, "finish")["messageMetadata"], "parts": parts })
}

fn ran(call: &Value) -> Value {
    json!({ "type": "tool-page", "state": "output-available", "toolCallId": call, "output": "A page." })
}

fn decided(asked: &[Value], approved: bool) -> Value {
    let asked = with(asked, "tool-approval-request");
    json!({ "type": "tool-remove", "state": "approval-responded", "toolCallId": asked["toolCallId"],
        "approval": { "id": asked["approvalId"], "approved": approved, "reason": "Not mine." } })
}

async fn chat(app: &Router, body: Value) -> (u16, Vec<Value>) {
    let mut whole = json!({ "id": "c1", "trigger": "submit-message" });
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let response = post(app, "/api/chat", "ann", &whole).await;
    let status = response.status().as_u16();
    (status, super::chats::parts(&text(response).await))
}

#[tokio::test(start_paused = true)]
async fn answers_before_a_message_of_a_chat_are_given_and_the_message_begins_the_next_run() {
    for (first, at, want) in [
        ("Read.", 0, "Read. | A page. | And now?"),
        ("Remove.", 1, "Remove. | removed | And now?"),
        ("Remove.", 2, "Not mine."),
        ("Both.", 0, "A page. | And now?"),
        ("Both.", 1, "removed | The tool `page` failed: the user moved on"),
        // The message is edited, as it was refused before.
        ("Read.", 3, "Read. | A page. | And now?"),
    ] {
        let (provider, agent) = reading();
        let (_, app) = service(agent);
        let (_, asked) = chat(&app, json!({ "messages": [user(first)] })).await;
        let calls: Vec<_> = asked.iter().filter(|it| it["type"] == "tool-input-start").collect();
        let part = match at {
            1 => decided(&asked, true),
            2 => decided(&asked, false),
            _ => ran(&calls.last().unwrap()["toolCallId"]),
        };
        let mut now = user("And now?");
        now["id"] = json!("m3");
        let message = answered(&asked, &[part]);
        let mut body = json!({ "messages": [user(first), message, now] });
        if at == 3 {
            body["messageId"] = json!("m3");
        }
        let (status, next) = chat(&app, body).await;
        assert_eq!(status, 200);
        assert!(
            reported(&next).contains(want) && reported(&next).ends_with("And now?"),
            "{}",
            reported(&next)
        );
        assert_eq!(
            reported(&next).contains("the user moved on"),
            first == "Both.",
            "{}",
            reported(&next)
        );
        assert_eq!(provider.requests().len(), 2, "{first} {at}");
        let ids = [&asked, &next].map(|parts| with(parts, "start")["messageId"].clone());
        assert_ne!(ids[0], ids[1]);
        let run = format!("/v1/runs/{}", ids[0].as_str().unwrap());
        assert_eq!(value(get(&app, &run, "ann").await).await.1["status"], "cancelled");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_another_run_or_caller_are_not_taken_with_a_message() {
    let (provider, agent) = reading();
    let (_, app) = service(agent);
    let (_, asked) = chat(&app, json!({ "messages": [user("Read.")] })).await;
    let part = ran(&with(&asked, "tool-input-start")["toolCallId"]);
    let mut message = answered(&asked, &[part]);
    message["metadata"]["runId"] = json!("run_other");
    let body = json!({ "messages": [user("Read."), message, user("And now?")] });
    let (status, next) = chat(&app, body).await;
    assert!(status == 200 && !reported(&next).contains("A page."), "{}", reported(&next));
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_once_its_user_has_gone_on_is_refused() {
    // The agent below asks for the second once the first was granted.
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let below = ScriptedProvider::new([
        ScriptedTurn::new().call("remove", json!({ "path": "a" })),
        ScriptedTurn::new().call("remove", json!({ "path": "b" })),
        ScriptedTurn::new().text("Tried."),
    ]);
    let below = Agent::builder(below.clone())
        .tool(remove.effects(ToolEffects::Irreversible))
        .build()
        .unwrap();
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        match request.messages.iter().last().unwrap().text().as_str() {
            "Go." => ScriptedTurn::new().call("below", json!({ "task": "Remove both." })),
            _ => ScriptedTurn::new().text(seen(request).join(" | ")),
        }
    });
    let agent = Agent::builder(provider).tool(below.into_tool("below", "Helps."));
    let (_, app) = service(agent.build().unwrap());
    let (_, asked) = chat(&app, json!({ "messages": [user("Go.")] })).await;
    let message = answered(&asked, &[decided(&asked, true)]);
    let body = json!({ "messages": [user("Go."), message, user("And now?")] });
    let (status, next) = chat(&app, body).await;
    assert_eq!((status, reported(&next).as_str()), (200, "Go. | Tried. | And now?"));
}

#[test]
fn a_message_and_the_answers_before_it_are_taken_in_another_process_too() {
    let stores = Stores::in_memory();
    let asked = dies(async {
        let (_, app) = over(&stores, reading().1);
        chat(&app, json!({ "messages": [user("Both.")] })).await.1
    });
    // The call that is allowed does not end here.
    dies_at_once(async {
        let (service, app) = over(&stores, reading_where(true).1);
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        let message = answered(&asked, &[decided(&asked, true)]);
        let messages = json!([user("Both."), message, user("And now?")]);
        let body = json!({ "id": "c1", "messages": messages });
        assert_eq!(post(&app, "/api/chat", "ann", &body).await.status(), 200);
    });
    lives(async {
        let first = with(&asked, "start")["messageId"].as_str().unwrap();
        let open = stores.runs.open(2).await.unwrap();
        let next = &open.iter().find(|it| it.key.name != first).unwrap().key.name;
        let (service, app) = over(&stores, reading().1);
        assert_eq!(service.recover().await.unwrap().resumed, 2);
        // It may have ended by now.
        until(&app, &format!("/v1/runs/{next}"), "run_end").await;
        let kept = value(get(&app, "/v1/conversations/c1", "ann").await).await.1;
        let told = &kept["page"]["messages"].as_array().unwrap().last().unwrap()["message"];
        let told = told["parts"][0]["text"].as_str().unwrap_or_default();
        assert!(told.starts_with("Both. | removed | ") && told.ends_with("And now?"), "{kept}");
    });
}

#[test]
fn a_run_that_its_user_has_left_takes_the_answers_that_are_kept_and_ends() {
    let stores = Stores::in_memory();
    let asked = dies(async {
        let (_, app) = over(&stores, reading().1);
        chat(&app, json!({ "messages": [user("Both.")] })).await.1
    });
    let id = with(&asked, "start")["messageId"].as_str().unwrap();
    // The process died behind the write.
    dies(async {
        let key = LogKey::new("team-a", id);
        let record = stores.runs.get(&key).await.unwrap();
        let approval = with(&asked, "tool-approval-request")["approvalId"].as_str().unwrap();
        let answer = PendingAnswer::new(approval.into(), RequestAnswer::Decided(Decision::Grant));
        let mut change = RunChange::to(record.progress, 1).note(left_note().unwrap());
        let journaled = JournaledAnswers::default();
        change.added.extend(StoredInput::note_answers(&[answer], &journaled, None).unwrap());
        stores.runs.change(&record.writer(), change).await.unwrap();
    });
    lives(async {
        let (provider, agent) = reading();
        let (service, app) = over(&stores, agent);
        assert_eq!(service.recover().await.unwrap().resumed, 1);
        let run = format!("/v1/runs/{id}");
        assert_eq!(until(&app, &run, "run_end").await["status"], "cancelled");
        let kept = text(get(&app, "/v1/conversations/c1", "ann").await).await;
        assert!(kept.contains(r#""content":"removed""#), "{kept}");
        assert!(provider.requests().is_empty(), "its model is not asked any more");
    });
}
