//! The collection of recorded response bodies, which lives outside the repository.
//!
//! `FORGELINE_BODIES=DIR` names its folder, and `FORGELINE_FOUND=DIR` that of the bodies that showed a
//! defect.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Once,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forgeline::llm::Protocol;
use serde_json::Value;

/// The environment variable that names the collection's folder.
const FOLDER: &str = "FORGELINE_BODIES";

/// The environment variable that names the folder of bodies that showed a defect.
const FOUND: &str = "FORGELINE_FOUND";

/// The environment variable that makes a missing collection a failure.
const REQUIRED: &str = "FORGELINE_REQUIRE_BODIES";

/// The protocols, their names in the collection, and the least number of bodies of each: of all, and
/// of those with an expected result.
#[rustfmt::skip]
const PROTOCOLS: [(Protocol, &str, usize, usize); 7] = [
    (Protocol::OpenAiChat,      "openai-chat",      97, 90),
    (Protocol::OpenAiResponses, "openai-responses", 21, 19),
    (Protocol::Anthropic,       "anthropic",        52, 51),
    (Protocol::Gemini,          "gemini",            9,  9),
    (Protocol::Ollama,          "ollama-chat",      12, 12),
    (Protocol::OllamaGenerate,  "ollama-generate",   1,  1),
    (Protocol::Cohere,          "cohere-v2",         2,  2),
];

/// A recorded response body with its expected result.
#[derive(Debug)]
pub struct Body {
    /// The path within the collection, such as `openai/tool-single.sse`.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The body itself.
    pub bytes: Vec<u8>,
    /// The expected result; null for a recording that has none.
    pub expected: Value,
    /// The sizes of the chunks that the recording client received, when they were kept.
    pub chunks: Option<Vec<usize>>,
}

/// Returns the folder of recorded bodies, or `None` when `FORGELINE_BODIES` is not set.
///
/// The first call without the variable prints what is not run.
///
/// # Panics
///
/// Panics when the variable names something other than a folder, and when it is not set although
/// `FORGELINE_REQUIRE_BODIES` is.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    folder_of(FOLDER, &NOTICE)
}

/// Returns the folder of bodies that showed a defect, or `None` when `FORGELINE_FOUND` is not set.
///
/// The first call without the variable prints what is not run.
///
/// # Panics
///
/// The panics of [`folder`].
#[must_use]
pub fn found() -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    folder_of(FOUND, &NOTICE)
}

fn folder_of(variable: &str, notice: &Once) -> Option<PathBuf> {
    let Some(folder) = env::var_os(variable).map(PathBuf::from) else {
        assert!(env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, but {variable} is not");
        notice.call_once(|| {
            crate::say(format!(
                "not run: the tests that read recorded responses of vendors, because {variable} is not \
                 set; the recordings belong to other projects and are not distributed with this one"
            ));
        });
        return None;
    };
    // Relative paths are relative to the repository, where `cargo` is run, not to a workspace member.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    assert!(folder.is_dir(), "{variable} is {}, which is not a folder", folder.display());
    Some(folder)
}

/// Returns all recorded bodies of a protocol; `None` without a folder.
///
/// # Panics
///
/// Panics when a file cannot be read or bodies are missing.
#[must_use]
pub fn bodies(protocol: Protocol) -> Option<Vec<Body>> {
    let folder = folder()?;
    let (_, name, least, _) = row(protocol);
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let rows = manifest.lines().skip(1).map(|row| row.split('\t').collect::<Vec<_>>());
    let paths = rows.filter(|row| row.get(2) == Some(&name)).flat_map(|row| {
        let path = folder.join(row[0]);
        if path.is_dir() { turns(&path) } else { vec![path] }
    });
    let bodies: Vec<_> = paths.map(|path| read_body(&folder, path)).collect();
    assert!(bodies.len() >= least, "{} bodies of {name}, expected {least}", bodies.len());
    crate::say(format!("read {} recorded bodies of {protocol}", bodies.len()));
    Some(bodies)
}

/// Returns the recorded bodies of a protocol that have an expected result; `None` without a folder.
///
/// # Panics
///
/// Panics when a file cannot be read or bodies are missing.
#[must_use]
pub fn bodies_with_expectation(protocol: Protocol) -> Option<Vec<Body>> {
    let (_, name, _, least) = row(protocol);
    let mut bodies = bodies(protocol)?;
    bodies.retain(|body| body.expected.is_object());
    assert!(bodies.len() >= least, "{} expectations of {name}, not {least}", bodies.len());
    Some(bodies)
}

fn row(protocol: Protocol) -> (Protocol, &'static str, usize, usize) {
    PROTOCOLS.into_iter().find(|row| row.0 == protocol).unwrap()
}

/// Lists the recorded responses of a session.
fn turns(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_response = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        [".response.sse", ".response.ndjson"].iter().any(|ending| name.ends_with(ending))
    };
    let mut paths: Vec<_> = entries.filter(is_response).collect();
    paths.sort();
    paths
}

fn read_body(folder: &Path, path: PathBuf) -> Body {
    let stem = path.with_extension("");
    let stem = stem.to_str().unwrap();
    let stem = stem.strip_suffix(".response").unwrap_or(stem);
    let beside = |ending: &str| {
        let path = PathBuf::from(format!("{stem}.{ending}.json"));
        path.is_file().then(|| json(&path))
    };
    Body {
        name: path.strip_prefix(folder).unwrap().display().to_string(),
        bytes: read_bytes(&path),
        // Some expectations are an HTTP status only.
        expected: beside("expected")
            .filter(|expected| expected["protocol"].is_string())
            .unwrap_or_default(),
        chunks: beside("chunks").map(|sizes| serde_json::from_value(sizes).unwrap()),
        path,
    }
}

/// Reads a recorded body, which may be kept in base64.
///
/// # Panics
///
/// Panics when it cannot be read.
#[must_use]
pub fn read_bytes(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\n".contains(byte);
    if bytes.iter().all(is_digit) { base64(&bytes) } else { bytes }
}

/// Decodes base64; line ends are skipped.
///
/// # Panics
///
/// Panics when `text` is not base64.
#[must_use]
pub fn base64(text: &[u8]) -> Vec<u8> {
    let digits: Vec<_> = text.iter().copied().filter(|byte| *byte != b'\n').collect();
    STANDARD.decode(digits).unwrap()
}

/// Reads a JSON file.
///
/// # Panics
///
/// Panics when it cannot be read.
#[must_use]
pub fn json(file: &Path) -> Value {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Cuts `body` into pieces of these sizes; the rest is one piece.
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
