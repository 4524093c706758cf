//! The commands, and the names of their keys.

use redis::{Cmd, cmd};

use crate::{Notification, notifications::MAX_KEPT};
use forgeline_types::Text;

/// Maximum number of entries in the news; a follower that reads as many may have missed some.
pub(super) const MAX_NEWS: usize = 1_024;

/// Time for which the number of an attempt is kept, in seconds. Attempts to publish end after 10 s.
const ATTEMPT_SECONDS: usize = 60;

/// Publishes with the next number of the scope, unless this attempt has already. Ids of a stream begin at 1, numbers at 0. Keys: the stream of the scope,
/// the news, the attempt. Returns the id as text, which a number of Lua would round.
const PUBLISH: &str = "
local done = redis.call('GET', KEYS[3])
if done then return done end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local id = string.format('%.0f', (last and tonumber(string.match(last[1], '^%d+')) or 0) + 1)
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[1], id .. '-0', 'id', ARGV[4], 'kind', ARGV[5], 'data', ARGV[6], 'at', ARGV[7])
redis.call('XADD', KEYS[2], 'MAXLEN', '=', ARGV[2], '*', 'scope', ARGV[8], 'end', id)
redis.call('SET', KEYS[3], id, 'EX', ARGV[3])
return id";

/// Returns the id of the last entry without its data, or nothing.
const END: &str = "
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and string.match(last[1], '^%d+')";

/// The names of the keys.
pub(super) struct KeyNames {
    prefix: Text,
    news: String,
}

impl KeyNames {
    pub(super) fn new(prefix: &Text) -> Self {
        Self { prefix: prefix.clone(), news: format!("{prefix}:news") }
    }

    /// Returns the key of the stream that says which scopes have grown.
    pub(super) fn news(&self) -> &str {
        &self.news
    }

    fn scope(&self, scope: &str) -> String {
        format!("{}:scope:{scope}", self.prefix)
    }

    /// Returns the command that publishes; executing it twice publishes once.
    pub(super) fn publish(&self, scope: &str, note: &Notification, attempt: &str) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(PUBLISH).arg(3);
        command.arg(self.scope(scope)).arg(&self.news);
        command.arg(format!("{}:attempt:{attempt}", self.prefix));
        command.arg(MAX_KEPT).arg(MAX_NEWS).arg(ATTEMPT_SECONDS);
        command.arg(note.id.as_str()).arg(note.kind.as_str()).arg(&note.data).arg(note.at_ms);
        command.arg(scope);
        command
    }

    /// Returns the command for the number that the next notification will have.
    pub(super) fn end(&self, scope: &str) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(END).arg(1).arg(self.scope(scope));
        command
    }

    /// Returns the command that reads from a number on.
    pub(super) fn read(&self, scope: &str, from: u64, most: usize) -> Cmd {
        let mut command = cmd("XRANGE");
        let first = format!("{}-0", from.saturating_add(1));
        command.arg(self.scope(scope)).arg(first).arg("+").arg("COUNT").arg(most);
        command
    }
}
