//! Calls that change something, at `run` and `chat`, in a pipe and on a terminal.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forgeline_testkit::server::{ScriptedServer, Step};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    flood::ended,
    process::run,
    pty::{CTRL_D, Pty},
    run::{answer, delta},
};

/// An empty folder of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// An answer that calls a tool.
pub(crate) fn call(name: &str, arguments: &Value) -> Vec<Step> {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": format!("call_{name}"), "type": "function", "function": function });
    vec![
        Step::stream(),
        delta(&json!({ "tool_calls": [call] }), None),
        delta(&json!({}), Some("tool_calls")),
        Step::chunk("data: [DONE]\n\n"),
        Step::End,
    ]
}

fn write(path: &str, text: &str) -> Vec<Step> {
    call("files_write", &json!({ "path": path, "content": text }))
}

pub(crate) fn arguments<'a>(
    command: &'a str,
    url: &'a str,
    root: &'a Path,
    more: &[&'a str],
) -> Vec<&'a str> {
    let root = root.to_str().unwrap();
    let fixed = [command, "--base-url", url, "--model", "m", "--no-keep", "--root", root];
    [&fixed[..], more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_rejects_and_says_so_unless_the_tool_is_named() {
    let rows: [(&[&str], bool, &str); 3] = [
        (&["--write"], false, "the input is not a terminal"),
        (
            &["--write", "--approve", "never"],
            false,
            "the program was started with `--approve never`",
        ),
        (&["--write", "--approve", "files.write"], true, "notes.md"),
    ];
    for (flags, is_written, said) in rows {
        let root = folder("approve-pipe");
        let server =
            ScriptedServer::start(vec![write("notes.md", "Hello.\n"), answer("Done.")]).await;
        let url = server.url();
        let outcome = block_in_place(|| {
            run(&[&arguments("run", &url, &root, flags)[..], &["Go."]].concat(), b"")
        });
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{flags:?}: {}", outcome.stderr);
        assert_eq!(root.join("notes.md").exists(), is_written, "{flags:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_and_an_empty_command_are_usage_errors() {
    let root = folder("approve-errors");
    let rows: [(&[&str], &str); 3] = [
        (&["--approve", "files.write"], "unknown tool files.write"),
        (&["--write", "--approve", "files.wrote"], "files.write"),
        (&["--allow-command", ""], "names no program"),
    ];
    for (flags, said) in rows {
        let fixed = arguments("run", "http://127.0.0.1:9", &root, flags);
        let outcome = block_in_place(|| run(&[&fixed[..], &["Go."]].concat(), b""));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{flags:?}: {}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_shows_the_diff_and_asks() {
    let root = folder("approve-chat");
    let notes = root.join("notes.md");
    fs::write(&notes, "old line\n").unwrap();
    let scripts = vec![
        write("notes.md", "first line\n"),
        answer("Not done."),
        write("notes.md", "second line\n"),
        answer("Done."),
        write("notes.md", "third line\n"),
        write("notes.md", "fourth line\n"),
        answer("Done again."),
    ];
    let server = ScriptedServer::start(scripts).await;
    let url = server.url();
    block_in_place(|| {
        let mut pty = Pty::start(&arguments("chat", &url, &root, &["--write"]));
        pty.until("› ");
        pty.press("hi\r");
        pty.until("-old line");
        pty.until("+first line");
        pty.until("files.write: Allow it?");
        pty.press("write it to other.md\r");
        pty.until("files.write is not allowed: write it to other.md");
        pty.until("Not done.");
        assert_eq!(fs::read_to_string(&notes).unwrap(), "old line\n");
        pty.until("› ");
        pty.press("hi\r");
        pty.until("+second line");
        pty.until("Allow it?");
        pty.press("y\r");
        pty.until("(allowed)");
        pty.until("Done.");
        assert_eq!(fs::read_to_string(&notes).unwrap(), "second line\n");
        pty.until("› ");
        pty.press("hi\r");
        pty.until("Allow it?");
        pty.press("a\r");
        pty.until("(allowed from now on)");
        // The fourth is not asked about.
        let shown = pty.until("Done again.");
        assert!(!shown.contains("Allow it?"), "{shown}");
        assert_eq!(fs::read_to_string(&notes).unwrap(), "fourth line\n");
        pty.until("› ");
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_input_rejects_the_open_approval() {
    for command in ["chat", "run"] {
        let root = folder(&format!("approve-left-{command}"));
        let server =
            ScriptedServer::start(vec![write("notes.md", "Hi.\n"), answer("Not done.")]).await;
        let url = server.url();
        block_in_place(|| {
            let question: &[&str] =
                if command == "run" { &["--write", "Go."] } else { &["--write"] };
            let mut pty = Pty::start(&arguments(command, &url, &root, question));
            if command == "chat" {
                pty.until("› ");
                pty.press("hi\r");
            }
            pty.until("Allow it?");
            pty.press(CTRL_D);
            pty.until("files.write is not allowed: the user has left");
            pty.until("Not done.");
            assert_eq!(ended(pty.look_on()), Some(0));
        });
        assert!(!root.join("notes.md").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_a_terminal_asks_and_shows_a_command_at_work() {
    let root = folder("approve-run");
    let command = call("command_run", &json!({ "command": ["printf", "one\\ntwo\\n"] }));
    let server = ScriptedServer::start(vec![command, answer("Done.")]).await;
    let url = server.url();
    block_in_place(|| {
        let flags = ["--allow-command", "printf", "Go."];
        let mut pty = Pty::start(&arguments("run", &url, &root, &flags));
        pty.until("command.run: Allow it?");
        pty.press("y\r");
        pty.until("(allowed)");
        pty.until("one");
        pty.until("two");
        pty.until("Done.");
        assert_eq!(ended(pty.look_on()), Some(0));
    });
}
