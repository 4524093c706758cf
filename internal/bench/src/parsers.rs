//! What holds for the parsers whatever the text: no allocation a piece, no growth.

use std::hint::black_box;

use memchr::memchr;

use crate::{
    corpus::{self, Dice},
    gate::Report,
    measure::{allocations, per, side_by_side},
    rows::{Stages, Writer, read_all},
};

/// Bytes of a chunk.
const CHUNK: usize = 16;

pub(crate) fn gates(report: &mut Report) {
    steady_allocations(report);
    one_long_call(report);
    growth(report);
}

/// Allocations that each further chunk costs; what a stream or a call costs once cancels out.
fn steady_allocations(report: &mut Report) {
    let mut worst = 0.0_f64;
    for (stages, text) in STRETCHING {
        let [short, long] = [16 << 10, 128 << 10].map(|bytes| {
            let text = text(&mut Dice::new(7), bytes);
            let texts = [corpus::cut(&text, CHUNK)];
            let ((), count) = allocations(|| read_all(&texts, stages));
            let chunks = texts.iter().map(|chunks| chunks.len() as u64).sum::<u64>();
            (count, chunks)
        });
        worst = worst.max(per(long.0.saturating_sub(short.0), long.1 - short.1));
    }
    report.add("parser_allocations", worst, (0.0, 0.0), "allocations/chunk, worst of five texts");
}

/// One call whose argument is long costs the same a chunk as one whose argument is not.
fn one_long_call(report: &mut Report) {
    let json = |bytes| corpus::json_call(&corpus::prose(&mut Dice::new(3), bytes));
    let (short, long) = (json(16 << 10), json(1 << 20));
    let (short, long) = (vec![corpus::cut(&short, CHUNK)], vec![corpus::cut(&long, CHUNK)]);
    let pair = side_by_side(|| floor(&long), || read_all(&long, Stages::Calls));
    report.add("long_call", pair.ratio, (3.0, 2.3), "× memchr, 1 MiB argument");
    // The short one 64 times, so that both sides read a MiB.
    let pair = side_by_side(
        || (0..64).for_each(|_| read_all(&short, Stages::Calls)),
        || read_all(&long, Stages::Calls),
    );
    report.add("long_call_flatness", pair.ratio, (1.5, 1.1), "× from 16 KiB to 1 MiB argument");
}

/// Texts that grow without a further section or call.
const STRETCHING: [(Stages, Writer); 5] = [
    (Stages::Thinking, corpus::thinking),
    (Stages::Calls, corpus::prose),
    (Stages::Both, corpus::angles),
    (Stages::Calls, |dice, bytes| corpus::json_call(&corpus::prose(dice, bytes))),
    (Stages::Calls, |dice, bytes| corpus::xml_call(&corpus::prose(dice, bytes))),
];

/// Twice the text may not cost much more than twice the time.
fn growth(report: &mut Report) {
    let mut worst = 0.0_f64;
    for (stages, text) in STRETCHING {
        for chunk in [4, CHUNK] {
            let (one, two) = (text(&mut Dice::new(9), 512 << 10), text(&mut Dice::new(9), 1 << 20));
            let (one, two) = (vec![corpus::cut(&one, chunk)], vec![corpus::cut(&two, chunk)]);
            let pair = side_by_side(|| read_all(&one, stages), || read_all(&two, stages));
            report.note(&format!("{:.2} × for {stages:?}, {chunk}-byte chunks", pair.ratio));
            worst = worst.max(pair.ratio);
        }
    }
    report.add(
        "parser_growth",
        worst,
        (2.5, 2.1),
        "time(2n) / time(n), worst of 4- and 16-byte chunks",
    );
}

/// What no parser can do without: finding every `<`.
pub(crate) fn floor(texts: &[Vec<&str>]) {
    for chunk in texts.iter().flatten() {
        let mut rest = black_box(*chunk).as_bytes();
        while let Some(at) = memchr(b'<', rest) {
            black_box(at);
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        black_box(rest);
    }
}
