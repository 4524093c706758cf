//! Servers that are killed, stopped, or lose a connection.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use forgeline_store::{NotificationChannel as _, RedisOptions, StoreError};
use futures_util::future::join_all;

use crate::{
    proxy::CuttingProxy,
    redis::RedisServer,
    servers::{connect, nodes, note, prefix, soon},
};

/// Restarts of the server.
const KILLS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_nothing_is_there_twice_when_the_server_is_killed() {
    let Some(mut server) = RedisServer::start(&["--appendfsync always"]) else { return };
    let prefix = prefix();
    let url = server.url();
    let [one, two, reader] = [(); 3].map(|()| connect(&url, &prefix));
    let (one, two, reader) = tokio::join!(one, two, reader);
    let is_over = AtomicBool::new(false);
    // Each publisher says what was acknowledged, with its number, and what may be there.
    let publish = async |name: usize| {
        let channel = if name.is_multiple_of(2) { &one } else { &two };
        let (mut acknowledged, mut at) = (BTreeMap::new(), 0);
        while !is_over.load(Ordering::SeqCst) {
            let text = format!("{name}/{at}");
            if let Ok(number) = channel.publish("a", note(&text)).await {
                acknowledged.insert(number, text);
            }
            at += 1;
        }
        acknowledged
    };
    let kill = async {
        for round in 0..KILLS as u64 {
            // Some are published between two kills.
            let end = reader.end("a").await.unwrap();
            reader.wait("a", end + 20 + round).await.unwrap();
            server = tokio::task::spawn_blocking(move || {
                server.stop();
                server.resume();
                server
            })
            .await
            .unwrap();
        }
        let end = reader.end("a").await.unwrap();
        reader.wait("a", end + 20).await.unwrap();
        is_over.store(true, Ordering::SeqCst);
        server
    };
    let read = async {
        let mut all = Vec::new();
        loop {
            let from = all.len() as u64;
            let is_last = is_over.load(Ordering::SeqCst);
            let wait = tokio::time::timeout(Duration::from_secs(2), reader.wait("a", from)).await;
            match wait {
                Ok(waited) => waited.unwrap(),
                Err(_) if is_last && reader.end("a").await.unwrap() == from => return all,
                Err(_) => continue,
            }
            for (number, note) in reader.read("a", from, 50).await.unwrap() {
                assert_eq!(number, all.len() as u64);
                all.push(note.data);
            }
        }
    };
    let work = async { tokio::join!(join_all((0..8).map(publish)), kill, read) };
    let (publishers, _server, all) = soon(work).await;
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "something is there twice");
    let mut count = 0;
    for (number, text) in publishers.into_iter().flatten() {
        assert_eq!(all.get(usize::try_from(number).unwrap()), Some(&text));
        count += 1;
    }
    assert!(count >= KILLS * 20, "{count} were acknowledged");
}

#[tokio::test]
async fn what_is_published_over_a_lost_connection_is_published_once() {
    let Some((server, prefix, [direct])) = nodes().await else { return };
    let proxy = CuttingProxy::start(server);
    let channel = connect(&proxy.url(), &prefix).await;
    for number in 0..20 {
        proxy.cut(1);
        assert_eq!(channel.publish("a", note("x")).await.unwrap(), number);
    }
    assert_eq!(direct.end("a").await.unwrap(), 20);
    assert_eq!(proxy.left(), 0, "each was cut");
}

#[tokio::test]
async fn readers_learn_what_was_published_while_they_were_cut_off() {
    let Some((server, prefix, [direct])) = nodes().await else { return };
    let proxy = CuttingProxy::start(server);
    let reader = connect(&proxy.url(), &prefix).await;
    for number in 0..3 {
        let mut wait = reader.wait("a", number);
        tokio::time::timeout(Duration::from_millis(50), &mut wait).await.unwrap_err();
        proxy.shut();
        assert_eq!(direct.publish("a", note("x")).await.unwrap(), number);
        proxy.open();
        // Nothing else is published that would wake it.
        soon(wait).await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_from_which_nothing_comes_is_given_up() {
    let Some((server, prefix, [direct])) = nodes().await else { return };
    let proxy = CuttingProxy::start(server);
    let channel = connect(&proxy.url(), &prefix).await;
    proxy.stall();
    assert_eq!(channel.publish("a", note("x")).await.unwrap(), 0);
    direct.publish("a", note("x")).await.unwrap();
    soon(channel.wait("a", 1)).await.unwrap();
}

#[tokio::test]
async fn an_operation_without_a_server_ends_with_an_error() {
    let Some(mut server) = RedisServer::start(&[]) else { return };
    let channel = connect(&server.url(), "a").await;
    channel.publish("a", note("x")).await.unwrap();
    server.stop();
    let began = std::time::Instant::now();
    let (published, waited) =
        soon(async { tokio::join!(channel.publish("a", note("y")), channel.wait("a", 9)) }).await;
    assert!(matches!(published, Err(StoreError::Unavailable { .. })), "{published:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
    drop(waited);
    server.resume();
    assert_eq!(channel.publish("a", note("z")).await.unwrap(), 1);
}

#[tokio::test]
async fn a_server_that_is_full_says_so() {
    let Some(server) = RedisServer::start(&["--maxmemory 3mb"]) else { return };
    let channel = connect(&server.url(), "a").await;
    let large = "x".repeat(1 << 20);
    let mut last = Ok(0);
    for _ in 0..9 {
        last = channel.publish("a", note(&large)).await;
    }
    assert!(matches!(last, Err(StoreError::Full { .. })), "{last:?}");
    assert!(channel.read("a", 0, 1).await.is_ok(), "it can be read");
}

#[tokio::test]
async fn a_key_of_another_program_is_left_alone() {
    let Some((server, prefix, [channel])) = nodes().await else { return };
    server.ask(&format!("SET {prefix}:scope:a theirs")).unwrap();
    let refused = channel.publish("a", note("x")).await;
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
    let none = forgeline_store::RedisNotifications::connect(RedisOptions::new(
        "redis+unix:///nowhere/socket",
    ));
    assert!(matches!(none.await, Err(StoreError::Unavailable { .. })));
}
