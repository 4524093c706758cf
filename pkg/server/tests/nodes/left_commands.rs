//! Commands that were stored for a run which goes no further.

use super::{
    super::{
        recovered::{dies_at_once, lives},
        taken_commands::{paying, send},
    },
    *,
};
use forgeline_store::{ConversationKey, NodeId};

/// Stores requests for a run whose node died: each is answered after 15 s with 202. Returns the run and its node.
fn stored(shared: &Arc<SharedStores>, paid: &Arc<AtomicUsize>) -> (String, Value, NodeId) {
    let (run, id, node) = dies_at_once(async {
        let (first, app) = over(&shared.stores(), paying(paid));
        let run = begin(&app, "ann", &json!({ "input": "Go.", "conversation_id": "c" })).await;
        let id = until(&app, &run, "tool_approval_request").await["approval_id"].clone();
        (run, id, first.0.lifecycle.node.clone())
    });
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(async {
        let (_, app) = over(&shared.stores(), paying(paid));
        for (path, key, body) in requests(&id) {
            assert_eq!(send(&app, &format!("{run}/{path}"), key, &body).await.0, 202, "{path}");
        }
    });
    (run, id, node)
}

fn requests(id: &Value) -> [(&'static str, &'static str, Value); 2] {
    let word = json!({ "input": "And this.", "when": "end" });
    let grant = json!({ "approval_id": id, "decision": "grant" });
    [("inputs", "word", word), ("approvals", "grant", grant)]
}

/// Returns how often the conversation has the message that was stored.
async fn heard(shared: &Arc<SharedStores>) -> usize {
    let key = ConversationKey::new("team-a", "c");
    let said = shared.stores().conversations.messages(&key, 0, 99).await.unwrap();
    said.iter().filter(|it| it.message.text() == "And this.").count()
}

#[test]
fn what_was_stored_for_a_run_that_is_interrupted_is_kept_or_refused() {
    let (shared, paid) = (SharedStores::new(), Arc::default());
    let (run, id, node) = stored(&shared, &paid);
    shared.kill(&node);
    lives(async {
        let runs = &shared.inner.runs;
        for _ in 0..4 {
            let node = NodeId::random();
            assert_eq!(runs.reap(&node).await.unwrap().len(), 1);
            runs.claim(&node, 1, 1).await.unwrap();
            shared.kill(&node);
        }
        let (next, app) = over(&shared.stores(), paying(&paid));
        assert_eq!(next.recover().await.unwrap().interrupted, 1);
        assert_eq!(heard(&shared).await, 1);
        let [(_, _, word), (_, _, grant)] = requests(&id);
        let kept = send(&app, &format!("{run}/inputs"), "word", &word).await;
        assert_eq!(kept, (200, json!({ "status": "ok" })));
        let (status, refused) = send(&app, &format!("{run}/approvals"), "grant", &grant).await;
        assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{refused}");
        assert_eq!((heard(&shared).await, paid.load(Ordering::SeqCst)), (1, 0));
    });
}

#[test]
fn a_message_that_was_stored_for_a_run_which_ends_before_it_is_read_is_kept() {
    let (shared, paid) = (SharedStores::new(), Arc::default());
    let (run, id, node) = stored(&shared, &paid);
    shared.kill(&node);
    lives(async {
        shared.hides_commands.store(true, Ordering::SeqCst);
        let (next, app) = over(&shared.stores(), paying(&paid));
        assert_eq!(next.recover().await.unwrap().resumed, 1);
        assert_eq!(post(&app, &format!("{run}/cancel"), "ann", &json!({})).await.status(), 200);
        let read = super::super::recovered::whole(&app, &run).await;
        assert_eq!(read.last().unwrap()["status"], "cancelled", "{read:?}");
        assert_eq!(heard(&shared).await, 1);
        let [(_, _, word), (_, _, grant)] = requests(&id);
        assert_eq!(send(&app, &format!("{run}/inputs"), "word", &word).await.0, 200);
        assert_eq!(send(&app, &format!("{run}/approvals"), "grant", &grant).await.0, 404);
    });
}
