//! Any text in any dialect: no panic, the same at every cut, nothing invented.

#![no_main]

use forgeline::llm::parser::{ParsedContent, ToolCallParser};
use forgeline_fuzz::Case;
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

/// The tool-call parser alone: outside calls every byte is given, and no body is longer than its
/// text.
fn conserved(case: &Case, pieces: &[&str]) {
    let mut parser = ToolCallParser::new(&case.tools);
    let (mut text, mut body, mut calls) = (String::new(), 0, 0);
    let mut out = |content: ParsedContent<'_>| match content {
        ParsedContent::Text(more) => text.push_str(more),
        ParsedContent::CallBody(more) | ParsedContent::CallVerbatim(more) => body += more.len(),
        ParsedContent::CallStart => calls += 1,
        _ => {}
    };
    pieces.iter().for_each(|piece| parser.parse(piece, &mut out));
    parser.flush(true, &mut out);
    assert!(text.len() + body <= case.text.len(), "{case:?}");
    assert!(calls > 0 || text == case.text, "{case:?}: {text:?}");
}
