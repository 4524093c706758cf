//! What a user pays: the same events over a socket, `reqwest` included.
//!
//! The server is a thread of the process that measures; the client that is measured is a process of its
//! own, which fails unless it reads the whole answer.

mod answer;
mod clients;
mod server;

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    gate::Report,
    measure::per,
    memory::least,
};

/// Two lengths of the same answer; their difference leaves start-up out.
const LENGTHS: (u64, u64) = (2_000, 22_000);

/// The workload, and what a chunk of it may cost in instructions.
const INSTRUCTIONS: [(&str, &str, (f64, f64)); 6] = [
    ("http_floor_instructions", "bare", (4_200.0, 3_450.0)),
    ("http_provider_instructions", "chunks", (7_500.0, 6_500.0)),
    ("http_pipeline_instructions", "events", (9_500.0, 8_500.0)),
    ("http_start_instructions", "start", (9_800.0, 8_800.0)),
    ("http_run_stream_instructions", "run", (11_000.0, 9_500.0)),
    ("http_call_instructions", "call-run", (12_250.0, 9_500.0)),
];

/// The workload, and how often a chunk of it may allocate.
const ALLOCATIONS: [(&str, &str, (f64, f64)); 4] = [
    ("http_provider_allocations", "chunks", (0.1, 0.05)),
    ("http_run_stream_allocations", "run", (0.1, 0.05)),
    ("http_call_event_allocations", "call-events", (0.1, 0.0)),
    ("http_call_run_allocations", "call-run", (0.1, 0.0)),
];

/// A gate of memory.
type Memory = (&'static str, &'static str, (u64, u64), (f64, f64));

/// The workload, two numbers of streams or providers at once, and the memory that each of those between
/// them may hold.
const MEMORY: [Memory; 4] = [
    ("live_floor_memory", "live-bare", (100, 1_000), (24.0, 20.0)),
    ("live_stream_memory", "live", (100, 1_000), (42.5, 32.0)),
    ("live_streams_5000_memory", "live", (1_000, 5_000), (42.5, 32.0)),
    ("idle_provider_memory", "idle", (100, 1_000), (8.0, 4.0)),
];

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let address = serve()?;
    let workload = |name: &str| format!("http-{name}@{address}");
    for (gate, name, bounds) in INSTRUCTIONS {
        let value = instructions_per_chunk(&workload(name), LENGTHS)?;
        report.add(gate, value, bounds, "instructions/chunk over HTTP");
    }
    for (gate, name, bounds) in ALLOCATIONS {
        let value = allocations_per_chunk(&workload(name), LENGTHS)?;
        report.add(gate, value, bounds, "allocations/chunk over HTTP");
    }
    for (gate, name, (few, many), bounds) in MEMORY {
        let (less, more) = (least(&workload(name), few)?, least(&workload(name), many)?);
        let value = per(more.saturating_sub(less), (many - few) * 1024);
        report.add(gate, value, bounds, "KiB resident each");
    }
    Ok(())
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
