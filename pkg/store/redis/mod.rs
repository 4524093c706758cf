//! Notifications over Redis.
//!
//! Each publication is one script that numbers, adds, trims, and says in a stream of news which scope has grown: a process waits for all scopes by one
//! connection. The script keeps the number of its attempt for a minute, so what is repeated after a lost connection is published once.
//!
//! The client is redis: 7 crates more, 37 s of processor time to build (fred: 15, four of them in versions that others have left, and 66 s). Its TLS is
//! not used: connections are made here, by the rustls and ring of the other stores.

mod channel;
mod dial;
mod errors;
mod follower;
mod link;
mod probe;
mod replies;
mod scripts;
mod setup;

use std::{fmt, sync::Arc};

use tokio::sync::watch;

pub use self::setup::RedisOptions;
use self::{
    dial::RedisDialer, follower::FollowTask, link::RedisLink, probe::warn_about, scripts::KeyNames,
};
use super::{StoreError, servers::wait_table::WaitTable};

/// A notification channel over a server of Redis or Valkey, for any number of processes. Clones are handles to the same connections.
///
/// Each scope is a stream, of which the last 10,000 notifications are kept; it stays until its key is deleted. Publishing is one script, which numbers,
/// adds and trims; it is repeated after a lost connection, and adds once. A process has two connections: one for its commands, and one that waits for
/// what any process publishes, for all readers.
///
/// Acknowledged notifications survive a crash of the server, and a loss of power, with `appendonly yes` and `appendfsync always`. With `everysec`, the last
/// two seconds may be lost, and their numbers given again. One server with its replicas is supported, a cluster is not; a failover to a replica may lose
/// what that did not have yet.
///
/// # Examples
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{Notification, NotificationChannel, RedisNotifications, RedisOptions};
///
/// let options = RedisOptions::new("rediss://service@redis.example").password_file("/run/secrets/redis");
/// let channel = RedisNotifications::connect(options).await?;
/// let number = channel.publish("team-a", Notification::new("report_ready", r#"{"id":7}"#, 1_000)).await?;
/// channel.wait("team-a", number).await?;
/// assert_eq!(channel.read("team-a", number, 1).await?[0].1.kind, "report_ready");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisNotifications(Arc<RedisInner>);

struct RedisInner {
    place: String,
    keys: KeyNames,
    link: RedisLink,
    scopes: Arc<WaitTable<String>>,
    /// Ends the task when it is dropped or sent to.
    stop: watch::Sender<()>,
}

impl RedisNotifications {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Unavailable`] if the server cannot be used, and [`StoreError::Slow`] if it does not answer within 10 s.
    pub async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        let place = options.place();
        let keys = KeyNames::new(&options.key_prefix);
        let dialer = Arc::new(RedisDialer::new(options)?);
        let link = RedisLink::new(Arc::clone(&dialer));
        warn_about(&link, &dialer).await?;
        let scopes = Arc::<WaitTable<String>>::default();
        let (stop, stopped) = watch::channel(());
        let news = keys.news().to_owned();
        let task = FollowTask { dialer, news, scopes: Arc::clone(&scopes), stop: stopped };
        tokio::spawn(task.run());
        Ok(Self(Arc::new(RedisInner { place, keys, link, scopes, stop })))
    }

    /// Closes the connections, for all handles: later operations fail, and pending ones may.
    pub fn disconnect(&self) {
        self.0.link.close();
        self.0.stop.send_replace(());
        self.0.scopes.wake_all();
    }
}

impl fmt::Debug for RedisNotifications {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisNotifications")
            .field("place", &self.0.place)
            .finish_non_exhaustive()
    }
}
