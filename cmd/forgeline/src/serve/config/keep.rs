//! The table `[keep]`: what is kept of runs that have ended.

use std::{num::NonZeroU32, time::Duration};

use forgeline::server::Keep;

use super::ConfigValues;

/// The members.
pub(super) const NAMES: [&str; 3] = ["days", "megabytes", "runs"];

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// Reads what is kept; a missing option has its default.
pub(super) fn read_keep(values: &mut ConfigValues<'_, '_>) -> Keep {
    let mut keep = Keep::default();
    for name in NAMES {
        let path = format!("keep.{name}");
        let Some(number) = values.parsed::<NonZeroU32>(&path, "a whole number of at least 1")
        else {
            continue;
        };
        let number = u64::from(number.get());
        match name {
            "days" => keep.age = Some(Duration::from_secs(number * DAY)),
            "megabytes" => keep.bytes = Some(number << 20),
            _ => keep.runs = number,
        }
    }
    keep
}
