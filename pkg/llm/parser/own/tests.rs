//! Dialects of your own are read like the known ones, and those that could not be are refused.

use std::fmt::Write;

use proptest::prelude::*;

use crate::{
    CallForm, DialectError, ParseOutcome, ParsedContent, PayloadGrammar as CallGrammar, Section,
    Tags, ThinkingDialect, ThinkingDialectBuilder, ThinkingParser, ThinkingPiece, ToolCallParser,
    ToolDialect, Wrapper, families,
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
            ParsedContent::Marker(text)
            | ParsedContent::Inline(text)
            | ParsedContent::CallBody(text) => given.push_str(text),
            ParsedContent::CallVerbatim(text) => {
                given.push_str(text);
                arguments.push_str(text);
            }
            ParsedContent::CallName(text) => name.push_str(text),
            ParsedContent::CallArguments(text) => arguments.push_str(text),
            ParsedContent::CallEnd { outcome, .. } => {
                let mark = if *outcome == ParseOutcome::Complete { "" } else { "!" };
                write!(shown, "[{mark}{name} {arguments}]").unwrap();
                (name, arguments) = (String::new(), String::new());
            }
            ParsedContent::CallStart
            | ParsedContent::CallId(_)
            | ParsedContent::CallServer(_)
            | ParsedContent::CallSource(_)
            | ParsedContent::OpenerInCode => {}
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
            ThinkingPiece::SectionEnd
            | ThinkingPiece::Inline
            | ThinkingPiece::CallOpener
            | ThinkingPiece::Prose => (false, ""),
            ThinkingPiece::Framing(_) => return,
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
    let own = |calls: &[CallForm<'_>]| ToolDialect::builder("own").calls(calls).describe().unwrap();
    let call = |opener, closer, grammar| own(&[CallForm::new(opener, closer, grammar)]);
    let separated = CallGrammar::NameThenJson { separator: "=>" };
    let syntax = CallGrammar::CallSyntax { quote: "<q>" };
    let wrapped = ToolDialect::builder("own")
        .wrappers(&[Wrapper::new("◁calls▷", "◁/calls▷")])
        .calls(&[CallForm::new("◁call▷", "◁/call▷", separated)])
        .describe()
        .unwrap();
    #[rustfmt::skip]
    let cases = [
        (call("{{go ", "/go}}", CallGrammar::Json),
            r#"a {{go {"name":"f","arguments":{"x":"/go}}"}}/go}} b"#, r#"a [f {"x":"/go}}"}] b"#),
        (call("%%", "%%", CallGrammar::Json),
            r#"%%{"name":"f"}%%%%{"name":"g"}%% 100 %"#, "[f {}][g {}] 100 %"),
        (call("<Do>", "</Do>", CallGrammar::KeyedJson),
            r#"<DO >[{"f":{"x":1}}]</do>."#, r#"[f {"x":1}]."#),
        (wrapped,
            "◁calls▷◁call▷f => {\"x\":1}◁/call▷◁call▷g=>{}◁/call▷◁/calls▷ ◁", "[f {\"x\":1}][g {}] ◁"),
        (own(&[CallForm::without_closer("@call ", separated)]),
            r#"@call f => {"x":[1]}, then @call g =>{}"#, r#"[f {"x":[1]}], then [g {}]"#),
        (own(&[CallForm::with_closers("<<", &["//", "<eot>"], CallGrammar::Tags(RUN))]),
            "<<<run=f><with=x>1</with></run>// or <<<run=g></run><eot>", r#"[f {"x":1}] or [g {}]"#),
        (own(&[CallForm::tagged(RUN.framing())]),
            "a <run name=\"f\"><with name=\"x\">\n\ny\n</with></run> b", r#"a [f {"x":"\ny"}] b"#),
        (call("[do]", "[/do]", CallGrammar::Tags(PAIRS)),
            "[do]f<k>x</k><v>y</v>[/do]", r#"[f {"x":"y"}]"#),
        (call("[do]", "[/do]", syntax),
            "[do]call:f{x:<q>y<q>,n:1}[/do]", r#"[f {"x":"y","n":1}]"#),
        (call("<do>", "</do>", CallGrammar::CallSyntax { quote: "@q" }),
            "<do>call:f{x:@q\"y\" <z@q,n:1}</do>", r#"[f {"x":"\"y\" <z","n":1}]"#),
        (own(&[CallForm::without_closer("#py ", CallGrammar::Python)]),
            "#py [f(x='y')] b", r#"[f {"x":"y"}] b"#),
        (call("<do>", "</do>", CallGrammar::Forge),
            "<do><tool_name>f</tool_name><arguments><x>y</x></arguments></do>", r#"[f {"x":"y"}]"#),
        (call("[do]", "[/do]", CallGrammar::Json),
            "`[do]` is [do]{no call}[/do].", "`[do]` is [! ]."),
    ];
    for (dialect, text, want) in cases {
        assert_eq!(dialect.name(), "own");
        let reading = calls_in(&dialect, text);
        assert_eq!(reading.shown, want, "{text}");
        assert_eq!(reading.given, text, "no byte is lost");
    }
}

#[test]
#[expect(clippy::redundant_closure_for_method_calls, reason = "a method has one lifetime only")]
fn reasoning_is_read_between_markers_of_your_own() {
    type Own = fn(ThinkingDialectBuilder<'_>) -> ThinkingDialectBuilder<'_>;
    fn own(sections: &[[&str; 2]], with: Own) -> ThinkingDialect {
        let sections: Vec<_> =
            sections.iter().map(|[opener, closer]| Section::new(opener, closer)).collect();
        with(ThinkingDialect::builder("own").sections(&sections)).build().unwrap()
    }
    let brackets = |with| own(&[["[[", "]]"]], with);
    let either = ThinkingDialect::builder("own")
        .sections(&[Section::with_closers("[[", &["]]", "<eot>"])])
        .ignored(&["<answer>"])
        .build()
        .unwrap();
    #[rustfmt::skip]
    let cases = [
        (brackets(|own| own),                          "a [[\nb\n]]\nc",   "a (\nb\n)\nc"),
        (brackets(|own| own.framing(1, 1, 1)),         "a [[\nb\n]]\nc",   "a (b)c"),
        (brackets(|own| own.framing(8, 8, 8)),         "[[\n\nb\n\n]]\nc", "(b)c"),
        (own(&[["<Plan>", "</Plan>"]], |own| own),     "<PLAN>b</plan >c", "(b)c"),
        (own(&[["<a>", "</a>"], ["(:", ":)"]], |own| own), "<a>b:)</a>c(:d</a>:)e", "(b:))c(d</a>)e"),
        (either,                                       "[[b<eot><answer>c", "(b)c"),
        (own(&[["Plan:", "Answer:"]], |own| own.only_at_start()), "Plan: b Answer:c Plan:", "( b )c Plan:"),
        (brackets(|own| own.ignored(&["<a>"]).framing(0, 0, 1)), "[[b]]\n<a>\n\nc", "(b)\nc"),
        (brackets(|own| own.starts_inside()),          "b]]c",             "b]]c"),
    ];
    for (dialect, text, want) in cases {
        assert_eq!(dialect.name(), "own");
        let reading = at_all_cuts(text, |pieces| read_thinking(&dialect, pieces.iter().copied()));
        assert_eq!(reading.shown, want, "{text}");
    }
    assert!(brackets(|own| own.starts_inside()).starts_inside());
}

#[test]
fn what_the_machine_cannot_look_for_is_refused() {
    let own = |calls: &[CallForm<'_>]| ToolDialect::builder("own").calls(calls).build();
    let call = |opener, closer, grammar| own(&[CallForm::new(opener, closer, grammar)]);
    let json = |opener, closer| call(opener, closer, CallGrammar::Json);
    let open = |grammar| own(&[CallForm::without_closer("<<", grammar)]);
    let json_like = |example| {
        let calls = [CallForm::new("<<", ">>", CallGrammar::Json)];
        ToolDialect::builder("own").calls(&calls).example(example).build()
    };
    let tags =
        |parameter, tag_end| CallGrammar::Tags(Tags::new(["<f", "</f>"], parameter, tag_end));
    let no_name = Tags::new(["", ""], ["<with", "</with>"], ">");
    let long = "x".repeat(97);
    let many: Vec<_> = (0..33).map(|at| [format!("<a{at}>"), format!("</a{at}>")]).collect();
    let many: Vec<_> = many
        .iter()
        .map(|[opener, closer]| CallForm::new(opener, closer, CallGrammar::Json))
        .collect();
    let wrapped = ToolDialect::builder("own")
        .calls(&[CallForm::new("<a>", "</a>", CallGrammar::Json)])
        .wrappers(&[Wrapper::new("<b>", "<a>")])
        .build();
    let (one, other) = (
        CallForm::new("<a>", "</a>", CallGrammar::Json),
        CallForm::new("<A>", "</b>", CallGrammar::Python),
    );
    #[rustfmt::skip]
    let cases = [
        (own(&[]),                                 "the dialect has neither a call nor a section; add one"),
        (json("<", ">>"),                          "the marker \"<\" has 1 bytes; expected 2 to 96"),
        (json("<<", ""),                           "the marker \"\" has 0 bytes; expected 2 to 96"),
        (json("<<", &long),                        &format!("the marker \"{long}\" has 97 bytes; expected 2 to 96")),
        (json("\n<", ">>"),                        "the marker \"\\n<\" begins with whitespace, a backtick or a tilde; choose one that begins with another character"),
        (json("```call", "end"),                   "the marker \"```call\" begins with whitespace, a backtick or a tilde; choose one that begins with another character"),
        (json("<<", "~~"),                         "the marker \"~~\" begins with whitespace, a backtick or a tilde; choose one that begins with another character"),
        (own(&many),                               "the dialect has 66 markers; expected at most 64"),
        (own(&[one, other]),                       "the marker \"<A>\" has two meanings; choose another marker for one of them"),
        (wrapped,                                  "the marker \"<a>\" has two meanings; choose another marker for one of them"),
        (json("<<call", "<<call>>"),               "the marker \"<<call>>\" contains the marker \"<<call\"; choose markers of which none contains another"),
        (json("a<b>", "<b>"),                      "the marker \"a<b>\" contains the marker \"<b>\"; choose markers of which none contains another"),
        (json("<<", "}}"),                         "the marker \"}}\" may be a part of a payload; choose one that no payload contains"),
        (json("<<", "}>"),                         "the marker \"}>\" may be a part of a payload; choose one that no payload contains"),
        (json("[[", ">>"),                         "the marker \"[[\" may be a part of a payload; choose one that no payload contains"),
        (own(&[CallForm::with_closers("<<", &[], CallGrammar::Json)]), "the opener \"<<\" has no closer; give at least one"),
        (open(CallGrammar::Forge),                     "the opener \"<<\" needs a closer, because its grammar does not end by itself; add one"),
        (open(CallGrammar::CallSyntax { quote: "<q>" }), "the opener \"<<\" needs a closer, because its grammar does not end by itself; add one"),
        (open(CallGrammar::Tags(PAIRS)),               "the opener \"<<\" needs a closer, because its grammar does not end by itself; add one"),
        (call("<<", ">>", CallGrammar::Tags(RUN)),     "the marker \">>\" may be a part of a payload; choose one that no payload contains"),
        (open(CallGrammar::Tags(no_name)),             "the opener \"<<\" needs a closer, because its grammar does not end by itself; add one"),
        (call("<<", ">>", CallGrammar::NameThenJson { separator: "" }), "the grammar of the opener \"<<\" has no separator; add it"),
        (call("<<", ">>", CallGrammar::CallSyntax { quote: "''" }), "the grammar of the opener \"<<\" has no recognizable quote; add it"),
        (call("<<", "//", tags(["<p", ""], ">")),  "the grammar of the opener \"<<\" has no end of a value; add it"),
        (call("<<", "//", tags(["<p", "</p>"], "")), "the grammar of the opener \"<<\" has no end of a tag; add it"),
        (json("<<", ">>"),                         "the example is missing or not read as complete calls in this dialect; give one with at least one whole call"),
        (json_like("no call"),                     "the example is missing or not read as complete calls in this dialect; give one with at least one whole call"),
        (json_like("<<{}>>"),                      "the example is missing or not read as complete calls in this dialect; give one with at least one whole call"),
    ];
    for (built, want) in cases {
        let error = built.expect_err(want);
        assert_eq!(error.to_string(), want, "{error:?}");
    }
    let own = |sections: &[Section<'_>]| ThinkingDialect::builder("own").sections(sections).build();
    let angles = [Section::new("<<", ">>")];
    let angles = ThinkingDialect::builder("own").sections(&angles);
    #[rustfmt::skip]
    let cases = [
        (own(&[]),                                    DialectError::Empty),
        (own(&[Section::with_closers("<<", &[])]),    DialectError::NoCloser { opener: "<<".into() }),
        (angles.framing(0, 9, 0).build(),             DialectError::MarkerFraming { count: 9 }),
        (angles.ignored(&["<<"]).build(),             DialectError::Repeated { marker: "<<".into() }),
        (angles.ignored(&["<<<"]).build(),            DialectError::Nested { outer: "<<<".into(), inner: "<<".into() }),
    ];
    for (built, want) in cases {
        assert_eq!(built, Err(want));
    }
}

#[test]
fn the_page_adds_one_entry_and_a_fixture_file() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let page = read("docs/guide/adding-a-dialect.md");
    let (_, diff) = page.split_once("```diff\n").unwrap();
    let (diff, _) = diff.split_once("```").unwrap();
    let files: Vec<_> = diff.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    let places =
        ["mod.rs", "list.rs", "example.rs"].map(|file| format!("pkg/llm/parser/families/{file}"));
    let [known @ .., fixtures] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(
        (known, *fixtures),
        (places.each_ref().map(String::as_str).as_slice(), "testdata/dialects/example.json")
    );
    assert!(places[..2].iter().all(|place| root.join(place).exists()));

    let (_, entry) = diff.split_once("example.rs\n").unwrap();
    let (entry, fixtures) = entry.split_once("+++ b/testdata").unwrap();
    let added = |text: &str| -> String {
        let lines = text.lines().filter_map(|line| line.strip_prefix('+'));
        lines.filter(|line| !line.starts_with("++")).flat_map(|line| [line, "\n"]).collect()
    };
    let entry = added(entry);
    assert!(read("pkg/llm/parser/families/tests.rs").contains(&entry), "{entry}");

    let family = families::tests::EXAMPLE;
    let dialect = family.tools.unwrap().build().unwrap();
    assert_eq!(dialect.name(), "example");
    assert!(family.models[0].patterns().eq(["example-7b"]));
    let file: serde_json::Value = serde_json::from_str(&added(fixtures)).unwrap();
    assert_eq!(file["dialect"], dialect.name());
    let [fixture] = file["fixtures"].as_array().unwrap().as_slice() else { panic!("{file}") };
    let text = fixture["text"].as_str().unwrap();
    let reading = calls_in(&dialect, text);
    assert_eq!(reading.given, text);
    let mut shown = String::new();
    for call in fixture["expect"]["calls"].as_array().unwrap() {
        write!(shown, "[{} {}]", call["name"].as_str().unwrap(), call["arguments"]).unwrap();
    }
    let read = reading.shown.replace(": ", ":");
    assert_eq!(
        read,
        fixture["expect"]["text"].as_str().unwrap().replace("  ", &format!(" {shown} "))
    );
}

#[test]
fn the_familys_entries_are_what_a_user_could_build() {
    let mut built = 0;
    for description in families::all().filter_map(|family| family.tools) {
        // What a user has no words for: none and `auto`, calls without markers, and closers that are
        // shared or stand in an opener.
        if let Ok(dialect) = description.build() {
            assert_eq!(dialect.name(), description.name);
            built += 1;
        }
    }
    assert!(built >= 25, "{built}");
}

// Found: P18
#[test]
fn a_closer_behind_text_hides_no_opener_that_begins_in_it() {
    let dialect = ToolDialect::builder("own")
        .calls(&[
            CallForm::with_closers("◁", &["◁", "b>"], CallGrammar::Json),
            CallForm::without_closer(">a", CallGrammar::Json),
        ])
        .describe()
        .unwrap();
    let reading = calls_in(&dialect, "◁◁>a{\"name\":\"f\"}◁<b>a");
    assert_eq!(reading.shown, "◁◁[f {}]<b[! ]");
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
            .calls(&[
                CallForm::with_closers(opener, &[closer, other], CallGrammar::Json),
                CallForm::without_closer(ends_itself, CallGrammar::Json),
            ])
            .wrappers(&[Wrapper::new(wrapper, unwrapper)])
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
            .sections(&[
                Section::with_closers(opener, &[closer, other]),
                Section::new(wrapper, unwrapper),
            ])
            .ignored(&[ends_itself])
            .framing(2, 1, 2)
            .build()
        {
            at_all_cuts(&text, |pieces| read_thinking(&dialect, pieces.iter().copied()));
        }
    }
}
