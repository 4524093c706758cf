//! Commands to a run whose owner dies: each is executed once, by the owner or by the next one.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    recovered::{dies_at_once, lives, over, whole},
    shared_store::SharedStores,
    *,
};
use forgeline_store::{ConversationKey, LogKey};

/// An agent whose only tool needs an approval and counts its calls, and that then writes until it is cancelled.
pub(super) fn paying(paid: &Arc<AtomicUsize>) -> Agent {
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        let results = asked.messages.iter().flat_map(|it| it.tool_results()).count();
        let has_heard = asked.messages.iter().any(|it| it.text() == "And this.");
        match (results, has_heard) {
            (0, _) => ScriptedTurn::new().call("pay", json!({})),
            (_, false) => ScriptedTurn::new().text("Paid.").hang(),
            (_, true) => ScriptedTurn::new().text("I heard it."),
        }
    });
    let paid = Arc::clone(paid);
    let pay = tool_fn("pay", "Pays.", move |_: ToolContext, _: Value| {
        paid.fetch_add(1, Ordering::SeqCst);
        async { "paid" }
    });
    Agent::builder(provider).tool(pay.effects(ToolEffects::Irreversible)).build().unwrap()
}

/// Sends a request with a key.
pub(super) async fn send(app: &Router, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let request = request(Method::POST, path, "ann")
        .header("content-type", "application/json")
        .header("idempotency-key", key)
        .body(Body::from(body.to_string()));
    value(app.clone().oneshot(request.unwrap()).await.unwrap()).await
}

/// Sends a request with a key in a task of its own, as its answer may never come.
fn send_later(app: &Router, path: &str, key: &'static str, body: Value) {
    let (app, path) = (app.clone(), path.to_owned());
    tokio::spawn(async move { send(&app, &path, key, &body).await });
}

/// Waits until something holds.
async fn holds(is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_mins(1), wait).await.unwrap();
}

