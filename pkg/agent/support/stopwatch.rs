//! A sum of times.

use std::time::Duration;

use tokio::time::Instant;

/// A sum of times.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    sum: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    /// Counts the time from now on, or no longer counts it.
    pub(crate) fn go(&mut self, counts: bool) {
        let now = Instant::now();
        self.sum += self.since.map(|since| now - since).unwrap_or_default();
        self.since = counts.then_some(now);
    }

    /// Returns the time that was counted.
    pub(crate) fn read(&self) -> Duration {
        self.sum + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Returns the time that was counted since this was last called.
    pub(crate) fn take(&mut self) -> Duration {
        let sum = self.read();
        *self = Self { sum: Duration::ZERO, since: self.since.map(|_| Instant::now()) };
        sum
    }
}
