//! The figures and words of `--help`, against the library and the README.

use std::time::Duration;

use forgeline::agent::config::AgentConfig;

use crate::process::run;

/// The help of a command, with single spaces.
fn help(command: &str) -> String {
    let outcome = run(&[command, "--help"], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A time as flags take it.
fn time(wait: Duration) -> String {
    let seconds = wait.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| seconds.to_string(), |(unit, name)| format!("{}{name}", seconds / unit))
}

#[test]
fn the_defaults_that_the_help_states_are_those_of_the_library() {
    let config = AgentConfig::default();
    let week = time(Duration::from_hours(7 * 24));
    let waits = format!("[default: {}; with `serve` {week}]", time(config.approval_timeout));
    // The page of limits says the same of the wait, and has a test for its figures.
    let page = include_str!("../../../../docs/guide/limits.md");
    assert!(page.contains("which is a week in `forgeline serve`"), "{week}");
    let of_agent = [
        ("--max-turns", format!("[default: {}]", config.max_turns)),
        ("--approval-timeout", waits),
        ("--timeout", "[default: no limit]".to_owned()),
        (
            "--context",
            "[default: three quarters of the model's context window, if known]".to_owned(),
        ),
    ];
    for command in ["run", "chat", "serve"] {
        if command == "serve" && cfg!(not(feature = "serve")) {
            continue;
        }
        let help = help(command);
        for (flag, stated) in &of_agent {
            let Some((_, about)) = help.split_once(&format!(" {flag} <")) else {
                panic!("{command} has no {flag}: {help}");
            };
            let about = about.split(" --").next().unwrap();
            assert!(about.contains(stated), "{command} {flag}: {about}; expected {stated}");
        }
    }
}

#[test]
fn the_exit_status_of_the_help_is_that_of_the_guide() {
    let guide = include_str!("../../../../docs/guide/command.md");
    let (_, guide) = guide.split_once("| exit status |").unwrap();
    let help = help("run");
    let (_, help) = help.split_once("Exit status:").unwrap();
    for text in [guide, help] {
        let numbers: Vec<_> = text.split(|sign: char| !sign.is_ascii_digit()).collect();
        let mut numbers: Vec<_> = numbers.into_iter().filter(|it| !it.is_empty()).collect();
        numbers.dedup();
        numbers.truncate(4);
        assert_eq!(numbers, ["0", "1", "2", "130"], "{text}");
    }
    // What both say of them, tried; `endings` tries the ends of runs, and `signals` the interrupt.
    let rows: [(&[&str], i32); 4] = [
        (&["run", "--provider", "demo", "--no-keep", "What is 6 * 7?"], 0),
        // No server listens there.
        (&["run", "--base-url", "http://127.0.0.1:9", "--model", "m", "--no-keep", "Hello."], 1),
        (&["run", "--no-such-flag"], 2),
        (&["parse", "--chunk-bytes", "some"], 2),
    ];
    for (arguments, want) in rows {
        let outcome = run(arguments, b"");
        assert_eq!(outcome.code, Some(want), "{arguments:?}: {outcome:?}");
    }
}
