//! Connections that are cut, and servers that go away.

use std::{pin::pin, sync::Arc, time::Duration};

use forgeline_store::{
    CommandStore, ConversationKey, ConversationRecord, ConversationStore, Entry, EventLog,
    LatencyRecord, LatencyStore, Notification, NotificationChannel, PostgresStore, RunChange,
    RunCommand, RunProgress, RunStore, RunWriter, StoreError, StoreFuture, follow,
};
use futures_util::StreamExt as _;

use crate::{
    postgres::{PostgresServer, programs},
    proxy::CuttingProxy,
    servers::{connect, key, name, node, nodes, record, run},
};

#[tokio::test]
async fn an_append_whose_answer_is_lost_is_made_once() {
    let Some((server, url, [direct])) = nodes().await else { return };
    let proxy = CuttingProxy::start("append", server.folder());
    let store = connect(&proxy.url(&url)).await;
    RunStore::begin(&*store, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    store.create(key("r")).await.unwrap();
    for at in 0..20_u64 {
        proxy.cut(1);
        let records = vec![record(&at.to_string()), record("x")];
        EventLog::append(&*store, &key("r"), at * 2, records, Some(&own)).await.unwrap();
    }
    let page = EventLog::read(&*direct, &key("r"), 0, 99).await.unwrap();
    let texts: Vec<_> = page.records.iter().map(|record| record.data.to_vec()).collect();
    let want = (0..20).flat_map(|at: u64| [at.to_string().into_bytes(), b"x".to_vec()]);
    assert!(texts.into_iter().eq(want));
}

#[tokio::test]
async fn an_append_whose_answer_is_lost_is_not_taken_for_anothers() {
    let Some((server, url, [direct])) = nodes().await else { return };
    let proxy = CuttingProxy::start("other", server.folder());
    let store = connect(&proxy.url(&url)).await;
    store.create(key("r")).await.unwrap();
    EventLog::append(&*direct, &key("r"), 0, vec![record("theirs")], None).await.unwrap();
    proxy.cut(1);
    let refused = EventLog::append(&*store, &key("r"), 0, vec![record("mine")], None).await;
    assert!(matches!(refused, Err(StoreError::Behind { end: 1, .. })), "{refused:?}");
}

/// A write, by the name of the table that it writes first.
type Write<'s> = (&'static str, &'static str, Box<dyn Fn() -> StoreFuture<'s, ()> + 's>);

fn writes<'s>(
    store: &'s PostgresStore,
    own: &'s RunWriter,
    c: &'s ConversationKey,
) -> Vec<Write<'s>> {
    let changed = || RunChange::to(RunProgress::Waiting, 2_000);
    let done = |future: StoreFuture<'s, ()>| future;
    vec![
        ("create", "log", Box::new(move || done(store.create(key("new"))))),
        (
            "append",
            "log",
            Box::new(move || {
                done(EventLog::append(store, &own.run, 0, vec![record("0")], Some(own)))
            }),
        ),
        ("close", "log", Box::new(move || done(store.close(&own.run, Some(own))))),
        (
            "begin",
            "run",
            Box::new(move || {
                Box::pin(async move { RunStore::begin(store, run("s"), None).await.map(drop) })
            }),
        ),
        ("change", "run", Box::new(move || done(store.change(own, changed())))),
        (
            "journal",
            "conversation",
            Box::new(move || {
                done(ConversationStore::append(store, c, 0, Entry::new(1).line("{}"), Some(own)))
            }),
        ),
        (
            "send",
            "command",
            Box::new(move || {
                Box::pin(async move {
                    store.send(&own.run, RunCommand::new("k", "steer", "{}")).await.map(drop)
                })
            }),
        ),
        (
            "publish",
            "scope",
            Box::new(move || {
                let note = Notification::new("note", "{}", 1);
                Box::pin(async move { store.publish("team-a", note).await.map(drop) })
            }),
        ),
        (
            "latency",
            "latency",
            Box::new(move || {
                done(LatencyStore::add(store, "team-a", LatencyRecord::new("r", 1, 1)))
            }),
        ),
        ("release", "run", Box::new(move || done(store.release(own, Duration::ZERO)))),
        (
            "claim",
            "run",
            Box::new(move || Box::pin(async { store.claim(&node("b"), 1, 0).await.map(drop) })),
        ),
        (
            "delete",
            "conversation",
            Box::new(move || {
                Box::pin(async move { ConversationStore::delete(store, c).await.map(drop) })
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_killed_in_any_write_leaves_it_whole_or_not_made() {
    let Some((server, url, [store])) = nodes().await else { return };
    let conversation = ConversationKey::new("team-a", "c");
    let new = ConversationRecord::new(conversation.clone(), "ann", "main", 1_000);
    ConversationStore::begin(&*store, new).await.unwrap();
    RunStore::begin(&*store, run("r"), Some(&node("a"))).await.unwrap();
    store.create(key("r")).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    let database = name(&url);
    let mut session = server.session(database);
    for (what, table, write) in writes(&store, &own, &conversation) {
        session.run(&format!("BEGIN; LOCK TABLE forgeline.{table} IN EXCLUSIVE MODE"));
        let mut written = write();
        let waiting = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity \
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while server.sql(database, waiting) == "0" {
            assert!(futures_util::poll!(&mut written).is_pending(), "{what}");
            tokio::task::yield_now().await;
        }
        session.run("COMMIT");
        // Nothing was made: it is made now, or fails, and can then be made again.
        match written.await {
            Ok(()) => {}
            Err(StoreError::Unavailable { reason, .. }) => {
                assert!(reason.contains("read before you write again"), "{what}: {reason}");
                write().await.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    assert_eq!(EventLog::read(&*store, &key("r"), 0, 9).await.unwrap().next, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_and_readers_survive_a_server_that_crashes() {
    let Some(programs) = programs().pop() else { return };
    let mut server = PostgresServer::start(&programs, &[]);
    let url = server.database();
    let (writer, reader) = (connect(&url).await, connect(&url).await);
    writer.create(key("r")).await.unwrap();
    let records = follow(Arc::clone(&reader) as Arc<dyn EventLog>, key("r"), 0);
    let mut records = pin!(records.map(|next| next.map(|(number, _)| number)));
    let appends = tokio::spawn({
        let writer = Arc::clone(&writer);
        async move {
            let mut at = 0_u64;
            while at < 2_000 {
                let records = vec![record(&at.to_string())];
                match EventLog::append(&*writer, &key("r"), at, records, None).await {
                    Ok(()) => at += 1,
                    // A server may need longer than an operation may take; it may have made the append.
                    Err(StoreError::Slow { .. } | StoreError::Unavailable { .. }) => {
                        if let Ok(page) = EventLog::read(&*writer, &key("r"), at, 9).await {
                            at = page.next;
                        }
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            writer.close(&key("r"), None).await.unwrap();
        }
    });
    for at in 0..100 {
        assert_eq!(records.next().await.unwrap().unwrap(), at);
    }
    server.restart();
    for at in 100..2_000 {
        assert_eq!(records.next().await.unwrap().unwrap(), at);
    }
    assert!(records.next().await.is_none());
    appends.await.unwrap();
}
