//! Defects that were measured, and the test of each: `make found-table` prints them.
//!
//! A test names its rows in a comment `// Found: P3, P18` above its attribute; a fixture of
//! `testdata/dialects` and `testdata/thinking` at the start of its name, as in `"P3: tags in prose"`.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use super::source::{Tests, marked_tests, root};

/// The measured defects: P of the text parsers, V of the providers, R of reliability, A of the agent, F of
/// programs that users wrote, S mutations of the code that turned no test red, PEER what other projects'
/// test suites expect.
const ROWS: [(&str, &str); 83] = [
    ("P1", "the name of an Apertus call over 30 bytes"),
    ("P2", "a lone backtick or an open fence hides closers and special tokens"),
    ("P3", "tags named in prose run a call"),
    ("P4", "an Inkling call without a name in its header"),
    ("P5", "an opener inside a parameter's value"),
    ("P6", "unions of types in schemas"),
    ("P7", "a value of GLM that only the block closes"),
    ("P8", "a closing tag inside a parameter's value"),
    ("P9", "empty and unclosed calls of DSML and MiniMax M2"),
    ("P10", "Gemma's bare words and keys with blanks"),
    ("P11", "Kimi K3's attributes, and an answer that begins with its channel"),
    ("P12", "a bare word of DSML"),
    ("P13", "closers without an opener after a call"),
    ("P14", "Muse's messages to the user"),
    ("P15", "Harmony's header to the assistant"),
    ("P16", "types that the model wrote against the schema"),
    ("P17", "small things: offsets, names, numbers, CRLF, limits, names of models"),
    ("P18", "a mention of a tag eats the rest"),
    ("P19", "back-ticks of Gemma, and markers that a server stripped"),
    ("V1", "a native call cut before its arguments runs"),
    ("V2", "content in Anthropic's message_start"),
    ("V3", "Gemini's signatures through Chat Completions"),
    ("V4", "xAI's server tools"),
    ("V5", "audio deltas"),
    ("V6", "a message beside an empty delta"),
    ("V7", "Vertex AI's partial arguments"),
    ("V8", "two messages in one body"),
    ("V9", "Copilot's reasoning fields"),
    ("V10", "images in deltas"),
    ("V11", "custom tools in Chat Completions"),
    ("V12", "the caller of a function call"),
    ("V13", "empty calls"),
    ("V14", "unknown members of a delta"),
    ("V15", "small things: counters, guesses, words of errors"),
    ("V16", "signatures that another vendor, endpoint or model made"),
    ("V17", "structured output in the reasoning"),
    ("V18", "a local server's long prefill"),
    ("R1", "file tools open pipes and devices"),
    ("R2", "Ctrl-C is lost or waits"),
    ("R3", "an error status with a stalled body"),
    ("R4", "a finished answer that does not end"),
    ("R5", "results of tools forge markers in text mode"),
    ("R6", "memory of bodies, arguments, names and error texts"),
    ("R7", "recordings overwrite files and keep secrets"),
    ("R8", "hidden files and keys are read; a local server is chosen unasked"),
    ("R9", "a swapped link leads out of the root"),
    ("R12", "small things: input, environment, requests of a failure, terminals"),
    ("A7", "tools that end the loop are on by default"),
    ("A8", "a wrong path is read as a refusal of tools"),
    ("F1", "another provider does not compile in the README's program"),
    ("F2", "a call left in the content by a compatible server"),
    ("F3", "a client of the user's own panics without a TLS provider"),
    ("F6", "a build error without name and reason"),
    ("F10", "scripted structured output has no partial values"),
    ("F13", "a pipe gets more than the answer; input beside a prompt is ignored"),
    ("F14", "`parse` waits on a terminal without a word"),
    ("F15", "typed-ahead text and Ctrl-C in a chat"),
    ("F16", "a pair of colour codes for each delta"),
    ("M", "texts that mention markers, and neutral texts"),
    ("RT", "calls written by a family's own encoder"),
    ("PEER", "what suites of other parsers showed"),
    ("S1", "the bytes before a region are counted anew"),
    ("S2", "64 KiB are held behind a closer in a value"),
    ("S3", "`:` behind a string with a closer"),
    ("S4", "an indented closing fence"),
    ("S5", "4 KiB of whitespace are held"),
    ("S6", "escapes in a call without a marker"),
    ("S7", "tokens of the authorisation hook in errors"),
    ("S8", "size and deadline of an error's body"),
    ("S9", "a failure of NDJSON stays"),
    ("S10", "the time for the rest of a body after an error"),
    ("S11", "a later error replaces the first"),
    ("S12", "an empty error object is none"),
    ("S13", "bytes that Anthropic and Responses kept are given back"),
    ("S14", "no batch begins after the breaker or a cancel"),
    ("S15", "a tool that timed out is asked to stop"),
    ("S16", "no events of tools in the backlog after a cancel"),
    ("S17", "nudges are counted anew"),
    ("S18", "inputs feel backpressure"),
    ("S19", "an agent without a reader ends"),
    ("S20", "size and depth limits of the file tools"),
    ("S21", "events of a call index that was used before"),
    ("S22", "the arguments \"null\""),
];

/// Rows that are not repaired yet; they leave this list with their test.
const OPEN: [&str; 0] = [];

#[test]
fn every_measured_defect_has_a_test() {
    let tests = tests();
    for (row, title) in ROWS {
        for (at, (name, file)) in tests.get(row).into_iter().flatten().enumerate() {
            println!("{:4} {:70} {file}: {name}", row, if at == 0 { title } else { "" });
        }
    }
    let rows = ROWS.iter().map(|(row, _)| *row);
    let missing: Vec<_> = rows.filter(|row| !tests.contains_key(*row)).collect();
    println!("without a test: {}", missing.join(", "));
    assert_eq!(missing, OPEN, "the rows without a test");
    let unknown = tests.keys().find(|row| ROWS.iter().all(|(known, _)| known != row));
    assert!(unknown.is_none(), "a test names {unknown:?}, which is no row");
}

fn tests() -> Tests {
    let mut tests = marked_tests("Found");
    for folder in ["testdata/dialects", "testdata/thinking"] {
        for (path, fixtures) in json_files(folder) {
            for name in
                fixtures["fixtures"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str())
            {
                let Some((row, _)) = name.split_once(": ") else { continue };
                if ROWS.iter().any(|(known, _)| *known == row) {
                    tests.entry(row.to_owned()).or_default().push((name.to_owned(), path.clone()));
                }
            }
        }
    }
    tests
}

/// The JSON files of a folder, in order of their names.
fn json_files(folder: &str) -> BTreeMap<String, Value> {
    let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            (format!("{folder}/{name}"), serde_json::from_str(&text).unwrap())
        })
        .collect()
}
