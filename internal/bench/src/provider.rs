//! Bytes of a response to typed chunks, and on to events.

use std::sync::Arc;

use forgeline::{
    agent::core::{StreamOptions, process_into},
    llm::{Provider, Request, StreamChunk, channel::channel, openai::OpenAi, sse::SseLimits},
};
use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::{
    Result,
    callgrind::{allocations_per_chunk, instructions_per_chunk},
    corpus,
    gate::Report,
    measure::{median, own_nanoseconds, per},
    reading::{Answer, Reading, Tags},
    transport::FixedReads,
};

/// Two lengths of the same stream; their difference leaves start-up out.
pub(crate) const LENGTHS: (u64, u64) = (2_000, 22_000);

/// What a chunk of text may allocate.
pub(crate) const ALLOCATIONS: (f64, f64) = (0.05, 0.0);

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    report.take(
        "provider_instructions",
        instructions_per_chunk("provider", LENGTHS),
        (3_250.0, 3_000.0),
        "instructions/chunk",
    );
    report.take(
        "provider_allocations",
        allocations_per_chunk("provider", LENGTHS),
        ALLOCATIONS,
        "allocations/chunk",
    );
    report.take(
        "pipeline_instructions",
        instructions_per_chunk("pipeline", LENGTHS),
        (4_950.0, 4_000.0),
        "instructions/chunk",
    );
    report.take(
        "pipeline_allocations",
        allocations_per_chunk("pipeline", LENGTHS),
        ALLOCATIONS,
        "allocations/chunk",
    );
    big_event(report)
}

/// Reads `count` chunks from the provider.
pub(crate) fn stream(count: usize) -> Result<()> {
    chunks(&provider(transport(count))?, Answer::of_chunks(count, Tags::Read))
}

/// Reads the chunks of `provider`, which are an answer.
pub(crate) fn chunks(provider: &dyn Provider, mut answer: Answer) -> Result<()> {
    runtime()?.block_on(drain(provider, |chunk| answer.chunk(chunk)))?;
    answer.finish()
}

/// Reads `count` chunks as events from a bounded channel.
pub(crate) fn pipeline(count: usize) -> Result<()> {
    let answer = Answer::of_events(count, Tags::Read);
    events(&provider(transport(count))?, answer, CAPACITY, async || ())
}

/// Events that a channel holds at most.
pub(crate) const CAPACITY: usize = 64;

/// Reads the chunks of `provider`, which are an answer, as events from a channel of this capacity; waits for
/// `between` behind each.
pub(crate) fn events(
    provider: &dyn Provider,
    mut answer: Answer,
    capacity: usize,
    between: impl AsyncFn(),
) -> Result<()> {
    let options = StreamOptions::default().keep_content(false);
    let (sender, mut events) = channel(capacity);
    let cancel = CancellationToken::new();
    let completion = runtime()?.block_on(async {
        let chunks = provider.stream_completion(Request::prompt("Go on.")).await?;
        let producing = async {
            let completion = process_into(chunks, &options, &sender, &cancel).await;
            drop(sender);
            completion
        };
        let consuming = async {
            while let Some(event) = events.recv().await {
                answer.event(&event);
                between().await;
            }
        };
        Result::Ok(tokio::join!(producing, consuming).0)
    })?;
    completion.error.map_or_else(|| answer.finish(), |error| Err(error.into()))
}

/// One event of a MiB in reads of 1,460 bytes, and whether longer ones cost more a KiB.
fn big_event(report: &mut Report) -> Result<()> {
    let costs =
        big_events(&|transport| Ok(Arc::new(provider(transport)?)), corpus::event, corpus::END)?;
    report.add("big_event", costs.0, (5.0, 2.0), "µs/KiB of a 1 MiB event in 1,460-byte reads");
    report.add("big_event_flatness", costs.1, (2.0, 1.2), "× from 64 KiB to 4 MiB");
    Ok(())
}

/// What a KiB of an event of a MiB costs in µs, and how much more it costs at 4 MiB than at 64 KiB.
pub(crate) fn big_events(
    provider: &dyn Fn(FixedReads) -> Result<Arc<dyn Provider>>,
    event: fn(&str) -> String,
    end: &'static str,
) -> Result<(f64, f64)> {
    let runtime = runtime()?;
    let mut readers = Vec::new();
    for bytes in [64 << 10, 1 << 20, 4 << 20] {
        let content = corpus::prose(&mut corpus::Dice::new(5), bytes);
        let event = bytes::Bytes::from(event(&content));
        let reads = (0..event.len()).step_by(1460);
        let reads = reads.map(|at| event.slice(at..event.len().min(at + 1460)));
        let provider = provider(FixedReads::new(reads, end))?;
        let length = content.len();
        let mut reading = Reading::new(content, length);
        runtime.block_on(drain(&*provider, |chunk| reading.add(&chunk.content)))?;
        reading.finish()?;
        readers.push((provider, length));
    }
    let cost = |(provider, length): &(Arc<dyn Provider>, usize)| {
        let (mut left, repeats) = (0, (4_usize << 20).div_ceil(*length));
        let time = own_nanoseconds(&mut || {
            for _ in 0..repeats {
                left += length;
                let read =
                    runtime.block_on(drain(&**provider, |chunk| left -= chunk.content.len()));
                read.unwrap_or_else(|_| left = usize::MAX);
            }
        });
        // Nanoseconds for all to microseconds for a KiB.
        let kib = per((length * repeats) as u64, 1 << 10);
        if left == 0 { Ok(time / 1e3 / kib) } else { Err("a big event is not whole") }
    };
    let (mut costs, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        let each = readers.iter().map(cost).collect::<std::result::Result<Vec<_>, _>>()?;
        let [small, middle, large] = each.as_slice() else { return Err("no three sizes".into()) };
        costs.push(*middle);
        growths.push(large / small);
    }
    Ok((median(costs), median(growths)))
}

/// Reads a response to its end.
async fn drain(provider: &dyn Provider, mut take: impl FnMut(&StreamChunk)) -> Result<()> {
    let mut chunks = provider.stream_completion(Request::prompt("Go on.")).await?;
    while let Some(chunk) = chunks.next().await {
        take(&chunk?);
    }
    Ok(())
}

pub(crate) fn transport(count: usize) -> FixedReads {
    FixedReads::new(corpus::events(corpus::event), corpus::END).cycled(count)
}

/// The provider over `transport`.
pub(crate) fn provider(transport: FixedReads) -> Result<OpenAi> {
    // The longest streams here are longer than an answer may be by default.
    let limits = SseLimits::default().max_response_bytes(1 << 30);
    let builder = OpenAi::builder().base_url("http://127.0.0.1/v1").model("bench").limits(limits);
    Ok(builder.transport(transport).build()?)
}

/// A runtime on this thread.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
