//! Requests to a run that another node works on: each has the same answer there, and is done once, whichever node has the run.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{recovered::over, shared_store::SharedStores, *};
use forgeline_agent::tools::Tool;
use forgeline_store::{ConversationKey, EraseMode, LogKey, Stores};

/// The variable that gives the services of other tests a second node.
pub(super) const TWO_NODES: &str = "FORGELINE_TEST_TWO_NODES";

/// The tests that pass where each request goes to the next node.
const BY_TURNS: [&str; 10] = [
    "all_events",
    "besides",
    "chats",
    "fronts",
    "fronts_left",
    "late",
    "nested",
    "repeated",
    "said",
    "several",
];

/// Returns two nodes of a service, and a router that gives each request to the next one.
pub(super) fn by_turns(agent: Agent, limits: &Limits) -> (Service, Router) {
    let shared = SharedStores::new();
    let node = |agent: Agent| {
        let builder = built(agent).limits(limits.clone()).stores(shared.stores());
        let service = builder.build().unwrap();
        (service.clone(), router(service))
    };
    let ((service, one), (_, other)) = (node(agent.clone()), node(agent));
    let requests = Arc::new(AtomicUsize::new(0));
    let app = Router::new().fallback(move |request: Request<Body>| {
        let is_even = requests.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        let node = if is_even { one.clone() } else { other.clone() };
        async move { node.oneshot(request).await.unwrap() }
    });
    (service, app)
}

// Covers: E-40
#[test]
fn chats_and_their_readers_do_not_see_which_node_they_come_to() {
    if std::env::var_os(TWO_NODES).is_some() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.env(TWO_NODES, "1").args(["--test-threads", "2"]);
    again.args(BY_TURNS.map(|name| format!("tests::{name}::")));
    let done = again.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && printed.contains("ok. "), "{printed}");
}

/// An agent that asks for an approval, for the page and for a seat, and then writes until it is cancelled.
pub(super) fn asking() -> Agent {
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
fn two_nodes(agent: impl Fn() -> Agent) -> (Arc<SharedStores>, [(Service, Router); 2]) {
    let shared = SharedStores::new();
    let nodes = [over(&shared.stores(), agent()), over(&shared.stores(), agent())];
    (shared, nodes)
}

/// Answers each request of a run of [`asking`] through this node, and wrong ones before; returns the answers.
pub(super) async fn answers_through(owner: &Router, other: &Router) -> Vec<(String, Value)> {
    let run = begin(owner, "ann", &json!({ "input": "Go." })).await;
    let mut all = Vec::new();
    let mut send = async |path: &str, body: Value| {
        let response = post(other, &format!("{run}/{path}"), "ann", &body).await;
        let (status, answer) = value(response).await;
        // The ids of two runs differ.
        let answer = answer.to_string().replace(run.rsplit('/').next().unwrap(), "RUN");
        all.push((format!("{path} {status}"), serde_json::from_str(&answer).unwrap()));
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
    let (_, [(_, first), (_, second)]) = two_nodes(asking);
    let here = answers_through(&first, &first).await;
    let there = answers_through(&first, &second).await;
    let codes: Vec<_> = here.iter().map(|(name, _)| name.as_str()).collect();
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
    assert_eq!(here, there);
}

/// Lets a reader leave once it has something.
async fn leaves(reader: Response) {
    assert_eq!(reader.status(), 200);
    let mut frames = reader.into_body().into_data_stream();
    assert!(frames.next().await.is_some());
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_run_of_another_node() {
    let (_, [(_, first), (_, second)]) = two_nodes(asking);
    for path in ["events?on_disconnect=cancel", "stream?offset=-1&live=sse&on_disconnect=cancel"] {
        let run = begin(&first, "ann", &json!({ "input": "Go." })).await;
        until(&first, &run, "tool_approval_request").await;
        leaves(get(&second, &format!("{run}/{path}"), "ann").await).await;
        let end = timeout(Duration::from_mins(1), until(&first, &run, "run_end")).await.unwrap();
        assert_eq!(end["status"], "cancelled", "{path}");
    }
}

#[tokio::test]
async fn what_is_deleted_on_one_node_is_not_written_again_by_the_other() {
    for is_erased in [false, true] {
        let (shared, [(owner, first), (other, second)]) = two_nodes(asking);
        let body = json!({ "input": "Go.", "conversation_id": "c" });
        let run = begin(&first, "ann", &body).await;
        until(&first, &run, "tool_approval_request").await;
        let ann = Caller::new("ann").scope("team-a");
        let refused = request(Method::DELETE, "/v1/conversations/c", "ann").body(Body::empty());
        let refused = second.clone().oneshot(refused.unwrap()).await.unwrap();
        assert_eq!(refused.status(), 409, "a run is under way");
        if is_erased {
            let erased = other.erase("team-a", "ann", EraseMode::Hard).await.unwrap();
            assert_eq!(erased.runs, 1);
        } else {
            assert!(other.delete_conversation(&ann, "c").await.unwrap());
        }
        owner.shutdown(Duration::from_secs(10)).await;
        let (stores, key) =
            (shared.stores(), LogKey::new("team-a", run.rsplit('/').next().unwrap()));
        assert!(stores.runs.get(&key).await.is_err() && stores.log.read(&key, 0, 1).await.is_err());
        assert!(stores.conversations.get(&ConversationKey::new("team-a", "c")).await.is_err());
        assert_eq!(get(&second, &run, "ann").await.status(), 404);
    }
}

#[tokio::test]
async fn a_run_that_is_deleted_under_its_owner_ends_and_leaves_nothing() {
    let (shared, [(owner, first), _]) = two_nodes(asking);
    let run = begin(&first, "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
    until(&first, &run, "tool_approval_request").await;
    let (stores, key) = (shared.stores(), LogKey::new("team-a", run.rsplit('/').next().unwrap()));
    stores.log.remove(&key).await.unwrap();
    assert!(stores.runs.delete(&key).await.unwrap());
    stores.conversations.delete(&ConversationKey::new("team-a", "c")).await.unwrap();
    // It waits for a person, and would write nothing.
    owner.shutdown(Duration::from_secs(10)).await;
    assert!(owner.0.runs.active().find(&key.scope, &key.name).is_none());
    assert!(stores.runs.get(&key).await.is_err() && stores.log.read(&key, 0, 1).await.is_err());
    assert_eq!(stores.latency.total("team-a").await.unwrap(), 0);
}

#[tokio::test]
async fn a_service_of_one_node_stores_no_commands() {
    let mut stores = Stores::in_memory();
    let shared = SharedStores::new();
    stores.commands = shared.stores().commands;
    let (_, app) = over(&stores, asking());
    answers_through(&app, &app).await;
    assert_eq!(shared.statements(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_costs_no_statements_about_commands() {
    let (shared, [(_, first), (_, second)]) = two_nodes(asking);
    let run = begin(&first, "ann", &json!({ "input": "Go." })).await;
    until(&first, &run, "tool_approval_request").await;
    let before = shared.statements();
    for _ in 0..60 {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(shared.statements(), before);
    let long = json!({ "approval_id": "a".repeat(1 << 20), "decision": "grant" });
    assert_eq!(post(&second, &format!("{run}/approvals"), "ann", &long).await.status(), 404);
    let key = LogKey::new("team-a", run.rsplit('/').next().unwrap());
    let none = shared.stores().commands.unanswered(&key, 0, 9).await.unwrap();
    assert!(none.is_empty() && shared.longest_key() < 100);
}
