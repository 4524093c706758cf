//! Values at every prefix, against an oracle that closes the prefix and lets `serde_json` read it.

#![expect(clippy::string_slice, reason = "tests may panic")]

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{PartialJson, PartialJsonError, PartialValue};
use crate::Json;

fn grown<'a>(pieces: impl IntoIterator<Item = &'a str>) -> PartialJson {
    let mut json = PartialJson::new();
    for piece in pieces {
        if json.push(piece).is_err() {
            break;
        }
    }
    json
}

fn shown(json: &PartialJson) -> Option<Value> {
    json.value().map(PartialValue::to_value)
}

/// What of `prefix`, the front of a valid JSON text, is to be shown: its open tokens are dropped, its
/// open string and brackets closed, and the rest is left to `serde_json`.
fn oracle(prefix: &str) -> Option<Value> {
    let mut closers = Vec::new();
    // Where the open or last string began, and whether the bytes behind are inside it.
    let (mut string, mut inside, mut escaped) = (0, false, false);
    for (at, character) in prefix.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => {
                inside = !inside;
                string = if inside { at } else { string };
            }
            '{' if !inside => closers.push('}'),
            '[' if !inside => closers.push(']'),
            '}' | ']' if !inside => drop(closers.pop()),
            _ => {}
        }
    }
    let is_key = |text: &str| closers.last() == Some(&'}') && text.trim_end().ends_with([',', '{']);
    let mut text = prefix.to_owned();
    if inside && is_key(&prefix[..string]) {
        text.truncate(string);
    } else if inside {
        // At most `\ud83d\ude0` is an escape that was begun.
        let whole = (0..12).find_map(|less| {
            let end = prefix.len().checked_sub(less).filter(|end| *end > string)?;
            let closed = format!("{}\"", prefix.get(..end)?);
            serde_json::from_str::<String>(&closed[string..]).ok().map(|_| closed)
        });
        text = whole.unwrap();
    } else {
        let word = text.rfind([' ', '\t', '\n', '\r', ',', ':', '[', '{', ']', '}', '"']);
        let word = word.map_or(0, |at| at + 1);
        if !matches!(&text[word..], "true" | "false" | "null") {
            text.truncate(word);
        }
        text.truncate(text.trim_end().len());
        let bare = text.strip_suffix(':').map(|text| text.trim_end().len());
        if bare.is_some() || text.ends_with('"') && is_key(&text[..string]) {
            text.truncate(string);
        }
    }
    text.truncate(text.trim_end().len());
    if text.ends_with(',') {
        text.pop();
    }
    text.extend(closers.iter().rev());
    (!text.is_empty()).then(|| {
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{prefix:?} → {text:?}: {error}"))
    })
}

/// Checks one valid JSON text at every prefix and every cut.
fn check(text: &str) {
    let mut every = PartialJson::new();
    for (at, character) in text.char_indices() {
        let (head, tail) = text.split_at(at);
        assert_eq!(shown(&every), oracle(head), "{head:?}");
        assert_eq!(shown(&every), shown(&grown([head])), "{head:?}");
        let mut halves = grown([head, tail]);
        halves.finish().unwrap();
        assert_eq!(shown(&halves), serde_json::from_str(text).ok(), "{text:?} at {at}");
        assert!(!every.is_whole() || head.trim_end() == text.trim_end(), "{head:?}");
        every.push(character.encode_utf8(&mut [0; 4])).unwrap();
    }
    every.finish().unwrap();
    assert!(every.is_whole());
    assert_eq!(shown(&every), serde_json::from_str(text).ok(), "{text:?}");
    let spelled = every.value().unwrap().to_string();
    assert_eq!(shown(&every), serde_json::from_str(&spelled).ok(), "{text:?}");
}

#[test]
fn every_prefix_of_every_kind_of_value_shows_what_it_should() {
    let texts = [
        "null",
        " true ",
        "false\n",
        "0",
        "-1",
        "12.5e+3",
        "\"\"",
        "[]",
        "{}",
        " { } ",
        "[ ]",
        r#"{"a":1,"b":[true,false,null,-0.5],"c":{"d":{}}}"#,
        "{ \"key\" : [ 1 , 2 ] , \"b\" : \"x\" }\r\n",
        r#"{"a\"b\\":"c\"d\\","\u00e9":"\u65e5\ud83d\ude00!","\ud83e\udd80":"\/\b\f\n\r\t"}"#,
        r#"["日本 🦀", "\ud83e\udd80\ud83e\udd80", "é"]"#,
        r#"[[[[["deep"]]]],[[]],{"":{"":""}}]"#,
        r#"{"a":1,"a":2,"b":0,"a":"last"}"#,
        r#"[{"a":"x"},{"a":"y"}]"#,
    ];
    for text in texts {
        check(text);
    }
}

