//! Resident memory of a stream of which nothing is kept.

use std::fs;

use crate::{Result, callgrind::cost, gate::Report, measure::per};

/// Measures whole processes, so that the runtime and the binary count too.
pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let (short, long) = (cost("pipeline", 20_000)?, cost("pipeline", 200_000)?);
    report.add("stream_memory", per(short.peak_bytes, 1 << 20), (8.0, 6.0), "MiB resident");
    let growth = per(long.peak_bytes.saturating_sub(short.peak_bytes), 1 << 10);
    report.add("stream_memory_growth", growth, (256.0, 64.0), "KiB from 20,000 to 200,000 chunks");
    Ok(())
}

/// The most memory that was resident in this process; 0 where the system does not tell.
pub(crate) fn peak_bytes() -> Result<u64> {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}
