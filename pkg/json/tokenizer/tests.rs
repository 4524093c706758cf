use proptest::prelude::*;
use serde_json::{Value, value::RawValue};

use super::{Strictness, Token, Tokenizer};
use crate::Repair;

/// Reads `pieces` and ends the text; returns the strict JSON and the repairs, or the fault.
fn read<'t>(
    strictness: Strictness,
    pieces: impl IntoIterator<Item = &'t str>,
) -> Result<(String, Vec<Repair>), (&'static str, usize)> {
    let mut tokenizer = Tokenizer::new(strictness);
    let (mut json, mut repairs) = (String::new(), crate::RepairSet::default());
    let mut take = |token: Token<'_>| {
        match token {
            Token::Text(text) => json.push_str(text),
            Token::ValueEnd { repairs: more, .. } => repairs.extend(more),
            Token::KeyStart { .. }
            | Token::KeyEnd { .. }
            | Token::ValueStart { .. }
            | Token::Next { .. } => {}
        }
        true
    };
    for piece in pieces {
        tokenizer.feed(piece, &mut take);
    }
    if !tokenizer.close_at_end(&mut take) {
        return Err(tokenizer.fault());
    }
    repairs.extend(tokenizer.repairs());
    Ok((json, repairs.to_vec()))
}

/// Reads `text` at every cut into two pieces and byte by byte, which must all be the same.
fn read_at_all_cuts(
    strictness: Strictness,
    text: &str,
) -> Result<(String, Vec<Repair>), (&'static str, usize)> {
    let whole = read(strictness, [text]);
    for (at, _) in text.char_indices() {
        let (head, tail) = text.split_at(at);
        assert_eq!(read(strictness, [head, tail]), whole, "{text:?} cut at {at}");
    }
    assert_eq!(read(strictness, text.split_inclusive(|_| true)), whole, "{text:?} by characters");
    whole
}

