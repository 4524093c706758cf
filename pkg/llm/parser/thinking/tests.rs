//! The bounds of what is held back before a section of reasoning.

use std::iter;

use crate::{ThinkingDialect, ThinkingParser, ThinkingPiece, ToolDialect, families};

/// Reads `pieces` and gives reasoning and message, joined.
fn read<'t>(
    mut parser: ThinkingParser,
    pieces: impl IntoIterator<Item = &'t str>,
) -> (String, String) {
    let (mut thinking, mut message) = (String::new(), String::new());
    let out = &mut |piece: ThinkingPiece<'_>| match piece {
        ThinkingPiece::Thinking(text) => thinking.push_str(text),
        ThinkingPiece::Message(text) => message.push_str(text),
        ThinkingPiece::SectionEnd
        | ThinkingPiece::Inline
        | ThinkingPiece::CallOpener
        | ThinkingPiece::Framing(_)
        | ThinkingPiece::Prose => {}
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
            ThinkingPiece::SectionEnd | ThinkingPiece::Inline => shown.push('|'),
            ThinkingPiece::CallOpener => shown.push('!'),
            ThinkingPiece::Prose => shown.push('"'),
            ThinkingPiece::Framing(_) => {}
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
        | ThinkingPiece::Inline
        | ThinkingPiece::CallOpener
        | ThinkingPiece::Framing(_)
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

/// Reads `text` in a dialect with the calls of another, at every cut.
fn read_cut(thinking: &str, tools: &str, text: &str) -> (String, String) {
    let thinking = ThinkingDialect::by_name(thinking).unwrap();
    let tools = ToolDialect::by_name(tools).unwrap();
    let new = || ThinkingParser::new(&thinking, &tools);
    let whole = read(new(), [text]);
    for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let (head, tail) = text.split_at(cut);
        assert_eq!(read(new(), [head, tail]), whole, "{thinking}: cut at {cut}");
    }
    whole
}

/// Returns every family's reasoning, with the first closer of it that is not ignored elsewhere.
fn closers() -> impl Iterator<Item = (&'static str, String)> {
    let named = families::all().filter_map(|family| family.thinking);
    let named = named.filter(|thinking| thinking.rules.finds_late_closer);
    named.filter_map(|thinking| {
        let closer = thinking.sections.first()?.closers.iter().next()?;
        let is_ignored = thinking.ignored.iter().any(|marker| marker == closer);
        (!is_ignored).then(|| (thinking.name, closer.spelling()))
    })
}

// Found: PEER
#[test]
fn the_first_closer_of_an_answer_that_opened_nothing_is_consumed() {
    assert!(closers().count() > 10);
    for (name, closer) in closers() {
        let none = String::new();
        let text = format!("plan{closer}It is 42.");
        assert_eq!(read_cut(name, "none", &text), (none.clone(), "planIt is 42.".into()), "{name}");
        let mut parser =
            ThinkingParser::new(&ThinkingDialect::by_name(name).unwrap(), &ToolDialect::NONE);
        parser.parse(&text, &mut |_| {});
        assert_eq!(parser.late_thinking_bytes(), 4, "{name}");
        let text = format!("{closer}It is 42.");
        assert_eq!(read_cut(name, "none", &text), (none.clone(), "It is 42.".into()), "{name}");
        // Later ones are framing if nobody types them.
        let is_token = closer.contains(['|', '[', '▷']);
        let want = if is_token { "ab".to_owned() } else { format!("a{closer}b") };
        let text = format!("{closer}a{closer}b");
        assert_eq!(read_cut(name, "none", &text), (none, want), "{name}");
    }
}

// Found: PEER, P17
#[test]
fn a_special_token_that_the_end_cuts_is_text_of_an_answer_and_no_reasoning() {
    for (name, closer) in closers() {
        let thinking = ThinkingDialect::by_name(name).unwrap();
        let Some(bar) = closer.find('|') else { continue };
        for end in (bar + 1..closer.len()).filter(|end| closer.is_char_boundary(*end)) {
            let text = format!("It is 42.{}", closer.split_at(end).0);
            let want = "It is 42.".to_owned();
            // A whole token before the cut shows that it is one too.
            let answer = if text.contains('>') { want.clone() } else { text.clone() };
            assert_eq!(read_cut(name, "none", &text), (String::new(), answer), "{text}");
            let inside = ThinkingParser::new(&thinking, &ToolDialect::NONE).starting_inside();
            assert_eq!(read(inside, [text.as_str()]), (want, String::new()), "{text}");
        }
    }
    let inside =
        ThinkingParser::new(&ThinkingDialect::THINK, &ToolDialect::by_name("kimi-k2").unwrap());
    let pieces = ["plan", "<|tool_calls_sec"];
    assert_eq!(read(inside.starting_inside(), pieces), ("plan".into(), String::new()));
}

