//! The limits of scopes that hold on all nodes together.

use super::{on_postgres::limited_node, *};

/// An agent whose runs go on until they are cancelled.
fn hanging() -> Agent {
    let hangs = ScriptedProvider::from_fn(|_: &Asked| ScriptedTurn::new().text("So far.").hang());
    Agent::builder(hangs).build().unwrap()
}

/// Asks for a run; returns the status, the code and the time to wait, in seconds.
async fn asks(app: &Router, token: &str, body: &Value) -> (u16, Value, Value) {
    let response = post(app, "/v1/runs", token, body).await;
    let wait = response.headers().get("retry-after").map(|it| it.to_str().unwrap().to_owned());
    let (status, answer) = value(response).await;
    (status, answer["code"].clone(), json!(wait))
}

/// Cancels a run, and waits for its end.
async fn cancels(app: &Router, run: &str) {
    post(app, &format!("{run}/cancel"), "ann", &json!({})).await;
    until(app, run, "run_end").await;
}

/// Two nodes whose scopes may have two runs: the third is refused by each of them.
async fn two_runs_are_all(nodes: [&Router; 2]) {
    let go = json!({ "input": "Go." });
    let refused = (429, json!("too_many_runs"), json!("5"));
    let runs = [begin(nodes[0], "ann", &go).await, begin(nodes[1], "ann", &go).await];
    for app in nodes {
        assert_eq!(asks(app, "ann", &go).await, refused);
        assert_eq!(asks(app, "bob", &go).await, refused, "another caller of the scope");
    }
    let (_, listed) = value(get(nodes[0], "/v1/conversations", "ann").await).await;
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2, "{listed}");
    begin(nodes[0], "eve", &go).await;
    cancels(nodes[1], &runs[0]).await;
    // A reader has the end before the run has it.
    let again = async {
        while asks(nodes[1], "ann", &go).await.0 != 202 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), again).await.expect("there is room");
    assert_eq!(asks(nodes[1], "ann", &go).await, refused);
}

/// Limits of two runs a scope, which may be asked for as often as a test likes.
fn two_runs() -> Limits {
    Limits { scope_runs: 2, runs_per_minute: 1_000_000, ..Limits::default() }
}

#[tokio::test(start_paused = true)]
async fn the_runs_of_a_scope_count_on_all_nodes() {
    let (stores, limits) = (SharedStores::new(), two_runs());
    let node = || limited_node(&stores.stores(), hanging(), limits.clone());
    let [(_, one), (_, two)] = [node(), node()];
    two_runs_are_all([&one, &two]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_a_scope_count_on_all_nodes_of_a_database() {
    let Some(server) = on_postgres::postgres::PostgresServer::shared() else { return };
    let (url, limits) = (server.database(), two_runs());
    let (_, _one, first) = on_postgres::node_with(&url, hanging(), limits.clone()).await;
    let (_, _two, second) = on_postgres::node_with(&url, hanging(), limits).await;
    let both = two_runs_are_all([&first, &second]);
    timeout(Duration::from_mins(1), both).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_connections_of_a_scope_count_on_all_nodes_that_are_alive() {
    let limits = Limits { scope_connections: 3, ..Limits::default() };
    let stores = SharedStores::new();
    let node = || limited_node(&stores.stores(), hanging(), limits.clone());
    let nodes = [node(), node()];
    for (service, _) in &nodes {
        service.recover().await.unwrap();
    }
    let [(first, one), (_, two)] = nodes;
    let run = begin(&one, "ann", &json!({ "input": "Go." })).await;
    let path = format!("{run}/events");
    let streams = [get(&one, &path, "ann").await, get(&one, &path, "ann").await];
    let held = get(&two, &path, "ann").await;
    // Each node has learned of the other's after two beats.
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(3)).await;
    for app in [&one, &two] {
        let refused = get(app, "/v1/agents", "bob").await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"30".parse().unwrap())
        );
        assert_eq!(value(refused).await.1["code"], "too_many_connections");
        assert_eq!(get(app, "/v1/agents", "eve").await.status(), 200, "another scope");
    }
    drop(held);
    assert_eq!(get(&two, "/v1/agents", "ann").await.status(), 200, "its own at once");
    stores.kill(&first.0.lifecycle.node);
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(3)).await;
    let all = [get(&two, &path, "ann").await, get(&two, &path, "ann").await];
    assert_eq!(get(&two, "/v1/agents", "ann").await.status(), 200, "those of a dead node are free");
    drop((streams, all));
}

/// The connections of a killed node are free once its lock is, and those of a stopped one after 10 s.
#[test]
fn the_connections_of_a_node_of_a_database_count_while_it_is_alive() {
    let Some(server) = on_postgres::postgres::PostgresServer::shared() else { return };
    let (url, limits) = (server.database(), Limits { scope_connections: 2, ..Limits::default() });
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let (one, two) = (runtime(), runtime());
    let (run, streams, node) = one.block_on(async {
        let (store, service, app) = on_postgres::node_with(&url, hanging(), limits.clone()).await;
        let run = begin(&app, "ann", &json!({ "input": "Go." })).await;
        let path = format!("{run}/events");
        let streams = [get(&app, &path, "ann").await, get(&app, &path, "ann").await];
        (run, streams, (store, service, app))
    });
    let (other, service) = two.block_on(async {
        let (_, service, app) = on_postgres::node_with(&url, hanging(), limits).await;
        on_postgres::soon("the connections elsewhere count", async || {
            get(&app, "/v1/agents", "bob").await.status() == 429
        })
        .await;
        assert_eq!(get(&app, "/v1/agents", "eve").await.status(), 200, "another scope");
        (app, service)
    });
    // The process dies, and its sockets with it.
    one.block_on(async { drop((streams, node)) });
    one.shutdown_timeout(Duration::from_secs(5));
    two.block_on(async {
        let held = async || get(&other, &format!("{run}/events"), "ann").await;
        on_postgres::soon("those of the dead node are free", async || {
            let held = [held().await, held().await];
            held.iter().all(|held| held.status() == 200)
        })
        .await;
        drop(service);
    });
}
