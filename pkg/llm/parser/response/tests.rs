//! A response is read as two parsers in a row read it.

use super::*;
use crate::{ParsedContent, ThinkingDialect, ThinkingPiece, ToolDialect, bytes::dice::dice};

/// Fragments of responses, markers cut short and code that is left open included.
const FRAGMENTS: [&str; 47] = [
    "plain words of an answer",
    " and a few more, which are longer than a wide block of bytes is: sixty-four of them, and then some",
    "é日本",
    "\n",
    "\n\n    indented ",
    " ",
    "`",
    "`code`",
    "``",
    "```\n",
    "\n```rust\nfn f() {}\n",
    "\n~~~\n",
    "> ",
    "<",
    "a<b",
    "<think>",
    "</think>",
    "<thinking>\n",
    "\n</thinking>\n\n",
    "<too",
    "<tool>",
    "</tool>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "[",
    "]",
    "◁",
    "<tool>{\"tool_name\":\"f\",\"arguments\":{\"a\":\"",
    "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
    "text of a value, which \\\"quotes\\\" and breaks\\n lines",
    "\\",
    "\\n",
    "\\u00e9",
    "\"",
    "\"}}",
    "\"}}</tool>",
    "\"}}\n</tool_call>",
    "</tool>\"",
    "<tool><tool_name>f</tool_name><arguments><a>",
    "a &lt; b &amp;&amp; c",
    "</a></arguments></tool>",
    "<tool_call>\n<function=f>\n<parameter=a>\n",
    "\n</parameter>\n</function>\n</tool_call>",
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "\r\n",
];

/// The two parsers in a row, as who has both feeds them by hand.
struct Apart {
    thinking: ThinkingParser,
    calls: ToolCallParser,
}

impl Apart {
    fn parse(&mut self, text: &str, shown: &mut Vec<(String, String)>) {
        let Self { thinking, calls } = self;
        thinking.parse(text, &mut |piece| hand_on(piece, calls, shown));
    }

    fn flush(&mut self, shown: &mut Vec<(String, String)>) {
        let Self { thinking, calls } = self;
        thinking.flush(&mut |piece| hand_on(piece, calls, shown));
        calls.flush(true, &mut |content| show(ResponsePiece::Answer(content), shown));
    }
}

fn hand_on(
    piece: ThinkingPiece<'_>,
    calls: &mut ToolCallParser,
    shown: &mut Vec<(String, String)>,
) {
    match piece {
        ThinkingPiece::Message(text) => {
            calls.parse(text, &mut |content| show(ResponsePiece::Answer(content), shown));
        }
        ThinkingPiece::Thinking(text) => show(ResponsePiece::Thinking(text), shown),
        ThinkingPiece::SectionEnd => {
            calls.end_section_where(true, &mut |content| {
                show(ResponsePiece::Answer(content), shown);
            });
            show(ResponsePiece::SectionEnd, shown);
        }
        ThinkingPiece::Inline => show(ResponsePiece::Inline, shown),
        ThinkingPiece::CallOpener => show(ResponsePiece::CallOpener, shown),
        ThinkingPiece::Framing(text) => show(ResponsePiece::Framing(text), shown),
        ThinkingPiece::Prose => {
            calls.set_prose(true);
            show(ResponsePiece::Prose, shown);
        }
    }
}

/// Notes a piece; pieces of one kind are joined, and what is body, JSON and source of a call at once is noted
/// as each of them.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other pieces have no text to join")]
fn show(piece: ResponsePiece<'_>, shown: &mut Vec<(String, String)>) {
    let kinds: &[&str] = match piece {
        ResponsePiece::Thinking(_) => &["thinking"],
        ResponsePiece::Answer(ParsedContent::Text(_)) => &["text"],
        ResponsePiece::Answer(ParsedContent::CallBody(_)) => &["body"],
        ResponsePiece::Answer(ParsedContent::CallVerbatim(_)) => &["body", "arguments", "source"],
        ResponsePiece::Answer(ParsedContent::CallArguments(_)) => &["arguments"],
        ResponsePiece::Answer(ParsedContent::CallSource(_)) => &["source"],
        other => return shown.push((format!("{other:?}"), String::new())),
    };
    let (ResponsePiece::Thinking(text)
    | ResponsePiece::Answer(
        ParsedContent::Text(text)
        | ParsedContent::CallBody(text)
        | ParsedContent::CallVerbatim(text)
        | ParsedContent::CallArguments(text)
        | ParsedContent::CallSource(text),
    )) = piece
    else {
        return;
    };
    for kind in kinds {
        let is_other = |(kind, _): &&mut (String, String)| !is_part(kind) && is_part(kinds[0]);
        let same = shown.iter_mut().rev().take_while(|it| !is_other(it));
        // Text and reasoning stand in a row, the parts of a call beside each other.
        match same.take(if is_part(kind) { 3 } else { 1 }).find(|(last, _)| last == kind) {
            Some((_, joined)) => joined.push_str(text),
            None => shown.push(((*kind).to_owned(), text.to_owned())),
        }
    }
}

fn is_part(kind: &str) -> bool {
    matches!(kind, "body" | "arguments" | "source")
}

#[test]
fn a_response_is_read_as_two_parsers_in_a_row_read_it() {
    let mut next = dice();
    let dialects = [
        (ThinkingDialect::AUTO, ToolDialect::AUTO),
        (ThinkingDialect::FORGE, ToolDialect::FORGE),
        (ThinkingDialect::AUTO, ToolDialect::by_name("hermes").unwrap()),
        (ThinkingDialect::by_name("harmony").unwrap(), ToolDialect::by_name("harmony").unwrap()),
    ];
    for _ in 0..10_000 {
        let (reasoning, tools) = &dialects[next(dialects.len())];
        let (thinking, calls) = (ThinkingParser::new(reasoning, tools), ToolCallParser::new(tools));
        let mut both = ResponseParser::new(thinking, calls);
        let (thinking, calls) = (ThinkingParser::new(reasoning, tools), ToolCallParser::new(tools));
        let mut apart = Apart { thinking, calls };
        let plain = 1 + next(4);
        let text: String = (0..next(24))
            .map(|_| FRAGMENTS[if next(plain) == 0 { next(FRAGMENTS.len()) } else { next(5) }])
            .collect();
        let most = [3, 16, 16, 24, 80, 200][next(6)];
        let (mut got, mut want, mut rest) = (Vec::new(), Vec::new(), text.as_str());
        while !rest.is_empty() {
            let length = if next(3) == 0 { 1 + next(most) } else { most };
            let (piece, tail) = rest.split_at(rest.ceil_char_boundary(length.min(rest.len())));
            both.parse(piece, &mut |piece| show(piece, &mut got));
            apart.parse(piece, &mut want);
            rest = tail;
        }
        both.flush(true, &mut |piece| show(piece, &mut got));
        apart.flush(&mut want);
        for shown in [&mut got, &mut want] {
            // Which part of a call comes first depends on how much of it is at once.
            shown
                .chunk_by_mut(|(one, _), (next, _)| is_part(one) && is_part(next))
                .for_each(<[_]>::sort);
        }
        assert_eq!(got, want, "{text:?}");
    }
}

/// The parsers in a row do not know that of each other: the second sees that a section ends, and shows a
/// marker behind which nothing follows.
#[test]
fn a_block_of_calls_that_opens_right_before_reasoning_is_framing() {
    let (thinking, tools) = (ThinkingDialect::AUTO, ToolDialect::AUTO);
    let text = "<|tool_calls_section_begin|><think>hm";
    let calls = ToolCallParser::new(&tools);
    let mut both = ResponseParser::new(ThinkingParser::new(&thinking, &tools), calls);
    let calls = ToolCallParser::new(&tools);
    let mut apart = Apart { thinking: ThinkingParser::new(&thinking, &tools), calls };
    let (mut got, mut want) = (Vec::new(), Vec::new());
    both.parse(text, &mut |piece| show(piece, &mut got));
    both.flush(true, &mut |piece| show(piece, &mut got));
    apart.parse(text, &mut want);
    apart.flush(&mut want);
    assert!(!got.iter().any(|(kind, _)| kind == "text"), "{got:?}");
    assert!(want.iter().any(|(kind, _)| kind == "text"), "{want:?}");
}
