//! Events that equal the one before outside their text.

use proptest::prelude::*;

use super::{ended, fragments, framed, read_pieces, said};
use crate::{
    Protocol, StreamChunk, ToolCallDelta,
    decode::repeats::{EventChunks, RepeatedEvents},
};

const PADDING: &[&str] = &["created", "pad"];

/// Returns the common part of these deltas; each gave the text after it.
fn after(deltas: &[(&str, &str)]) -> RepeatedEvents {
    let mut repeats = RepeatedEvents::default();
    for (data, text) in deltas {
        let mut gave = EventChunks::default();
        gave.add(&StreamChunk::message(*text));
        repeats.forget();
        repeats.parsed("", data, gave, PADDING);
    }
    repeats
}

const ONE: &str = r#"{"a":{"t":"x"},"n":7,"created":1,"pad":"..."}"#;
const TWO: &str = r#"{"a":{"t":"y\n"},"n":7,"created":20,"pad":""}"#;

#[test]
fn an_event_that_differs_in_its_text_and_padding_alone_is_read() {
    let repeats = after(&[(ONE, "x"), (TWO, "y\n")]);
    #[rustfmt::skip]
    let cases = [
        ("plain",       r#"{"a":{"t":"z"},"n":7,"created":1,"pad":"..."}"#, "z"),
        ("no padding",  r#"{"a":{"t":"z"},"n":7,"created":0,"pad":""}"#, "z"),
        ("long",        r#"{"a":{"t":"some words, and 日本"},"n":7,"created":12345678901234567890123,"pad":"é"}"#, "some words, and 日本"),
        ("escapes",     r#"{"a":{"t":"\"\\\/\b\f\n\r\t\u00e9\uFFfd"},"n":7,"created":1,"pad":""}"#, "\"\\/\u{8}\u{c}\n\r\té\u{fffd}"),
    ];
    for (name, data, text) in cases {
        assert_eq!(repeats.repeated_chunk("", data), Some(StreamChunk::message(text)), "{name}");
    }
}

#[test]
fn every_other_event_is_parsed() {
    let repeats = after(&[(ONE, "x"), (TWO, "y\n")]);
    #[rustfmt::skip]
    let cases = [
        ("another member",      r#"{"a":{"t":"z"},"n":8,"created":1,"pad":""}"#),
        ("another name",        r#"{"a":{"u":"z"},"n":7,"created":1,"pad":""}"#),
        ("a blank",             r#"{"a": {"t":"z"},"n":7,"created":1,"pad":""}"#),
        ("more behind",         r#"{"a":{"t":"z"},"n":7,"created":1,"pad":""} "#),
        ("a further member",    r#"{"a":{"t":"z","u":1},"n":7,"created":1,"pad":""}"#),
        ("cut",                 r#"{"a":{"t":"z"#),
        ("cut behind",          r#"{"a":{"t":"z"}"#),
        ("no text",             r#"{"a":{"t":""},"n":7,"created":1,"pad":""}"#),
        ("null",                r#"{"a":{"t":null},"n":7,"created":1,"pad":""}"#),
        ("half a character",    r#"{"a":{"t":"\ud83d"},"n":7,"created":1,"pad":""}"#),
        ("the other half",      r#"{"a":{"t":"\uDE00"},"n":7,"created":1,"pad":""}"#),
        ("no escape",           r#"{"a":{"t":"\x"},"n":7,"created":1,"pad":""}"#),
        ("no digits",           r#"{"a":{"t":"\u12g4"},"n":7,"created":1,"pad":""}"#),
        ("a cut escape",        r#"{"a":{"t":"\u00"},"n":7,"created":1,"pad":""}"#),
        ("a control character", "{\"a\":{\"t\":\"z\n\"},\"n\":7,\"created\":1,\"pad\":\"\"}"),
        ("padding escaped",     r#"{"a":{"t":"z"},"n":7,"created":1,"pad":"\u0041"}"#),
        ("padding is no text",  r#"{"a":{"t":"z"},"n":7,"created":1,"pad":null}"#),
        ("a leading zero",      r#"{"a":{"t":"z"},"n":7,"created":01,"pad":""}"#),
        ("a fraction",          r#"{"a":{"t":"z"},"n":7,"created":1.5,"pad":""}"#),
    ];
    for (name, data) in cases {
        assert_eq!(repeats.repeated_chunk("", data), None, "{name}");
    }
    assert_eq!(repeats.repeated_chunk("error", TWO), None, "another kind of event");
}

#[test]
fn two_deltas_that_differ_elsewhere_teach_nothing() {
    #[rustfmt::skip]
    let cases = [
        ("the same text",       [(ONE, "x"), (ONE, "x")]),
        ("another text",        [(ONE, "x"), (TWO, "y")]),
        ("two texts",           [(r#"{"t":"x","u":"x"}"#, "x"), (r#"{"t":"y","u":"y"}"#, "y")]),
        ("a number",            [(r#"{"t":"x","n":1}"#, "x"), (r#"{"t":"y","n":2}"#, "y")]),
        ("a literal",           [(r#"{"t":"x","n":null}"#, "x"), (r#"{"t":"y","n":true}"#, "y")]),
        ("padding further in",  [(r#"{"t":"x","a":{"pad":"1"}}"#, "x"), (r#"{"t":"y","a":{"pad":"2"}}"#, "y")]),
        ("a text and a number", [(r#"{"t":"x","pad":1}"#, "x"), (r#"{"t":"y","pad":"1"}"#, "y")]),
        ("a member more",       [(r#"{"t":"x"}"#, "x"), (r#"{"t":"y","n":1}"#, "y")]),
        ("a key",               [(r#"{"x":1,"t":"x"}"#, "x"), (r#"{"y":1,"t":"y"}"#, "y")]),
    ];
    for (name, deltas) in cases {
        let third = deltas[1].0;
        assert_eq!(after(&deltas).repeated_chunk("", third), None, "{name}");
    }
}

#[test]
fn all_numbers_and_texts_of_a_padding_member_may_differ() {
    let event = |text: &str, n: usize, kind: &str| {
        format!(r#"{{"pad":{{"n":{n},"all":[{{"kind":"{kind}","n":-2}}]}},"t":"{text}"}}"#)
    };
    let (one, two) = (event("x", 1, "a"), event("y", 20, "b"));
    let repeats = after(&[(&one, "x"), (&two, "y")]);
    let third = event("z", 345, "");
    assert_eq!(repeats.repeated_chunk("", &third), Some(StreamChunk::message("z")));
    assert_eq!(repeats.repeated_chunk("", &third.replace("-2", "-3")), None, "no whole number");
}

#[test]
fn arguments_repeat_for_their_call_alone() {
    let mut repeats = RepeatedEvents::default();
    let event = |text: &str| format!(r#"{{"args":"{text}"}}"#);
    let chunk = |text: &str| StreamChunk::calls(vec![ToolCallDelta::new(3).arguments(text)]);
    for text in ["a", "b"] {
        let mut gave = EventChunks::default();
        gave.add(&chunk(text));
        repeats.parsed("", &event(text), gave, PADDING);
    }
    assert_eq!(repeats.repeated_chunk("", &event("c")), Some(chunk("c")));
}

#[test]
fn an_event_that_gave_more_than_a_text_teaches_nothing() {
    let mut named = ToolCallDelta::new(0).arguments("x");
    named.name = Some("f".into());
    let more = [
        vec![],
        vec![StreamChunk::message("x"), StreamChunk::message("x")],
        vec![StreamChunk { ends_section: true, ..StreamChunk::message("x") }],
        vec![StreamChunk { finished: true, ..StreamChunk::message("x") }],
        vec![StreamChunk::calls(vec![named])],
    ];
    for chunks in more {
        let mut repeats = after(&[(ONE, "x"), (TWO, "y\n")]);
        let mut gave = EventChunks::default();
        for chunk in &chunks {
            gave.add(chunk);
        }
        repeats.forget();
        repeats.parsed("", ONE, gave, PADDING);
        assert_eq!(repeats.repeated_chunk("", ONE), None, "{chunks:?}");
    }
}

#[test]
fn a_stream_of_nothing_but_surprises_is_not_looked_at_for_ever() {
    let mut repeats = RepeatedEvents::default();
    let mut note = |data: String, text: &str| {
        let mut gave = EventChunks::default();
        gave.add(&StreamChunk::thinking(text));
        repeats.forget();
        repeats.parsed("", &data, gave, PADDING);
        repeats.repeated_chunk("", &data)
    };
    for n in 0..40 {
        assert_eq!(note(format!(r#"{{"t":"{n}","n":{n}}}"#), &n.to_string()), None);
    }
    for text in ["a", "b", "c"] {
        assert_eq!(note(format!(r#"{{"t":"{text}"}}"#), text), None);
    }
}

/// The body with blanks in front of the JSON of its events, so that none repeats the one before.
fn without_repeats(bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut padded = Vec::new();
    for (body, blanks) in bodies.iter().zip([0, 1, 2].into_iter().cycle()) {
        let at = body.iter().position(|byte| *byte == b'{').unwrap_or(body.len());
        let (head, json) = body.split_at(at);
        padded.extend_from_slice(head);
        padded.extend(std::iter::repeat_n(b' ', blanks));
        padded.extend_from_slice(json);
    }
    padded
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repeated_events_are_read_as_parsed_ones(
        protocol in prop::sample::select(Protocol::ALL),
        events in prop::collection::vec((any::<prop::sample::Index>(), 0..24_usize), 0..40),
    ) {
        let fragments: Vec<_> =
            fragments::of_protocol(protocol).iter().filter(|it| it.ends_with(b"\n") && it.contains(&b'{')).collect();
        let texts = ["a", "b", r"\n", r"\u00e9", r"\ud83d", r"\ude00", "日本", "", r"\x", "d\\\"e"];
        let bodies: Vec<Vec<u8>> = events
            .iter()
            .map(|(place, text)| match texts.get(*text) {
                Some(text) => said(protocol, text).into_bytes(),
                None if *text == 23 => framed(protocol, "{}").into_bytes(),
                None if *text > 18 => place.get(&fragments).to_vec(),
                None => said(protocol, &format!("word {text}")).into_bytes(),
            })
            .chain([ended(protocol).into_bytes()])
            .collect();
        let whole = read_pieces(protocol, [bodies.concat().as_slice()]);
        let parsed = read_pieces(protocol, [without_repeats(&bodies).as_slice()]);
        prop_assert_eq!(&whole.0, &parsed.0);
        prop_assert_eq!(whole.1.is_some(), parsed.1.is_some());
    }
}
