//! Times as ratios of runs side by side, and allocations.

use std::{env, hint::black_box, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use stats_alloc::Region;

use crate::ALLOCATOR;

/// Runs of each side; odd, so that a median is a run that happened. Where times may fail, they are only printed: one run says
/// enough.
pub(crate) fn runs() -> usize {
    if env::var_os(TIMES_MAY_FAIL).is_some() { 1 } else { 11 }
}

/// Is set where a busy machine must not fail for its times.
pub(crate) const TIMES_MAY_FAIL: &str = "FORGELINE_TIMES_MAY_FAIL";

/// Two workloads measured side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// Median of the floor's time, in nanoseconds.
    pub(crate) floor_ns: f64,
    /// Median of our time, in nanoseconds.
    pub(crate) ours_ns: f64,
    /// Median of ours over floor, run by run.
    pub(crate) ratio: f64,
}

/// Times `floor` and `ours` in turns on this thread's own clock, so that a noisy moment hits both.
pub(crate) fn side_by_side<F, O>(
    mut floor: impl FnMut() -> F,
    mut ours: impl FnMut() -> O,
) -> Pair {
    floor();
    ours();
    let (mut floors, mut times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs() {
        let (floor_ns, ours_ns) = (own_nanoseconds(&mut floor), own_nanoseconds(&mut ours));
        floors.push(floor_ns);
        times.push(ours_ns);
        ratios.push(ours_ns / floor_ns);
    }
    Pair { floor_ns: median(floors), ours_ns: median(times), ratio: median(ratios) }
}

/// The second pair of a floor and ours in the first: the ratio of their ratios, and that of ours alone. All
/// four are timed in turns, so that a noisy moment hits each.
pub(crate) fn ratios_of_pairs<T, U>(
    (mut floor, mut ours): (impl FnMut() -> T, impl FnMut() -> U),
    (mut other_floor, mut others): (impl FnMut() -> T, impl FnMut() -> U),
) -> (f64, f64) {
    let ratios = (0..runs()).map(|_| {
        let floors = own_nanoseconds(&mut floor) / own_nanoseconds(&mut other_floor);
        let alone = own_nanoseconds(&mut others) / own_nanoseconds(&mut ours);
        (floors * alone, alone)
    });
    let (ratios, alone) = ratios.unzip();
    (median(ratios), median(alone))
}

/// How long one run keeps this thread busy, in nanoseconds.
pub(crate) fn own_nanoseconds<T>(work: &mut impl FnMut() -> T) -> f64 {
    let start = own_clock();
    black_box(work());
    own_clock() - start
}

/// How long this thread has been busy, in nanoseconds.
pub(crate) fn own_clock() -> f64 {
    nanoseconds_of(ClockId::ThreadCPUTime)
}

/// What a clock shows, in nanoseconds.
pub(crate) fn nanoseconds_of(clock: ClockId) -> f64 {
    let time = Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    time.as_secs_f64() * 1e9
}

/// The middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What `work` gives, and how often it allocated or grew an allocation.
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let region = Region::new(ALLOCATOR);
    let value = work();
    let change = region.change();
    (value, (change.allocations + change.reallocations) as u64)
}

/// `amount` spread over `count`.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn per(amount: u64, count: u64) -> f64 {
    amount as f64 / count as f64
}
