//! `useChat` in a page, in Chromium.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use forgeline_testkit::{say, service::page};

use super::started::Started;

/// The scenarios of the script; a test that leaves one out fails.
const SCENARIOS: usize = 14;

// Covers: E-04, E-41
#[test]
fn a_page_with_use_chat_does_all_that_it_may() {
    let Some(mut command) = page() else { return };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap();
    let model = first.strip_prefix("model ").unwrap();
    let demo = Started::with(&["--provider", "demo", "--helpers"]);
    let slow = Started::with(&["--provider", "openai", "--base-url", model, "--model", "m"]);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}\n{}", demo.link, slow.link).unwrap();
    let lines: Vec<_> = lines.collect();
    assert!(child.wait().unwrap().success(), "{lines:#?}");
    let done = lines.iter().filter(|line| line.starts_with("ok useChat: ")).count();
    assert_eq!(done, SCENARIOS, "{lines:#?}");
    say(format!("useChat in a page: {done} scenarios"));
}
