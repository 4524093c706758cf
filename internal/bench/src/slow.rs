//! A consumer that is slower than the stream: nothing is lost, and memory stays as it is.

use forgeline::{
    agent::core::{StreamOptions, process_into},
    llm::{Provider as _, Request, channel::channel},
    types::AgentEvent,
};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::{
    Result,
    gate::Report,
    measure::per,
    memory::least,
    provider::{provider, runtime, transport},
};

/// How often the consumer lets the producer go on before it takes the next event.
const TURNS: usize = 16;

/// Chunks that are read at each capacity.
const CHUNKS: usize = 5_000;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let whole = read(CHUNKS, 1024, 0)?;
    let mut lost = 0;
    for capacity in [1, 2, 8, 64] {
        lost += whole.abs_diff(read(CHUNKS, capacity, TURNS)?);
    }
    let lost = per(u64::try_from(lost)?, 1);
    report.add("slow_consumer_lost", lost, (0.0, 0.0), "bytes lost at capacities 1, 2, 8 and 64");
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
    read(count, 1, TURNS).map(drop)
}

/// Bytes of text and reasoning that arrive through a channel of this capacity.
fn read(count: usize, capacity: usize, turns: usize) -> Result<usize> {
    let provider = provider(transport(count))?;
    let options = StreamOptions::default().keep_content(false);
    let (sender, mut events) = channel(capacity);
    let cancel = CancellationToken::new();
    let (completion, bytes) = runtime()?.block_on(async {
        let chunks = provider.stream_completion(Request::prompt("Go on.")).await?;
        let producing = async {
            let completion = process_into(chunks, &options, &sender, &cancel).await;
            drop(sender);
            completion
        };
        let consuming = async {
            let mut bytes = 0;
            while let Some(event) = events.recv().await {
                if let AgentEvent::MessageContent { content, .. }
                | AgentEvent::ThinkingContent { content } = &event
                {
                    bytes += content.len();
                }
                for _ in 0..turns {
                    yield_now().await;
                }
            }
            bytes
        };
        Result::Ok(tokio::join!(producing, consuming))
    })?;
    completion.error.map_or(Ok(bytes), |error| Err(error.into()))
}
