//! The runs of one conversation on two nodes.

use futures_util::{FutureExt as _, future::Either};

use super::*;
use crate::{
    lifecycle::{membership::RunInHand, run_turn::TurnOutcome},
    runs::run::ServiceRun,
};
use forgeline_store::{ConversationKey, ConversationRecord, RunProgress};

/// The texts of a conversation in the store.
async fn texts(two: &TwoNodes) -> Vec<String> {
    let key = ConversationKey::new("team-a", "c");
    let messages = two.stores.stores().conversations.messages(&key, 0, 99).await.unwrap();
    messages.iter().map(|it| it.message.text()).filter(|text| !text.is_empty()).collect()
}

/// An agent that says how many messages of the user it has read.
fn counting() -> Agent {
    let provider = ScriptedProvider::from_fn(|asked: &Asked| {
        let said = asked.messages.iter().filter(|it| it.role == MessageRole::User);
        ScriptedTurn::new().text(format!("{} said.", said.count()))
    });
    Agent::builder(provider).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_runs_of_a_conversation_come_one_after_the_other_on_whichever_node() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "One."), working(&tools[1], "Two.")]).await;
    let body = |input: &str| json!({ "input": input, "conversation_id": "c" });
    let first = begin(two.app(0), "ann", &body("Pay.")).await;
    works(&tools[0]).await;
    let second = begin(two.app(1), "ann", &body("Pay again.")).await;
    let third = begin(two.app(0), "ann", &body("And then?")).await;
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(30)).await;
    assert_eq!(tools[1].begun.load(Ordering::SeqCst), 0, "it waits for the other node");
    assert_eq!(two.record(&second).await.progress, RunProgress::Queued);
    tools[0].goes_on.notify_one();
    works(&tools[1]).await;
    assert_eq!(two.record(&third).await.progress, RunProgress::Queued);
    tools[1].goes_on.notify_one();
    for run in [&first, &second, &third] {
        let read = whole(two.app(1), run).await;
        assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
    }
    let said = texts(&two).await;
    let want = ["Pay.", "Paying.", "One.", "Pay again.", "Paying.", "Two.", "And then?", "One."];
    assert_eq!(said, want);
}

