//! Pauses of a server that fails repeatedly, so that runs do not wait for it each time.

use std::time::Duration;

use tokio::time::Instant;

/// Pause after the second consecutive failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(15);

/// Maximum pause.
const LAST_PAUSE: Duration = Duration::from_mins(5);

/// The consecutive failures of a server, and the time until which it is not tried again.
#[derive(Debug, Default)]
pub(crate) struct RetryPause {
    failures: u32,
    failed_at: Option<Instant>,
    until: Option<Instant>,
}

impl RetryPause {
    /// Counts a failure of an attempt that started at `began`. All that waited for the same attempt count once.
    pub(crate) fn failed(&mut self, began: Instant, now: Instant) {
        if self.failed_at.is_some_and(|at| at > began) {
            return;
        }
        self.failed_at = Some(now);
        if let Some(before) = self.failures.checked_sub(1) {
            let factor = 2_u32.saturating_pow(before);
            self.until = now.checked_add(FIRST_PAUSE.saturating_mul(factor).min(LAST_PAUSE));
        }
        self.failures = self.failures.saturating_add(1);
    }

    /// Returns `true` during a pause.
    pub(crate) fn is_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_begin_with_the_second_failure_and_double_up_to_their_limit() {
        let mut now = Instant::now();
        let mut pause = RetryPause::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let began = now;
            now += Duration::from_secs(8);
            pause.failed(began, now);
            // Another that waited for the same attempt.
            pause.failed(began, now);
            let failed = now;
            while pause.is_on(now) {
                now += Duration::from_secs(1);
            }
            pauses.push((now - failed).as_secs());
        }
        assert_eq!(pauses, [0, 15, 30, 60, 120, 240, 300, 300, 300]);
    }
}
