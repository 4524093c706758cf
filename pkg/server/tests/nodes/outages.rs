//! A shared store that cannot be used for a while.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_where_it_was_once_the_store_is_back() {
    let errors = [
        StoreError::unavailable("the test says so"),
        StoreError::read_only("a fail-over"),
        StoreError::full("of the disk"),
    ];
    for (seconds, error) in
        [3, 30].into_iter().flat_map(|it| errors.clone().map(|error| (it, error)))
    {
        let tools: [Arc<SlowTool>; 2] = Default::default();
        let agents = [working(&tools[0], "Done."), working(&tools[1], "Done.")];
        let two = TwoNodes::begin(agents).await;
        let body = json!({ "input": "Pay.", "conversation_id": "c" });
        let run = begin(two.app(0), "ann", &body).await;
        works(&tools[0]).await;
        let path = format!("{run}/events");
        let readers = [get(two.app(0), &path, "ann").await, get(two.app(1), &path, "ann").await];
        let [here, there] = readers.map(text);
        let (here, read, ()) = tokio::join!(here, there, async {
            two.stores.fail_with(Some(error.clone()));
            tools[0].goes_on.notify_one();
            becomes("the run is put away", async || !two.holds(0, &run)).await;
            let now = tokio::time::Instant::now();
            tokio::time::sleep_until(now + Duration::from_secs(seconds)).await;
            let ready = get(two.app(0), "/ready", "ann").await.status();
            assert_eq!(ready, StatusCode::SERVICE_UNAVAILABLE);
            two.stores.is_down(false);
        });
        let seen = events(&read);
        assert_eq!(events(&here), seen, "{error} for {seconds} s");
        let read = whole(two.app(1), &run).await;
        assert!(seen.iter().map(|(number, _)| *number).eq(0..read.len() as u64), "{seen:?}");
        let last = read.last().unwrap();
        assert_eq!(last["status"], "completed", "{error} for {seconds} s: {read:?}");
        let taken = read.iter().find(|event| event["name"] == "run_taken_over");
        assert!(taken.is_none(), "no node died: {read:?}");
        let begun: usize = tools.iter().map(|tool| tool.begun.load(Ordering::SeqCst)).sum();
        assert_eq!(begun, 1, "the call is not repeated");
        becomes("the store has the end", async || two.record(&run).await.progress.has_ended())
            .await;
        becomes("nothing is owned any more", async || {
            let runs = two.stores.stores().runs;
            let mut owned = 0;
            for (service, _) in &two.nodes {
                owned += runs.owned(&service.0.lifecycle.node).await.unwrap().len();
            }
            owned == 0
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_say_that_it_is_alive_is_not_ready_after_10_s() {
    let tool = Arc::default();
    let two = TwoNodes::begin([working(&tool, "One."), working(&tool, "Two.")]).await;
    let late = || two.nodes[0].0.0.lifecycle.membership().is_late();
    let wait = async |seconds| {
        tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(seconds)).await;
    };
    wait(60).await;
    assert!(!late());
    two.stores.is_down(true);
    wait(8).await;
    assert!(!late());
    wait(4).await;
    assert!(late());
    let (status, report) = value(get(two.app(0), "/ready", "ann").await).await;
    assert_eq!((status, &report["status"]), (503, &json!("unready")), "{report}");
    let metrics = metrics_text(&two.nodes[0].0);
    assert!(!metrics.contains("forgeline_failed_beats_total 0\n"), "{metrics}");
    two.stores.is_down(false);
    wait(2).await;
    assert!(!late());
}