#[tokio::test(start_paused = true)]
async fn a_run_reads_what_was_said_on_the_other_node() {
    let two = TwoNodes::begin([counting(), counting()]).await;
    for at in 0..6 {
        let body = json!({ "input": "Count.", "conversation_id": "c" });
        let run = begin(two.app(at % 2), "ann", &body).await;
        let read = whole(two.app((at + 1) % 2), &run).await;
        let want = format!("{} said.", at + 1);
        assert!(read.iter().any(|event| event["content"] == json!(want)), "{want}: {read:?}");
        becomes("the run has ended", async || two.record(&run).await.progress.has_ended()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn runs_of_one_conversation_that_begin_at_once_on_both_nodes_exclude_each_other() {
    let two = TwoNodes::begin([counting(), counting()]).await;
    let body = json!({ "input": "Count.", "conversation_id": "c" });
    let begun = (0..10).map(|at| begin(two.app(at % 2), "ann", &body));
    let runs = futures_util::future::join_all(begun).await;
    let mut said = Vec::new();
    for run in &runs {
        let read = whole(two.app(0), run).await;
        assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
        let text = read.iter().find_map(|event| event["content"].as_str());
        said.push(text.unwrap().to_owned());
    }
    said.sort_by_key(String::len);
    let mut want: Vec<_> = (1..=10).map(|at| format!("{at} said.")).collect();
    want.sort_by_key(String::len);
    said.sort();
    want.sort();
    assert_eq!(said, want, "each has read what all before it have said");
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_one_that_is_before_many_that_have_ended() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "One."), working(&tools[1], "Two.")]).await;
    let body = |input: &str| json!({ "input": input, "conversation_id": "c" });
    let first = begin(two.app(0), "ann", &body("Pay.")).await;
    works(&tools[0]).await;
    let (runs, node) = (two.stores.stores().runs, &two.nodes[0].0.0.lifecycle.node);
    let begun_ms = two.record(&first).await.begun_ms;
    for at in 0..150 {
        let key = LogKey::new("team-a", format!("run_z{at:03}"));
        let record = StoredRun::new(key, "c", "ann", "main", begun_ms);
        runs.begin(record.clone(), Some(node)).await.unwrap();
        let writer = runs.get(&record.key).await.unwrap().writer();
        let end = forgeline_store::RunChange::to(RunProgress::Cancelled, begun_ms);
        runs.change(&writer, end).await.unwrap();
    }
    let lists = two.stores.lists.load(Ordering::SeqCst);
    let second = begin(two.app(1), "ann", &body("Pay again.")).await;
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(30)).await;
    assert_eq!(tools[1].begun.load(Ordering::SeqCst), 0, "it waits for the other node");
    assert_eq!(two.record(&second).await.progress, RunProgress::Queued);
    assert_eq!(two.stores.lists.load(Ordering::SeqCst), lists, "whole runs are not read");
    tools[0].goes_on.notify_one();
    works(&tools[1]).await;
    tools[1].goes_on.notify_one();
    assert_eq!(whole(two.app(0), &second).await.last().unwrap()["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_while_it_waits_for_another_node_leaves_the_conversation_alone() {
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let two = TwoNodes::begin([working(&tools[0], "One."), working(&tools[1], "Two.")]).await;
    let body = |input: &str| json!({ "input": input, "conversation_id": "c" });
    let first = begin(two.app(0), "ann", &body("Pay.")).await;
    works(&tools[0]).await;
    let second = begin(two.app(1), "ann", &body("Pay again.")).await;
    let cancelled = post(two.app(1), &format!("{second}/cancel"), "ann", &json!({})).await;
    assert!(cancelled.status().is_success());
    assert_eq!(whole(two.app(1), &second).await.last().unwrap()["status"], "cancelled");
    tools[0].goes_on.notify_one();
    assert_eq!(whole(two.app(0), &first).await.last().unwrap()["status"], "completed");
}

/// A run that begins, in the store and in hand.
type BeginningRun = (StoredRun, ServiceRun, RunInHand);

/// A run that begins at this time of the clock of its node, in memory there.
async fn beginning(two: &TwoNodes, at: usize, begun_ms: u64) -> BeginningRun {
    let key = LogKey::new("team-a", format!("run-{at}"));
    let record = StoredRun::new(key, "c", "ann", "main", begun_ms);
    let (runs, node) = (two.stores.stores().runs, &two.nodes[at].0.0.lifecycle.node);
    runs.begin(record.clone(), Some(node)).await.unwrap();
    let record = runs.get(&record.key).await.unwrap();
    let run = ServiceRun::claimed(&record);
    let in_hand = two.nodes[at].0.0.lifecycle.membership().take(record.key.clone());
    (record, run, in_hand)
}

#[tokio::test(start_paused = true)]
async fn one_of_two_runs_works_wherever_the_second_begins_and_whatever_the_clocks_say() {
    for (first_ms, second_ms) in [(1_000, 2_000), (2_000, 1_000)] {
        for (steps, ahead) in (0..12).flat_map(|steps| (0..24).map(move |ahead| (steps, ahead))) {
            let two = TwoNodes::begin([counting(), counting()]).await;
            let key = ConversationKey::new("team-a", "c");
            let new = ConversationRecord::new(key, "ann", "main", 1);
            two.stores.stores().conversations.begin(new).await.unwrap();
            let comes = async |at: usize, (record, run, _): &BeginningRun| {
                let handles = &two.nodes[at].0.0;
                let found = handles.conversations.of_run_to_resume(record).await.unwrap();
                let turn = found.live.turns.take();
                let mut place = handles.lifecycle.places.beside();
                let turn = (&turn, &mut place);
                let comes = handles.lifecycle.comes(run, &found.live, turn).await;
                assert_eq!(comes, TurnOutcome::Comes);
            };
            let first = beginning(&two, 0, first_ms).await;
            let mut one = Box::pin(comes(0, &first));
            let is_first = (0..steps).any(|_| (&mut one).now_or_never().is_some());
            let second = beginning(&two, 1, second_ms).await;
            let mut other = Box::pin(comes(1, &second));
            // The second one runs ahead of the first for some steps.
            let is_ahead = (0..ahead).any(|_| (&mut other).now_or_never().is_some());
            assert!(!(is_first && is_ahead), "both work: after {steps} and {ahead} steps");
            let wait = Duration::from_secs(30);
            let both = if is_ahead {
                timeout(wait, one).await.is_ok()
            } else if is_first {
                timeout(wait, other).await.is_ok()
            } else {
                let either = timeout(wait, futures_util::future::select(one, other)).await;
                match either.expect("one of them works") {
                    Either::Left(((), other)) => timeout(wait, other).await.is_ok(),
                    Either::Right(((), one)) => timeout(wait, one).await.is_ok(),
                }
            };
            assert!(!both, "both work: after {steps} and {ahead} steps");
        }
    }
}
