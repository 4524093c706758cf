//! The project's own texts and bodies, and what they mean: one completion beside each.
//!
//! `FORGELINE_WRITE_GOLDEN=1` writes the completions anew; read the difference before it is
//! committed.

use std::{collections::BTreeMap, env, fs, path::Path};

use forgeline::llm::Protocol;
use forgeline_cli::{parse::parse_chunks, pipeline::ReadOptions, replay::decode_chunks};
use forgeline_testkit::{
    fixtures::{bodies, files, folder},
    recorded::json,
};
use serde_json::Value;

/// The shapes of an answer, as the names of bodies begin with them.
const SHAPES: [&str; 14] = [
    "text",
    "reasoning",
    "call",
    "calls",
    "server-tool",
    "citations",
    "refusal",
    "error",
    "truncated",
    "length",
    "unknown",
    "structured",
    "media",
    "whole",
];

/// The six protocols, and the shapes that each of them does not have.
#[rustfmt::skip]
const LACKING: [(Protocol, &[&str]); 6] = [
    (Protocol::OpenAiChat,      &[]),
    (Protocol::Anthropic,       &["media"]),
    (Protocol::OpenAiResponses, &[]),
    (Protocol::Gemini,          &[]),
    (Protocol::Ollama,          &["server-tool", "citations", "refusal", "media"]),
    (Protocol::Cohere,          &["server-tool", "media"]),
];

#[test]
fn every_fixture_matches_its_expected_result() {
    let (texts, bodies) = (texts(), bodies());
    assert!(texts.len() >= 18 && bodies.len() >= 113, "fixtures are missing");
    for (name, bytes) in &texts {
        let read = parse_chunks(ReadOptions::default(), None, [bytes.as_slice()], &mut |_| {});
        compare(Path::new(name), &serde_json::to_value(read).unwrap());
    }
    for body in &bodies {
        let chunks = [body.bytes.as_slice()];
        let read = decode_chunks(body.protocol, ReadOptions::default(), chunks, &mut |_| {});
        compare(&body.path, &serde_json::to_value(read).unwrap());
    }
    forgeline_testkit::say(format!("{} texts and {} bodies of our own", texts.len(), bodies.len()));
}

#[test]
fn each_protocol_has_bodies_of_every_shape_that_it_knows() {
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for body in bodies() {
        names.entry(body.protocol.name()).or_default().push(body.name().to_owned());
    }
    for (protocol, lacking) in LACKING {
        let names = &names[protocol.name()];
        let has = |shape: &&&str| names.iter().any(|name| name.starts_with(&format!("{shape}-")));
        let missing: Vec<_> = SHAPES.iter().filter(|shape| !has(shape)).copied().collect();
        assert_eq!(missing, lacking, "{protocol}");
        assert!(names.len() >= 14, "{protocol} has {} bodies", names.len());
    }
}

/// The texts below `testdata/parser/`, by their paths.
pub(crate) fn texts() -> Vec<(String, Vec<u8>)> {
    let mut paths = files(&folder().join("parser"));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

fn compare(fixture: &Path, read: &Value) {
    let path = fixture.with_extension("expected.json");
    if env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
        fs::write(&path, serde_json::to_string_pretty(read).unwrap() + "\n").unwrap();
    }
    assert_eq!(read, &json(&path), "{}", fixture.display());
}
