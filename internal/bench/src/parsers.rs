//! What holds for the parsers whatever the text: no allocation a piece, no growth.

use std::hint::black_box;

use forgeline::llm::parser::{ThinkingDialect, ThinkingParser, ToolDialect};
use memchr::memchr;
use stats_alloc::Region;

use crate::{
    ALLOCATOR, Result,
    callgrind::instructions_per_chunk,
    corpus::{self, Dice},
    gate::Report,
    grammars,
    measure::{allocations, per, side_by_side},
    rows::Writer,
    stages::{Stages, parser_of, read_all},
};

/// Bytes of a chunk.
const CHUNK: usize = 16;

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    floors(report);
    state(report)?;
    steady_allocations(report)?;
    one_long_call(report)?;
    growth(report);
    Ok(())
}

/// What is read of each text to know the floor.
const FLOOR_BYTES: usize = 64 << 10;

/// The instructions of the floor for a piece: it can neither be left out nor read more.
const FLOORS: [(&str, &str, Writer, (f64, f64)); 2] = [
    ("floor_prose_instructions", "floor-prose", corpus::prose, (70.0, 86.0)),
    ("floor_angles_instructions", "floor-angles", corpus::angles, (250.0, 306.0)),
];

fn floors(report: &mut Report) {
    for (gate, workload, text, bounds) in FLOORS {
        let text = text(&mut Dice::new(5), FLOOR_BYTES);
        let (pieces, all) = (corpus::cut(&text, CHUNK), text.matches('<').count());
        let value = instructions_per_chunk(workload, (1, 11));
        let each = value.map(|value| value.map(|passes| passes / per(pieces.len() as u64, 1)));
        report.known(gate, each, bounds, "instructions of memchr a piece");
        let found = floor(&[pieces]);
        if found != all {
            report.fail(gate, &format!("{found} of {all} `<` were found"));
        }
    }
}

/// Reads the text of a floor so many times; `None` when none has this name.
pub(crate) fn work(name: &str, count: usize) -> Option<Result<()>> {
    let (.., text, _) = FLOORS.iter().find(|(_, workload, ..)| *workload == name)?;
    let text = text(&mut Dice::new(5), FLOOR_BYTES);
    let pieces = [corpus::cut(&text, CHUNK)];
    (0..count).for_each(|_| _ = black_box(floor(&pieces)));
    Some(Ok(()))
}

/// What both stages of a stream hold, without what is shared between streams.
fn state(report: &mut Report) -> Result<()> {
    let (thinking, calls) = (ThinkingDialect::AUTO, ToolDialect::AUTO);
    let mut held = 0;
    // The first of a process makes what all share.
    for _ in 0..2 {
        let first = parser_of("auto")?;
        let region = Region::new(ALLOCATOR);
        let stages = (ThinkingParser::new(&thinking, &calls), first.fresh());
        let change = region.change();
        let allocated = change.bytes_allocated - change.bytes_deallocated;
        held = size_of_val(&stages) + allocated;
        report.note(&format!("{} bytes in place, {allocated} allocated", size_of_val(&stages)));
        drop(stages);
    }
    let kib = per(held as u64, 1 << 10);
    report.add("parser_state", kib, (1.0, 0.5), "KiB, both stages of a stream in `auto`");
    Ok(())
}

/// Allocations that each further chunk costs; what a stream or a call costs once cancels out.
fn steady_allocations(report: &mut Report) -> Result<()> {
    let mut worst = 0.0_f64;
    for (stages, text) in STRETCHING {
        let [short, long] = [16 << 10, 128 << 10].map(|bytes| {
            let text = text(&mut Dice::new(7), bytes);
            let texts = [corpus::cut(&text, CHUNK)];
            let (read, count) = allocations(|| read_all(&texts, stages));
            let chunks = texts.iter().map(|chunks| chunks.len() as u64).sum::<u64>();
            read.map(|_| (count, chunks))
        });
        let (short, long) = (short?, long?);
        worst = worst.max(per(long.0.saturating_sub(short.0), long.1 - short.1));
    }
    report.add("parser_allocations", worst, (0.0, 0.0), "allocations/chunk, worst of five texts");
    Ok(())
}

/// One call whose argument is long costs the same a chunk as one whose argument is not.
fn one_long_call(report: &mut Report) -> Result<()> {
    let parser = parser_of("forge")?;
    let contents = [16 << 10, 1 << 20].map(|bytes| corpus::prose(&mut Dice::new(3), bytes));
    let texts = contents.each_ref().map(|content| corpus::json_call(content));
    let [short, long] = texts.each_ref().map(|text| vec![corpus::cut(text, CHUNK)]);
    for (pieces, content) in short.iter().chain(&long).zip(&contents) {
        if grammars::arguments(pieces, &parser).as_ref() != Some(content) {
            report.fail("long_call", "another file came out");
        }
    }
    let pair = side_by_side(|| floor(&long), || grammars::read(&long, &parser));
    report.add("long_call", pair.ratio, (3.0, 2.3), "× memchr, 1 MiB argument");
    // The short one 64 times, so that both sides read a MiB.
    let pair = side_by_side(
        || (0..64).for_each(|_| grammars::read(&short, &parser)),
        || grammars::read(&long, &parser),
    );
    report.add("long_call_flatness", pair.ratio, (1.5, 1.1), "× from 16 KiB to 1 MiB argument");
    Ok(())
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

/// What no parser can do without: finding every `<`; gives how many there are.
pub(crate) fn floor(texts: &[Vec<&str>]) -> usize {
    let mut found = 0;
    for chunk in texts.iter().flatten() {
        let mut rest = black_box(*chunk).as_bytes();
        while let Some(at) = memchr(b'<', rest) {
            found += 1;
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        black_box(rest);
    }
    found
}