/// JSON values, and how to write them.
fn values() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(
        &["", "a", "b", "日", "\"", "\\", "\n", "😀", "\u{7f}", "long text", "{", ","][..],
    );
    let text = prop::collection::vec(word, 0..5).prop_map(|words| words.concat());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same text with every character of its strings that is none of JSON's own as `\u`.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    let escape = |unit: &u16| format!("\\u{unit:04x}");
    text.chars()
        .map(|character| match character {
            ' '..='~' | '\n' => character.to_string(),
            _ => character.encode_utf16(&mut units).iter().map(escape).collect(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_of_any_value_is_what_the_oracle_says(value in values(), pretty in any::<bool>(), escapes in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        check(&if escapes { escaped(&text) } else { text });
    }

    #[test]
    fn any_cut_of_any_text_gives_the_same_value_and_fault(
        tokens in prop::collection::vec(prop::sample::select(&[
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u", "d83d", "\\ude00", "n", "null", "tru", "e", "1", "-", ".5", "e+", " ", "\n", "日",
            "{\"k\":", "[1,",
        ][..]), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = tokens.concat();
        let places: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| places[cut.index(places.len())]).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut whole = grown([text.as_str()]);
        let mut cut = grown(cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]));
        prop_assert_eq!(shown(&cut), shown(&whole));
        prop_assert_eq!(cut.error(), whole.error());
        prop_assert_eq!(cut.is_whole(), whole.is_whole());
        let (cut, end) = (cut.finish(), whole.finish());
        prop_assert_eq!(cut, end);
        let is_valid = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(end.is_ok(), is_valid, "{:?}: {:?}", text, end);
    }
}

#[test]
fn numbers_keep_their_spelling_and_are_shown_once_they_are_whole() {
    let text = r#"{"a":12345678901234567890123,"b":1.50,"c":-0,"d":1e400,"e":0.1E-07}"#;
    let json = grown([text]);
    let value = json.value().unwrap();
    assert_eq!(value.to_json(), Json::parse(text).unwrap());
    assert_eq!(value.to_string(), text);
    assert_eq!(value.get("a").unwrap().as_number(), Some("12345678901234567890123"));
    assert_eq!(value.get("a").unwrap().read::<u128>().unwrap(), 12_345_678_901_234_567_890_123);
    assert_eq!(value.get("d").unwrap().read::<&RawValue>().unwrap().get(), "1e400");
    assert!(value.get("d").unwrap().to_value().is_null(), "no machine type holds it");
    for text in ["[1", "[12", "[1.", "[-", "[0e"] {
        assert_eq!(shown(&grown([text])), Some(json!([])), "{text}");
    }
    let mut alone = grown(["4", "2"]);
    assert!(alone.value().is_none() && !alone.is_whole());
    alone.finish().unwrap();
    assert_eq!(alone.value().unwrap().as_number(), Some("42"));
    alone.push(" \n").unwrap();
    assert!(alone.push("1").is_err());
}

