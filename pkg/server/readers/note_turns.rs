//! The turns of runs that are noted in the log of their caller.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use forgeline_store::LogKey;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

/// Longest wait for a turn; a run without one is noted all the same.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The turns of this process; logs share some.
static TURNS: [Mutex<()>; 64] = [const { Mutex::const_new(()) }; 64];

/// Waits for the turn at a log, for a limited time. Dropping it ends the turn. Of many runs that begin at once, each would otherwise take the end that
/// another one has taken.
pub(super) async fn wait(key: &LogKey) -> Option<MutexGuard<'static, ()>> {
    let mut hasher = DefaultHasher::new();
    (key.scope.as_str(), key.name.as_str()).hash(&mut hasher);
    let at = hasher.finish() % TURNS.len() as u64;
    let turn = &TURNS[usize::try_from(at).unwrap_or_default()];
    timeout(MAX_WAIT, turn.lock()).await.ok()
}
