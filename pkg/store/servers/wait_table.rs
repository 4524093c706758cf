//! The waits of this process: for notifications of a scope, and for commands of a run.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

/// Keys that are waited for, each with a number that only grows. Others take no memory.
pub(crate) struct WaitTable<K: Hash + Eq>(Mutex<HashMap<K, WaitEntry>>);

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

    pub(crate) fn subscribe(self: &Arc<Self>, key: K) -> WaitSubscription<K> {
        let mut table = self.lock();
        let entry = table.entry(key.clone()).or_default();
        entry.readers += 1;
        WaitSubscription { table: Arc::clone(self), key, changed: entry.changed.subscribe() }
    }

    /// Wakes those that wait for a key.
    pub(crate) fn wake(&self, key: &K) {
        if let Some(entry) = self.lock().get(key) {
            entry.changed.send_replace(());
        }
    }

    /// Wakes those that wait for a key if its number has grown.
    pub(crate) fn reach(&self, key: &K, number: u64) {
        if let Some(entry) = self.lock().get_mut(key).filter(|entry| entry.seen < number) {
            entry.seen = number;
            entry.changed.send_replace(());
        }
    }

    /// Wakes all, and forgets the numbers that were seen: each looks whether it was meant. The table is free between two keys.
    pub(crate) fn wake_all(&self) {
        for key in self.keys() {
            if let Some(entry) = self.lock().get_mut(&key) {
                entry.seen = 0;
                entry.changed.send_replace(());
            }
        }
    }

    /// Returns the keys that are waited for.
    pub(crate) fn keys(&self) -> Vec<K> {
        self.lock().keys().cloned().collect()
    }
}

/// A subscription to a key. Changes since the last wait end the next one at once.
pub(crate) struct WaitSubscription<K: Hash + Eq + Clone> {
    table: Arc<WaitTable<K>>,
    key: K,
    changed: watch::Receiver<()>,
}

impl<K: Hash + Eq + Clone> WaitSubscription<K> {
    /// Records the number that was read from the server, 0 for none; returns the highest that was seen.
    pub(crate) fn saw(&self, number: u64) -> u64 {
        let mut table = self.table.lock();
        let Some(entry) = table.get_mut(&self.key) else { return number };
        entry.seen = entry.seen.max(number);
        entry.seen
    }

    /// Waits for the next change. Cancel safe.
    pub(crate) async fn changed(&mut self) {
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
