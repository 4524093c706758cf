//! Statements that the server keeps for a session.

use std::sync::Arc;

use forgeline_store::{PostgresStore, RunStore};

use crate::{
    message_proxy::MessageProxy,
    postgres::PostgresServer,
    servers::{connect, key, name, node, nodes, options, run},
};

/// Returns the number of messages of the client for each of three reads of a run.
async fn messages_of_reads(server: &PostgresServer, keeps_statements: bool) -> [usize; 3] {
    let url = server.database();
    let proxy = MessageProxy::start(&format!("kept-{keeps_statements}"), server.folder());
    let options = options(&proxy.url(&url)).max_connections(1).keeps_statements(keeps_statements);
    let store = PostgresStore::connect(options).await.unwrap();
    RunStore::begin(&store, run("r"), Some(&node("a"))).await.unwrap();
    let mut counts = [0; 3];
    for count in &mut counts {
        proxy.arm(None);
        RunStore::get(&store, &key("r")).await.unwrap();
        let ([of_client, _], _) = proxy.disarm();
        *count = of_client;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_parsed_once_in_a_session() {
    let Some(server) = PostgresServer::shared() else { return };
    let [first, second, third] = messages_of_reads(server, true).await;
    assert!(first > second.min(third), "{first}, {second}, {third} messages");
    let [first, second, third] = messages_of_reads(server, false).await;
    assert!(first == second && second == third, "{first}, {second}, {third} messages");
}

/// A migration may change a table while older nodes work.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_whose_table_has_changed_is_parsed_again() {
    let Some((server, url, [store])) = nodes().await else { return };
    RunStore::begin(&*store, run("r"), Some(&node("a"))).await.unwrap();
    let read = async |store: &Arc<PostgresStore>| RunStore::get(&**store, &key("r")).await.unwrap();
    assert_eq!(read(&store).await.agent, "main");
    server.sql(name(&url), "ALTER TABLE forgeline.run ALTER agent TYPE varchar");
    assert_eq!(read(&store).await.agent, "main");
    let other = connect(&url).await;
    assert_eq!(read(&other).await.agent, "main");
}
