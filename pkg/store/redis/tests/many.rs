//! Many publishers, readers and processes.

use std::{collections::BTreeSet, time::Duration};

use forgeline_store::{NotificationChannel as _, StoreError};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::servers::{connect, follow, nodes, note, soon};

#[tokio::test]
async fn a_thousand_publishers_at_once_leave_no_gap_and_no_double() {
    let Some((_, _, [one, two, reader])) = nodes().await else { return };
    let published = async {
        let all = (0..1_000_u32).map(|at| {
            let channel = if at % 2 == 0 { &one } else { &two };
            async move { channel.publish("a", note(&at.to_string())).await.unwrap() }
        });
        join_all(all).await
    };
    let readers = join_all((0..3).map(|_| follow(&reader, "a", 0, 1_000)));
    let (numbers, readers) = soon(async { tokio::join!(published, readers) }).await;
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), (0..1_000).collect());
    for read in readers {
        assert!(read.iter().map(|(number, _)| *number).eq(0..1_000));
        let texts: BTreeSet<_> = read.iter().map(|(_, note)| note.data.as_str()).collect();
        assert_eq!(texts.len(), 1_000);
    }
}

#[tokio::test]
async fn a_reader_of_another_process_goes_on_at_each_number() {
    let Some((server, prefix, [publisher])) = nodes().await else { return };
    for at in 0..20 {
        publisher.publish("a", note(&at.to_string())).await.unwrap();
    }
    for from in 0..20 {
        let reader = connect(&server.url(), &prefix).await;
        let rest = soon(follow(&reader, "a", from, 20)).await;
        let texts: Vec<_> =
            rest.iter().map(|(_, note)| note.data.parse::<u64>().unwrap()).collect();
        assert!(texts.into_iter().eq(from..20), "from {from}");
        assert_eq!(reader.end("a").await.unwrap(), 20);
    }
}

#[tokio::test]
async fn a_notification_wakes_readers_of_another_process() {
    let Some((_, _, [publisher, reader])) = nodes().await else { return };
    for number in 0..3 {
        let mut wait = reader.wait("a", number);
        timeout(Duration::from_millis(50), &mut wait).await.unwrap_err();
        publisher.publish("a", note("x")).await.unwrap();
        soon(wait).await.unwrap();
    }
}

#[tokio::test]
async fn a_reader_that_is_too_far_behind_learns_where_it_can_continue() {
    let Some((_, _, [publisher, reader])) = nodes().await else { return };
    let all = (0..10_100).map(|_| publisher.publish("a", note("x")));
    for published in join_all(all).await {
        published.unwrap();
    }
    let old = reader.read("a", 0, 1).await;
    assert!(matches!(old, Err(StoreError::Dropped { first: 100, .. })), "{old:?}");
    assert_eq!(reader.read("a", 100, usize::MAX).await.unwrap().len(), 10_000);
}

/// The bytes that one read returns are limited; the rest follows.
#[tokio::test]
async fn large_notifications_are_read_in_parts() {
    let Some((_, _, [channel])) = nodes().await else { return };
    let large = "x".repeat(1 << 20);
    for _ in 0..20 {
        channel.publish("a", note(&large)).await.unwrap();
    }
    let first = channel.read("a", 0, usize::MAX).await.unwrap();
    assert!(first.len() < 20 && first.len() >= 16, "{}", first.len());
    let rest = channel.read("a", first.len() as u64, usize::MAX).await.unwrap();
    assert_eq!(first.len() + rest.len(), 20);
}

#[tokio::test]
async fn a_closed_channel_ends_its_waits() {
    let Some((_, _, [channel])) = nodes().await else { return };
    let waiting = {
        let channel = channel.clone();
        tokio::spawn(async move { channel.wait("a", 0).await })
    };
    timeout(Duration::from_millis(50), std::future::pending::<()>()).await.unwrap_err();
    channel.disconnect();
    let ended = soon(waiting).await.unwrap();
    assert!(matches!(ended, Err(StoreError::Unavailable { .. })), "{ended:?}");
    assert!(channel.publish("a", note("x")).await.is_err());
}
