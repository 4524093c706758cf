//! A consumer that is slower than the stream: nothing is lost, and memory stays as it is.

use tokio::task::yield_now;

use crate::{
    Result,
    gate::Report,
    measure::per,
    memory::least,
    provider::{events, provider, transport},
    reading::{Answer, Tags},
};

/// How often the consumer lets the producer go on before it takes the next event.
const TURNS: usize = 16;

/// Chunks that are read at each capacity.
const CHUNKS: usize = 5_000;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let capacities = [1, 2, 8, 64];
    let lost = capacities.into_iter().filter_map(|capacity| {
        let read = read(CHUNKS, capacity);
        read.map_err(|wrong| report.fail("slow_consumer_lost", &wrong.to_string())).err()
    });
    let lost = per(lost.count() as u64, 1);
    report.add(
        "slow_consumer_lost",
        lost,
        (0.0, 0.0),
        "answers not whole at capacities 1, 2, 8 and 64",
    );
    let (short, long) = (least("slow", 20_000)?, least("slow", 200_000)?);
    report.add(
        "slow_consumer_memory",
        per(short, 1 << 20),
        (2.5, 1.5),
        "MiB resident, without the program's file",
    );
    let growth = per(long.saturating_sub(short), 1 << 10);
    let unit = "KiB from 20,000 to 200,000 chunks";
    report.add("slow_consumer_growth", growth, (256.0, 64.0), unit);
    Ok(())
}

/// Reads `count` chunks as events through a channel of one place, slowly.
pub(crate) fn slow(count: usize) -> Result<()> {
    read(count, 1)
}

/// Reads an answer through a channel of this capacity.
fn read(count: usize, capacity: usize) -> Result<()> {
    let slowly = async || {
        for _ in 0..TURNS {
            yield_now().await;
        }
    };
    let answer = Answer::of_events(count, Tags::Read);
    events(&provider(transport(count))?, answer, capacity, slowly)
}
