//! Run ids and times.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::time::Instant;

use forgeline_types::Text;

/// The number of runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The number of values of a run's digits for its place in the process, and of its random digits.
const PLACES: u64 = 36 * 36;
const RANDOM: u64 = 36_u64.pow(10);

/// Returns a unique run id, made from the time, the last digits of a counter, and 51 random bits: `run-mb2k0p1c0z8f3k2q9xw1`. Two processes in containers
/// may have the same number and begin at the same time; their random digits differ.
///
/// Each event contains a copy: with 24 bytes the id needs no allocation.
pub(crate) fn next_run_id() -> Text {
    let count = RUNS.fetch_add(1, Ordering::Relaxed);
    // The keys are random for each instance.
    let random = RandomState::new().hash_one(count);
    let mut id = Text::from("run-");
    push_base_36(&mut id, now());
    // A leading 1 keeps the zeros after it, and is removed.
    for (number, digits) in [(count % PLACES, PLACES), (random % RANDOM, RANDOM)] {
        let mut padded = Text::new();
        push_base_36(&mut padded, digits + number);
        id.push_str(padded.get(1..).unwrap_or_default());
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
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_fit_into_an_event_without_an_allocation() {
        let (one, other) = (next_run_id(), next_run_id());
        assert_ne!(one, other);
        assert_eq!(one.len(), 24, "{one}");
        let random = |id: Text| id.get(14..).map(str::to_owned);
        let all: HashSet<_> = (0..1_000).map(|_| random(next_run_id())).collect();
        assert_eq!(all.len(), 1_000, "the random digits differ");
        let mut text = Text::new();
        for number in [0, 35, 36, 36 * 36 + 1] {
            push_base_36(&mut text, number);
        }
        assert_eq!(text, "0z10101");
    }
}
