//! The runs of one conversation on two nodes.

use super::*;
use forgeline_store::{ConversationKey, RunProgress};

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
