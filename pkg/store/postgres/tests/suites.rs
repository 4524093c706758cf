//! The public suites of stores, with each version of PostgreSQL that is installed.

use std::sync::Arc;

use crate::postgres::{PostgresServer, programs};
use forgeline_store::PostgresStore;
use forgeline_testing::stores::{Report, check_event_log};

use crate::servers::connect;

/// Runs a suite with each server that is installed.
async fn check(suite: impl AsyncFn(&dyn Fn() -> String) -> Report) {
    for programs in programs() {
        let server = PostgresServer::start(&programs, &[]);
        let report = suite(&|| server.database()).await;
        assert!(report.is_conforming(), "{}: {report}", programs.display());
    }
}

async fn open(url: String) -> Arc<PostgresStore> {
    connect(&url).await
}

#[tokio::test]
async fn the_log_of_postgres_conforms() {
    check(async |next| check_event_log(async || open(next()).await).await).await;
}
