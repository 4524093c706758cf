//! Defects that were measured, and the test of each: `make found-table` prints them.
//!
//! A test names its rows in a comment `// Found: P3, P18`, or `// Rows: N-10`, above its attribute; a fixture of
//! `testdata/dialects` and `testdata/thinking` at the start of its name, as in `"P3: tags in prose"`.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use super::source::{Tests, marked_tests, root};

/// The measured defects: P of the text parsers, V of the providers, R of reliability, A of the agent, F of
/// programs that users wrote, S mutations of the code that turned no test red, N what public bug reports
/// of others showed, PEER what other projects' test suites expect.
const ROWS: [(&str, &str); 136] = [
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
    ("N-01", "a refused or filtered answer looks finished"),
    ("N-02", "an item of the provider alone counts as an answer"),
    ("N-03", "calls of a refused, filtered or malformed answer run"),
    ("N-04", "a run that ends at a limit without text is a success"),
    ("N-05", "our own sentence goes out as the model's answer"),
    ("N-06", "an answer that does not fit its schema is a success"),
    ("N-07", "a cost budget without a price does nothing"),
    ("N-08", "the demo model answers where none was named"),
    ("N-09", "a finish word about calls, and no call"),
    ("N-10", "any refusal of a request is called a refusal of tools"),
    ("N-11", "texts of all turns are glued into one answer"),
    ("N-12", "a model reads that the user refused what no person decided"),
    ("N-20", "reasoning that a host wants back, or rejects"),
    ("N-21", "an id of a call twice in one request"),
    ("N-22", "two messages of the user in a row"),
    ("N-23", "a rejected signature fails every later message"),
    ("N-24", "a refused picture or file fails every later message"),
    ("N-25", "a conversation that is too long fails for ever"),
    ("N-26", "reasoning goes back with other line breaks and tags"),
    ("N-27", "words of odd answers are lost, and choices that were not asked for"),
    ("N-28", "arguments as a string of JSON, and one id twice in an answer"),
    ("N-30", "a value that is not closed swallows the next call"),
    ("N-31", "a tag that is written twice"),
    ("N-32", "markup in a name"),
    ("N-33", "names that no tool has"),
    ("N-34", "variants of calls that families drift to"),
    ("N-35", "a closer in a code span"),
    ("N-35a", "the beginning of a token at the end of an answer"),
    ("N-36", "prose that explains a call"),
    ("N-36a", "a call in words that nobody reads"),
    ("N-37", "dialects and models without a row"),
    ("N-38", "calls in the text of an unknown model"),
    ("N-39", "arguments of a neighbouring type"),
    ("N-40", "a granted change overwrites what a person changed"),
    ("N-41", "line ends, byte order marks and encodings of files"),
    ("N-42", "a long result is withheld whole"),
    ("N-43", "commands without a terminal, their environment and their paths"),
    ("N-44", "an answer of an MCP server that cannot be parsed"),
    ("N-45", "trust, restarts, names and instructions of MCP servers"),
    ("N-46", "links and groups below the root"),
    ("N-47", "attached texts"),
    ("N-48", "schemas, caches and words about threads that are not true"),
    ("N-60", "file tools reach the service's own files"),
    ("N-61", "a service without tokens is public"),
    ("N-62", "approvals end after minutes"),
    ("N-63", "tabs freeze the console"),
    ("N-64", "signals, tokens, locks and prefixes of the service"),
    ("N-65", "repeated messages, unknown chats and versions of clients"),
    ("N-66", "addresses of pictures, proxies, raw errors and erasure"),
    ("N-67", "what the console shows wrong"),
    ("N-81", "a failover chain never returns to its first provider"),
    ("N-84", "a stream of calls ends with `stop`, and requests of clients cannot be read"),
    ("N-85", "counts of spans are text for exporters"),
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
    tests.extend(marked_tests("Rows"));
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
