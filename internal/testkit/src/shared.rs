//! The recorded provider streams beside the project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// One recorded response body and what it must come to.
#[derive(Debug)]
pub struct Recorded {
    /// Its name, such as `openai/tool-single.sse`.
    pub name: String,
    /// The body.
    pub body: Vec<u8>,
    /// The expected result.
    pub expected: Value,
    /// The sizes of the pieces that the recording client received, when they were kept.
    pub chunks: Option<Vec<usize>>,
}

/// The folder of shared data, or `None` when it is missing.
///
/// # Panics
///
/// When it is missing and the environment variable `CI` is `true`.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/streams");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "../shared/streams is missing, and CI must not pass without it"
    );
    None
}

/// Every recorded body of this protocol with a whole expectation, in the order of their names.
///
/// # Panics
///
/// When a file cannot be read; `None` when there is no folder.
#[must_use]
pub fn recorded(protocol: &str) -> Option<Vec<Recorded>> {
    let folder = folder()?;
    let mut files = Vec::new();
    walk(&folder, &mut files);
    files.sort();
    let expectations = files.iter().filter_map(|file| {
        let expected = json(file);
        (expected["protocol"] == protocol).then_some((file, expected))
    });
    Some(expectations.map(|(file, expected)| read_one(&folder, file, expected)).collect())
}

fn read_one(folder: &Path, file: &Path, expected: Value) -> Recorded {
    let stem = file.to_str().unwrap().strip_suffix(".expected.json").unwrap();
    let forms = [".sse", ".ndjson", ".json", ".response.sse", ".response.ndjson", ".response.json"];
    let body =
        forms.iter().map(|form| PathBuf::from(format!("{stem}{form}"))).find(|path| path.is_file());
    let body = body.unwrap_or_else(|| panic!("{stem} has no body"));
    let chunks = PathBuf::from(format!("{stem}.chunks.json"));
    Recorded {
        name: body.strip_prefix(folder).unwrap().display().to_string(),
        body: fs::read(&body).unwrap(),
        expected,
        chunks: chunks.is_file().then(|| serde_json::from_value(json(&chunks)).unwrap()),
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.to_str().unwrap().ends_with(".expected.json") {
            files.push(path);
        }
    }
}

/// A JSON file.
///
/// # Panics
///
/// When it cannot be read.
#[must_use]
pub fn json(file: &Path) -> Value {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Cuts `body` into pieces of these sizes; what is left is one piece.
#[must_use]
pub fn cut<'b>(body: &'b [u8], sizes: &[usize]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut rest = body;
    for &size in sizes {
        let (piece, tail) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Reads standard base64.
///
/// # Panics
///
/// When `text` is none.
#[must_use]
pub fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let value = alphabet.iter().position(|&letter| letter == byte).expect("base64");
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).unwrap());
        }
    }
    out
}
