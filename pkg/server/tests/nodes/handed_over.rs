//! A node that ends, and hands its runs over.

use super::*;
use forgeline_store::RunProgress;

#[tokio::test(start_paused = true)]
async fn a_node_that_ends_hands_over_what_waits_at_once_and_the_rest_after_its_time() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "late"), working(&tools[1], "Done.")]).await;
    let body = |input: &str, id: &str| json!({ "input": input, "conversation_id": id });
    let run = begin(two.app(0), "ann", &body("Pay.", "c")).await;
    works(&tools[0]).await;
    let queued = begin(two.app(0), "ann", &body("And then?", "c")).await;
    let ends = tokio::spawn({
        let service = two.nodes[0].0.clone();
        async move { service.shutdown(Duration::from_mins(1)).await }
    });
    becomes("what is queued is handed over", async || two.owner(&queued).await == Some(1)).await;
    assert_eq!(two.owner(&run).await, Some(0), "it has its time");
    let refused = post(two.app(0), "/v1/runs", "ann", &body("Hi.", "d")).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    let read = whole(two.app(1), &run).await;
    assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
    assert!(!read.iter().any(|event| event["name"] == "run_taken_over"), "{read:?}");
    ends.await.unwrap();
    assert!(tools[0].is_dropped.load(Ordering::SeqCst));
    let read = whole(two.app(1), &queued).await;
    assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
    let owned = two.stores.stores().runs.owned(&two.nodes[0].0.0.lifecycle.node).await;
    assert!(owned.unwrap().is_empty());
    assert_eq!(two.record(&run).await.takeovers, 0);
}

/// An agent that asks before it removes something.
fn asking() -> Agent {
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        if asked.messages.iter().any(|it| it.tool_results().next().is_some()) {
            return ScriptedTurn::new().text("Removed.");
        }
        ScriptedTurn::new().call("remove", json!({}))
    });
    let remove = tool_fn("remove", "Removes.", |_: ToolContext, _: Value| async { "gone" });
    let remove = remove.effects(ToolEffects::Irreversible);
    Agent::builder(provider).tool(remove).build().unwrap()
}

/// Its requests are closed here, and not yet open there: neither node may say that there are none.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_a_run_is_handed_over_reaches_it() {
    for (at, key) in [(0, ""), (0, "k1"), (1, ""), (1, "k1")] {
        let two = TwoNodes::begin([asking(), asking()]).await;
        let run = begin(two.app(0), "ann", &json!({ "input": "Remove it." })).await;
        let asked = until(two.app(0), &run, "tool_approval_request").await;
        let held = Arc::<Notify>::default();
        *two.stores.held_release.lock().unwrap() = Some(Arc::clone(&held));
        let service = two.nodes[0].0.clone();
        let ends = tokio::spawn(async move { service.shutdown(Duration::from_mins(1)).await });
        becomes("the run is put away", async || !two.stores.released.lock().unwrap().is_empty())
            .await;
        let decision = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
        let (app, path) = (two.app(at).clone(), format!("{run}/approvals"));
        let answered = tokio::spawn(async move {
            let mut request =
                request(Method::POST, &path, "ann").header("content-type", "application/json");
            if !key.is_empty() {
                request = request.header("idempotency-key", key);
            }
            let request = request.body(Body::from(decision.to_string()));
            app.oneshot(request.unwrap()).await.unwrap()
        });
        becomes("the answer is sent", async || two.stores.statements() > 0).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!answered.is_finished(), "node {at}, key {key:?}: it is answered too early");
        *two.stores.held_release.lock().unwrap() = None;
        held.notify_one();
        let answered = answered.await.unwrap();
        assert!(answered.status().is_success(), "node {at}, key {key:?}: {answered:?}");
        let read = whole(two.app(1), &run).await;
        assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
        ends.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_person_is_handed_over_at_once_and_decided_there() {
    let two = TwoNodes::begin([asking(), asking()]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Remove it." })).await;
    let asked = until(two.app(0), &run, "tool_approval_request").await;
    becomes("the other node knows that it waits", async || {
        let (_, shown) = value(get(two.app(1), &run, "ann").await).await;
        shown["status"] == "waiting"
    })
    .await;
    let before = tokio::time::Instant::now();
    two.nodes[0].0.shutdown(Duration::from_mins(10)).await;
    assert!(before.elapsed() < Duration::from_secs(5));
    becomes("the other node holds it", async || two.holds(1, &run)).await;
    assert_eq!(two.record(&run).await.takeovers, 0);
    let decision = json!({ "approval_id": asked["approval_id"], "decision": "grant" });
    let granted = post(two.app(1), &format!("{run}/approvals"), "ann", &decision).await;
    assert!(granted.status().is_success(), "{granted:?}");
    let read = whole(two.app(1), &run).await;
    assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
    let requests = read.iter().filter(|event| event["type"] == "tool_approval_request");
    assert!(requests.clone().all(|it| it["approval_id"] == asked["approval_id"]), "{read:?}");
    becomes("the store has the end", async || {
        two.record(&run).await.progress == RunProgress::Completed
    })
    .await;
}
