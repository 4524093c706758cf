//! Requests to a run that another node works on: each has the same answer there, and is done once, whichever node has the run.

use super::{recovered::over, shared_store::SharedMemory, *};
use forgeline_agent::tools::Tool;

/// An agent that asks for an approval, for the page and for a seat, and then writes until it is cancelled.
fn asking() -> Agent {
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        let results = asked.messages.iter().flat_map(|it| it.tool_results()).count();
        match results {
            0 => ScriptedTurn::new().call("remove", json!({})),
            1 => ScriptedTurn::new().call("page", json!({})),
            2 => ScriptedTurn::new().call("book", json!({})),
            _ => ScriptedTurn::new().text("So far.").hang(),
        }
    });
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "removed" });
    let book = tool_fn("book", "Books.", |context: ToolContext, _: Value| {
        let schema = json!({ "type": "object", "properties": { "seat": { "type": "string" } } });
        async move { format!("{:?}", context.ask(Question::form("Which seat?", schema)).await) }
    });
    Agent::builder(provider)
        .tool(remove.effects(ToolEffects::Irreversible))
        .tool(page())
        .tool(book)
        .build()
        .unwrap()
}

fn page() -> impl Tool {
    ClientTool::new("page", "Reads the page.", json!({ "type": "object" }))
}

/// The two nodes of a test, each with the routes.
fn two_nodes(agent: impl Fn() -> Agent) -> (SharedMemory, [(Service, Router); 2]) {
    let shared = SharedMemory::new();
    let nodes = [over(&shared.stores(), agent()), over(&shared.stores(), agent())];
    (shared, nodes)
}

/// Answers each request of a run of [`asking`] through this node, and wrong ones before; returns the answers.
async fn answers_through(owner: &Router, other: &Router) -> Vec<(String, u16, Value)> {
    let run = begin(owner, "ann", &json!({ "input": "Go." })).await;
    let mut all = Vec::new();
    let mut send = async |path: &str, body: Value| {
        let response = post(other, &format!("{run}/{path}"), "ann", &body).await;
        let (status, answer) = value(response).await;
        // The ids of two runs differ.
        let answer = answer.to_string().replace(run.rsplit('/').next().unwrap(), "RUN");
        all.push((format!("{path} {status}"), status, serde_json::from_str(&answer).unwrap()));
    };
    let asked = until(owner, &run, "tool_approval_request").await;
    let id = &asked["approval_id"];
    send("approvals", json!({ "approval_id": "other", "decision": "grant" })).await;
    send("approvals", json!({ "approval_id": id, "decision": "reject", "arguments": {} })).await;
    send("approvals", json!({ "approval_id": id, "decision": "grant" })).await;
    let asked = until(owner, &run, "client_tool_request").await;
    let id = &asked["client_call_id"];
    let result = |id: &Value| json!({ "client_call_id": id, "result": { "content": "A page." } });
    send("tool-results", result(&json!("other"))).await;
    send("tool-results", json!({ "client_call_id": id })).await;
    send("tool-results", result(id)).await;
    let asked = until(owner, &run, "tool_question").await;
    let id = &asked["question_id"];
    let answer = |id: &Value, content: Value| json!({ "question_id": id, "answer": { "action": "accept", "content": content } });
    send("inputs", answer(&json!("other"), json!({}))).await;
    send("inputs", answer(id, json!({ "seat": 7 }))).await;
    send("inputs", answer(id, json!({ "seat": "12A" }))).await;
    until(owner, &run, "message_content").await;
    send("inputs", json!({ "input": "" })).await;
    send("inputs", json!({ "input": "And this.", "when": "end" })).await;
    send("cancel", json!({})).await;
    assert_eq!(until(owner, &run, "run_end").await["status"], "cancelled");
    send("cancel", json!({})).await;
    send("inputs", json!({ "input": "Too late." })).await;
    send("approvals", json!({ "approval_id": "late", "decision": "grant" })).await;
    all
}

// Covers: E-40
#[tokio::test]
async fn each_request_has_the_same_answer_through_the_node_that_does_not_have_the_run() {
    let (shared, [(_, first), (_, second)]) = two_nodes(asking);
    let here = answers_through(&first, &first).await;
    let there = answers_through(&first, &second).await;
    let codes: Vec<_> = here.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        codes,
        [
            "approvals 404",
            "approvals 400",
            "approvals 200",
            "tool-results 404",
            "tool-results 400",
            "tool-results 200",
            "inputs 404",
            "inputs 400",
            "inputs 200",
            "inputs 400",
            "inputs 200",
            "cancel 200",
            "cancel 200",
            "inputs 404",
            "approvals 404",
        ]
    );
    let ids = |all: Vec<(String, u16, Value)>| -> Vec<_> {
        all.into_iter().map(|(name, _, answer)| (name, answer)).collect()
    };
    assert_eq!(ids(here), ids(there));
    drop(shared);
}