// Covers: E-40
#[test]
fn a_command_that_was_executed_and_not_answered_is_not_executed_again() {
    let (shared, paid) = (SharedStores::new(), Arc::<AtomicUsize>::default());
    let grant = |id: &Value| json!({ "approval_id": id, "decision": "grant" });
    let word = json!({ "input": "And this.", "when": "now" });
    let (run, id, node) = dies_at_once(async {
        let (first, app) = over(&shared.stores(), paying(&paid));
        let (_, other) = over(&shared.stores(), paying(&paid));
        let run = begin(&app, "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
        let id = until(&app, &run, "tool_approval_request").await["approval_id"].clone();
        shared.lose_answers(usize::MAX);
        send_later(&other, &format!("{run}/approvals"), "one", grant(&id));
        holds(async || paid.load(Ordering::SeqCst) == 1).await;
        until(&app, &run, "message_content").await;
        // A request to this node removes the notes that are not needed any more.
        let here = json!({ "input": "Here.", "when": "end" });
        assert_eq!(post(&app, &format!("{run}/inputs"), "ann", &here).await.status(), 200);
        (run, id, first.0.lifecycle.node.clone())
    });
    shared.lose_answers(0);
    shared.kill(&node);
    let node = dies_at_once(async {
        let (second, app) = over(&shared.stores(), paying(&paid));
        assert_eq!(second.recover().await.unwrap().resumed, 1);
        // It has the answer that it would have had.
        let (status, answer) = send(&app, &format!("{run}/approvals"), "one", &grant(&id)).await;
        assert_eq!((status, &answer), (200, &json!({ "status": "ok" })));
        until(&app, &run, "message_content").await;
        shared.lose_answers(usize::MAX);
        let (_, other) = over(&shared.stores(), paying(&paid));
        send_later(&other, &format!("{run}/inputs"), "two", word.clone());
        let key = LogKey::new("team-a", run.rsplit('/').next().unwrap());
        holds(async || !shared.stores().runs.get(&key).await.unwrap().notes.is_empty()).await;
        second.0.lifecycle.node.clone()
    });
    shared.lose_answers(0);
    shared.kill(&node);
    lives(async {
        let (third, app) = over(&shared.stores(), paying(&paid));
        assert_eq!(third.recover().await.unwrap().resumed, 1);
        let (status, answer) = send(&app, &format!("{run}/inputs"), "two", &word).await;
        assert_eq!((status, &answer), (200, &json!({ "status": "ok" })));
        let events = whole(&app, &run).await;
        assert_eq!(events.last().unwrap()["status"], "completed", "{events:?}");
        assert_eq!(paid.load(Ordering::SeqCst), 1, "the tool ran once");
        let conversation = ConversationKey::new("team-a", "c");
        let messages = shared.stores().conversations.messages(&conversation, 0, 99).await.unwrap();
        let heard = messages.iter().filter(|it| it.message.text() == "And this.").count();
        assert_eq!(heard, 1, "the message is there once");
    });
}

// Covers: E-40
#[test]
fn a_command_to_a_run_without_an_owner_is_stored_and_executed_by_the_next() {
    let (shared, paid) = (SharedStores::new(), Arc::<AtomicUsize>::default());
    let (run, id, node) = dies_at_once(async {
        let (first, app) = over(&shared.stores(), paying(&paid));
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let id = until(&app, &run, "tool_approval_request").await["approval_id"].clone();
        (run, id, first.0.lifecycle.node.clone())
    });
    let grant = json!({ "approval_id": id, "decision": "grant" });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (_, app) = over(&shared.stores(), paying(&paid));
        let sent = tokio::time::Instant::now();
        let stored = post(&app, &format!("{run}/approvals"), "ann", &grant).await;
        assert_eq!(value(stored).await, (202, json!({ "status": "stored" })));
        assert_eq!(sent.elapsed().as_secs(), 15);
        // The same again is the same command.
        let stored = post(&app, &format!("{run}/approvals"), "ann", &grant).await;
        assert_eq!(stored.status(), 202);
        let key = LogKey::new("team-a", run.rsplit('/').next().unwrap());
        assert_eq!(shared.stores().commands.unanswered(&key, 0, 9).await.unwrap().len(), 1);
    });
    drop(runtime);
    shared.kill(&node);
    lives(async {
        let (next, app) = over(&shared.stores(), paying(&paid));
        assert_eq!(next.recover().await.unwrap().resumed, 1);
        until(&app, &run, "message_content").await;
        assert_eq!(paid.load(Ordering::SeqCst), 1);
        let (_, other) = over(&shared.stores(), paying(&paid));
        assert_eq!(post(&other, &format!("{run}/cancel"), "ann", &json!({})).await.status(), 200);
        assert_eq!(whole(&other, &run).await.last().unwrap()["status"], "cancelled");
    });
}

// Covers: E-40
#[tokio::test]
async fn a_request_with_a_key_is_done_once_whichever_node_gets_it() {
    let (shared, paid) = (SharedStores::new(), Arc::<AtomicUsize>::default());
    let nodes = [over(&shared.stores(), paying(&paid)), over(&shared.stores(), paying(&paid))];
    let [(_, owner), (_, other)] = &nodes;
    let run = begin(owner, "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
    let id = until(owner, &run, "tool_approval_request").await["approval_id"].clone();
    let path = format!("{run}/inputs");
    let word = json!({ "input": "And this." });
    for app in [owner, other, owner, other] {
        assert_eq!(send(app, &path, "word", &word).await, (200, json!({ "status": "ok" })));
        let (status, problem) = send(app, &path, "word", &json!({ "input": "Other." })).await;
        assert_eq!((status, &problem["code"]), (422, &json!("other_request")));
    }
    let grant = json!({ "approval_id": id, "decision": "grant" });
    for app in [other, owner] {
        let answered = send(app, &format!("{run}/approvals"), "grant", &grant).await;
        assert_eq!(answered, (200, json!({ "status": "ok" })));
    }
    assert_eq!(whole(other, &run).await.last().unwrap()["status"], "completed");
    // The answer stays after the end.
    for app in [owner, other] {
        assert_eq!(send(app, &path, "word", &word).await.0, 200);
        assert_eq!(send(app, &path, "late", &word).await.0, 404);
    }
    let conversation = ConversationKey::new("team-a", "c");
    let messages = shared.stores().conversations.messages(&conversation, 0, 99).await.unwrap();
    let heard = messages.iter().filter(|it| it.message.text() == "And this.").count();
    assert_eq!((heard, paid.load(Ordering::SeqCst)), (1, 1));
}
