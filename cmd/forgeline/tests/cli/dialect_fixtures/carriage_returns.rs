//! A fixture with carriage returns before its line ends reads the same at every cut too.

use forgeline::llm::parser::ToolDialect;
use forgeline_cli::pipeline::ReadOptions;

use super::{File, Fixture, cuts, each_fixture, format::files, read_fixture};

#[test]
fn every_fixture_with_carriage_returns_reads_the_same_at_every_cut() {
    let both: Vec<_> = ["dialects", "thinking"].into_iter().flat_map(files).collect();
    each_fixture(&both, check);
}

fn check(file: &File, fixture: &Fixture) -> Result<usize, String> {
    // What is around a marker is doubled as well: two line ends are what is framed at most.
    let texts = [fixture.text.replace('\n', "\r\n"), fixture.text.replace('\n', "\r\n\r\n")];
    let reading = fixture.reading(file)?;
    let auto = ReadOptions { tools: ToolDialect::AUTO, ..reading.clone() };
    let mut count = 0;
    for text in texts.iter().filter(|text| text.contains('\r')) {
        for (how, reading) in [("by its name", &reading), ("in auto", &auto)] {
            let whole = read_fixture(reading, fixture, &[text.as_bytes()]);
            for (cut, pieces) in cuts(text.as_bytes()) {
                if read_fixture(reading, fixture, &pieces) != whole {
                    return Err(format!("reads otherwise {how}, {cut}: {text:?}"));
                }
                count += 1;
            }
        }
    }
    Ok(count)
}
