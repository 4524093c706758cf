//! The waits of this process: for notifications of a scope, and for commands of a run.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

/// Keys that are waited for, each with a number that only grows. Others take no memory.
pub(super) struct WaitTable<K: Hash + Eq>(Mutex<HashMap<K, WaitEntry>>);

#[derive(Default)]
struct WaitEntry {
    readers: usize,
    /// The highest number that was seen.
    seen: u64,
    changed: watch::Sender<()>,
}

impl<K: Hash + Eq> Default for WaitTable<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> WaitTable<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, WaitEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn subscribe(self: &Arc<Self>, key: K) -> WaitSubscription<K> {
        let mut table = self.lock();
        let entry = table.entry(key.clone()).or_default();
        entry.readers += 1;
        WaitSubscription { table: Arc::clone(self), key, changed: entry.changed.subscribe() }
    }

    /// Wakes those that wait for a key.
    #[cfg(feature = "postgres")]
    pub(super) fn wake(&self, key: &K) {
        if let Some(entry) = self.lock().get(key) {
            entry.changed.send_replace(());
        }
    }

    /// Wakes those that wait for a key if its number has grown.
    pub(super) fn reach(&self, key: &K, number: u64) {
        if let Some(entry) = self.lock().get_mut(key).filter(|entry| entry.seen < number) {
            entry.seen = number;
            entry.changed.send_replace(());
        }
    }

    /// Wakes all, and forgets the numbers that were seen: each looks whether it was meant.
    pub(super) fn wake_all(&self) {
        for entry in self.lock().values_mut() {
            entry.seen = 0;
            entry.changed.send_replace(());
        }
    }

    /// Returns the keys that are waited for.
    #[cfg(feature = "postgres")]
    pub(super) fn keys(&self) -> Vec<K> {
        self.lock().keys().cloned().collect()
    }
}

/// A subscription to a key. Changes since the last wait end the next one at once.
pub(super) struct WaitSubscription<K: Hash + Eq + Clone> {
    table: Arc<WaitTable<K>>,
    key: K,
    changed: watch::Receiver<()>,
}

impl<K: Hash + Eq + Clone> WaitSubscription<K> {
    /// Records the number that was read from the database.
    pub(super) fn saw(&self, number: u64) {
        if let Some(entry) = self.table.lock().get_mut(&self.key) {
            entry.seen = entry.seen.max(number);
        }
    }

    /// Returns the highest number that was seen, 0 if that is not known.
    #[cfg(feature = "redis")]
    pub(super) fn seen(&self) -> u64 {
        self.table.lock().get(&self.key).map_or(0, |entry| entry.seen)
    }

    /// Waits for the next change. Cancel safe.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as a subscription does.
        drop(self.changed.changed().await);
    }
}

impl<K: Hash + Eq + Clone> Drop for WaitSubscription<K> {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        if let Some(entry) = table.get_mut(&self.key) {
            entry.readers -= 1;
            if entry.readers == 0 {
                table.remove(&self.key);
            }
        }
    }
}
