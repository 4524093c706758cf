//! Nodes on a real database.

/// The helper of all tests with servers, without the rest of its crate, which takes minutes to build.
#[path = "../../../../internal/testkit/src/postgres.rs"]
#[allow(dead_code, unreachable_pub, reason = "what these tests do not use, others do")]
pub(super) mod postgres;

use self::postgres::{PostgresServer, programs};
use super::{
    super::elsewhere::{answers_through, asking},
    *,
};
use forgeline_store::{PostgresOptions, PostgresStore, Stores};

/// A node of its own runtime, which dies with it, on a new connection to this database.
async fn node(url: &str, agent: Agent) -> (PostgresStore, Service, Router) {
    node_with(url, agent, Limits::default()).await
}

/// A service of this agent over these stores, with these limits.
pub(super) fn limited_node(stores: &Stores, agent: Agent, limits: Limits) -> (Service, Router) {
    let service = built(agent).limits(limits).stores(stores.clone()).build().unwrap();
    (service.clone(), router(service))
}

/// A node as above, with these limits.
pub(super) async fn node_with(
    url: &str,
    agent: Agent,
    limits: Limits,
) -> (PostgresStore, Service, Router) {
    let options = PostgresOptions::new(url).max_connections(4);
    let [beat, silent] = [10, 2].map(Duration::from_secs);
    let store = PostgresStore::connect(options.life_times(beat, silent, Duration::ZERO));
    let store = store.await.unwrap();
    let (service, app) = limited_node(&Stores::of(store.clone()), agent, limits);
    service.recover().await.unwrap();
    (store, service, app)
}

/// Waits until something is so.
pub(super) async fn soon(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(Duration::from_mins(1), wait).await.is_ok(), "{what} within 1 min");
}

async fn read(app: &Router, run: &str) -> Vec<Value> {
    let read = super::super::recovered::whole(app, run);
    let read = timeout(Duration::from_mins(1), read).await.expect("the run ends");
    assert!(read.iter().enumerate().all(|(at, event)| event["seq"] == json!(at)), "{read:?}");
    read
}

#[test]
fn a_run_of_a_node_that_died_goes_on_in_another_one() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let first = tokio::runtime::Runtime::new().unwrap();
    let run = first.block_on(async {
        let (_, _, app) = node(&url, working(&tools[0], "late")).await;
        let body = json!({ "input": "Pay.", "conversation_id": "c" });
        let run = begin(&app, "ann", &body).await;
        soon("the tool begins", async || tools[0].begun.load(Ordering::SeqCst) > 0).await;
        run
    });
    first.shutdown_timeout(Duration::from_secs(5));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (_, _service, app) = node(&url, working(&tools[1], "Done.")).await;
        let read = read(&app, &run).await;
        assert_eq!(read.last().unwrap()["status"], "completed", "{read:?}");
        let taken = read.iter().filter(|event| event["name"] == "run_taken_over").count();
        assert_eq!(taken, 1, "{read:?}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_runs_makes_one_statement_a_second() {
    let module = "lib/pg_stat_statements.so";
    let Some(programs) = programs().into_iter().rfind(|it| it.with_file_name(module).is_file())
    else {
        return say(
            "not run: the statements of an idle node; PostgreSQL has no pg_stat_statements",
        );
    };
    let server = PostgresServer::start(&programs, &["shared_preload_libraries=pg_stat_statements"]);
    server.sql("postgres", "CREATE EXTENSION pg_stat_statements");
    let url = server.database();
    let (_, _service, _) = node(&url, asking()).await;
    let name = url.split(['/', '?']).nth(3).unwrap();
    let of_node = format!(
        "FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid WHERE datname = '{name}'"
    );
    let beats = format!("SELECT coalesce(sum(calls), 0) {of_node} AND query LIKE 'WITH beaten%'");
    let calls = || server.sql("postgres", &beats).trim().parse::<u64>().unwrap();
    server.sql("postgres", "SELECT pg_stat_statements_reset()");
    while calls() < 5 {}
    let all = server.sql("postgres", &format!("SELECT calls, left(query, 60) {of_node}"));
    assert_eq!(all.lines().count(), 1, "{all}");
    say(format!("an idle node: {all}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_ends_hands_its_runs_to_another_one_and_order_is_kept() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let tools: [Arc<SlowTool>; 2] = Default::default();
    let (_, one, first) = node(&url, working(&tools[0], "late")).await;
    let (_, _two, second) = node(&url, working(&tools[1], "Done.")).await;
    let body = |input: &str| json!({ "input": input, "conversation_id": "c" });
    let run = begin(&first, "ann", &body("Pay.")).await;
    soon("the tool begins", async || tools[0].begun.load(Ordering::SeqCst) > 0).await;
    let next = begin(&second, "ann", &body("And then?")).await;
    let there = tokio::spawn({
        let (first, run) = (first.clone(), run.clone());
        async move { read(&first, &run).await }
    });
    timeout(Duration::from_mins(1), one.shutdown(Duration::from_secs(1))).await.unwrap();
    let shown = read(&second, &run).await;
    assert_eq!(shown.last().unwrap()["status"], "completed", "{shown:?}");
    assert!(!shown.iter().any(|event| event["name"] == "run_taken_over"), "{shown:?}");
    drop(there);
    let shown = read(&second, &next).await;
    assert_eq!(shown.last().unwrap()["status"], "completed", "{shown:?}");
}

// Covers: E-40
#[tokio::test(flavor = "multi_thread")]
async fn requests_through_the_other_node_have_the_answers_of_the_owner() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let (_, _one, first) = node(&url, asking()).await;
    let (_, _two, second) = node(&url, asking()).await;
    let both = async {
        let here = answers_through(&first, &first).await;
        assert_eq!(here, answers_through(&first, &second).await);
    };
    timeout(Duration::from_mins(1), both).await.unwrap();
}
