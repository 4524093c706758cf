//! Resident memory of a stream of which nothing is kept.

use std::fs;

use crate::{Result, callgrind::cost, gate::Report, measure::per};

/// Runs of which the least counts.
const RUNS: usize = 5;

/// Measures whole processes, so that the runtime and the binary count too.
pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let (short, long) = (least("pipeline", 20_000)?, least("pipeline", 200_000)?);
    report.add("stream_memory", per(short, 1 << 20), (9.0, 6.0), "MiB resident");
    let growth = per(long.saturating_sub(short), 1 << 10);
    report.add("stream_memory_growth", growth, (256.0, 64.0), "KiB from 20,000 to 200,000 chunks");
    Ok(())
}

/// The least of several runs' most memory. The pages of the program itself count too, and how many of
/// them the system maps around one that is used differs from run to run; what a stream keeps does not.
pub(crate) fn least(workload: &str, count: u64) -> Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..RUNS {
        least = least.min(cost(workload, count)?.peak_bytes);
    }
    Ok(least)
}

/// The most memory that was resident in this process; 0 where the system does not tell.
pub(crate) fn peak_bytes() -> Result<u64> {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}
