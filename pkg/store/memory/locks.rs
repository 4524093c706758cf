//! Locks, and answers without a wait.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;

/// Locks a table, also after a panic of another holder: no table is left half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a future that is ready with a value.
pub(super) fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}
