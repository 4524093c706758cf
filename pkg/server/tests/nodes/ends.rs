//! The end of a run, as those who have read it find the run.

use super::{on_postgres::node_with, *};

/// The number of runs that are begun and read to their end.
const RUNS: usize = 200;

/// Reads runs to their ends at one node, and asks the other one for them at once.
async fn ends_are_known([here, there]: [&Router; 2], runs: usize) {
    // The runs of a caller are noted in one log, one after the other.
    let (mut all, begins) = (Vec::new(), &tokio::sync::Mutex::new(()));
    for at in 0..runs {
        let body = json!({ "input": "Hello.", "conversation_id": format!("c{}", at % 8) });
        all.push(async move {
            let begun = begins.lock().await;
            let run = begin(here, "ann", &body).await;
            drop(begun);
            // Each node has the run for every second reader.
            let (reads, asks) = if at % 2 == 0 { (here, there) } else { (there, here) };
            until(reads, &run, "run_end").await;
            for app in [reads, asks] {
                let (_, shown) = value(get(app, &run, "ann").await).await;
                assert_eq!(shown["status"], "completed", "{shown}");
                assert_eq!(shown["end"]["status"], "completed", "{shown}");
            }
            let path = format!("/v1/conversations/c{}", at % 8);
            let (_, listed) = value(get(asks, &path, "ann").await).await;
            assert_ne!(listed["open_run"], json!(id_of(&run)), "{listed}");
        });
    }
    let parallel = futures_util::stream::iter(all).buffer_unordered(8);
    parallel.collect::<Vec<()>>().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_has_read_the_end_of_a_run_finds_it_ended() {
    let tool = Arc::default();
    let two = TwoNodes::begin([working(&tool, "One."), working(&tool, "Two.")]).await;
    ends_are_known([two.app(0), two.app(0)], RUNS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_read_the_end_of_a_run_finds_it_ended_at_every_node_of_a_database() {
    let Some(server) = on_postgres::postgres::PostgresServer::shared() else { return };
    let url = server.database();
    let tool = Arc::default();
    let (_, _one, first) = node_with(&url, working(&tool, "One."), Limits::default()).await;
    let (_, _two, second) = node_with(&url, working(&tool, "Two."), Limits::default()).await;
    let all = ends_are_known([&first, &second], RUNS);
    timeout(Duration::from_mins(5), all).await.unwrap();
}