#[test]
fn faults_stop_it_with_their_offset_and_the_value_stays() {
    #[rustfmt::skip]
    let cases = [
        ("prose",                 "Here",              0,  "a value",                         None),
        ("single quotes",         "['a']",             1,  "a value",                         Some("[]")),
        ("bare key",              "{a:1}",             1,  "a key or `}`",                    Some("{}")),
        ("trailing comma",        "[1,]",              3,  "a value",                         Some("[1]")),
        ("comma in object",       r#"{"a":1,}"#,       7,  "a key",                           Some(r#"{"a":1}"#)),
        ("no colon",              r#"{"a" 1"#,         5,  "`:`",                             Some("{}")),
        ("wrong bracket",         r#"{"a":[1}"#,       7,  "`,` or `]`",                      Some(r#"{"a":[1]}"#)),
        ("wrong brace",           r#"{"a":1]"#,        6,  "`,` or `}`",                      Some(r#"{"a":1}"#)),
        ("leading zero",          "[01]",              2,  "`,` or `]`",                      Some("[0]")),
        ("no digit",              "[1.x]",             3,  "a digit",                         Some("[]")),
        ("plus",                  "[+1]",              1,  "a value",                         Some("[]")),
        ("word",                  "[truE]",            4,  "`true`, `false` or `null`",       Some("[]")),
        ("raw line end",          "[\"ab\ncd\"]",      4,  "an escaped control character",    Some(r#"["ab"]"#)),
        ("unknown escape",        r#"["C:\dir"]"#,     5,  "an escape",                       Some(r#"["C:"]"#)),
        ("no hexadecimal digit",  r#"["a\u12g4"]"#,    7,  "a hexadecimal digit",             Some(r#"["a"]"#)),
        ("text behind",           "{} {",              3,  "the end of the text",             Some("{}")),
        ("not JSON's blank",      "[\u{a0}]",          1,  "a value",                         Some("[]")),
    ];
    for (name, text, offset, expected, value) in cases {
        let error = PartialJsonError::Unexpected { expected, offset };
        let pieces = text.split_inclusive(|_| true);
        for mut json in [grown([text]), grown(pieces)] {
            assert_eq!(json.error(), Some(error), "{name}");
            assert_eq!(json.push("1]"), Err(error), "{name}");
            assert_eq!(json.finish(), Err(error), "{name}");
            assert_eq!(json.value().map(|value| value.to_string()).as_deref(), value, "{name}");
        }
    }
    assert_eq!(error_of("x").to_string(), "expected a value at byte 0");
    assert_eq!(PartialJson::new().finish(), Err(PartialJsonError::Incomplete { offset: 0 }));
    assert_eq!(grown(["[1, "]).finish().unwrap_err().offset(), 4);
}

fn error_of(text: &str) -> PartialJsonError {
    PartialJson::new().push(text).unwrap_err()
}

#[test]
fn lone_surrogates_are_replaced_and_halves_are_not_shown() {
    #[rustfmt::skip]
    let cases = [
        (r#""\ud83d\ude00""#,        "😀"),
        (r#""\ud83dx""#,             "\u{fffd}x"),
        (r#""\ud83d""#,              "\u{fffd}"),
        (r#""\ud83d\n""#,            "\u{fffd}\n"),
        (r#""\ud83d\ud83d\ude00""#,  "\u{fffd}😀"),
        (r#""\ude00\ud83d\u0041""#,  "\u{fffd}\u{fffd}A"),
    ];
    for (text, want) in cases {
        for json in [grown([text]), grown(text.split_inclusive(|_| true))] {
            assert_eq!(json.value().unwrap().as_str(), Some(want), "{text}");
        }
    }
    for prefix in
        [r#""a\"#, r#""a\u"#, r#""a\ud8"#, r#""a\ud83d"#, r#""a\ud83d\"#, r#""a\ud83d\ude0"#]
    {
        assert_eq!(grown([prefix]).value().unwrap().as_str(), Some("a"), "{prefix}");
    }
}

#[test]
fn depth_and_length_have_limits_at_every_cut() {
    let deep = "[".repeat(129);
    assert_eq!(error_of(&deep), PartialJsonError::TooDeep { offset: 128 });
    assert_eq!(grown(deep.split_inclusive(|_| true)).error(), Some(error_of(&deep)));
    let mut deepest = grown([&*"[".repeat(128), &*"]".repeat(128)]);
    assert_eq!(deepest.finish(), Ok(()));
    assert_eq!(error_of(&"{\"a\":".repeat(200)), PartialJsonError::TooDeep { offset: 640 });
    let text = "\"abcdé\"";
    for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        let mut json = PartialJson::new().max_bytes(6);
        let (head, tail) = text.split_at(at);
        let ends = [json.push(head), json.push(tail)];
        assert_eq!(ends[1], Err(PartialJsonError::TooLong { offset: 5 }), "{at}");
        assert_eq!(json.value().unwrap().as_str(), Some("abcd"), "{at}");
    }
}

/// Makes a text of about this length.
type Text = Box<dyn Fn(usize) -> String>;

/// Steps of the machine and bytes that moved because a string had no room left, after pieces of
/// four bytes.
fn work(text: &str) -> (u64, usize) {
    let mut json = PartialJson::new();
    let (mut moved, mut place) = (0, std::ptr::null());
    for at in (0..text.len()).step_by(4) {
        json.push(&text[at..text.len().min(at + 4)]).unwrap();
        let longest = json.pointer("/content").and_then(PartialValue::as_str).unwrap_or_default();
        if !std::ptr::eq(longest.as_ptr(), place) {
            moved += longest.len();
            place = longest.as_ptr();
        }
    }
    (json.steps(), moved)
}

// Covers: G-51
#[test]
fn work_is_linear_in_the_text_whatever_the_value() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(120), "]".repeat(120));
    let texts: [(&str, Text); 5] = [
        ("one string", Box::new(|n| format!("{{\"content\":\"{}\"}}", "x".repeat(n)))),
        ("escapes", Box::new(|n| format!("{{\"content\":\"{}\"}}", "\\n".repeat(n / 2)))),
        ("numbers", Box::new(|n| format!("[{}0]", "1,".repeat(n / 2)))),
        ("deep numbers", Box::new(move |n| deep(&format!("{}0", "1,".repeat(n / 2))))),
        (
            "keys",
            Box::new(|n| {
                let members: Vec<_> = (0..n / 8).map(|at| format!("\"{at}\":[]")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ),
    ];
    for (name, text) in &texts {
        for n in [1 << 14, 1 << 18] {
            let text = text(n);
            let (steps, moved) = work(&text);
            assert!(
                steps <= 2 * text.len() as u64,
                "{name}: {steps} steps for {} bytes",
                text.len()
            );
            assert!(moved <= 2 * text.len(), "{name}: {moved} bytes moved for {}", text.len());
        }
    }
    // Plain text takes one step a piece.
    assert!(work(&format!("{{\"content\":\"{}", "x".repeat(1 << 14))).0 < (1 << 12) + 20);
}

#[test]
fn values_are_read_typed_and_strings_are_borrowed() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Append,
        At { line: u32 },
    }
    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Draft<'a> {
        path: Option<&'a str>,
        #[serde(borrow)]
        lines: Vec<&'a str>,
        mode: Option<Mode>,
        size: Option<f64>,
        flags: Option<(bool, bool)>,
    }
    let text = r#"{"path":"a.rs","mode":"append","size":1.5,"lines":["x","y"],"flags":[true,false],"more":{}}"#;
    let mut json = PartialJson::new();
    json.push(&text[..12]).unwrap();
    let draft: Draft<'_> = json.value().unwrap().read().unwrap();
    assert_eq!(draft, Draft { path: Some("a.r"), ..Draft::default() });
    let path = json.pointer("/path").unwrap().as_str().unwrap();
    assert!(std::ptr::eq(draft.path.unwrap(), path), "it was copied");
    json.push(&text[12..]).unwrap();
    let draft: Draft<'_> = json.value().unwrap().read().unwrap();
    assert_eq!(draft.mode, Some(Mode::Append));
    assert_eq!(
        (draft.lines, draft.size, draft.flags),
        (vec!["x", "y"], Some(1.5), Some((true, false)))
    );
    let at = grown([r#"{"at":{"line":3}}"#]);
    assert_eq!(at.value().unwrap().read::<Mode>().unwrap(), Mode::At { line: 3 });
    assert_eq!(grown(["[null]"]).value().unwrap().read::<Vec<Option<u8>>>().unwrap(), [None]);
    assert!(at.value().unwrap().read::<Vec<u8>>().is_err());
}

#[test]
fn pointers_find_what_is_there() {
    let json = grown([r#"{"a/b":{"m~n":[10,{"":"x"}]},"0":null,"open":["#]);
    let spelled = |pointer: &str| json.pointer(pointer).map(|value| value.to_string());
    #[rustfmt::skip]
    let cases = [
        ("/a~1b/m~0n/0",   Some("10")),
        ("/a~1b/m~0n/1/",  Some("\"x\"")),
        ("/a~1b/m~0n/01",  None),
        ("/a~1b/m~0n/+1",  None),
        ("/a~1b/m~0n/2",   None),
        ("/0",             Some("null")),
        ("/open",          Some("[]")),
        ("open",           None),
        ("/a/b",           None),
    ];
    for (pointer, want) in cases {
        assert_eq!(spelled(pointer).as_deref(), want, "{pointer}");
    }
    let is_open = |pointer: &str| json.pointer(pointer).unwrap().is_open();
    assert_eq!(
        [is_open(""), is_open("/open"), is_open("/a~1b"), is_open("/0")],
        [true, true, false, false]
    );
    assert!(json.pointer("/open").unwrap().is_array() && json.pointer("").unwrap().is_object());
    assert!(
        json.pointer("/0").unwrap().is_null() && json.pointer("/0").unwrap().as_bool().is_none()
    );
}
