//! The public suite of notification channels.

use forgeline_testing::stores::check_notification_channel;

use crate::{
    redis::{RedisServer, program, version},
    say,
    servers::{connect, prefix},
};

// Covers: T-26
#[tokio::test]
async fn the_notifications_of_redis_conform() {
    let Some(server) = RedisServer::shared() else { return };
    let report = check_notification_channel(async || connect(&server.url(), &prefix()).await).await;
    assert!(report.is_conforming(), "{report}");
    let version = program().and_then(|program| version(&program)).unwrap();
    say(format!("Redis {version}: the notifications conform"));
}
