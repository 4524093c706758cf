//! What a user pays: the same events over a socket, `reqwest` included.
//!
//! The server is a thread of the process that measures; the client that is measured is a process of its
//! own, which fails unless it reads the whole answer.

mod answer;
mod browser;
mod clients;
mod latency;
mod server;
mod watch;

pub(crate) use latency::measure as latency;
pub(crate) use server::request;

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    gate::Report,
    measure::per,
    memory::least,
};

/// Two lengths of the same answer; their difference leaves start-up out.
const LENGTHS: (u64, u64) = (2_000, 22_000);

/// The workloads of the floors, which can be neither dearer nor cheaper: bytes that are thrown away, and bytes that go on to a browser.
const FLOORS: [(&str, &str, (f64, f64)); 3] = [
    ("http_floor_instructions", "bare", (3_300.0, 4_000.0)),
    ("browser_floor_instructions", "proxy", (5_200.0, 6_200.0)),
    ("browser_each_floor_instructions", "proxy-each", (7_500.0, 8_900.0)),
];

/// The workload, and what a chunk of it may cost in instructions.
const INSTRUCTIONS: [(&str, &str, (f64, f64)); 7] = [
    ("http_provider_instructions", "chunks", (7_900.0, 6_500.0)),
    ("http_pipeline_instructions", "events", (10_000.0, 8_500.0)),
    ("http_start_instructions", "start", (10_700.0, 8_800.0)),
    ("http_run_stream_instructions", "run", (11_400.0, 9_500.0)),
    ("http_call_instructions", "call-run", (13_200.0, 9_500.0)),
    // The whole way of a chunk, to a browser: as fast as the model can, and each chunk alone.
    ("browser_instructions", "browser", (22_400.0, 14_000.0)),
    ("browser_each_instructions", "browser-each", (25_300.0, 16_000.0)),
];

/// The clients that read an answer whole.
pub(crate) const CLIENTS: [&str; 11] = [
    "bare",
    "chunks",
    "events",
    "call-events",
    "start",
    "run",
    "call-run",
    "browser",
    "browser-each",
    "proxy",
    "proxy-each",
];

/// The workload, and how often a chunk of it may allocate.
const ALLOCATIONS: [(&str, &str, (f64, f64)); 6] = [
    ("http_provider_allocations", "chunks", (0.05, 0.0)),
    ("http_pipeline_allocations", "events", (0.05, 0.0)),
    ("http_run_stream_allocations", "run", (0.05, 0.0)),
    ("http_call_event_allocations", "call-events", (0.1, 0.0)),
    ("http_call_run_allocations", "call-run", (0.1, 0.0)),
    ("browser_allocations", "browser", (2.35, 1.0)),
];

/// A gate of memory.
type Memory = (&'static str, &'static str, (u64, u64), (f64, f64));

/// The workload of the floor of memory, and the KiB that it can be.
const MEMORY_FLOOR: Memory = ("live_floor_memory", "live-bare", (100, 1_000), (14.0, 19.0));

/// The workload, two numbers of streams or providers at once, and the memory that each of those between
/// them may hold.
const MEMORY: [Memory; 3] = [
    ("live_stream_memory", "live", (100, 1_000), (43.0, 32.0)),
    ("live_streams_5000_memory", "live", (1_000, 5_000), (45.0, 32.0)),
    ("idle_provider_memory", "idle", (100, 1_000), (6.0, 4.0)),
];

pub(crate) fn gates(report: &mut Report, address: &str) {
    let workload = |name: &str| format!("http-{name}@{address}");
    let unit = "instructions/chunk over HTTP";
    for (gate, name, bounds) in FLOORS {
        report.known(gate, instructions_per_chunk(&workload(name), LENGTHS), bounds, unit);
    }
    for (gate, name, bounds) in INSTRUCTIONS {
        report.take(gate, instructions_per_chunk(&workload(name), LENGTHS), bounds, unit);
    }
    for (gate, name, bounds) in ALLOCATIONS {
        let value = allocations_per_chunk(&workload(name), LENGTHS);
        report.take(gate, value, bounds, "allocations/chunk over HTTP");
    }
    let (unit, (gate, name, numbers, bounds)) = ("KiB resident each", MEMORY_FLOOR);
    report.known(gate, live_kib(&workload(name), numbers), bounds, unit);
    for (gate, name, numbers, bounds) in MEMORY {
        report.take(gate, live_kib(&workload(name), numbers), bounds, unit);
    }
    latency::gates(report, address);
}

/// The KiB that each of the streams between `few` and `many` holds.
pub(crate) fn live_kib(workload: &str, (few, many): (u64, u64)) -> Result<f64> {
    let (less, more) = (least(workload, few)?, least(workload, many)?);
    Ok(per(more.saturating_sub(less), (many - few) * 1024))
}

/// Starts the server; gives its address.
pub(crate) fn serve() -> Result<String> {
    clients::raise_open_files();
    Ok(server::start()?.to_string())
}

/// Runs a workload such as `http-chunks@127.0.0.1:3000`; `None` when there is none of this name.
pub(crate) fn work(name: &str, count: usize) -> Option<Result<()>> {
    let (client, address) = name.strip_prefix("http-")?.split_once('@')?;
    clients::run(client, address, count)
}