// Found: PEER
#[test]
fn an_opener_that_is_a_special_token_may_be_repeated() {
    let text = "<|channel><|channel>thought\nplan<channel|>It is 42.";
    assert_eq!(read_cut("gemma4", "gemma4", text), ("plan".into(), "It is 42.".into()));
    let text = "[THINK][THINK]plan[/THINK]It is 42.";
    assert_eq!(read_cut("mistral", "mistral", text), ("plan".into(), "It is 42.".into()));
    let text = "<think><think>plan</think>It is 42.";
    assert_eq!(read_cut("think", "none", text), ("<think>plan".into(), "It is 42.".into()));
}

// Found: P17
#[test]
fn the_front_of_a_marker_at_the_end_reads_the_same_at_any_cut() {
    let tools = families::all().filter_map(|family| Some(family.tools?.name));
    let thinking = families::all().filter_map(|family| Some(family.thinking?.name));
    let pairs = tools.flat_map(|tools| [("think", tools), ("auto", tools)]);
    for (thinking, tools) in pairs.chain(thinking.map(|thinking| (thinking, "hermes"))) {
        for end in ["<", "<|", "</", "<t", "<｜", "◁", "[", "[T", "]<", "\n<", "a <|", "`"] {
            for text in
                [format!("<think>3{end}"), format!("<think>3</think>7 {end}"), format!("7 {end}")]
            {
                read_cut(thinking, tools, &text);
            }
        }
    }
}

/// Reasoning that is written back reads as it did, in every dialect whose markers can be written.
#[test]
fn reasoning_is_written_as_it_is_read() {
    let mut without = Vec::new();
    for dialect in ThinkingDialect::all().into_iter().chain([ThinkingDialect::tags(&["plan"])]) {
        let Some(written) = dialect.write("Six times\n\nseven.") else {
            without.push(dialect.name());
            continue;
        };
        let parser = ThinkingParser::new(&dialect, &ToolDialect::NONE);
        let read = read(parser, [format!("{written}It is 42.").as_str()]);
        assert_eq!(
            read,
            ("Six times\n\nseven.".into(), "It is 42.".into()),
            "{dialect}: {written}"
        );
    }
    assert_eq!(without, ["none", "harmony"]);
    let written = ThinkingDialect::THINK.write("Hm.").unwrap();
    assert_eq!(written, "<think>\nHm.\n</think>\n\n");
}

/// The pieces end in each place of a marker's front.
#[test]
fn a_front_that_a_block_cuts_reads_as_character_by_character() {
    const BLOCK_BYTES: usize = 16;
    let fronts = [
        "<", "</", "<t", "<th", "</t", "<T", "<\n", "<`", "\n<", "\r", "\r\n", "\n\n", "<<", "a<b",
    ];
    let rests = [
        "think>in</think> and on",
        "/think>\n\nout `<think>` and",
        "hink> <thi of it",
        "p> of HTML <p> a<b",
        "` is code </think> no",
        "\n</thinking>\nis out <tool",
        "ool>{} <",
        "<think>in",
        "ink>`x",
        "x",
        "a<",
        "\u{25C1}",
    ];
    let dialects = [
        (ThinkingDialect::THINK, ToolDialect::NONE),
        (ThinkingDialect::FORGE, ToolDialect::FORGE),
        (ThinkingDialect::AUTO, ToolDialect::AUTO),
    ];
    for (thinking, tools) in &dialects {
        for (front, rest) in fronts.iter().flat_map(|front| rests.iter().map(move |it| (front, it)))
        {
            for lead in ["Some words of text, of which ", "See `", "A line\n  "] {
                for (ahead, is_inside) in (0..4).flat_map(|ahead| [(ahead, false), (ahead, true)]) {
                    let fill = 48 - (lead.len() + front.len() + ahead) % BLOCK_BYTES;
                    let text = format!("{lead}{:<fill$}{front}{rest} which is all of it", "a < b");
                    let parser = ThinkingParser::new(thinking, tools);
                    let parser = if is_inside { parser.starting_inside() } else { parser };
                    let again = ThinkingParser::new(thinking, tools);
                    let again = if is_inside { again.starting_inside() } else { again };
                    let mut rest = text.as_str();
                    let blocks = iter::from_fn(|| {
                        let (block, behind) = rest.split_at(rest.floor_char_boundary(BLOCK_BYTES));
                        rest = behind;
                        (!block.is_empty()).then_some(block)
                    });
                    let chars = text.split_inclusive(|_: char| true);
                    assert_eq!(read(parser, blocks), read(again, chars), "{text:?} {is_inside}");
                }
            }
        }
    }
}
