//! The schema: new, migrated, newer, another program's.

use forgeline_store::{PostgresOptions, PostgresStore, SchemaPlan, StoreError};

use crate::{
    postgres::PostgresServer,
    servers::{connect, name},
};

#[tokio::test]
async fn a_check_changes_nothing_and_says_what_would_be_migrated() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let options = PostgresOptions::new(&url);
    let plan = PostgresStore::check(&options).await.unwrap();
    assert_eq!((plan.found, plan.sql().contains("CREATE TABLE forgeline.run")), (0, true));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'forgeline'";
    assert_eq!(server.sql(name(&url), schemas), "0");
    // What the plan shows is what a connection does.
    server.sql(name(&url), &plan.sql());
    let done = PostgresStore::check(&options).await.unwrap();
    assert_eq!((done.found, done.sql().as_str()), (plan.own, ""));
    connect(&url).await;
}

#[tokio::test]
async fn each_migration_goes_back() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    connect(&url).await;
    let own = PostgresStore::check(&PostgresOptions::new(&url)).await.unwrap().own;
    for version in (0..own).rev() {
        server.sql(name(&url), &SchemaPlan::sql_back_to(version));
        let plan = PostgresStore::check(&PostgresOptions::new(&url)).await.unwrap();
        assert_eq!(plan.found, version);
        connect(&url).await;
    }
}

#[tokio::test]
async fn nodes_that_start_together_migrate_once() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let nodes = (0..8).map(|_| connect(&url));
    futures_util::future::join_all(nodes).await;
    assert_eq!(server.sql(name(&url), "SELECT version FROM forgeline.about"), "2");
}

#[tokio::test]
async fn a_schema_that_is_newer_or_another_programs_is_refused_unchanged() {
    let Some(server) = PostgresServer::shared() else { return };
    let (newer, foreign, other) = (server.database(), server.database(), server.database());
    connect(&newer).await;
    server.sql(name(&newer), "UPDATE forgeline.about SET version = 7");
    server.sql(name(&foreign), "CREATE SCHEMA forgeline; CREATE TABLE forgeline.horse (id int)");
    let about = "CREATE SCHEMA forgeline; CREATE TABLE forgeline.about (program text, version int); \
                 INSERT INTO forgeline.about VALUES ('horse', 1)";
    server.sql(name(&other), about);
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'forgeline'::regnamespace";
    for url in [newer, foreign, other] {
        let before = server.sql(name(&url), tables);
        let options = PostgresOptions::new(&url);
        let checked = PostgresStore::check(&options).await.unwrap_err();
        let refused = PostgresStore::connect(options).await.unwrap_err();
        assert_eq!(checked, refused);
        let is_named =
            matches!(refused, StoreError::Newer { found: 7, .. } | StoreError::Corrupt { .. });
        assert!(is_named, "{refused}");
        assert_eq!(server.sql(name(&url), tables), before);
    }
}
