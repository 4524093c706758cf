//! Every fixture of every dialect at every cut, by its name and in `auto`.
//! `docs/guide/adding-a-dialect.md` tells what a fixture is.

mod carriage_returns;
mod conservation;
mod format;
mod long;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use forgeline::{
    llm::parser::{ThinkingDialect, ToolDialect},
    types::{FinishReason, Text},
};
use forgeline_cli::{parse::parse_chunks, pipeline::ReadOptions};
use forgeline_testkit::cut_step;

use self::format::{File, Fixture, Kind, Meaning};
use crate::cuts::{Joined, joined};

/// How many fixtures a dialect has at least.
const FIXTURES: usize = 12;
/// Random cuts of each fixture, and how many pieces each has at most.
const RANDOM_CUTS: u64 = 8;
const MOST_PIECES: usize = 12;

#[test]
fn every_dialect_has_its_fixtures() {
    let files = format::files("dialects");
    for dialect in ToolDialect::all() {
        let name = dialect.name();
        let has_file = files.iter().any(|file| file.dialect == name);
        let has_none = dialect.is_none() || name == "auto";
        assert!(has_file || has_none, "testdata/dialects/{name}.json is missing");
    }
    for file in &files {
        let (name, fixtures) = (&file.dialect, &file.fixtures);
        assert!(fixtures.len() >= FIXTURES, "{name}: {} fixtures, not {FIXTURES}", fixtures.len());
        for (kind, least) in Kind::REQUIRED {
            let count = fixtures.iter().filter(|fixture| fixture.kind == kind).count();
            assert!(count >= least, "{name}: {count} fixtures of the kind {kind:?}, not {least}");
        }
        let mut names: Vec<_> = fixtures.iter().map(|fixture| &fixture.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), fixtures.len(), "{name}: two fixtures have one name");
    }
}

#[test]
fn every_fixture_of_calls_means_the_same_at_every_cut() {
    each_fixture(&format::files("dialects"), check);
}

#[test]
fn every_fixture_of_thinking_means_the_same_at_every_cut() {
    let files = format::files("thinking");
    for dialect in ThinkingDialect::all().iter().filter(|dialect| !dialect.is_none()) {
        let name = dialect.name();
        let has_file = files.iter().any(|file| file.thinking == name);
        assert!(has_file || matches!(name, "auto" | "ernie45"), "thinking/{name}.json is missing");
    }
    each_fixture(&files, check);
}

/// Checks all fixtures, each in its file; a check gives the number of its cuts.
fn each_fixture(files: &[File], check: impl Fn(&File, &Fixture) -> Result<usize, String> + Sync) {
    let work: Vec<_> =
        files.iter().flat_map(|file| file.fixtures.iter().map(move |one| (file, one))).collect();
    let (next, cuts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    let work_off = || {
        while let Some((file, fixture)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            match check(file, fixture) {
                Ok(count) => drop(cuts.fetch_add(count, Ordering::Relaxed)),
                Err(error) => wrong.lock().unwrap().push(format!(
                    "{} {} · {}: {error}",
                    file.dialect, file.thinking, fixture.name
                )),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work_off);
        }
    });
    // All at once: who writes a dialect wants to see what is left.
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} fixtures are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let (files, cuts) = (files.len(), cuts.into_inner());
    forgeline_testkit::say(format!("{files} dialects, {} fixtures, {cuts} cuts", work.len()));
}

/// Reads one fixture in every way; gives the number of cuts, or what is wrong.
fn check(file: &File, fixture: &Fixture) -> Result<usize, String> {
    let reading = fixture.reading(file)?;
    let bytes = fixture.text.as_bytes();
    let whole = read_fixture(&reading, fixture, &[bytes]);
    fixture.expect.compare(&Meaning::from_run(&whole)?)?;
    conservation::check(&reading, &fixture.text)?;
    let auto = ReadOptions { tools: ToolDialect::AUTO, ..reading.clone() };
    let mut readings = vec![("by its name", reading)];
    if fixture.auto.unwrap_or(file.auto) {
        readings.push(("in auto", auto));
    }
    let mut count = 0;
    for (how, reading) in &readings {
        for (cut, pieces) in cuts(bytes) {
            if read_fixture(reading, fixture, &pieces) != whole {
                return Err(format!("reads otherwise {how}, {cut}"));
            }
            count += 1;
        }
    }
    Ok(count)
}

fn read_fixture(reading: &ReadOptions, fixture: &Fixture, pieces: &[&[u8]]) -> Joined {
    let finish = fixture.finish.as_deref().map(|word| FinishReason::from(Text::from(word)));
    joined(|emit| {
        parse_chunks(reading.clone(), finish, pieces.iter().copied(), &mut |event| emit(event))
    })
}

/// Whole, byte by byte, in two at every byte, and at random: each with how it is called.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<&[u8]>)> {
    let single = ("byte by byte".to_owned(), bytes.chunks(1).collect());
    let two = (0..=bytes.len()).step_by(cut_step()).map(|at| {
        let (head, tail) = bytes.split_at(at);
        (format!("cut at byte {at}"), vec![head, tail])
    });
    let random = (1..=RANDOM_CUTS).map(|seed| {
        let places = places(seed, bytes.len());
        let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        (format!("cut at {places:?}"), pieces)
    });
    [single].into_iter().chain(two).chain(random)
}

/// Places to cut at, from the first to the last, the same for the same seed.
fn places(seed: u64, length: usize) -> Vec<usize> {
    let mut random = 0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed);
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let count = 2 + next(MOST_PIECES - 2);
    let mut places: Vec<_> = (0..count).map(|_| next(length + 1)).chain([0, length]).collect();
    places.sort_unstable();
    places
}
