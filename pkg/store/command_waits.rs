//! The waits for commands of runs and for their answers, in one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{LogKey, StoreError, StoreFuture};

/// The waits of a store, by run; a run without a wait has none.
#[derive(Debug, Default)]
pub(crate) struct CommandWaits(Mutex<HashMap<LogKey, Arc<Notify>>>);

impl CommandWaits {
    /// Calls `look` at once and after each change of the run's commands, until it finds something.
    pub(crate) async fn until<'a, T>(
        &self,
        run: &LogKey,
        look: impl Fn() -> StoreFuture<'a, Option<T>> + Send,
    ) -> Result<T, StoreError> {
        let wait = CommandWait::begin(self, run);
        loop {
            // Registered before the look, so that a change after it is not missed.
            let changed = wait.signal.notified();
            if let Some(found) = look().await? {
                return Ok(found);
            }
            changed.await;
        }
    }

    /// Wakes the waits of a run, after a change.
    pub(crate) fn wake(&self, run: &LogKey) {
        if let Some(signal) = self.lock().get(run) {
            signal.notify_waiters();
        }
    }

    /// Wakes all waits.
    pub(crate) fn wake_all(&self) {
        self.lock().values().for_each(|signal| signal.notify_waiters());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LogKey, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a change of a run's commands.
struct CommandWait<'w> {
    waits: &'w CommandWaits,
    run: &'w LogKey,
    signal: Arc<Notify>,
}

impl<'w> CommandWait<'w> {
    fn begin(waits: &'w CommandWaits, run: &'w LogKey) -> Self {
        let signal = Arc::clone(waits.lock().entry(run.clone()).or_default());
        Self { waits, run, signal }
    }
}

impl Drop for CommandWait<'_> {
    fn drop(&mut self) {
        let mut waits = self.waits.lock();
        // That of the table, and this one.
        if Arc::strong_count(&self.signal) == 2 {
            waits.remove(self.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_wait_ends_after_the_change_of_its_run_and_leaves_nothing() {
        let (waits, is_there) = (CommandWaits::default(), AtomicBool::new(false));
        let [run, other] = ["run", "other"].map(|name| LogKey::new("a", name));
        let look = || -> StoreFuture<'_, Option<()>> {
            let found = is_there.load(Ordering::Acquire).then_some(());
            Box::pin(std::future::ready(Ok(found)))
        };
        let mut pending = [Box::pin(waits.until(&run, look)), Box::pin(waits.until(&run, look))];
        assert!(pending.iter_mut().all(|it| it.now_or_never().is_none()));
        is_there.store(true, Ordering::Release);
        waits.wake(&other);
        assert!(pending.iter_mut().all(|it| it.now_or_never().is_none()), "another run changed");
        waits.wake(&run);
        assert!(pending.iter_mut().all(|it| it.now_or_never() == Some(Ok(()))));
        let [one, two] = pending;
        drop(one);
        drop(two);
        assert!(waits.lock().is_empty());
    }
}
