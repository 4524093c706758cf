//! Run ids and times.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::time::Instant;

use forgeline_types::Text;

/// The number of runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Returns a unique run id, made from the time, the process and a counter: `run-mb2k0p1c-9v1-0`.
///
/// Each event contains a copy: in base 36 the id needs no allocation for the first 60 million runs.
pub(crate) fn next_run_id() -> Text {
    let count = RUNS.fetch_add(1, Ordering::Relaxed);
    let mut id = Text::from("run");
    for number in [now(), std::process::id().into(), count] {
        id.push_str("-");
        push_base_36(&mut id, number);
    }
    id
}

fn push_base_36(text: &mut Text, number: u64) {
    if number >= 36 {
        push_base_36(text, number / 36);
    }
    let digit = u32::try_from(number % 36).ok().and_then(|digit| char::from_digit(digit, 36));
    text.push_str(digit.unwrap_or_default().encode_utf8(&mut [0; 4]));
}

/// Returns the milliseconds since the Unix epoch; 0 if the clock is before it.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the system time.
pub(crate) fn system_now() -> SystemTime {
    SystemTime::now()
}

/// Returns the milliseconds since an instant.
pub(crate) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_fit_into_an_event_without_an_allocation() {
        let (one, other) = (next_run_id(), next_run_id());
        assert_ne!(one, other);
        assert!(one.len() <= 24, "{one}");
        let mut text = Text::new();
        for number in [0, 35, 36, 36 * 36 + 1] {
            push_base_36(&mut text, number);
        }
        assert_eq!(text, "0z10101");
    }
}
