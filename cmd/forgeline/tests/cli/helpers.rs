//! Helpers: agents that the model gives parts of its work to.

use std::fs;

use forgeline_testkit::server::ScriptedServer;
use serde_json::json;
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    flood::ended,
    process::run,
    pty::{CTRL_D, Pty},
    run::answer,
};

#[test]
fn a_helper_of_the_demo_works_offline_and_is_folded() {
    let prompt = "Ask the helper \"What is 17 * 4?\"";
    let outcome = run(&["run", "--provider", "demo", "--no-keep", "--helpers", prompt], b"");
    assert_eq!(
        (outcome.code, outcome.stdout.trim()),
        (Some(0), "The tool `helper` says: 17 * 4 = 68")
    );
    let lines =
        ["● helper", "  ▸ helper begins", "  ◂ helper: done (2 turns, 1 call)", "  └ 17 * 4 = 68"];
    for line in lines {
        assert!(
            outcome.stderr.lines().any(|it| it.starts_with(line)),
            "{line}: {}",
            outcome.stderr
        );
    }
    assert!(!outcome.stderr.contains("calculator"), "{}", outcome.stderr);

    let outcome = run(&["run", "--provider", "demo", "--no-keep", "--helpers", "-v", prompt], b"");
    assert!(outcome.stderr.contains("\n  ● calculator"), "{}", outcome.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_helper_would_change_is_asked_about_where_the_user_is() {
    let root = folder("helpers-chat");
    let write = || call("files_write", &json!({ "path": "notes.md", "content": "Hello.\n" }));
    let ask = || call("helper", &json!({ "task": "Write the notes." }));
    for (answers, want) in [("y\r", true), ("no\r", false)] {
        let server =
            ScriptedServer::start(vec![ask(), write(), answer("Helped."), answer("Done.")]).await;
        let url = server.url();
        block_in_place(|| {
            let mut pty = Pty::start(&arguments("chat", &url, &root, &["--write", "--helpers"]));
            pty.until("› ");
            pty.press("hi\r");
            pty.until("▸ helper begins");
            pty.until("+Hello.");
            pty.until("files.write: Allow it?");
            pty.press(answers);
            pty.until("◂ helper: done");
            pty.until("Done.");
            assert_eq!(root.join("notes.md").exists(), want);
            pty.until("› ");
            pty.press(CTRL_D);
            assert_eq!(ended(pty.look_on()), Some(0));
        });
        let _removed = fs::remove_file(root.join("notes.md"));
    }
}
