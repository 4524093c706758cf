//! A Prometheus histogram of durations.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The upper bounds of the buckets, in microseconds.
const BOUNDS: [u64; 16] = [
    100,
    300,
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
];

/// Durations by bucket.
#[derive(Debug, Default)]
pub(super) struct DurationHistogram {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl DurationHistogram {
    pub(super) fn record(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.iter().position(|bound| micros <= *bound);
        if let Some(bucket) = at.and_then(|at| self.buckets.get(at)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Appends the rows of the metric `name`, with these labels.
    pub(super) fn write(&self, name: &str, labels: &str, out: &mut String) {
        let (before, own) = match labels {
            "" => (String::new(), String::new()),
            labels => (format!("{labels},"), format!("{{{labels}}}")),
        };
        let mut sum = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            sum += bucket.load(Ordering::Relaxed);
            writeln!(out, "{name}_bucket{{{before}le=\"{}\"}} {sum}", seconds(*bound))
                .unwrap_or_default();
        }
        // A duration recorded in the meantime may be only in its bucket.
        let count = self.count.load(Ordering::Relaxed).max(sum);
        writeln!(out, "{name}_bucket{{{before}le=\"+Inf\"}} {count}").unwrap_or_default();
        writeln!(out, "{name}_sum{own} {}", seconds(self.micros.load(Ordering::Relaxed)))
            .unwrap_or_default();
        writeln!(out, "{name}_count{own} {count}").unwrap_or_default();
    }
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}
