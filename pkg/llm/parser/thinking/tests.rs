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
        ThinkingPiece::SectionEnd | ThinkingPiece::CallOpener | ThinkingPiece::Prose => {}
    };
    pieces.into_iter().for_each(|piece| parser.parse(piece, out));
    parser.flush(out);
    (thinking, message)
}

fn parser() -> ThinkingParser {
    ThinkingParser::new(&ThinkingDialect::AUTO, &ToolDialect::NONE)
}

// Found: S5
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

// Found: S5
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

#[test]
fn the_first_opener_of_a_call_in_reasoning_is_reported() {
    let shown = |recovers, text: &str, step| {
        let parser = ThinkingParser::new(&ThinkingDialect::THINK, &ToolDialect::FORGE);
        let (mut parser, mut shown) = (parser.recover_calls(recovers), String::new());
        let out = &mut |piece: ThinkingPiece<'_>| match piece {
            ThinkingPiece::Thinking(text) | ThinkingPiece::Message(text) => shown.push_str(text),
            ThinkingPiece::SectionEnd => shown.push('|'),
            ThinkingPiece::CallOpener => shown.push('!'),
            ThinkingPiece::Prose => shown.push('"'),
        };
        let pieces = text.as_bytes().chunks(step).map(|piece| str::from_utf8(piece).unwrap());
        pieces.for_each(|piece| parser.parse(piece, out));
        parser.flush(out);
        shown
    };
    let text = "<think>a <tool>{b <tool></think>c <tool>{<think>d</tool><think>e <tool>{}";
    let want = "|a !<tool>{b <tool>|c <tool>{<think>d</tool>|e !<tool>{}";
    for step in 1..=text.len() {
        assert_eq!(shown(true, text, step), want, "{step} bytes a piece");
        assert_eq!(shown(false, text, step), want.replace('!', ""), "{step} bytes a piece");
    }
}

#[test]
fn arguments_are_not_kept_where_only_the_end_of_a_call_is_wanted() {
    let mut parser = ThinkingParser::new(&ThinkingDialect::THINK, &ToolDialect::FORGE);
    let call = "<tool><tool_name>f</tool_name><arguments><a>b</a></arguments></tool>";
    let (head, rest) = call.split_once("b<").unwrap();
    let mut message = String::new();
    let out = &mut |piece: ThinkingPiece<'_>| match piece {
        ThinkingPiece::Message(text) => message.push_str(text),
        ThinkingPiece::Thinking(_)
        | ThinkingPiece::SectionEnd
        | ThinkingPiece::CallOpener
        | ThinkingPiece::Prose => {}
    };
    parser.parse(head, out);
    let before = format!("{parser:?}").len();
    (0..1000).for_each(|_| parser.parse("<b>text &amp; tags</b>", out));
    assert!(format!("{parser:?}").len() < before + 100, "{parser:?}");
    parser.parse(&format!("b<{rest} end<think>x"), out);
    parser.flush(out);
    assert!(parser.is_in_thinking() && message.ends_with("</arguments></tool> end"));
}
