//! Requests of agents below, which their reader answers like others.

use super::{
    chats::{agui, chat, parts, reported, user, with},
    *,
};

/// An agent whose helper asks to remove, and then reads the page.
fn helped() -> Agent {
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    let below = ScriptedProvider::from_fn(|request: &Asked| {
        let results = request.messages.iter().flat_map(|it| it.tool_results());
        let results: Vec<_> = results.map(|it| it.content.clone()).collect();
        match results.len() {
            0 => ScriptedTurn::new().call("remove", json!({ "path": "a" })),
            1 => ScriptedTurn::new().call("page", json!({})),
            _ => ScriptedTurn::new().text(results.join(", ")),
        }
    });
    let below = Agent::builder(below)
        .tool(remove.effects(ToolEffects::Irreversible))
        .tool(page)
        .build()
        .unwrap();
    let provider = ScriptedProvider::from_fn(|request: &Asked| {
        match request.messages.iter().last().unwrap().tool_results().next() {
            Some(result) => ScriptedTurn::new().text(result.content.clone()),
            None => ScriptedTurn::new().text("I ask.").call("below", json!({ "task": "Do it." })),
        }
    });
    let agent = Agent::builder(provider).tool(below.into_tool("below", "Helps."));
    agent.build().unwrap()
}

fn answered(asked: &[Value], part: &Value) -> Value {
    json!({ "role": "assistant", "metadata": with(asked, "finish")["messageMetadata"], "parts": [part] })
}

fn decided(asked: &Value, approved: bool) -> Value {
    json!({ "type": "tool-remove", "state": "approval-responded", "toolCallId": asked["toolCallId"],
        "approval": { "id": asked["approvalId"], "approved": approved } })
}

// Covers: E-04
#[tokio::test(start_paused = true)]
async fn use_chat_answers_what_an_agent_below_asks() {
    for reloads in [false, true] {
        let (_, app) = service(helped());
        let (_, mut first, _) = chat(&app, "ann", user("Go.")).await;
        if reloads {
            first = parts(&text(get(&app, "/api/chat/c1/stream", "ann").await).await);
        }
        let asked = with(&first, "tool-approval-request");
        let id = asked["toolCallId"].as_str().unwrap();
        assert!(id.ends_with(".1.call-0") && id != "1.call-0", "{id}");
        let kinds: Vec<_> = first.iter().map(|part| part["type"].as_str().unwrap()).collect();
        let last_step = kinds.iter().rposition(|kind| *kind == "start-step").unwrap();
        let own = kinds.iter().position(|kind| *kind == "tool-input-available").unwrap();
        assert!(own < last_step, "the call of the agent has no result, and is in another step");
        let calls = |parts: &[Value], kind: &str| -> Vec<Value> {
            let its = parts.iter().filter(|part| part["type"] == kind);
            its.map(|part| part["toolCallId"].clone()).collect()
        };
        assert_eq!(calls(&first[last_step..], "tool-input-available"), [json!(id)]);

        let answer = answered(&first, &decided(asked, true));
        assert_eq!(chat(&app, "bob", answer.clone()).await.0, 404);
        let (status, second, _) = chat(&app, "ann", answer).await;
        assert_eq!(status, 200);
        assert_eq!(calls(&second, "tool-output-available"), [json!(id)]);
        let page = with(&second, "tool-input-available");
        assert_eq!(page["toolName"], "page");
        let ran = json!({ "type": "tool-page", "state": "output-available", "toolCallId": page["toolCallId"], "output": "A page." });
        let (_, third, _) = chat(&app, "ann", answered(&second, &ran)).await;
        assert_eq!(reported(&third), "removed, A page.");
        let mut want = vec![page["toolCallId"].clone(), json!("1.call-0")];
        assert_eq!(calls(&third, "tool-output-available"), std::mem::take(&mut want));
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_below_asks_is_rejected_by_its_part() {
    let (_, app) = service(helped());
    let (_, first, _) = chat(&app, "ann", user("Go.")).await;
    let asked = with(&first, "tool-approval-request");
    let (_, second, _) = chat(&app, "ann", answered(&first, &decided(asked, false))).await;
    assert_eq!(with(&second, "tool-output-denied")["toolCallId"], asked["toolCallId"]);
}

#[tokio::test(start_paused = true)]
async fn an_ag_ui_client_gives_the_result_of_a_call_of_an_agent_below() {
    let (_, app) = service(helped());
    let (_, first) =
        agui(&app, "ann", json!({ "messages": [{ "role": "user", "content": "Go." }] })).await;
    let id = &with(&first, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"];
    let resume = json!([{ "interruptId": id, "status": "resolved", "payload": true }]);
    let (_, second) = agui(&app, "ann", json!({ "resume": resume })).await;
    let call = with(&second, "TOOL_CALL_START");
    assert_eq!(call["toolCallName"], "page");
    let result = json!({ "role": "tool", "toolCallId": call["toolCallId"], "content": "A page." });
    let (status, third) = agui(&app, "ann", json!({ "messages": [result] })).await;
    assert_eq!(status, 200);
    assert!(reported(&third).ends_with("removed, A page."), "{}", reported(&third));
}
