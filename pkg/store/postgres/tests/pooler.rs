//! A pooler that shares sessions: pgbouncer in transaction mode.

use std::{pin::pin, sync::Arc};

use forgeline_store::{EventLog, PostgresStore, WakeMode, follow};
use forgeline_testing::stores::check_run_store;
use futures_util::StreamExt as _;

use crate::{
    pooler_process::PostgresPooler,
    postgres::PostgresServer,
    servers::{connect, key, options, record},
};

#[tokio::test]
async fn behind_a_pooler_readers_look_unless_there_is_a_direct_url() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(pooler) = PostgresPooler::start("readers", server) else { return };
    let url = server.database();
    let polled = connect(&pooler.url(&url)).await;
    assert_eq!(polled.wake_mode(), WakeMode::Polled);
    let options = options(&pooler.url(&url)).direct_url(&url);
    let notified = Arc::new(PostgresStore::connect(options).await.unwrap());
    assert_eq!(notified.wake_mode(), WakeMode::Notified);
    for (writer, reader) in [(&notified, &polled), (&polled, &notified)] {
        let key = key(&format!("{:?}", writer.wake_mode()));
        writer.create(key.clone()).await.unwrap();
        let mut records = pin!(follow(Arc::clone(reader) as Arc<dyn EventLog>, key.clone(), 0));
        for at in 0..50 {
            writer.append(&key, at, vec![record("x")], None).await.unwrap();
            assert_eq!(records.next().await.unwrap().unwrap().0, at);
        }
        writer.close(&key, None).await.unwrap();
        assert!(records.next().await.is_none());
    }
}

#[tokio::test]
async fn the_runs_of_postgres_behind_a_pooler_conform() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(pooler) = PostgresPooler::start("runs", server) else { return };
    let report = check_run_store(async || connect(&pooler.url(&server.database())).await).await;
    assert!(report.is_conforming(), "{report}");
}
