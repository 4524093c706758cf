//! Warnings about a server that keeps too little.

use redis::cmd;

use super::{dial::RedisDialer, link::RedisLink, replies::reply};
use crate::StoreError;

/// Asks the server once, and writes to the log what its notifications will not survive.
pub(super) async fn warn_about(link: &RedisLink, dialer: &RedisDialer) -> Result<(), StoreError> {
    link.ask(&cmd("PING")).await?;
    if dialer.is_readable() {
        tracing::warn!("the password of Redis is sent without TLS; use a URL with `rediss`");
    }
    // A user may lack the right to ask; the rest works without the answer.
    let Ok(info) = link.ask(&cmd("INFO")).await else { return Ok(()) };
    let info: String = reply(info)?;
    for warning in warnings(&info) {
        tracing::warn!("{warning}");
    }
    Ok(())
}

fn warnings(info: &str) -> Vec<&'static str> {
    let has = |line: &str| info.lines().any(|other| other.trim_end() == line);
    let evicts = info.lines().any(|line| line.starts_with("maxmemory_policy:allkeys"));
    let all = [
        (
            has("aof_enabled:0"),
            "Redis writes no append-only file: a crash loses notifications; set `appendonly yes`",
        ),
        (
            evicts,
            "Redis evicts any key when its memory is full: scopes begin again at 0; set `maxmemory-policy noeviction`",
        ),
    ];
    all.into_iter().filter_map(|(applies, warning)| applies.then_some(warning)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_forgets_is_named() {
        let none = "aof_enabled:1\r\nmaxmemory_policy:noeviction\r\n";
        assert!(warnings(none).is_empty());
        let both = warnings("aof_enabled:0\r\nmaxmemory_policy:allkeys-lru\r\n");
        assert!(both.len() == 2 && both[0].contains("appendonly"), "{both:?}");
    }
}
