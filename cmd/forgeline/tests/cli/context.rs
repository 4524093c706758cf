//! The window: what is left out of requests, and what is said about it.

use crate::process::run;

/// The lines of a chat with the demo model, as a pipe without colour gets them.
fn chat(flags: &[&str], questions: u32) -> String {
    let lines: Vec<_> = (1..=questions).map(|at| format!("What is {at} * 7?\n")).collect();
    let lines = lines.concat();
    let arguments = [&["chat", "--provider", "demo"], flags].concat();
    let outcome = run(&arguments, lines.as_bytes());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!outcome.stdout.contains('\u{1b}'), "no colour in a pipe");
    outcome.stdout
}

#[test]
fn chat_shows_omissions_and_the_use_of_the_window() {
    let shown = chat(&["--context", "700"], 10);
    let about: Vec<_> = shown.lines().filter(|line| line.contains("left out")).collect();
    assert!(!about.is_empty(), "{shown}");
    for line in &about {
        assert!(line.starts_with("  left out to make room: "), "{line}");
        assert!(line.ends_with(" tokens)") && line.chars().count() <= 80, "{line}");
    }
    let footers = shown.lines().filter(|line| line.contains(" · window: ")).count();
    assert_eq!(footers, 10, "{shown}");
    assert!(shown.contains(" % of 700"), "{shown}");
    let shown = chat(&[], 2);
    assert!(!shown.contains("window:"), "the demo's window is not known: {shown}");
}

#[test]
fn chat_shows_a_summary() {
    let shown = chat(&["--context", "4000", "--summarize-at", "50"], 25);
    assert!(shown.lines().any(|line| line.starts_with("  summarized: ")), "{shown}");
}

#[test]
fn a_share_without_a_window_is_wrong_usage() {
    let outcome = run(&["chat", "--provider", "demo", "--summarize-at", "50"], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--context"), "{}", outcome.stderr);
}
