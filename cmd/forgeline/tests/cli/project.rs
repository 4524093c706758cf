//! The project: whose instructions a run follows, where they are said to be from, and the window of its model.

use std::{fs, path::PathBuf};

use forgeline_testkit::server::ScriptedServer;
use tokio::task::block_in_place;

use crate::{
    flags::body,
    process::{Outcome, run},
    run::{answer, ask},
};

/// Returns a folder of a project with instructions in it, and in its root.
pub(crate) fn project(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(root.join("server/orders")).unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join("AGENTS.md"), "Prices are in cents.\n").unwrap();
    fs::write(root.join("server/AGENTS.md"), b"\xff").unwrap();
    fs::write(root.join("server/orders/AGENTS.md"), "Orders stay.\n").unwrap();
    root
}

/// Asks below `root`; returns what was shown and the system prompt that was sent.
async fn asked(root: &str, flags: &[&str]) -> (Outcome, String) {
    let mut server = ScriptedServer::start(vec![answer("Done.")]).await;
    let outcome = ask(&server, &[&["--no-keep", "--root", root], flags].concat());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "Done.\n"), "{outcome:?}");
    let sent = body(&mut server).await;
    let system = sent["messages"][0]["content"].as_str().unwrap().to_owned();
    (outcome, system)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_instructions_of_the_project_are_followed_and_said() {
    let root = project("project-said");
    let at = root.join("server/orders");
    let at = at.to_str().unwrap();
    let (outcome, system) = asked(at, &[]).await;
    let said = [
        format!(
            "project: AGENTS.md, server/orders/AGENTS.md in {}; --no-project ignores it",
            root.canonicalize().unwrap().display()
        ),
        "project: left out: `server/AGENTS.md` is not UTF-8 from byte 0 on; save it as UTF-8"
            .to_owned(),
    ];
    for line in said {
        assert!(outcome.stderr.lines().any(|it| it == line), "{line}: {}", outcome.stderr);
    }
    let parts = ["You are a careful assistant", "Prices are in cents.", "Orders stay."];
    let places: Vec<_> = parts.iter().map(|part| system.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{system}");

    let (outcome, system) = asked(at, &["-q"]).await;
    assert!(!outcome.stderr.contains("project:") && system.contains("Orders stay."));
    let (outcome, system) = asked(at, &["--no-project"]).await;
    let has_any = outcome.stderr.contains("project:") || system.contains("AGENTS.md");
    assert!(!has_any, "{system}\n{}", outcome.stderr);
}

/// Returns what a chat with two questions shows, the first of which is longer than three quarters of a window of
/// 128,000 tokens.
async fn chat(model: &str, flags: &[&str]) -> String {
    let server = ScriptedServer::start(vec![answer("One."), answer("Two.")]).await;
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("project-long.txt");
    fs::write(&path, "Prices are in cents. ".repeat(24_000)).unwrap();
    let (url, path) = (server.url(), path.to_str().unwrap().to_owned());
    let chat = ["chat", "--no-keep", "--base-url", &url, "--model", model, "--file", &path];
    let outcome = block_in_place(|| run(&[&chat, flags].concat(), b"first\nsecond\n"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_stays_in_the_window_that_its_model_is_known_to_have() {
    let left_out = "left out to make room: 2 messages";
    assert!(chat("gpt-4o", &[]).await.contains(left_out));
    assert!(!chat("gpt-4o", &["--context", "1000000"]).await.contains(left_out));
    assert!(!chat("my-own", &[]).await.contains(left_out));
    assert!(chat("my-own", &["--context", "96000"]).await.contains(left_out));
}
