//! The statements of nodes that have nothing to do.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_node_without_runs_makes_one_statement_a_second() {
    let tool = Arc::default();
    let two = TwoNodes::begin([working(&tool, "One."), working(&tool, "Two.")]).await;
    let counts = || [&two.stores.beats, &two.stores.looks].map(|it| it.load(Ordering::SeqCst));
    let [beats, looks] = counts();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_mins(1)).await;
    let [more_beats, more_looks] = counts();
    assert!((118..=122).contains(&(more_beats - beats)), "{} beats of two", more_beats - beats);
    assert_eq!(more_looks, looks, "claims, reaps and comparisons");
    // A node with a run compares; one without does not.
    let run = begin(two.app(0), "ann", &json!({ "input": "Pay.", "conversation_id": "c" })).await;
    works(&tool).await;
    let [_, looks] = counts();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_mins(1)).await;
    let [_, more_looks] = counts();
    assert!((58..=62).contains(&(more_looks - looks)), "{} looks", more_looks - looks);
    tool.goes_on.notify_one();
    assert_eq!(whole(two.app(1), &run).await.last().unwrap()["status"], "completed");
}
