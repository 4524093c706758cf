//! The public suites of stores, with each version of `PostgreSQL` that is installed.

use std::{cell::RefCell, path::Path, sync::Arc, time::Duration};

use forgeline_store::{NodeId, PostgresOptions, PostgresStore, SealedSecrets, SealingKeys, Stores};
use forgeline_testing::stores::{
    NodeControl, Report, check_audit_store, check_command_store, check_conversation_store,
    check_event_log, check_latency_store, check_notification_channel, check_provider_profile_store,
    check_run_owners, check_run_store, check_secret_store,
};

use crate::{
    postgres::{PostgresServer, programs, version},
    say,
    servers::name,
};

/// Runs a suite with each server that is installed.
async fn check(stores: &str, suite: impl AsyncFn(&dyn Fn() -> String) -> Report) {
    for programs in programs() {
        let server = PostgresServer::start(&programs, &[]);
        let report = suite(&|| server.database()).await;
        accept(stores, &programs, &report);
    }
}

/// Prints the version of the server whose stores conform.
fn accept(stores: &str, programs: &Path, report: &Report) {
    assert!(report.is_conforming(), "{}: {report}", programs.display());
    say(format!("PostgreSQL {}: the {stores} conform", version(programs).unwrap()));
}

/// Connects to a database whose nodes take runs away from dead ones at once: a suite does not wait for 10 s.
async fn open(url: String) -> Arc<PostgresStore> {
    // So long that no stall of the machine makes a node seem dead: a suite kills it by a statement.
    let alive = Duration::from_mins(1);
    let options = PostgresOptions::new(url).life_times(alive, alive, Duration::ZERO);
    Arc::new(PostgresStore::connect(options).await.unwrap())
}

#[tokio::test]
async fn the_log_of_postgres_conforms() {
    check("logs", async |next| check_event_log(async || open(next()).await).await).await;
}

#[tokio::test]
async fn the_conversations_of_postgres_conform() {
    check("conversations", async |next| {
        check_conversation_store(async || open(next()).await).await
    })
    .await;
}

#[tokio::test]
async fn the_runs_of_postgres_conform() {
    check("runs", async |next| check_run_store(async || open(next()).await).await).await;
}

// Covers: T-26
#[tokio::test]
async fn the_notifications_of_postgres_conform() {
    check("notifications", async |next| {
        check_notification_channel(async || open(next()).await).await
    })
    .await;
}

#[tokio::test]
async fn the_latency_records_of_postgres_conform() {
    check("latency records", async |next| check_latency_store(async || open(next()).await).await)
        .await;
}

// Covers: CT-79, CT-80, CT-81, CT-82, CT-83, CT-84, CT-85, CT-86, CT-87, CT-88, CT-89, CT-90, CT-91, CT-92, CT-93, CT-94, CT-95, CT-96, CT-97, CT-98, CT-99, CT-100, CT-101, CT-102, CT-103
#[tokio::test]
async fn the_secrets_of_postgres_conform() {
    check("secrets", async |next| {
        let make = async || {
            let store = open(next()).await;
            Arc::new(SealedSecrets::new((*store).clone(), SealingKeys::random().unwrap()))
        };
        check_secret_store(make).await
    })
    .await;
}

#[tokio::test]
async fn the_provider_profiles_of_postgres_conform() {
    check("provider profiles", async |next| {
        check_provider_profile_store(async || open(next()).await).await
    })
    .await;
}

// Covers: CT-118, CT-119, CT-120, CT-121, CT-122, CT-123, CT-124, CT-125, CT-126, CT-127, CT-128, CT-129
#[tokio::test]
async fn the_audit_rows_of_postgres_conform() {
    check("audit rows", async |next| check_audit_store(async || open(next()).await).await).await;
}

#[tokio::test]
async fn the_commands_of_postgres_conform() {
    check("commands", async |next| {
        check_command_store(async || Stores::of((*open(next()).await).clone())).await
    })
    .await;
}

/// The nodes of the last database that a suite was given.
struct DatabaseNodes<'s> {
    server: &'s PostgresServer,
    url: RefCell<String>,
}

impl NodeControl for DatabaseNodes<'_> {
    fn has_many(&self) -> bool {
        true
    }

    async fn kill(&self, node: &NodeId) {
        let sql = format!("UPDATE forgeline.node SET until = '-infinity' WHERE id = '{node}'");
        self.server.sql(name(&self.url.borrow()), &sql);
    }
}

#[tokio::test]
async fn the_owners_of_runs_of_postgres_conform() {
    for programs in programs() {
        let server = PostgresServer::start(&programs, &[]);
        let nodes = DatabaseNodes { server: &server, url: RefCell::default() };
        let make = async || {
            let url = server.database();
            nodes.url.replace(url.clone());
            Stores::of((*open(url).await).clone())
        };
        let report = check_run_owners(make, &nodes).await;
        accept("owners of runs", &programs, &report);
    }
}
