//! The web console in a browser, against the service with models that play scenes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use forgeline_testkit::{console::browser, say};

use super::source::root;

/// One browser at a time: pages that share two processors with others are slow for no reason of theirs.
static ONE: Mutex<()> = Mutex::new(());

struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(token: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scripted_service"));
        command.arg("127.0.0.1:0").args(token).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs checks in a browser; each line that it prints is shown.
fn check(names: &[&str], token: Option<&str>) {
    let Some(mut command) = browser() else { return };
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let service = Service::start(token);
    let pictures = root().join("target/console/pictures");
    fs::create_dir_all(&pictures).unwrap();
    let output = command.arg(&service.address).arg(pictures).args(names).output().unwrap();
    let (stdout, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let passed = stdout.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(output.status.success() && passed > 0, "{stdout}\n{failed}");
    for line in stdout.lines() {
        say(format!("the console in a browser: {line}"));
    }
}

// Covers: T-17
#[test]
fn the_console_does_every_flow_by_keyboard() {
    check(&["keyboard"], None);
}

#[test]
fn hostile_text_is_inert_in_the_console() {
    check(&["hostile"], None);
}

#[test]
fn the_console_renders_markdown_the_same_at_every_cut() {
    check(&["markdown"], None);
}

// Covers: T-22
#[test]
fn the_console_resumes_after_a_reload_and_a_cut() {
    check(&["resume"], None);
}

#[test]
fn the_console_holds_ten_thousand_events() {
    check(&["many"], None);
}

#[test]
fn the_console_lists_conversations_and_follows_their_runs() {
    check(&["list"], None);
}

#[test]
fn the_console_shows_each_turn_once_and_in_its_place() {
    check(&["said"], None);
}

#[test]
fn the_console_shows_figures_signs_and_states_as_they_are() {
    check(&["shown"], None);
}

// Rows: N-63
#[test]
fn the_console_has_one_connection_for_all_tabs() {
    check(&["tabs"], None);
}

// Rows: N-67
#[test]
fn the_console_shows_and_copies_what_was_written() {
    check(&["written"], None);
}

#[test]
fn the_console_is_accessible_in_light_and_dark() {
    check(&["looks"], None);
}

#[test]
fn the_console_asks_for_a_token_and_keeps_it_in_the_tab() {
    check(&["token"], Some("s3cret-of-ann"));
}
