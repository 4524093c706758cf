//! Stores in new databases of private servers.

use std::sync::Arc;

pub(crate) use crate::postgres::PostgresServer;
use forgeline_store::{PostgresOptions, PostgresStore};

/// Connects to a database.
pub(crate) async fn connect(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(PostgresOptions::new(url)).await.unwrap())
}

/// Returns a store in a new database of the shared server; `None` where no server is installed.
pub(crate) async fn store() -> Option<Arc<PostgresStore>> {
    Some(connect(&PostgresServer::shared()?.database()).await)
}

/// Returns two nodes with a new database of the shared server.
pub(crate) async fn two() -> Option<[Arc<PostgresStore>; 2]> {
    let url = PostgresServer::shared()?.database();
    Some([connect(&url).await, connect(&url).await])
}
