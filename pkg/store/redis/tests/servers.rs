//! Channels over private servers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use forgeline_store::{Notification, NotificationChannel, RedisNotifications, RedisOptions};

use crate::redis::RedisServer;

/// Returns a prefix that no other test has.
pub(crate) fn prefix() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Connects to a server by its URL.
pub(crate) async fn connect(url: &str, prefix: &str) -> Arc<RedisNotifications> {
    let options = RedisOptions::new(url).key_prefix(prefix);
    Arc::new(RedisNotifications::connect(options).await.unwrap())
}

/// Returns the shared server and channels of that many processes; `None` where no server is installed.
pub(crate) async fn nodes<const N: usize>()
-> Option<(&'static RedisServer, String, [Arc<RedisNotifications>; N])> {
    let (server, prefix) = (RedisServer::shared()?, prefix());
    let url = server.url();
    let channels = (0..N).map(|_| connect(&url, &prefix));
    let channels = futures_util::future::join_all(channels).await;
    Some((server, prefix, channels.try_into().unwrap()))
}

/// Waits for something that takes a moment; a wait without an end fails.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let most = Duration::from_mins(1);
    tokio::time::timeout(most, work)
        .await
        .unwrap_or_else(|_| panic!("it has not ended after {most:?}"))
}

pub(crate) fn note(data: &str) -> Notification {
    Notification::new("note", data, 1_000)
}

/// Reads notifications as they are published, up to a number; waits for each.
pub(crate) async fn follow(
    channel: &RedisNotifications,
    scope: &str,
    mut from: u64,
    end: u64,
) -> Vec<(u64, Notification)> {
    let mut all = Vec::new();
    while from < end {
        channel.wait(scope, from).await.unwrap();
        let found = channel.read(scope, from, 7).await.unwrap();
        from += found.len() as u64;
        all.extend(found);
    }
    all
}
