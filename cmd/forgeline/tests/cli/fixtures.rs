//! The project's own texts and bodies, and what they mean: one completion beside each.
//!
//! `FORGELINE_WRITE_GOLDEN=1` writes the completions anew; read the difference before it is
//! committed.

use std::{env, fs, path::Path};

use forgeline::llm::Protocol;
use forgeline_cli::{parse::parse_chunks, pipeline::Reading, replay::decode_chunks};

use crate::shared::fixtures;

#[test]
fn every_fixture_means_what_stands_beside_it() {
    let (mut texts, bodies) = (fixtures(&["txt"]), own_bodies());
    // What is sent, not what a model wrote.
    texts.retain(|(name, _)| !name.contains("/testdata/requests/"));
    assert!(texts.len() >= 18 && bodies.len() >= 6, "fixtures are missing");
    for (name, bytes) in &texts {
        let read = parse_chunks(Reading::default(), None, [bytes.as_slice()], &mut |_| {});
        compare(Path::new(name), &serde_json::to_value(read).unwrap());
    }
    for (protocol, name, bytes) in &bodies {
        let chunks = [bytes.as_slice()];
        let read = decode_chunks(*protocol, Reading::default(), chunks, &mut |_| {});
        compare(Path::new(name), &serde_json::to_value(read).unwrap());
    }
    forgeline_testkit::say(format!("{} texts and {} bodies of our own", texts.len(), bodies.len()));
}

/// The bodies below `testdata/`, in folders that have their protocol's name.
pub(crate) fn own_bodies() -> Vec<(Protocol, String, Vec<u8>)> {
    let bodies = fixtures(&["sse", "ndjson"]).into_iter().map(|(name, bytes)| {
        let folder = Path::new(&name).parent().unwrap().file_name().unwrap();
        let protocol = Protocol::by_name(folder.to_str().unwrap());
        let protocol = protocol.unwrap_or_else(|| panic!("{name} is in no protocol's folder"));
        (protocol, name, bytes)
    });
    bodies.collect()
}

fn compare(fixture: &Path, read: &serde_json::Value) {
    let path = fixture.with_extension("expected.json");
    if env::var_os("FORGELINE_WRITE_GOLDEN").is_some() {
        fs::write(&path, serde_json::to_string_pretty(read).unwrap() + "\n").unwrap();
    }
    let expected = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    assert_eq!(read, &expected, "{}", fixture.display());
}
