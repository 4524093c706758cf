//! Dialects of your own are read like the known ones, and those that could not be are refused.

use std::fmt::Write;

use proptest::prelude::*;

use super::{DialectError, PayloadGrammar as Grammar};
use crate::llm::parser::{
    CallEnd, ParsedContent, Tags, ThinkingDialect, ThinkingParser, ThinkingPiece, ToolCallParser,
    ToolDialect,
};

/// What was read, joined: text as it is, calls as `[NAME ARGUMENTS]`, reasoning as `(…)`; and every
/// byte that was given, in order.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    shown: String,
    given: String,
}

fn read_calls<'t>(dialect: &ToolDialect, pieces: impl Iterator<Item = &'t str>) -> Reading {
    let mut parser = ToolCallParser::new(dialect);
    let mut reading = Reading::default();
    let (mut name, mut arguments) = (String::new(), String::new());
    let out = &mut |content: ParsedContent<'_>| {
        let Reading { shown, given } = &mut reading;
        match content {
            ParsedContent::Text(text) => [shown, given].iter_mut().for_each(|to| **to += text),
            ParsedContent::Marker(text) | ParsedContent::CallBody(text) => given.push_str(text),
            ParsedContent::CallVerbatim(text) => {
                given.push_str(text);
                arguments.push_str(text);
            }
            ParsedContent::CallName(text) => name.push_str(text),
            ParsedContent::CallArguments(text) => arguments.push_str(text),
            ParsedContent::CallEnd { outcome, .. } => {
                let mark = if *outcome == CallEnd::Complete { "" } else { "!" };
                write!(shown, "[{mark}{name} {arguments}]").unwrap();
                (name, arguments) = (String::new(), String::new());
            }
            ParsedContent::CallStart
            | ParsedContent::CallId(_)
            | ParsedContent::CallServer(_)
            | ParsedContent::CallSource(_) => {}
        }
    };
    pieces.for_each(|piece| parser.parse(piece, out));
    parser.flush(true, out);
    reading
}

fn read_thinking<'t>(dialect: &ThinkingDialect, pieces: impl Iterator<Item = &'t str>) -> Reading {
    let mut parser = ThinkingParser::new(dialect, &ToolDialect::NONE);
    let mut reading = Reading::default();
    let mut is_thinking = false;
    let out = &mut |piece: ThinkingPiece<'_>| {
        let shown = &mut reading.shown;
        let (now, text) = match piece {
            ThinkingPiece::Thinking(text) => (true, text),
            ThinkingPiece::Message(text) => (false, text),
            ThinkingPiece::SectionEnd | ThinkingPiece::UnclosedCalls(_) => (false, ""),
        };
        match (is_thinking, now) {
            (false, true) => shown.push('('),
            (true, false) => shown.push(')'),
            (false, false) | (true, true) => {}
        }
        is_thinking = now;
        shown.push_str(text);
    };
    pieces.for_each(|piece| parser.parse(piece, out));
    parser.flush(out);
    reading
}

/// Reads `text` whole, at every cut in two, and char by char; all must give the same.
fn at_all_cuts(text: &str, read: impl Fn(&[&str]) -> Reading) -> Reading {
    let whole = read(&[text]);
    for (cut, _) in text.char_indices() {
        let (head, tail) = text.split_at(cut);
        assert_eq!(read(&[head, tail]), whole, "{text:?} cut at {cut}");
    }
    let chars: Vec<_> = text.split_inclusive(|_: char| true).collect();
    assert_eq!(read(&chars), whole, "{text:?} char by char");
    whole
}

fn calls_in(dialect: &ToolDialect, text: &str) -> Reading {
    at_all_cuts(text, |pieces| read_calls(dialect, pieces.iter().copied()))
}

const RUN: Tags = Tags::new(["<run", "</run>"], ["<with", "</with>"], ">");
const PAIRS: Tags = Tags::pairs(["<k>", "</k>"], ["<v>", "</v>"], "");

