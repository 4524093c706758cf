//! Keys at `run` and `chat` on a terminal, with a server that writes without end.

use std::env;

use crate::{
    flood::{Flood, SOON, Seen, ended, flood, signal},
    pty::{CTRL_C, CTRL_D, Pty},
};

/// Rounds of each kind; `make ctrlc` asks for more.
fn rounds() -> usize {
    env::var("FORGELINE_CTRLC").map_or(6, |rounds| rounds.parse().unwrap())
}

fn start(command: &str, flood: &Flood) -> Pty {
    let question: &[&str] = if command == "run" { &["hi"] } else { &[] };
    Pty::start(&[&[command, "--base-url", &flood.url, "--model", "m"], question].concat())
}

/// Plays a round as often as asked, and tells how often it went well.
fn count(what: &str, mut round: impl FnMut(usize)) {
    let rounds = rounds();
    for at in 0..rounds {
        round(at);
    }
    println!("{what}: {rounds} of {rounds}");
}

// Found: R2
#[test]
fn ctrl_c_stops_a_run_on_a_terminal() {
    let flood = flood();
    count("run, Ctrl-C while it writes", |at| {
        let mut pty = start("run", &flood);
        pty.until("on and on ");
        pty.past(1_000 * at % 40_000);
        pty.press(CTRL_C);
        assert_eq!(ended(pty.look_on()), Some(130), "round {at}");
    });
    count("run, SIGTERM while it writes", |at| {
        let mut pty = start("run", &flood);
        pty.until("on and on ");
        signal(&pty.child, "-TERM");
        assert_eq!(ended(pty.look_on()), Some(130), "round {at}");
    });
}

// Found: R2
#[test]
fn ctrl_c_stops_a_run_on_a_terminal_that_nobody_looks_at() {
    for (what, keys) in [("Ctrl-C", CTRL_C), ("Ctrl-C twice", "\x03\x03")] {
        let flood = flood();
        count(&format!("run, {what} while nobody looks"), |at| {
            let mut pty = start("run", &flood);
            assert_eq!(flood.seen.recv_timeout(SOON), Ok(Seen::Full), "round {at}");
            pty.press(keys);
            let (child, _terminal) = pty.look_away();
            assert_eq!(ended(child), Some(130), "round {at}");
            assert_eq!(flood.seen.recv_timeout(SOON), Ok(Seen::Closed), "round {at}");
        });
    }
}

// Found: R2
#[test]
fn ctrl_c_stops_the_answer_of_a_chat_on_a_terminal_and_the_chat_goes_on() {
    let flood = flood();
    let mut pty = start("chat", &flood);
    count("chat, Ctrl-C while it writes", |at| {
        pty.until("› ");
        pty.press("hi\r");
        pty.until("on and on ");
        pty.past(1_000 * at % 40_000);
        pty.press(CTRL_C);
        pty.until("stopped");
    });
    pty.until("› ");
    pty.press("half a li");
    pty.until("half a li");
    pty.press(CTRL_C);
    pty.until("Ctrl-C again, or Ctrl-D, leaves.");
    pty.until("› ");
    pty.press(CTRL_D);
    assert_eq!(ended(pty.look_on()), Some(0));
}

// Found: R2
#[test]
fn the_second_ctrl_c_leaves_a_chat_wherever_the_answer_stands() {
    count("chat, Ctrl-C twice", |at| {
        let flood = flood();
        let mut pty = start("chat", &flood);
        pty.until("› ");
        pty.press("hi\r");
        pty.until("on and on ");
        pty.press(CTRL_C);
        match at % 3 {
            // Two of a signal that the program has not heard yet are one.
            0 => while flood.seen.recv_timeout(SOON).unwrap() != Seen::Closed {},
            1 => drop(pty.until("stopped")),
            _ => drop((pty.until("stopped"), pty.until("› "))),
        }
        pty.press(CTRL_C);
        assert_eq!(ended(pty.look_on()), Some(130), "round {at}");
    });
}

// Found: R2
#[test]
fn a_chat_on_a_terminal_that_nobody_looks_at_is_left_with_the_second_ctrl_c() {
    let flood = flood();
    count("chat, Ctrl-C twice while nobody looks", |at| {
        let mut pty = start("chat", &flood);
        pty.until("› ");
        pty.press("hi\r");
        assert_eq!(flood.seen.recv_timeout(SOON), Ok(Seen::Full), "round {at}");
        pty.press(CTRL_C);
        assert_eq!(flood.seen.recv_timeout(SOON), Ok(Seen::Closed), "round {at}");
        pty.press(CTRL_C);
        let (child, _terminal) = pty.look_away();
        assert_eq!(ended(child), Some(130), "round {at}");
    });
}

// Found: F15
#[test]
fn what_is_typed_ahead_is_asked_next_and_a_text_may_have_lines() {
    let mut pty = Pty::start(&["chat", "--provider", "demo"]);
    pty.until("› ");
    pty.press("What is 6 * 7?\rNow then \\\rWhat is 2 + 3?\rWhat is 9");
    pty.until("6 * 7 = 42");
    pty.until("2 + 3 = 5");
    pty.until("What is 9");
    pty.press(" * 9?\r");
    pty.until("9 * 9 = 81");
    pty.until("› ");
    pty.press(CTRL_D);
    assert_eq!(ended(pty.look_on()), Some(0));
}

// Found: F14
#[test]
fn parse_says_that_it_waits_for_the_terminal() {
    let mut pty = Pty::start(&["parse"]);
    pty.until("reading the text from the terminal");
    pty.press("<think>a</think>b\n");
    pty.press(CTRL_D);
    assert_eq!(ended(pty.look_on()), Some(0));
}

// Found: R2
#[test]
fn sigterm_ends_a_chat_on_a_terminal() {
    let flood = flood();
    count("chat, SIGTERM", |at| {
        let mut pty = start("chat", &flood);
        pty.until("› ");
        if at % 2 == 0 {
            pty.press("hi\r");
            pty.until("on and on ");
        }
        signal(&pty.child, "-TERM");
        assert_eq!(ended(pty.look_on()), Some(130), "round {at}");
    });
}
