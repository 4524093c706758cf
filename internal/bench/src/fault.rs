//! Faults on purpose: before anything is measured, each has to make the workload fail that reads over it.

use std::sync::OnceLock;

use crate::{callgrind::cost, delivery, encoders, gate::Report, http, protocols};

/// What may become of the 500th of a thousand deltas.
const FAULTS: [&str; 3] = ["lost", "twice", "changed"];

/// The fault of a server that puts two events into each HTTP chunk.
pub(crate) const MERGED: &str = "merged";

/// What stands between the name of a workload and that of its fault.
const MARK: char = '!';

/// The place of the delta that suffers.
const PLACE: usize = 500;

static FAULT: OnceLock<String> = OnceLock::new();

/// Takes the fault off the name of a workload, and has it from now on.
pub(crate) fn taken(workload: &str) -> &str {
    let Some((name, fault)) = workload.split_once(MARK) else { return workload };
    FAULT.get_or_init(|| fault.to_owned());
    name
}

/// The fault of this process; empty for none.
pub(crate) fn own() -> &'static str {
    FAULT.get().map_or("", String::as_str)
}

/// Makes `fault` in a list of deltas.
pub(crate) fn spoil(fault: &str, deltas: &mut Vec<String>) {
    let Some(delta) = deltas.get(PLACE).cloned() else { return };
    match fault {
        "lost" => drop(deltas.remove(PLACE)),
        "twice" => deltas.insert(PLACE, delta),
        "changed" => deltas.splice(PLACE..=PLACE, [delta + "."]).for_each(drop),
        _ => {}
    }
}

/// Runs each workload over each fault, and counts those that noticed nothing.
pub(crate) fn gates(report: &mut Report, address: &str) {
    let in_memory = ["provider", "pipeline", "slow"].map(str::to_owned);
    let clients = http::CLIENTS.map(|client| format!("http-{client}@{address}"));
    let workloads = in_memory.into_iter().chain(protocols::workloads()).chain(clients);
    let workloads = workloads.chain(delivery::workloads()).chain(encoders::workloads());
    let mut names: Vec<_> =
        workloads.flat_map(|name| FAULTS.map(|fault| format!("{name}{MARK}{fault}"))).collect();
    // Only who counts reads sees it, and that is the floor of them all.
    names.push(format!("http-bare@{address}{MARK}{MERGED}"));
    let unseen: Vec<_> = names.iter().filter(|name| cost(name, 2_000).is_ok()).collect();
    for name in &unseen {
        report.fail("unseen_faults", &format!("{name} passes"));
    }
    let unit = format!("of {} faults that no check noticed", names.len()).leak();
    report.add(
        "unseen_faults",
        f64::from(u32::try_from(unseen.len()).unwrap_or(u32::MAX)),
        (0.0, 0.0),
        unit,
    );
}
