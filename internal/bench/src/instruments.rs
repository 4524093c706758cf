//! What measures is measured first: a load that is known has to show as what it is.

use std::hint::black_box;

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    gate::Report,
    http::live_kib,
    measure::side_by_side,
};

/// KiB of one piece of what is held.
const HELD_KIB: usize = 16;

/// Steps of one piece of work, of a few instructions each.
const STEPS: u64 = 1_000;

pub(crate) fn gates(report: &mut Report, address: &str) {
    let lengths = (1_000, 11_000);
    let value = instructions_per_chunk("known", lengths);
    report.known("known_instructions", value, (3_800.0, 4_500.0), "instructions/1,000 steps");
    let value = allocations_per_chunk("known", lengths);
    report.known("known_allocations", value, (1.0, 1.0), "allocations/box");
    let value = allocations_per_chunk(&format!("http-copied-chunks@{address}"), (2_000, 22_000));
    report.known(
        "known_http_allocations",
        value,
        (0.99, 1.01),
        "allocations/copied chunk over HTTP",
    );
    let value = live_kib("held", (100, 1_000));
    report.known("known_memory", value, (15.5, 17.0), "KiB resident each of 16");
    let pair = side_by_side(|| steps(1_000 * STEPS), || steps(3_000 * STEPS));
    report.known("known_ratio", Ok(pair.ratio), (2.7, 3.3), "× of three times the steps");
}

fn steps(count: u64) {
    for step in 0..count {
        black_box(step);
    }
}

/// Runs the known load of this name; `None` for other names.
pub(crate) fn work(name: &str, count: usize) -> Option<Result<()>> {
    match name {
        "known" => {
            for _ in 0..count {
                black_box(Box::new(0_u64));
                steps(STEPS);
            }
        }
        "held" => {
            let held: Vec<Box<[u8; HELD_KIB * 1024]>> =
                (0..count).map(|at| Box::new([at.to_le_bytes()[0] | 1; HELD_KIB * 1024])).collect();
            black_box(held);
        }
        _ => return None,
    }
    Some(Ok(()))
}
