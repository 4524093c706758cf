//! What is longer than a parser holds back or looks at reads the same at every cut too.

use forgeline::llm::parser::ToolDialect;
use forgeline_cli::pipeline::ReadOptions;

use super::{File, Fixture, each_fixture, format::files, places, read_fixture};

/// Text that makes a tag, a name, a gap or a value long.
const FILLS: [&str; 7] = [" ", "\n", "x", "word and ", "a < b, ", "\n\ntext", "\t\n  "];
/// More than any parser looks at before it decides, but for calls and strings.
const FILL_BYTES: usize = 600;
/// The cuts beside the long text that are tried, in bytes before and after it.
const NEAR: usize = 160;

#[test]
fn every_fixture_with_a_long_text_in_it_reads_the_same_at_every_cut() {
    let both: Vec<_> = ["dialects", "thinking"].into_iter().flat_map(files).collect();
    each_fixture(&both, check);
}

/// Puts a long text into the fixture, at a place that its name chooses, and cuts it around that place.
fn check(file: &File, fixture: &Fixture) -> Result<usize, String> {
    let reading = fixture.reading(file)?;
    let auto = ReadOptions { tools: ToolDialect::AUTO, ..reading.clone() };
    let name = format!("{}{}", file.dialect, fixture.name);
    let seed = name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut count = 0;
    for (how, reading, seed) in [("by its name", reading, seed), ("in auto", auto, seed ^ 0x5555)] {
        let chosen = places(seed, fixture.text.len());
        let at = fixture.text.floor_char_boundary(chosen[chosen.len() / 2]);
        let long = FILLS[usize::try_from(seed % FILLS.len() as u64).unwrap()];
        let long = long.repeat(FILL_BYTES / long.len());
        let (before, behind) = fixture.text.split_at(at);
        let text = format!("{before}{long}{behind}");
        let bytes = text.as_bytes();
        let whole = read_fixture(&reading, fixture, &[bytes]);
        let single: Vec<_> = bytes.chunks(1).collect();
        if read_fixture(&reading, fixture, &single) != whole {
            return Err(format!("reads otherwise {how}, byte by byte: {text:?}"));
        }
        let ends = [at.saturating_sub(NEAR)..at + 4, at + long.len() - 4..at + long.len() + NEAR];
        for cut in ends.into_iter().flatten().filter(|cut| *cut < bytes.len()) {
            let (head, tail) = bytes.split_at(cut);
            if read_fixture(&reading, fixture, &[head, tail]) != whole {
                return Err(format!("reads otherwise {how}, cut at byte {cut}: {text:?}"));
            }
            count += 1;
        }
    }
    Ok(count)
}
