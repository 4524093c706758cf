//! Any bytes as lines: no panic, the same lines at every cut, and those that `str::lines` gives.

#![no_main]

use forgeline::llm::ndjson::NdjsonDecoder;
use libfuzzer_sys::fuzz_target;

/// Reads pieces with a limit for lines; its error ends the body.
fn read(pieces: &[&[u8]], max_line_bytes: usize) -> (Vec<String>, Option<String>) {
    let mut decoder = NdjsonDecoder::new(max_line_bytes);
    let mut lines = Vec::new();
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.next_line(&mut piece) {
                Ok(Some(line)) => lines.push(line.to_owned()),
                Ok(None) => break,
                Err(error) => return (lines, Some(error.to_string())),
            }
        }
    }
    match decoder.finish() {
        Ok(line) => lines.extend(line.map(str::to_owned)),
        Err(error) => return (lines, Some(error.to_string())),
    }
    (lines, None)
}

fuzz_target!(|bytes: &[u8]| {
    let [whole, cut, single] = forgeline_fuzz::cuts(bytes);
    // Repaired text may be three times as long as its bytes.
    let most = 3 * bytes.len() + 1;
    for limit in [64, most] {
        let lines = read(&whole, limit);
        assert_eq!(read(&cut, limit), lines);
        assert_eq!(read(&single, limit), lines);
    }
    let (lines, error) = read(&whole, most);
    assert_eq!(error, None);
    let text: String = lines.concat();
    let wanted = String::from_utf8_lossy(bytes);
    let is_content = |c: &char| !matches!(c, '\r' | '\n' | '\u{FEFF}') && !c.is_whitespace();
    assert!(text.chars().filter(is_content).eq(wanted.chars().filter(is_content)), "{lines:?}");
});
