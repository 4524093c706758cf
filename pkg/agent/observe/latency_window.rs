//! Percentiles of the last durations.

use std::{collections::VecDeque, num::NonZeroUsize, time::Duration};

/// A window of the last durations of an operation, with their percentiles.
///
/// Percentiles use the nearest rank: the result is always a recorded duration, never one between two of them.
/// Each duration takes 16 bytes; when the window is full, the oldest duration is dropped.
///
/// # Examples
///
/// ```
/// use std::{num::NonZeroUsize, time::Duration};
/// use forgeline::agent::observe::LatencyWindow;
///
/// let mut window = LatencyWindow::new(NonZeroUsize::new(4).ok_or("a window of nothing")?);
/// assert_eq!(window.percentile(50), None, "nothing was recorded");
/// for millis in [900, 10, 40, 20, 30] {
///     window.record(Duration::from_millis(millis));
/// }
/// assert_eq!(window.len(), 4, "the first made room for the last");
/// assert_eq!(window.percentile(50), Some(Duration::from_millis(20)));
/// assert_eq!(window.percentile(95), Some(Duration::from_millis(40)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyWindow {
    most: NonZeroUsize,
    recent: VecDeque<Duration>,
}

impl LatencyWindow {
    /// Creates an empty window that keeps the last `most` durations. Memory is allocated as they are recorded.
    #[must_use]
    pub const fn new(most: NonZeroUsize) -> Self {
        Self { most, recent: VecDeque::new() }
    }

    /// Records a duration; a full window drops its oldest one.
    pub fn record(&mut self, duration: Duration) {
        if self.recent.len() == self.most.get() {
            self.recent.pop_front();
        }
        self.recent.push_back(duration);
    }

    /// Returns the number of durations in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recent.len()
    }

    /// Returns `true` when nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// Returns the smallest duration of the window that at least `percent` per cent of its durations do not exceed:
    /// with 0 the shortest, with 100 or more the longest. Returns `None` when nothing has been recorded.
    ///
    /// Works on a copy of the window, in time linear in its length.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let mut copy: Vec<_> = self.recent.iter().copied().collect();
        let index = rank(copy.len(), usize::from(percent)).checked_sub(1)?;
        Some(*copy.select_nth_unstable(index).1)
    }
}

/// Returns `count * percent / 100` rounded up, from 1 to `count`, or 0 if `count` is 0; no product overflows.
fn rank(count: usize, percent: usize) -> usize {
    let rank = count / 100 * percent + (count % 100 * percent).div_ceil(100);
    rank.max(1).min(count)
}