#[test]
fn known_mistakes_are_repaired_and_reported_at_every_cut() {
    use Repair as R;
    #[rustfmt::skip]
    let cases: [(&str, &str, &[Repair]); 25] = [
        ("{a: 1, $b-c: 2}",           r#"{"a": 1, "$b-c": 2}"#,      &[R::UnquotedKey]),
        ("{'a': 'it\\'s \"x\"'}",     r#"{"a": "it's \"x\""}"#,      &[R::SingleQuotes]),
        ("[1, 2 , ]",                 "[1, 2  ]",                    &[R::ExtraComma]),
        ("[,1,,2]",                   "[1,2]",                       &[R::ExtraComma]),
        ("[1, /* x */ 2 // y\n]",     "[1,  2 ]",                    &[R::Comment]),
        ("# x\n{}",                   "{}",                          &[R::Comment]),
        ("[True, False, None]",       "[true, false, null]",         &[R::PythonLiteral]),
        ("[\"a\nb\tc\"]",             r#"["a\nb\tc"]"#,              &[R::RawControl]),
        (r#"["C:\dir\u12"]"#,         r#"["C:\\dir\\u12"]"#,         &[R::InvalidEscape]),
        (r#"["it\'s"]"#,              r#"["it's"]"#,                 &[R::InvalidEscape]),
        (r#"{"a": [1, {"b": 2"#,      r#"{"a": [1, {"b": 2}]}"#,     &[R::MissingBracket]),
        ("[1,",                       "[1]",                         &[R::ExtraComma, R::MissingBracket]),
        // Found: PEER
        ("{\"a\": \"x\" \"b\": 'y'\nc: 1}", r#"{"a": "x" ,"b": "y"
,"c": 1}"#, &[R::UnquotedKey, R::SingleQuotes, R::MissingComma]),
        ("{a: 1 b: [2] \"c\": {}}",  r#"{"a": 1 ,"b": [2] ,"c": {}}"#, &[R::UnquotedKey, R::MissingComma]),
        ("[{\"a\":1},",              "[{\"a\":1}]",                 &[R::ExtraComma, R::MissingBracket]),
        ("{} and so on",              "{}",                          &[R::TrailingText]),
        // Found: PEER
        ("{\"a\": [1, 2}",            r#"{"a": [1, 2]}"#,            &[R::MissingBracket]),
        ("{\"a\": [{\"b\": [[1 }]}",   r#"{"a": [{"b": [[1 ]]}]}"#,  &[R::MissingBracket]),
        ("[{\"a\": {\"b\": 1}]",       r#"[{"a": {"b": 1}}]"#,        &[R::MissingBracket]),
        ("[{\"a\": 1, {\"a\": 2}]",     r#"[{"a": 1 },{"a": 2}]"#,     &[R::MissingBracket]),
        ("[{\"a\":{\"b\":1 ,\n{\"a\":2}]", "[{\"a\":{\"b\":1 \n}},{\"a\":2}]", &[R::MissingBracket]),
        ("{\"a\": (1, 'b', (2,), ())}", r#"{"a": [1, "b", [2], []]}"#, &[R::SingleQuotes, R::PythonLiteral]),
        ("( [1], )",                  "[ [1] ]",                     &[R::PythonLiteral]),
        ("{\"a\": (1, 2",             r#"{"a": [1, 2]}"#,            &[R::PythonLiteral, R::MissingBracket]),
        ("{a: [true,], /* */ }",      r#"{"a": [true]  }"#,          &[R::UnquotedKey, R::ExtraComma, R::Comment]),
    ];
    for (text, json, repairs) in cases {
        let repaired = Ok((json.to_owned(), repairs.to_vec()));
        assert_eq!(read_at_all_cuts(Strictness::Lenient, text), repaired, "{text:?}");
        assert!(read_at_all_cuts(Strictness::Strict, text).is_err(), "{text:?}");
        assert!(serde_json::from_str::<Value>(json).is_ok(), "{json}");
    }
}

#[test]
fn what_cannot_be_repaired_has_its_reason_and_offset_at_every_cut() {
    #[rustfmt::skip]
    let cases = [
        ("",                  0,   "the JSON ends too early"),
        ("[\"a",              3,   "the JSON ends too early"),
        ("{\"a\" 1}",         5,   "a colon is missing after a key"),
        ("[1 2]",             3,   "a comma or `]` is missing in an array"),
        ("[1}",               2,   "a comma or `]` is missing in an array"),
        ("[1)",               2,   "a comma or `]` is missing in an array"),
        ("{\"a\":1]",         6,   "a comma or `}` is missing in an object"),
        ("{\"a\":1,{\"b\":2}}", 7, "expected a key of an object"),
        ("{\"a\":1 \"b\"}",   10,  "a colon is missing after a key"),
        ("{\"a\":1 [2]}",     7,   "a comma or `}` is missing in an object"),
        ("{\"a\":\"x\"y\"z\"}", 9, "a colon is missing after a key"),
        ("[\"a\" \"b\"]",       5,   "a comma or `]` is missing in an array"),
        // Found: PEER
        ("{",                 1,   "the JSON ends too early"),
        ("{\"a\":{",          6,   "the JSON ends too early"),
        ("{\"a\":1,\"b\":[ ", 13,  "the JSON ends too early"),
        ("{\"a\":}",          5,   "a value is missing before a bracket"),
        ("[1.]",              3,   "invalid JSON number"),
        ("[0x1F]",            2,   "invalid JSON number"),
        ("[maybe]",           1,   "this word is not a JSON value"),
        ("[nullable]",        1,   "this word is not a JSON value"),
        ("{?}",               1,   "expected a key of an object"),
        ("[+1]",              1,   "expected a JSON value"),
    ];
    for (text, at, reason) in cases {
        assert_eq!(read_at_all_cuts(Strictness::Lenient, text), Err((reason, at)), "{text:?}");
    }
    let deep = "[".repeat(129);
    let fault = Err(("the JSON nests deeper than 128 levels", 128));
    assert_eq!(read(Strictness::Lenient, [deep.as_str()]), fault);
}

#[test]
fn a_withheld_comma_outlives_more_whitespace_than_is_held() {
    let head = format!("[1,{}", " ".repeat(5000));
    let (json, repairs) = read(Strictness::Lenient, [head.as_str(), "2]"]).unwrap();
    assert_eq!(serde_json::from_str::<Vec<u8>>(&json).unwrap(), [1, 2]);
    assert_eq!(repairs, []);
    let (json, _) = read(Strictness::Lenient, [head.as_str(), "]"]).unwrap();
    assert_eq!(serde_json::from_str::<Vec<u8>>(&json).unwrap(), [1]);
}

/// Reads `pieces` and completes what was emitted of them, if they are not whole.
fn read_and_abandon<'t>(pieces: impl IntoIterator<Item = &'t str>) -> String {
    let mut tokenizer = Tokenizer::new(Strictness::Lenient);
    let mut json = String::new();
    let mut take = |token: Token<'_>| {
        if let Token::Text(text) = token {
            json.push_str(text);
        }
        false
    };
    for piece in pieces {
        tokenizer.feed(piece, &mut take);
    }
    if !tokenizer.close_at_end(&mut take) {
        tokenizer.abandon(&mut take);
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strict_json_passes_byte_for_byte_and_nothing_else_is_strict(
        tokens in prop::collection::vec(prop::sample::select(&[
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u", "00e9", "n", "null", "tru", "e", "1", "-", ".5", "e+", " ", "日",
            "{\"k\":", "[1,", "'", "#", "//", "None",
        ][..]), 0..16),
    ) {
        let text = tokens.concat();
        let is_strict = serde_json::from_str::<&RawValue>(&text).is_ok();
        let strict = read_at_all_cuts(Strictness::Strict, &text);
        prop_assert_eq!(strict.is_ok(), is_strict, "{:?}: {:?}", text, strict);
        let abandoned = read_and_abandon([text.as_str()]);
        prop_assert!(serde_json::from_str::<&RawValue>(&abandoned).is_ok(), "{:?} became {:?}", text, abandoned);
        for piece in [1, 2, 3] {
            let chars: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = chars.chunks(piece).map(|piece| piece.iter().collect()).collect();
            prop_assert_eq!(read_and_abandon(pieces.iter().map(String::as_str)), abandoned.as_str());
        }
        let lenient = read_at_all_cuts(Strictness::Lenient, &text);
        if is_strict {
            prop_assert_eq!(lenient, Ok((text.trim_end().to_owned(), Vec::new())));
        } else if let Ok((json, repairs)) = lenient {
            prop_assert!(serde_json::from_str::<&RawValue>(&json).is_ok(), "{:?} became {:?}", text, json);
            prop_assert!(!repairs.is_empty(), "{:?} became {:?}", text, json);
        }
    }
}
