//! Percentiles of the last durations.

use std::{num::NonZeroUsize, time::Duration};

use proptest::prelude::*;

use crate::observe::LatencyWindow;

/// The percentile as its definition says: the first of the sorted values that enough of them do not exceed.
fn by_sorting(last: &[u64], percent: u8) -> Option<u64> {
    let mut sorted = last.to_vec();
    sorted.sort_unstable();
    let enough = |value: u64| {
        let within = sorted.iter().filter(|it| **it <= value).count();
        within * 100 >= sorted.len() * usize::from(percent.min(100))
    };
    sorted.iter().copied().find(|value| enough(*value))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_percentile_is_that_of_the_last_durations_sorted(
        nanos in prop::collection::vec(prop_oneof![0_u64..8, any::<u64>()], 0..400),
        most in 1_usize..300,
        any_percent: u8,
    ) {
        let mut window = LatencyWindow::new(NonZeroUsize::new(most).unwrap());
        for (index, value) in nanos.iter().enumerate() {
            window.record(Duration::from_nanos(*value));
            prop_assert_eq!(window.len(), (index + 1).min(most));
        }
        let last = &nanos[nanos.len().saturating_sub(most)..];
        prop_assert_eq!(window.is_empty(), last.is_empty());
        for percent in [0, 1, 50, 95, 99, 100, any_percent] {
            let want = by_sorting(last, percent).map(Duration::from_nanos);
            prop_assert_eq!(window.percentile(percent), want, "{} of {}", percent, last.len());
        }
    }
}

#[test]
fn a_percentile_is_a_duration_that_was_recorded() {
    let mut window = LatencyWindow::new(NonZeroUsize::new(200).unwrap());
    for millis in (1..=200).rev() {
        window.record(Duration::from_millis(millis));
    }
    let found =
        [0, 1, 50, 95, 99, 100, 255].map(|percent| window.percentile(percent).unwrap().as_millis());
    assert_eq!(found, [1, 2, 100, 190, 198, 200, 200]);
}
