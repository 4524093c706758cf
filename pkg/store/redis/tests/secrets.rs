//! Passwords: used, and in no message.

use std::fs;

use forgeline_store::{NotificationChannel as _, RedisNotifications, RedisOptions};

use crate::{redis::RedisServer, servers::note};

#[tokio::test]
async fn a_password_is_used_and_in_no_message() {
    let Some(server) = RedisServer::start(&["--requirepass geheim"]) else { return };
    let url = |password: &str| format!("{}?pass={password}", server.url());
    let path = server.folder().join("password");
    fs::write(&path, "geheim\n").unwrap();
    for options in [
        RedisOptions::new(url("geheim")),
        RedisOptions::new(server.url()).password_file(&path),
        RedisOptions::new(url("wrong")).password_file(&path),
    ] {
        let channel = RedisNotifications::connect(options).await.unwrap();
        channel.publish("a", note("x")).await.unwrap();
        let shown = format!("{channel:?}");
        assert!(shown.contains("socket") && !shown.contains("geheim"), "{shown}");
    }
    fs::write(&path, "geheimnis\n").unwrap();
    for options in [
        RedisOptions::new(url("geheimnis")),
        RedisOptions::new(url("geheim")).password_file(&path),
        RedisOptions::new(server.url()),
    ] {
        let error = RedisNotifications::connect(options).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("password") && !shown.contains("geheim"), "{shown}");
    }
}
