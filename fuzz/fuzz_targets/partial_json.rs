//! Any text as a growing JSON value: no panic, the same at every cut, and what serde_json reads.

#![no_main]

use forgeline::types::PartialJson;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Deeper values pass the limit of one of the two readers.
const MAX_BRACKETS: usize = 100;

/// Reads pieces: the value in the end, as text, and the error.
fn read<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (Option<String>, Option<String>) {
    let mut json = PartialJson::new();
    for piece in pieces {
        // A fault is kept, and given by `finish`.
        json.push(piece).ok();
        let _ = json.value();
    }
    let error = json.finish().err();
    let value = json.value().map(|value| serde_json::to_string(&value).unwrap());
    (value, error.map(|error| error.to_string()))
}

fuzz_target!(|text: &str| {
    let (value, error) = read([text]);
    let [_, cut, single] = forgeline_fuzz::cuts(text.as_bytes());
    for pieces in [cut, single] {
        // Cuts inside a character move to its beginning.
        let mut ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len();
            Some(text.floor_char_boundary(*end))
        });
        let mut begin = 0;
        let pieces = std::iter::from_fn(|| {
            let end = ends.next()?;
            Some(&text[std::mem::replace(&mut begin, end)..end])
        });
        assert_eq!(read(pieces), (value.clone(), error.clone()), "{text:?}");
    }
    let is_deep = text.matches(['{', '[']).count() >= MAX_BRACKETS;
    if let Ok(wanted) = serde_json::from_str::<Value>(text)
        && !is_deep
    {
        let value = value.map(|value| serde_json::from_str(&value).unwrap());
        assert_eq!((value, error), (Some(wanted), None), "{text:?}");
    }
});
