//! Ctrl-C and SIGTERM at `run` and `chat`, with a server that writes without end.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

use crate::{
    flood::{SOON, Seen, ended, flood, signal},
    process::forgeline,
};

/// Runs of each kind.
const TIMES: usize = 12;

/// Reads and forgets, in a thread of its own, until the end.
fn drain(mut source: impl std::io::Read + Send + 'static) {
    thread::spawn(move || std::io::copy(&mut source, &mut std::io::sink()).unwrap_or_default());
}

// Found: R2
#[test]
fn the_first_signal_stops_a_run_on_a_saturated_stream() {
    let flood = flood();
    for at in 0..TIMES {
        let json: &[&str] = if at % 2 == 0 { &["--json"] } else { &[] };
        let arguments = [&["run", "--base-url", &flood.url, "--model", "m", "hi"], json].concat();
        let mut child = forgeline(&arguments).spawn().unwrap();
        drain(child.stderr.take().unwrap());
        let mut stdout = child.stdout.take().unwrap();
        // Past the beginning, where the loop has just started.
        stdout.read_exact(&mut vec![0; 10_000 + 1_000 * at]).unwrap();
        drain(stdout);
        signal(&child, if at % 3 == 0 { "-TERM" } else { "-INT" });
        assert_eq!(ended(child), Some(130), "run {at}");
    }
}

// Found: R2
#[test]
fn a_run_whose_output_nobody_reads_can_be_stopped() {
    let flood = flood();
    for (json, signals) in [(&["--json"][..], 1), (&[], 1), (&["--json"], 2)] {
        let arguments = [&["run", "--base-url", &flood.url, "--model", "m", "hi"], json].concat();
        let child = forgeline(&arguments).spawn().unwrap();
        assert_eq!(flood.seen.recv(), Ok(Seen::Full));
        for _ in 0..signals {
            signal(&child, "-INT");
        }
        assert_eq!(ended(child), Some(130), "{json:?}, {signals} signals");
        assert_eq!(flood.seen.recv(), Ok(Seen::Closed));
    }
}

fn chat(url: &str) -> (Child, ChildStdin, Receiver<String>) {
    let arguments = ["chat", "--base-url", url, "--model", "m"];
    let mut child = forgeline(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let (sender, receiver) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    thread::spawn(move || {
        for line in stderr.lines() {
            sender.send(line.unwrap()).unwrap_or_default();
        }
    });
    let stdin = child.stdin.take().unwrap();
    (child, stdin, receiver)
}

fn wait_for_stopped(lines: &Receiver<String>) {
    while lines.recv_timeout(SOON).unwrap() != "stopped" {}
}

// Found: R2
#[test]
fn a_signal_stops_the_answer_of_a_chat_and_the_chat_goes_on() {
    let flood = flood();
    let (mut child, mut stdin, lines) = chat(&flood.url);
    let mut stdout = child.stdout.take().unwrap();
    for _ in 0..TIMES {
        stdin.write_all(b"hi\n").unwrap();
        stdout.read_exact(&mut vec![0; 40_000]).unwrap();
        let reader = thread::spawn(move || {
            let mut text = Vec::new();
            let mut stdout = BufReader::new(stdout);
            // The line of facts behind the answer.
            while !String::from_utf8_lossy(&text).contains("1 turn") {
                text.clear();
                stdout.read_until(b'\n', &mut text).unwrap();
            }
            stdout.into_inner()
        });
        signal(&child, "-INT");
        wait_for_stopped(&lines);
        stdout = reader.join().unwrap();
    }
    stdin.write_all(b"/quit\n").unwrap();
    assert_eq!(ended(child), Some(0));
}

// Found: R2
#[test]
fn a_chat_whose_output_nobody_reads_can_be_stopped_and_left() {
    let flood = flood();
    let (mut child, mut stdin, lines) = chat(&flood.url);
    stdin.write_all(b"hi\n").unwrap();
    assert_eq!(flood.seen.recv(), Ok(Seen::Full));
    signal(&child, "-INT");
    wait_for_stopped(&lines);
    drain(child.stdout.take().unwrap());
    stdin.write_all(b"hi again\n").unwrap();
    signal(&child, "-TERM");
    assert_eq!(ended(child), Some(130));
}
