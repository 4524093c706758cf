//! The table `[limits]`.

use std::time::Duration;

use forgeline::server::Limits;

use super::{
    super::accept::{MAX_HEAD_BYTES, MAX_HEADERS},
    ConfigValues,
};

/// Bytes of a head besides the address and the headers, such as `: ` and line ends.
const BETWEEN: usize = 4 << 10;

/// The members.
pub(super) const NAMES: [&str; 13] = [
    "runs",
    "waiting_runs",
    "scope_runs",
    "scope_connections",
    "scope_uploads",
    "scope_stream_bytes",
    "stream_bytes",
    "runs_per_minute",
    "body_bytes",
    "input_bytes",
    "headers",
    "head_bytes",
    "body_time",
];

/// Returns the most that a limit can be: what is beyond it, connections refuse before the service sees it.
fn most(name: &str) -> Option<usize> {
    match name {
        "headers" => Some(MAX_HEADERS),
        "head_bytes" => Some(MAX_HEAD_BYTES - BETWEEN),
        _ => None,
    }
}

/// Reads the limits; a missing option has its default.
pub(super) fn read_limits(values: &mut ConfigValues<'_, '_>) -> Limits {
    let mut limits = Limits::default();
    for name in NAMES {
        let path = format!("limits.{name}");
        let expected = if name == "body_time" {
            "a whole number of seconds, at least 1"
        } else {
            "a whole number of at least 1"
        };
        let Some(number) = values.parsed::<std::num::NonZeroU32>(&path, expected) else { continue };
        let count = usize::try_from(number.get()).unwrap_or(usize::MAX);
        if let Some(most) = most(name).filter(|most| count > *most) {
            values.refuse(&path, &format!("expected a number from 1 to {most}, not {count}"));
            continue;
        }
        match name {
            "runs" => limits.runs = count,
            "waiting_runs" => limits.waiting_runs = count,
            "scope_runs" => limits.scope_runs = count,
            "scope_connections" => limits.scope_connections = count,
            "scope_uploads" => limits.scope_uploads = count,
            "scope_stream_bytes" => limits.scope_stream_bytes = count,
            "stream_bytes" => limits.stream_bytes = count,
            "runs_per_minute" => limits.runs_per_minute = number.get(),
            "body_bytes" => limits.body_bytes = count,
            "input_bytes" => limits.input_bytes = count,
            "headers" => limits.headers = count,
            "head_bytes" => limits.head_bytes = count,
            _ => limits.body_time = Duration::from_secs(number.get().into()),
        }
    }
    limits
}