#[test]
fn every_grammar_is_read_between_markers_of_your_own() {
    let own = || ToolDialect::builder("own");
    let separated = Grammar::NameThenJson { separator: "=>" };
    let syntax = Grammar::CallSyntax { quote: "<q>" };
    #[rustfmt::skip]
    let cases = [
        (own().call("{{go ", "/go}}", Grammar::Json),
            r#"a {{go {"name":"f","arguments":{"x":"/go}}"}}/go}} b"#, r#"a [f {"x":"/go}}"}] b"#),
        (own().call("%%", "%%", Grammar::Json),
            r#"%%{"name":"f"}%%%%{"name":"g"}%% 100 %"#, "[f {}][g {}] 100 %"),
        (own().call("<Do>", "</Do>", Grammar::KeyedJson),
            r#"<DO >[{"f":{"x":1}}]</do>."#, r#"[f {"x":1}]."#),
        (own().wrapper("◁calls▷", "◁/calls▷").call("◁call▷", "◁/call▷", separated.clone()),
            "◁calls▷◁call▷f => {\"x\":1}◁/call▷◁call▷g=>{}◁/call▷◁/calls▷ ◁", "[f {\"x\":1}][g {}] ◁"),
        (own().call_without_closer("@call ", separated),
            r#"@call f => {"x":[1]}, then @call g =>{}"#, r#"[f {"x":[1]}], then [g {}]"#),
        (own().call_with_closers("<<", &["//", "<eot>"], Grammar::Tags(RUN)),
            "<<<run=f><with=x>1</with></run>// or <<<run=g></run><eot>", r#"[f {"x":1}] or [g {}]"#),
        (own().tagged_call(RUN.framing()),
            "a <run name=\"f\"><with name=\"x\">\n\ny\n</with></run> b", r#"a [f {"x":"\ny"}] b"#),
        (own().call("[do]", "[/do]", Grammar::Tags(PAIRS)),
            "[do]f<k>x</k><v>y</v>[/do]", r#"[f {"x":"y"}]"#),
        (own().call("[do]", "[/do]", syntax),
            "[do]call:f{x:<q>y<q>,n:1}[/do]", r#"[f {"x":"y","n":1}]"#),
        (own().call_without_closer("#py ", Grammar::Python),
            "#py [f(x='y')] b", r#"[f {"x":"y"}] b"#),
        (own().call("<do>", "</do>", Grammar::Forge),
            "<do><tool_name>f</tool_name><arguments><x>y</x></arguments></do>", r#"[f {"x":"y"}]"#),
        (own().call("[do]", "[/do]", Grammar::Json),
            "`[do]` is [do]no call[/do].", "`[do]` is [! ]."),
    ];
    for (builder, text, want) in cases {
        let dialect = builder.describe().unwrap();
        assert_eq!(dialect.name(), "own");
        let reading = calls_in(&dialect, text);
        assert_eq!(reading.shown, want, "{text}");
        assert_eq!(reading.given, text, "no byte is lost");
    }
}

#[test]
fn reasoning_is_read_between_markers_of_your_own() {
    let own = || ThinkingDialect::builder("own");
    #[rustfmt::skip]
    let cases = [
        (own().section("[[", "]]"),                    "a [[\nb\n]]\nc",   "a (\nb\n)\nc"),
        (own().section("[[", "]]").framing(1, 1, 1),   "a [[\nb\n]]\nc",   "a (b)c"),
        (own().section("[[", "]]").framing(8, 8, 8),   "[[\n\nb\n\n]]\nc", "(b)c"),
        (own().section("<Plan>", "</Plan>"),           "<PLAN>b</plan >c", "(b)c"),
        (own().section("<a>", "</a>").section("(:", ":)"), "<a>b:)</a>c(:d</a>:)e", "(b:))c(d</a>)e"),
        (own().section_with_closers("[[", &["]]", "<eot>"]).ignored("<answer>"), "[[b<eot><answer>c", "(b)c"),
        (own().section("Plan:", "Answer:").only_at_start(), "Plan: b Answer:c Plan:", "( b )c Plan:"),
        (own().section("[[", "]]").ignored("<a>").framing(0, 0, 1), "[[b]]\n<a>\n\nc", "(b)\nc"),
        (own().section("[[", "]]").starts_inside(),    "b]]c",             "b]]c"),
    ];
    for (builder, text, want) in cases {
        let dialect = builder.build().unwrap();
        assert_eq!(dialect.name(), "own");
        let reading = at_all_cuts(text, |pieces| read_thinking(&dialect, pieces.iter().copied()));
        assert_eq!(reading.shown, want, "{text}");
    }
    let inside = own().section("[[", "]]").starts_inside().build().unwrap();
    assert!(inside.starts_inside());
}

#[test]
fn what_the_machine_cannot_look_for_is_refused() {
    let own = || ToolDialect::builder("own");
    let json = |opener: &str, closer: &str| own().call(opener, closer, Grammar::Json);
    let no_name = Tags::new(["", ""], ["<with", "</with>"], ">");
    let long = "x".repeat(97);
    let many = (0..33).fold(own(), |builder, number| {
        builder.call(&format!("<a{number}>"), &format!("</a{number}>"), Grammar::Json)
    });
    #[rustfmt::skip]
    let cases = [
        (own(),                                    "the dialect has neither a call nor a section"),
        (json("<", ">>"),                          "the marker \"<\" is of 1 bytes, not of 2 to 96"),
        (json("<<", ""),                           "the marker \"\" is of 0 bytes, not of 2 to 96"),
        (json("<<", &long),                        &format!("the marker \"{long}\" is of 97 bytes, not of 2 to 96")),
        (json("\n<", ">>"),                        "the marker \"\\n<\" begins with a blank, a backtick or a tilde"),
        (json("```call", "end"),                   "the marker \"```call\" begins with a blank, a backtick or a tilde"),
        (json("<<", "~~"),                         "the marker \"~~\" begins with a blank, a backtick or a tilde"),
        (many,                                     "the dialect has 66 markers, more than 64"),
        (json("<a>", "</a>").call("<A>", "</b>", Grammar::Python), "the marker \"<A>\" means two things"),
        (json("<a>", "</a>").wrapper("<b>", "<a>"), "the marker \"<a>\" means two things"),
        (json("<<call", "<<call>>"),               "the marker \"<<call>>\" holds the marker \"<<call\""),
        (json("a<b>", "<b>"),                      "the marker \"a<b>\" holds the marker \"<b>\""),
        (json("<<", "}}"),                         "the marker \"}}\" may be a part of a payload"),
        (json("<<", "}>"),                         "the marker \"}>\" may be a part of a payload"),
        (json("[[", ">>"),                         "the marker \"[[\" may be a part of a payload"),
        (own().call_with_closers("<<", &[], Grammar::Json), "what \"<<\" opens has no closer"),
        (own().call_without_closer("<<", Grammar::Forge), "what \"<<\" opens needs a closer: its grammar does not end by itself"),
        (own().call_without_closer("<<", Grammar::CallSyntax { quote: "<q>" }), "what \"<<\" opens needs a closer: its grammar does not end by itself"),
        (own().call_without_closer("<<", Grammar::Tags(PAIRS)), "what \"<<\" opens needs a closer: its grammar does not end by itself"),
        (own().call("<<", ">>", Grammar::Tags(RUN)), "the marker \">>\" may be a part of a payload"),
        (own().call_without_closer("<<", Grammar::Tags(no_name)),               "what \"<<\" opens needs a closer: its grammar does not end by itself"),
        (own().call("<<", ">>", Grammar::NameThenJson { separator: "" }), "the grammar of what \"<<\" opens has no separator"),
        (own().call("<<", ">>", Grammar::CallSyntax { quote: "''" }), "the grammar of what \"<<\" opens has no quote that can be told"),
        (own().call("<<", "//", Grammar::Tags(Tags::new(["<f", "</f>"], ["<p", ""], ">"))), "the grammar of what \"<<\" opens has no end of a value"),
        (own().call("<<", "//", Grammar::Tags(Tags::new(["<f", "</f>"], ["<p", "</p>"], ""))), "the grammar of what \"<<\" opens has no end of a tag"),
        (json("<<", ">>"),                         "the example is missing or not read as complete calls in this dialect"),
        (json("<<", ">>").example("no call"),      "the example is missing or not read as complete calls in this dialect"),
        (json("<<", ">>").example("<<{}>>"),       "the example is missing or not read as complete calls in this dialect"),
    ];
    for (builder, want) in cases {
        let error = builder.build().expect_err(want);
        assert_eq!(error.to_string(), want, "{error:?}");
    }
    let own = || ThinkingDialect::builder("own");
    #[rustfmt::skip]
    let cases = [
        (own(),                                       DialectError::Empty),
        (own().section_with_closers("<<", &[]),       DialectError::NoCloser { opener: "<<".into() }),
        (own().section("<<", ">>").framing(0, 9, 0),  DialectError::Framing { count: 9 }),
        (own().section("<<", ">>").ignored("<<"),     DialectError::Repeated { marker: "<<".into() }),
        (own().section("<<", ">>").ignored("<<<"),    DialectError::Nested { outer: "<<<".into(), inner: "<<".into() }),
    ];
    for (builder, want) in cases {
        assert_eq!(builder.build(), Err(want));
    }
}

/// What hand-made markers may be made of, and texts that hold parts of them.
const PARTS: [&str; 12] =
    ["<", ">", "</", "a", "A", "ab", "b>", "@", "◁", " ", "\n", r#"{"name":"f"}"#];

fn parts(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), count).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_reads_the_same_at_every_cut_and_loses_nothing(
        markers in prop::collection::vec(parts(1..4), 6),
        order in prop::collection::vec(0..8_usize, 0..12),
        noise in prop::collection::vec(parts(0..3), 12),
    ) {
        let [opener, closer, other, wrapper, unwrapper, ends_itself] = &markers[..] else {
            unreachable!("six markers")
        };
        let dialect = ToolDialect::builder("own")
            .call_with_closers(opener, &[closer, other], Grammar::Json)
            .call_without_closer(ends_itself, Grammar::Json)
            .wrapper(wrapper, unwrapper)
            .describe();
        let mut text = String::new();
        for (which, noise) in order.iter().zip(&noise) {
            text += markers.get(*which).map_or(PARTS[11], |marker| marker.as_str());
            text += noise;
        }
        if let Ok(dialect) = dialect {
            let reading = calls_in(&dialect, &text);
            prop_assert_eq!(&reading.given, &text);
        }
        if let Ok(dialect) = ThinkingDialect::builder("own")
            .section_with_closers(opener, &[closer, other])
            .section(wrapper, unwrapper)
            .ignored(ends_itself)
            .framing(2, 1, 2)
            .build()
        {
            at_all_cuts(&text, |pieces| read_thinking(&dialect, pieces.iter().copied()));
        }
    }
}
