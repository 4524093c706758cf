//! Pieces of answers that wait for neither the disk nor a standby.

use std::{sync::Arc, time::Duration};

use forgeline_store::{DeltaCommit, EventLog, LogKey, LogRecord, PostgresStore, StoreError};
use tokio::time::timeout;

use crate::{
    postgres::{PostgresServer, programs},
    servers::{connect, key, options, soon},
};

const DELTAS: [&str; 3] = ["thinking_content", "message_content", "tool_call_content"];

/// Time after which an append counts as one that waits.
const WAITS: Duration = Duration::from_millis(500);

async fn connect_async(url: &str) -> Arc<PostgresStore> {
    let options = options(url).deltas(DeltaCommit::Async);
    Arc::new(PostgresStore::connect(options).await.unwrap())
}

fn records(kinds: &[&str]) -> Vec<LogRecord> {
    kinds.iter().map(|kind| LogRecord::new(*kind, "{}")).collect()
}

async fn waits(store: &PostgresStore, key: &LogKey, at: u64, kinds: &[&str]) -> bool {
    timeout(WAITS, EventLog::append(store, key, at, records(kinds), None)).await.is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_of_answers_wait_for_no_standby_and_all_else_does() {
    let Some(programs) = programs().pop() else { return };
    let server = PostgresServer::start(&programs, &[]);
    let url = server.database();
    let (quick, durable) = (connect_async(&url).await, connect(&url).await);
    let names = ["quick", "durable", "mixed"].map(key);
    for key in &names {
        quick.create(key.clone()).await.unwrap();
    }
    let [quick_key, durable_key, mixed_key] = names;
    // There is none: whatever waits for it waits until its statement is stopped.
    server.wait_for_standby();
    let mut at = 0;
    while !waits(&durable, &durable_key, at, &["message_content"]).await {
        at += 1;
        assert!(at < 1_000, "an append without the option waits for a standby");
    }
    for (at, kind) in (0_u64..).zip(DELTAS) {
        let append = EventLog::append(&*quick, &quick_key, at, records(&[kind]), None);
        soon(append).await.unwrap();
    }
    let append = EventLog::append(&*quick, &quick_key, 3, records(&DELTAS), None);
    soon(append).await.unwrap();
    assert!(waits(&quick, &mixed_key, 0, &["message_content", "message_end"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_database_keeps_a_start_of_the_log_with_all_that_is_durable() {
    let Some(programs) = programs().pop() else { return };
    let mut server = PostgresServer::start(&programs, &["fsync=on", "synchronous_commit=on"]);
    let url = server.database();
    let store = connect_async(&url).await;
    let key = key("killed");
    store.create(key.clone()).await.unwrap();
    let kind = |at: u64| if at % 10 == 9 { "message_end" } else { "message_content" };
    let record = |at: u64| LogRecord::new(kind(at), at.to_string());
    let (mut head, mut durable) = (0, 0);
    for at in 0..317_u64 {
        EventLog::append(&*store, &key, at, vec![record(at)], None).await.unwrap();
        head = at + 1;
        durable = if kind(at) == "message_end" { head } else { durable };
    }
    server.kill();
    server.restart();
    let store = connect_async(&url).await;
    let page = soon(EventLog::read(&*store, &key, 0, 1_000)).await.unwrap();
    let found = page.records.len() as u64;
    assert!((durable..=head).contains(&found), "{durable} durable, {found} found, {head} appended");
    assert!((0..).zip(&page.records).all(|(at, found)| *found == record(at)), "{page:?}");
    // Its writer learns what is left, and goes on from there.
    let next = EventLog::append(&*store, &key, head, vec![record(head)], None).await;
    assert_eq!(next.is_ok(), found == head, "{next:?}");
    if let Err(error) = next {
        assert!(matches!(error, StoreError::Behind { .. }), "{error:?}");
        EventLog::append(&*store, &key, found, vec![record(found)], None).await.unwrap();
    }
}
