//! Answers of callers who may not use the tool of a call: they are refused, and the call stays open.

use super::*;

/// A service whose Ann may use all tools, and is there a second time with a token that may use none.
fn gated(agent: Agent) -> Router {
    let ann = || Caller::new("ann").scope("team-a");
    let tokens = Tokens::new()
        .token("ann", ann().permission("pay").permission("page"))
        .token("less", ann())
        .token("bob", Caller::new("bob").scope("team-a").permission("pay").permission("page"))
        .token("eve", Caller::new("ann").scope("team-e").permission("pay").permission("page"));
    router(Service::builder().agent("main", agent).identify(tokens).build().unwrap())
}

/// An agent that calls this tool, and is done.
fn calling(name: &str, call: &str, tool: impl forgeline_agent::tools::Tool + 'static) -> Agent {
    let (name, call) = (name.to_owned(), call.to_owned());
    let provider = ScriptedProvider::from_fn(move |request: &Asked| {
        if request.messages.iter().any(|it| it.tool_results().next().is_some()) {
            return ScriptedTurn::new().text("Done.");
        }
        ScriptedTurn::new().call(&name, &call)
    });
    Agent::builder(provider).tool(tool).build().unwrap()
}

fn paying() -> Agent {
    let pay = tool_fn("pay", "Pays.", |_: ToolContext, _: Value| async { "paid" });
    calling("pay", "{}", pay.permission("pay").effects(ToolEffects::Irreversible))
}

fn reading() -> Agent {
    let page = ClientTool::new("page", "Reads the page.", json!({ "type": "object" }));
    calling("page", "{}", page.permission("page"))
}

/// Sends what others may not and Ann may.
async fn check(app: &Router, path: &str, body: &Value, run: &str) {
    // A caller that may not see the run gets no event.
    for (token, want) in [("bob", 404), ("eve", 404), ("less", 403)] {
        let (status, problem) = value(post(app, path, token, body).await).await;
        assert_eq!(status, want, "{token}: {problem}");
        let code = if want == 403 { "not_permitted" } else { "not_found" };
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(value(get(app, run, "ann").await).await.1["status"], "waiting", "{token}");
    }
    assert_eq!(post(app, path, "ann", body).await.status(), 200);
    let end = until(app, run, "run_end").await;
    assert_eq!(end["status"], "completed");
}

// Covers: T-55, CT-23, CT-24
#[tokio::test]
async fn a_result_of_a_caller_who_may_not_use_the_tool_is_refused_and_the_call_stays() {
    let app = gated(reading());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "client_tool_request").await;
    let body = json!({ "client_call_id": asked["client_call_id"], "result": { "content": "A." } });
    check(&app, &format!("{run}/tool-results"), &body, &run).await;
}

#[tokio::test]
async fn an_approval_of_a_caller_who_may_not_use_the_tool_is_refused_and_stays_open() {
    let app = gated(paying());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    let asked = until(&app, &run, "tool_approval_request").await;
    let body = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
    check(&app, &format!("{run}/approvals"), &body, &run).await;
}

#[tokio::test]
async fn whoever_may_not_use_a_tool_of_an_agent_below_does_not_decide_about_it_either() {
    let above = ScriptedProvider::new([
        ScriptedTurn::new().call("helper", json!({ "task": "Pay." })),
        ScriptedTurn::new().text("Done."),
    ]);
    let agent = Agent::builder(above).tool(paying().into_tool("helper", "Helps."));
    let app = gated(agent.build().unwrap());
    let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
    while value(get(&app, &run, "ann").await).await.1["status"] != "waiting" {
        tokio::task::yield_now().await;
    }
    let seen = async {
        let mut stream =
            get(&app, &format!("{run}/events"), "ann").await.into_body().into_data_stream();
        let mut seen = String::new();
        while !seen.contains("\"approval_id\":\"") {
            seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
        }
        seen
    };
    let seen = seen.await;
    let id = seen.split("\"approval_id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let body = json!({ "approval_id": id, "decision": "grant" });
    check(&app, &format!("{run}/approvals"), &body, &run).await;
}

#[tokio::test]
async fn chats_of_both_protocols_refuse_it_too_before_anything_is_decided() {
    let said = json!({ "id": "u1", "role": "user", "content": "Go." });
    let chat = |messages: Value| json!({ "id": "c1", "messages": messages });
    let ag_ui = |messages: Value, resume: Value| {
        json!({ "threadId": "c1", "runId": "r1", "state": {}, "tools": [], "context": [],
            "messages": messages, "resume": resume })
    };
    let member = |frames: &str, name: &str| {
        let found = frames.split(&format!("\"{name}\":\"")).nth(1);
        found.unwrap_or_else(|| panic!("{name}: {frames}")).split('"').next().unwrap().to_owned()
    };
    for agent in [paying, reading] {
        let app = gated(agent());
        let frames = text(post(&app, "/api/chat", "ann", &chat(json!([said]))).await).await;
        let call = member(&frames, "toolCallId");
        let part = if frames.contains("approvalId") {
            let id = member(&frames, "approvalId");
            json!({ "type": "dynamic-tool", "state": "approval-responded", "toolCallId": call, "approval": { "id": id, "approved": true } })
        } else {
            json!({ "type": "dynamic-tool", "state": "output-available", "toolCallId": call, "output": "A." })
        };
        let body = chat(json!([said, { "id": "a1", "role": "assistant", "parts": [part] }]));
        assert_eq!(value(post(&app, "/api/chat", "less", &body).await).await.0, 403);
        let frames = text(post(&app, "/api/chat", "ann", &body).await).await;
        assert!(frames.contains("Done."), "{frames}");

        let app = gated(agent());
        let frames = text(post(&app, "/agui", "ann", &ag_ui(json!([said]), json!([]))).await).await;
        let call = member(&frames, "toolCallId");
        let is_asked = frames.contains("tool_approval");
        let body = if is_asked {
            let id = frames.split("\"interrupts\":[{\"id\":\"").nth(1);
            let id = id.unwrap_or_else(|| panic!("{frames}")).split('"').next().unwrap();
            ag_ui(
                json!([said]),
                json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }]),
            )
        } else {
            let ran = json!({ "id": "t1", "role": "tool", "toolCallId": call, "content": "A." });
            ag_ui(json!([said, ran]), json!([]))
        };
        assert_eq!(value(post(&app, "/agui", "less", &body).await).await.0, 403);
        let frames = text(post(&app, "/agui", "ann", &body).await).await;
        assert!(frames.contains("Done."), "{frames}");
    }
}
