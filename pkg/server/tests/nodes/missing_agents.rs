//! Runs whose agent some nodes do not have, as while the nodes get a new version one by one.

use super::*;

/// A node that has the agent `main` and perhaps `new`.
async fn node(
    stores: &Arc<SharedStores>,
    tool: &Arc<SlowTool>,
    has_new: bool,
) -> (Service, Router) {
    let builder = built(working(tool, "Old.")).stores(stores.stores());
    let builder = if has_new { builder.agent("new", working(tool, "New.")) } else { builder };
    let service = builder.build().unwrap();
    service.recover().await.unwrap();
    (service.clone(), router(service))
}

/// Begins a run with the agent `new` on a node, which then dies.
async fn begin_and_die(stores: &Arc<SharedStores>) -> (Service, String) {
    let tool = Arc::default();
    let (service, app) = node(stores, &tool, true).await;
    let body = json!({ "input": "Pay.", "conversation_id": "c", "agent": "new" });
    let run = begin(&app, "ann", &body).await;
    works(&tool).await;
    stores.skips_waits.store(true, Ordering::SeqCst);
    stores.kill(&service.0.lifecycle.node);
    (service, run)
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_in_a_node_that_has_its_agent() {
    let (stores, tool) = (SharedStores::alternating(), Arc::default());
    let (_died, run) = begin_and_die(&stores).await;
    let (_without, app) = node(&stores, &tool, false).await;
    becomes("the node without the agent passes it on", async || {
        !stores.released.lock().unwrap().is_empty()
    })
    .await;
    let (_with, _) = node(&stores, &tool, true).await;
    let read = whole(&app, &run).await;
    assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
    assert!(read.iter().any(|event| event["content"] == "New."), "{read:?}");
    let key = LogKey::new("team-a", id_of(&run));
    becomes("the store has the end", async || {
        stores.stores().runs.get(&key).await.unwrap().progress.has_ended()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_agent_no_node_has_for_long_ends_and_says_which() {
    let (stores, tool) = (SharedStores::alternating(), Arc::default());
    let (_died, run) = begin_and_die(&stores).await;
    let (_without, app) = node(&stores, &tool, false).await;
    let read = timeout(Duration::from_mins(5), super::super::recovered::whole(&app, &run)).await;
    let read = read.expect("the run ends");
    let end = read.last().unwrap();
    assert_eq!(end["status"], "interrupted", "{end}");
    let why = end["error"]["message"].as_str().unwrap();
    assert!(why.contains("the agent `new`") && why.contains("10 minutes"), "{why}");
    assert_eq!(stores.released.lock().unwrap().len(), 120);
}
