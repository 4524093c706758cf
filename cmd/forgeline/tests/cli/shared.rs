//! Where recorded bodies and fixtures are, and the cuts that prove that cutting changes nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forgeline::llm::Protocol;
use forgeline_testkit::shared::folder;
use serde_json::Value;

/// One recorded response body with what it must read as.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// `None` when the recording comes without an expectation.
    pub(crate) expected: Option<Value>,
    /// Sizes of the chunks that the recording client received.
    pub(crate) chunks: Option<Vec<usize>>,
}

/// The protocols, their names in the recordings and how many bodies there are at least.
#[rustfmt::skip]
const PROTOCOLS: [(Protocol, &str, usize); 7] = [
    (Protocol::OpenAiChat,      "openai-chat",      90),
    (Protocol::OpenAiResponses, "openai-responses", 19),
    (Protocol::Anthropic,       "anthropic",        51),
    (Protocol::Gemini,          "gemini",            9),
    (Protocol::Ollama,          "ollama-chat",      12),
    (Protocol::OllamaGenerate,  "ollama-generate",   1),
    (Protocol::Cohere,          "cohere-v2",         2),
];

/// The bodies of `protocol` among the shared recordings; none when the folder is missing and this is
/// no CI run.
pub(crate) fn bodies(protocol: Protocol) -> Vec<Body> {
    let Some(folder) = folder() else {
        forgeline_testkit::say("skipped: the shared recordings are missing");
        return Vec::new();
    };
    let (_, name, least) = PROTOCOLS.into_iter().find(|row| row.0 == protocol).unwrap();
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut bodies = Vec::new();
    for row in manifest.lines().skip(1) {
        let columns: Vec<_> = row.split('\t').collect();
        if columns.get(2) != Some(&name) {
            continue;
        }
        let path = folder.join(columns[0]);
        if path.is_dir() {
            bodies.extend(turns(&path));
        } else {
            bodies.push(read_body(&path, &path.with_extension("")));
        }
    }
    assert!(bodies.len() >= least, "only {} bodies of {name} were found", bodies.len());
    forgeline_testkit::say(format!("{} bodies of {name}", bodies.len()));
    bodies
}

/// The recorded responses of a whole session.
fn turns(folder: &Path) -> Vec<Body> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let forms = [".response.sse", ".response.ndjson"];
    paths.retain(|path| forms.iter().any(|form| path.to_str().unwrap().ends_with(form)));
    paths.sort();
    let stem = |path: &Path| path.with_extension("").with_extension("");
    paths.iter().map(|path| read_body(path, &stem(path))).collect()
}

fn read_body(path: &Path, stem: &Path) -> Body {
    let beside = |ending: &str| {
        let text = fs::read(format!("{}.{ending}", stem.display())).ok()?;
        Some(serde_json::from_slice::<Value>(&text).unwrap())
    };
    let chunks = beside("chunks.json").map(|sizes| serde_json::from_value(sizes).unwrap());
    let name = path.components().rev().take(2).map(|part| part.as_os_str().to_str().unwrap());
    Body {
        name: name.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/"),
        path: path.to_owned(),
        bytes: fs::read(path).unwrap(),
        // Some come with an HTTP status only.
        expected: beside("expected.json").filter(|expected| expected["protocol"].is_string()),
        chunks,
    }
}

/// The files below `testdata/` with one of these endings, with their contents.
pub(crate) fn fixtures(endings: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"))];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if endings
                .iter()
                .any(|ending| path.extension().is_some_and(|found| found == *ending))
            {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Bodies up to this length are cut everywhere.
pub(crate) const WHOLE_BYTES: usize = 16 << 10;

/// Where to cut `bytes` in two: everywhere up to 16 KiB; above, near everything that a reader may
/// stumble over, and at 2,000 places that a fixed seed picks.
pub(crate) fn cut_places(bytes: &[u8]) -> Vec<usize> {
    const NEAR_BYTES: usize = 8;
    const SEEDED: usize = 2_000;
    if bytes.len() <= WHOLE_BYTES {
        return (0..=bytes.len()).collect();
    }
    let mut wanted = vec![false; bytes.len() + 1];
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | 0x80..) {
            let end = (at + NEAR_BYTES).min(bytes.len());
            wanted[at.saturating_sub(NEAR_BYTES)..=end].fill(true);
        }
    }
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..SEEDED {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        wanted[usize::try_from(random % bytes.len() as u64).unwrap()] = true;
    }
    wanted.iter().enumerate().filter(|(_, wanted)| **wanted).map(|(at, _)| at).collect()
}
