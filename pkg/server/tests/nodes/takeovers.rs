//! Runs of nodes that died, and runs that a node owns and does not hold.

use super::*;
use crate::encode::{Encode as _, UiMessageStream};
use forgeline_store::{NodeId, RunProgress};

/// All that the stores have of a run.
async fn written(two: &TwoNodes, run: &str) -> String {
    let (stores, record) = (two.stores.stores(), two.record(run).await);
    let log = stores.log.read(&record.key, 0, 999).await.unwrap();
    let lines = stores.conversations.lines(&record.conversation_key(), 0, 999).await.unwrap();
    format!("{log:?} {record:?} {lines:?}")
}

// Covers: E-40
#[tokio::test(start_paused = true)]
async fn a_run_of_a_dead_node_goes_on_here_and_readers_of_both_see_each_event_once() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "late"), working(&tools[1], "Done.")]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    works(&tools[0]).await;
    let (there, here) = (whole(two.app(0), &run), whole(two.app(1), &run));
    let (there, here, ()) = tokio::join!(there, here, async {
        assert_eq!(two.owner(&run).await, Some(0));
        let killed = tokio::time::Instant::now();
        two.kill(0);
        becomes("the other node owns the run", async || two.owner(&run).await != Some(0)).await;
        // The node that is taken for dead lets its work go, although it has nothing to write.
        becomes("the first node drops the run", async || !two.holds(0, &run)).await;
        assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    });
    assert_eq!(there, here);
    let last = here.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("run_end"), &json!("completed")));
    let taken: Vec<_> = here.iter().filter(|event| event["name"] == "run_taken_over").collect();
    assert_eq!(taken.len(), 1, "{here:?}");
    assert_eq!(taken[0]["data"], json!({ "takeovers": 1 }));
    assert!(here.iter().any(|event| event["content"] == "Done."), "{here:?}");
    becomes("the store has the end", async || two.record(&run).await.progress.has_ended()).await;
    let before = written(&two, &run).await;
    tools[0].goes_on.notify_one();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_mins(1)).await;
    assert_eq!(written(&two, &run).await, before, "the first node writes nothing");
    assert!(tools[0].is_dropped.load(Ordering::SeqCst));
    assert_eq!(tools[1].begun.load(Ordering::SeqCst), 0, "the call is not repeated");
    let (_, shown) = value(get(two.app(0), &run, "ann").await).await;
    assert_eq!(shown["status"], "completed", "{shown}");
}

#[tokio::test(start_paused = true)]
async fn protocols_show_that_a_run_was_taken_over() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "late"), working(&tools[1], "Done.")]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    works(&tools[0]).await;
    two.kill(0);
    let read = whole(two.app(1), &run).await;
    let path = format!("{run}/stream?as=ag-ui&offset=-1");
    let shown = text(get(two.app(1), &path, "ann").await).await;
    assert!(shown.contains("\"name\":\"run_taken_over\""), "{shown}");
    let (mut chat, mut shown) = (UiMessageStream::new(), Vec::new());
    for event in read.split_last().unwrap().1 {
        chat.event(&serde_json::from_value(event.clone()).unwrap(), &mut shown);
    }
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("\"type\":\"data-run_taken_over\""), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_claim_had_no_reply_gives_the_run_back_and_claims_it_again() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "late"), working(&tools[1], "Done.")]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    works(&tools[0]).await;
    two.stores.loses_claim.store(true, Ordering::SeqCst);
    two.kill(0);
    becomes("the run is owned and not held", async || {
        two.owner(&run).await == Some(1) && !two.holds(1, &run)
    })
    .await;
    assert_eq!(whole(two.app(1), &run).await.last().unwrap()["status"], "completed");
    let released = two.stores.released.lock().unwrap().clone();
    assert_eq!(released.len(), 1, "{released:?}");
    assert_eq!(released[0].run.name, id_of(&run));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_begins_slowly_is_not_given_back() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "one"), working(&tools[1], "two")]).await;
    let lifecycle = &two.nodes[0].0.0.lifecycle;
    let key = LogKey::new("team-a", "slow");
    let in_hand = lifecycle.membership().take(key.clone());
    let record = StoredRun::new(key.clone(), "c", "ann", "main", 1);
    two.stores.stores().runs.begin(record, Some(&lifecycle.node)).await.unwrap();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(10)).await;
    assert!(two.stores.released.lock().unwrap().is_empty());
    drop(in_hand);
    becomes("it is given back", async || !two.stores.released.lock().unwrap().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_with_which_four_nodes_died_ends_with_an_error_that_says_so() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "one"), working(&tools[1], "two")]).await;
    let run = begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    works(&tools[0]).await;
    // Others take it and die, faster than these look.
    let runs = &two.stores.inner.runs;
    for _ in 0..4 {
        let node = NodeId::random();
        assert_eq!(runs.reap(&node).await.unwrap().len(), 1);
        runs.claim(&node, 1, 1).await.unwrap();
        two.stores.kill(&node);
    }
    let read = whole(two.app(1), &run).await;
    let end = read.last().unwrap();
    assert_eq!(end["status"], "interrupted", "{end}");
    assert!(end["error"]["message"].as_str().unwrap().contains("nodes of the service died"));
    becomes("the store has the end", async || {
        two.record(&run).await.progress == RunProgress::Interrupted
    })
    .await;
}
