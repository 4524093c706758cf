//! Resident memory of a stream of which nothing is kept.

use std::fs;

use crate::{Result, callgrind::cost, gate::Report, measure::per};

/// Runs of which the least counts.
const RUNS: usize = 5;

/// Measures whole processes, so that the runtime counts too.
pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let (short, long) = (least("pipeline", 20_000)?, least("pipeline", 200_000)?);
    report.add(
        "stream_memory",
        per(short, 1 << 20),
        (2.5, 1.5),
        "MiB resident, without the program's file",
    );
    let growth = per(long.saturating_sub(short), 1 << 10);
    report.add("stream_memory_growth", growth, (256.0, 64.0), "KiB from 20,000 to 200,000 chunks");
    Ok(())
}

/// The least of several runs' most memory.
pub(crate) fn least(workload: &str, count: u64) -> Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..RUNS {
        least = least.min(cost(workload, count)?.peak_bytes);
    }
    Ok(least)
}

/// The most memory that was resident in this process, less the pages of the program's file: how many of
/// those the system maps depends on what else the machine reads. 0 where the system does not tell.
pub(crate) fn peak_bytes() -> Result<u64> {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
    };
    let peak = kib("VmHWM:").ok_or("no VmHWM")?;
    Ok(peak.saturating_sub(kib("RssFile:").unwrap_or(0)) * 1024)
}
