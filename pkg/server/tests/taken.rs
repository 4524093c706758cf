//! Runs that another process has taken while this one worked: this one stops, and writes nothing more of them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::{recovered::over, *};
use forgeline_store::{ConversationKey, LogKey, Stores};

/// A tool that ends when it may, and says whether it was dropped.
#[derive(Debug, Default)]
struct SlowTool {
    begun: AtomicUsize,
    goes_on: Notify,
    is_dropped: AtomicBool,
}

/// Says that a call was dropped.
struct CallGuard(Arc<SlowTool>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::SeqCst);
    }
}

/// An agent whose tool works until the test lets it go on.
fn working(
    tool: &Arc<SlowTool>,
    turns: impl IntoIterator<Item = ScriptedTurn>,
) -> (ScriptedProvider, Agent) {
    let provider = ScriptedProvider::new(turns);
    let tool = Arc::clone(tool);
    let pay = tool_fn("pay", "Pays.", move |_: ToolContext, _: Value| {
        let guard = CallGuard(Arc::clone(&tool));
        async move {
            guard.0.begun.fetch_add(1, Ordering::SeqCst);
            guard.0.goes_on.notified().await;
            "paid"
        }
    });
    (provider.clone(), Agent::builder(provider).tool(pay).build().unwrap())
}

/// All that the stores have of a run.
async fn written(stores: &Stores, id: &str) -> String {
    let key = LogKey::new("team-a", id);
    let log = stores.log.read(&key, 0, 999).await.unwrap();
    let run = stores.runs.get(&key).await.unwrap();
    let conversation = ConversationKey::new("team-a", run.conversation.clone());
    let lines = stores.conversations.lines(&conversation, 0, 999).await.unwrap();
    let head = stores.conversations.get(&conversation).await.unwrap();
    let latencies = stores.latency.total("team-a").await.unwrap();
    format!("{log:?} {run:?} {lines:?} {head:?} {latencies}")
}

// Covers: E-40
#[tokio::test]
async fn a_run_that_another_process_has_taken_is_stopped_and_writes_nothing_more() {
    for step in ["event", "cancel", "message"] {
        let stopped = tokio::time::timeout(Duration::from_secs(30), stops_at(step)).await;
        stopped.expect("the run is stopped");
    }
}

/// Lets another process take a run, and this one go on with it by this step.
async fn stops_at(step: &str) {
    let (stores, tool) = (Stores::in_memory(), Arc::new(SlowTool::default()));
    let (provider, agent) = working(
        &tool,
        [ScriptedTurn::new().call("pay", json!({})), ScriptedTurn::new().text("late")],
    );
    let (first, old) = over(&stores, agent);
    let run = begin(&old, "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    let id = run.rsplit('/').next().unwrap().to_owned();
    let reader = get(&old, &format!("{run}/events"), "ann").await;
    while tool.begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let (second, new) =
        over(&stores, working(&Arc::default(), [ScriptedTurn::new().text("Taken over.")]).1);
    assert_eq!(second.recover().await.unwrap().resumed, 1);
    assert_eq!(until(&new, &run, "run_end").await["status"], "completed");
    let before = written(&stores, &id).await;
    match step {
        "event" => tool.goes_on.notify_one(),
        "cancel" => {
            let refused = post(&old, &format!("{run}/cancel"), "ann", &json!({})).await;
            assert_eq!(refused.status(), 503);
        }
        _ => {
            let body = json!({ "input": "And?" });
            let refused = post(&old, &format!("{run}/inputs"), "ann", &body).await;
            assert_eq!(refused.status(), 404);
            tool.goes_on.notify_one();
        }
    }
    let scope = "team-a".into();
    while first.0.runs.active().find(&scope, &id).is_some() {
        tokio::task::yield_now().await;
    }
    assert!(tool.is_dropped.load(Ordering::SeqCst), "{step}: its tool is cancelled");
    assert_eq!(provider.requests().len(), 1, "{step}: its model is not asked again");
    assert_eq!(written(&stores, &id).await, before, "{step}");
    // A reader that came before has each event of both once.
    let seen = events(&text(reader).await);
    assert!(seen.iter().enumerate().all(|(at, event)| event.0 == at as u64), "{seen:?}");
    assert_eq!(seen.last().unwrap().1, "run_end");
    assert_eq!(seen, events(&text(get(&new, &format!("{run}/events"), "ann").await).await));
    let shown = value(get(&old, &run, "ann").await).await.1;
    assert_eq!(shown["status"], "completed", "{shown}");
}
