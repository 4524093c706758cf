//! Any text in any dialect: no panic, the same at every cut, nothing invented.

#![no_main]

use forgeline::llm::parser::{ParsedContent, ToolCallParser};
use forgeline_fuzz::text::Case;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(case) = Case::new(input) else { return };
    let [whole, cut, single] = case.cuts(&case.text);
    let run = case.read(&whole);
    assert_eq!(case.read(&cut), run, "{case:?}");
    assert_eq!(case.read(&single), run, "{case:?}");
    run.check(&case.text);
    conserved(&case, &whole);
    conserved(&case, &single);
});

/// The tool-call parser alone: texts, markers and bodies, joined, are the input.
fn conserved(case: &Case, pieces: &[&str]) {
    let mut parser = ToolCallParser::new(&case.tools);
    let mut joined = String::new();
    let mut out = |content: ParsedContent<'_>| {
        if let ParsedContent::Text(more)
        | ParsedContent::Marker(more)
        | ParsedContent::Inline(more)
        | ParsedContent::CallBody(more)
        | ParsedContent::CallVerbatim(more) = content
        {
            joined.push_str(more);
        }
    };
    pieces.iter().for_each(|piece| parser.parse(piece, &mut out));
    parser.flush(true, &mut out);
    assert_eq!(joined, case.text, "{case:?}");
}
