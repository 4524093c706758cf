//! Keys at `run` and `chat` on a terminal, with a server that writes without end.

use std::{env, sync::Arc};

use forgeline_testkit::server::{ScriptedServer, Seen, Step};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::block_in_place};

use crate::{
    flood::{self, Flood, SOON, ended, flood, signal},
    pty::{CTRL_C, CTRL_D, Pty},
    run::{answer, delta},
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
            assert_eq!(flood.seen.recv_timeout(SOON), Ok(flood::Seen::Full), "round {at}");
            pty.press(keys);
            let (child, _terminal) = pty.look_away();
            assert_eq!(ended(child), Some(130), "round {at}");
            assert_eq!(flood.seen.recv_timeout(SOON), Ok(flood::Seen::Closed), "round {at}");
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
    pty.until("Press Ctrl-C again, or Ctrl-D, to quit.");
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
            0 => while flood.seen.recv_timeout(SOON).unwrap() != flood::Seen::Closed {},
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
        assert_eq!(flood.seen.recv_timeout(SOON), Ok(flood::Seen::Full), "round {at}");
        pty.press(CTRL_C);
        assert_eq!(flood.seen.recv_timeout(SOON), Ok(flood::Seen::Closed), "round {at}");
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

/// A chat with a server that gives these answers.
async fn chat(scripts: Vec<Vec<Step>>) -> (ScriptedServer, Pty) {
    let server = ScriptedServer::start(scripts).await;
    let pty = Pty::start(&["chat", "--base-url", &server.url(), "--model", "m", "--no-keep"]);
    (server, pty)
}

/// The texts of the next request, behind its system prompt.
async fn texts(server: &mut ScriptedServer) -> Vec<String> {
    let body = loop {
        if let Seen::Request { body, .. } = server.seen().await {
            break body;
        }
    };
    let body: Value = serde_json::from_slice(&body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter().skip(1);
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// An answer that begins with this text.
fn begun(text: &str, then: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let begin = [Step::stream(), delta(&json!({ "content": text }), None)];
    begin.into_iter().chain(then).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_typed_during_an_answer_reach_the_model() {
    let gate = Arc::new(Notify::new());
    let rest = [Step::Wait(Arc::clone(&gate))].into_iter().chain(answer("end.").split_off(1));
    let answers = vec![begun("The ", rest), answer("Short."), answer("Bye.")];
    let (mut server, mut pty) = chat(answers).await;
    block_in_place(|| {
        pty.until("› ");
        pty.press("hi\r");
        pty.until("The ");
        pty.press("short\u{7f}ter, please\r/usage\rhalf a");
        let shown = pty.until("  (sent: shorter, please)");
        assert!(shown.starts_with("\r\n"), "on a line of its own: {shown:?}");
        pty.until("  (next: /usage)");
    });
    gate.notify_one();
    block_in_place(|| {
        pty.until("end.");
        pty.until("  › shorter, please");
        pty.until("Short.");
        // What is not for the model is served when it has answered, and a line that was begun goes on.
        pty.until("› /usage");
        pty.until("No tokens have been reported yet.");
        pty.until("half a");
        pty.press("nother\r");
        pty.until("Bye.");
        pty.until("› ");
        // Lines that were said are in the history, too.
        pty.press("\u{1b}[A\u{1b}[A\u{1b}[A");
        pty.until("shorter, please");
        pty.press(CTRL_C);
        pty.until("Press Ctrl-C again, or Ctrl-D, to quit.");
        pty.until("› ");
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
    });
    assert_eq!(texts(&mut server).await, ["hi"]);
    assert_eq!(texts(&mut server).await, ["hi", "The end.", "shorter, please"]);
    let last = ["hi", "The end.", "shorter, please", "Short.", "half another"];
    assert_eq!(texts(&mut server).await, last);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_with_a_mark_cuts_the_answer() {
    let answers = vec![begun("Once upon", [Step::Stall]), answer("In short.")];
    let (mut server, mut pty) = chat(answers).await;
    block_in_place(|| {
        pty.until("› ");
        pty.press("hi\r");
        pty.until("Once upon");
        pty.press("! shorter\r");
        pty.until("  (sent at once: shorter)");
        pty.until("  › shorter");
        pty.until("In short.");
        pty.until("› ");
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
    });
    assert_eq!(texts(&mut server).await, ["hi"]);
    assert_eq!(texts(&mut server).await, ["hi", "Once upon", "shorter"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_delivered_before_ctrl_c_can_be_changed_and_sent() {
    let answers = vec![begun("Once upon", [Step::Stall]), answer("Yes.")];
    let (mut server, mut pty) = chat(answers).await;
    block_in_place(|| {
        pty.until("› ");
        pty.press("hi\r");
        pty.until("Once upon");
        pty.press("is it long\r");
        pty.until("  (sent: is it long)");
        pty.press(CTRL_C);
        pty.until("stopped");
        pty.until("› ");
        pty.until("is it long");
        pty.press("?\r");
        pty.until("Yes.");
        pty.until("› ");
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
    });
    assert_eq!(texts(&mut server).await, ["hi"]);
    assert_eq!(texts(&mut server).await, ["hi", "Once upon", "is it long?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_input_while_it_answers_ends_the_chat_after_the_answer() {
    let gate = Arc::new(Notify::new());
    let rest = [Step::Wait(Arc::clone(&gate))].into_iter().chain(answer("end.").split_off(1));
    let (mut server, mut pty) = chat(vec![begun("The ", rest), answer("Yes.")]).await;
    block_in_place(|| {
        pty.until("› ");
        pty.press("hi\r");
        pty.until("The ");
        pty.press("sure?\r");
        pty.until("  (sent: sure?)");
        pty.press(CTRL_D);
        gate.notify_one();
        pty.until("Yes.");
        assert_eq!(ended(pty.look_on()), Some(0));
    });
    assert_eq!(texts(&mut server).await, ["hi"]);
    assert_eq!(texts(&mut server).await, ["hi", "The end.", "sure?"]);
}

#[test]
fn an_answer_without_a_pause_is_steered_too() {
    let flood = flood();
    let mut pty = start("chat", &flood);
    pty.until("› ");
    pty.press("hi\r");
    pty.until("on and on ");
    pty.press("!enough\r");
    pty.until("  (sent at once: enough)");
    pty.until("  › enough");
    pty.press(CTRL_C);
    pty.until("stopped");
    pty.until("› ");
    pty.press(CTRL_D);
    assert_eq!(ended(pty.look_on()), Some(0));
}
