//! The bounds of what is held back before a section of reasoning.

use crate::llm::parser::{ThinkingDialect, ThinkingParser, ThinkingPiece, ToolDialect};

/// Reads `pieces` and gives reasoning and message, joined.
fn read<'t>(
    mut parser: ThinkingParser,
    pieces: impl IntoIterator<Item = &'t str>,
) -> (String, String) {
    let (mut thinking, mut message) = (String::new(), String::new());
    let out = &mut |piece: ThinkingPiece<'_>| match piece {
        ThinkingPiece::Thinking(text) => thinking.push_str(text),
        ThinkingPiece::Message(text) => message.push_str(text),
        ThinkingPiece::SectionEnd | ThinkingPiece::CallOpener => {}
    };
    pieces.into_iter().for_each(|piece| parser.parse(piece, out));
    parser.flush(out);
    (thinking, message)
}

fn parser() -> ThinkingParser {
    ThinkingParser::new(&ThinkingDialect::AUTO, &ToolDialect::NONE)
}

#[test]
fn more_than_4_kib_of_whitespace_are_reasoning() {
    for (length, is_reasoning) in [(4096, false), (4097, true)] {
        let whitespace = " ".repeat(length);
        let text = format!("<think>{whitespace}</think>x");
        let want = if is_reasoning { whitespace.clone() } else { String::new() };
        assert!(read(parser(), [text.as_str()]) == (want.clone(), "x".to_owned()), "{length}");
        let chars = text.split_inclusive(|_: char| true);
        assert!(read(parser(), chars) == (want, "x".to_owned()), "{length}: char by char");
    }
}

#[test]
fn an_opener_behind_more_than_256_bytes_of_whitespace_repeats_nothing() {
    for (length, is_repeated) in [(256, true), (257, false)] {
        let whitespace = " ".repeat(length);
        let text = format!("{whitespace}<think>a</think>x");
        let want = if is_repeated { "a".to_owned() } else { format!("{whitespace}<think>a") };
        let inside = || parser().starting_inside();
        assert_eq!(read(inside(), [text.as_str()]), (want.clone(), "x".to_owned()));
        let chars = text.split_inclusive(|_: char| true);
        assert_eq!(read(inside(), chars), (want, "x".to_owned()));
    }
}
