//! Stores in new databases of private servers.

use std::{sync::Arc, time::Duration};

use forgeline_store::{LogKey, LogRecord, NodeId, PostgresOptions, PostgresStore, StoredRun};

use crate::postgres::PostgresServer;

/// Options whose nodes need few connections, and take runs away from dead ones at once.
pub(crate) fn options(url: &str) -> PostgresOptions {
    // So long that no stall of the machine makes a node seem dead.
    let alive = Duration::from_mins(1);
    PostgresOptions::new(url).max_connections(3).life_times(alive, alive, Duration::ZERO)
}

/// Connects to a database.
pub(crate) async fn connect(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(options(url)).await.unwrap())
}

/// Returns the shared server, the URL of a new database in it, and stores of that many processes; `None` where no server is installed.
pub(crate) async fn nodes<const N: usize>()
-> Option<(&'static PostgresServer, String, [Arc<PostgresStore>; N])> {
    let server = PostgresServer::shared()?;
    let url = server.database();
    let stores = futures_util::future::join_all((0..N).map(|_| connect(&url))).await;
    Some((server, url, stores.try_into().unwrap()))
}

/// Waits for something that takes a moment; a wait without an end fails.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let most = Duration::from_secs(30);
    tokio::time::timeout(most, work)
        .await
        .unwrap_or_else(|_| panic!("it has not ended after {most:?}"))
}

/// Returns the name of the database in a URL.
pub(crate) fn name(url: &str) -> &str {
    url.split(['/', '?']).nth(3).unwrap()
}

pub(crate) fn key(name: &str) -> LogKey {
    LogKey::new("team-a", name)
}

pub(crate) fn record(text: &str) -> LogRecord {
    LogRecord::new("kind", text.to_owned())
}

pub(crate) fn run(name: &str) -> StoredRun {
    StoredRun::new(key(name), "c", "ann", "main", 1_000)
}

pub(crate) fn node(name: &str) -> NodeId {
    NodeId::new(name)
}
