//! The task that wakes the readers of this process, by one connection that waits for what any process publishes.

use std::{sync::Arc, time::Duration};

use redis::cmd;
use tokio::{sync::watch, time::sleep};

use super::{
    dial::{RedisDialer, RedisSession},
    errors::CommandFailure,
    replies::{StreamEntry, field, reply},
    scripts::MAX_NEWS,
};
use crate::{StoreError, servers::wait_table::WaitTable};

/// Maximum wait of the server for news, in milliseconds. A reply without any shows that the connection lives.
const NEWS_MS: u64 = 1_000;

/// Maximum wait for that reply.
const REPLY: Duration = Duration::from_secs(5);

/// The wait before the next attempt to connect, doubled each time.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum wait before the next attempt.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Wakes readers until the channel is closed.
pub(super) struct FollowTask {
    pub(super) dialer: Arc<RedisDialer>,
    /// The key of the news.
    pub(super) news: String,
    pub(super) scopes: Arc<WaitTable<String>>,
    pub(super) stop: watch::Receiver<()>,
}

/// A reply to a read of the news: the key with its entries, or nothing.
type NewsReply = Option<Vec<(String, Vec<StreamEntry>)>>;

impl FollowTask {
    pub(super) async fn run(self) {
        let mut stop = self.stop.clone();
        tokio::select! {
            _ = stop.changed() => {}
            () = self.follow_for_ever() => {}
        }
    }

    async fn follow_for_ever(&self) {
        let mut pause = PAUSE;
        loop {
            let failure = match self.dialer.dial().await {
                Ok(session) => {
                    pause = PAUSE;
                    self.follow(&session).await
                }
                Err(failure) => Err(failure.into_error()),
            };
            if let Err(error) = failure {
                tracing::debug!(%error, "news of Redis are not heard");
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Reads the news of one connection until it is lost.
    async fn follow(&self, session: &RedisSession) -> Result<(), StoreError> {
        let mut command = cmd("XREVRANGE");
        command.arg(&self.news).arg("+").arg("-").arg("COUNT").arg(1);
        let last = session.ask(&command, REPLY).await.map_err(CommandFailure::into_error)?;
        let last: Vec<StreamEntry> = reply(last)?;
        let mut last = last.into_iter().next().map_or_else(|| "0-0".to_owned(), |(id, _)| id);
        // What was published before is in no news that this connection reads.
        self.scopes.wake_all();
        loop {
            let mut command = cmd("XREAD");
            command.arg("COUNT").arg(MAX_NEWS).arg("BLOCK").arg(NEWS_MS);
            command.arg("STREAMS").arg(&self.news).arg(&last);
            let news = session.ask(&command, REPLY).await.map_err(CommandFailure::into_error)?;
            let news: NewsReply = reply(news)?;
            let Some((_, entries)) = news.into_iter().flatten().next() else { continue };
            if entries.len() >= MAX_NEWS {
                self.scopes.wake_all();
            }
            for entry in &entries {
                let scope = field(entry, "scope")?.to_owned();
                match field(entry, "end")?.parse() {
                    Ok(end) => self.scopes.reach(&scope, end),
                    Err(_) => self.scopes.wake(&scope),
                }
            }
            if let Some((id, _)) = entries.into_iter().next_back() {
                last = id;
            }
        }
    }
}
