//! Times of all parsers in turns, as multiples of the floor.

use std::{
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use memchr::memchr;
use rustix::time::{ClockId, clock_gettime};

use crate::{
    answer::{Kept, Nowhere, Tally},
    corpus::{Answer, cut},
    parsers::{LONGEST_RUN, Parser, Watch},
};

/// Runs of each; odd, so that a median is a run that happened.
const RUNS: usize = 11;
/// Runs of a parser whose first run took longer than [`SLOW`].
const FEW_RUNS: usize = 3;
const SLOW: Duration = Duration::from_secs(2);
/// One run is enough of what takes longer than this.
const VERY_SLOW: Duration = Duration::from_secs(6);

/// How a parser fared.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) parser: String,
    pub(crate) is_ours: bool,
    /// `None` when it did not finish.
    pub(crate) time: Option<Time>,
    /// What was wrong; `None` when nothing was.
    pub(crate) complaint: Option<String>,
    pub(crate) arguments: &'static str,
}

/// What a parser takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    /// Median over the runs of its time over the floor's in the same round.
    pub(crate) times_memchr: f64,
    /// Median.
    pub(crate) ns_per_chunk: f64,
    pub(crate) runs: usize,
}

/// What one workload gave.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) floor_ns_per_chunk: f64,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Lets every parser read `answers` in chunks of `chunk_bytes` bytes: once to see what it makes of
/// them, then in turns with the floor.
pub(crate) fn all(parsers: &[Parser], answers: &[Answer], chunk_bytes: usize) -> Measured {
    let cuts: Vec<_> = answers.iter().map(|answer| cut(&answer.written, chunk_bytes)).collect();
    let chunks = count(cuts.iter().map(Vec::len).sum());
    let checks: Vec<_> = parsers.iter().map(|parser| check(parser, answers, &cuts)).collect();
    let mut floors = Vec::new();
    let mut times = vec![Vec::new(); parsers.len()];
    floor(&cuts);
    for round in 0..RUNS {
        let floor_ns = nanoseconds(|| floor(&cuts));
        floors.push(floor_ns);
        for ((parser, check), times) in parsers.iter().zip(&checks).zip(&mut times) {
            if round < check.runs {
                let inputs = parser.prepare(&cuts);
                let watch = Watch::start();
                let ns = nanoseconds(|| {
                    for input in inputs {
                        parser.read(input, &watch, &mut Nowhere);
                    }
                });
                times.push((ns, ns / floor_ns));
            }
        }
    }
    let outcomes = parsers.iter().zip(checks).zip(times).map(|((parser, check), times)| {
        let (ns, ratios): (Vec<_>, Vec<_>) = times.into_iter().unzip();
        let time = (check.runs > 0).then(|| Time {
            times_memchr: median(ratios),
            ns_per_chunk: median(ns) / chunks,
            runs: check.runs,
        });
        let (parser, is_ours) = (parser.name(), parser.is_ours());
        let Check { complaint, arguments, .. } = check;
        Outcome { parser, is_ours, time, complaint, arguments }
    });
    Measured { floor_ns_per_chunk: median(floors) / chunks, outcomes: outcomes.collect() }
}

/// What a first run told.
#[derive(Debug)]
struct Check {
    complaint: Option<String>,
    arguments: &'static str,
    /// How often to time it.
    runs: usize,
}

fn check(parser: &Parser, answers: &[Answer], cuts: &[Vec<&str>]) -> Check {
    let (watch, mut tally) = (Watch::start(), Tally::default());
    let inputs = parser.prepare(cuts);
    let start = processor_time();
    for (read, (input, answer)) in inputs.into_iter().zip(answers).enumerate() {
        let mut kept = Kept::default();
        let reading = AssertUnwindSafe(|| parser.read(input, &watch, &mut kept));
        if catch_unwind(reading).is_err() {
            return Check { complaint: Some("panics".to_owned()), arguments: "", runs: 0 };
        }
        if watch.is_over() {
            let seconds = LONGEST_RUN.as_secs();
            let done = if cuts.len() > 1 { format!(" ({read} answers)") } else { String::new() };
            let complaint = format!("does not finish in {seconds} s{done}");
            return Check { complaint: Some(complaint), arguments: "", runs: 0 };
        }
        tally.add(&kept, &answer.meaning);
    }
    let runs = match processor_time().saturating_sub(start) {
        time if time > VERY_SLOW => 1,
        time if time > SLOW => FEW_RUNS,
        _ => RUNS,
    };
    Check { complaint: tally.complaint(), arguments: tally.arguments(), runs }
}

/// What no parser can do without: finding every `<`.
fn floor(cuts: &[Vec<&str>]) {
    for chunk in cuts.iter().flatten() {
        let mut rest = black_box(*chunk).as_bytes();
        while let Some(at) = memchr(b'<', rest) {
            black_box(at);
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        black_box(rest);
    }
}

/// Processor time of this thread: what neighbours on the machine take does not count.
fn nanoseconds(work: impl FnOnce()) -> f64 {
    let start = processor_time();
    work();
    processor_time().saturating_sub(start).as_secs_f64() * 1e9
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(count: usize) -> f64 {
    count as f64
}
