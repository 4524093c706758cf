//! Tools of MCP servers, at `run`.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    process::wait_for_end,
    server::{ScriptedServer, Step},
};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    flood::{ended, signal},
    process::{forgeline, run},
    pty::{CTRL_D, Pty},
    run::answer,
};

/// Returns a server with these tools, which does `on_call` for the result of a call.
fn script(tools: &str, on_call: &str) -> String {
    let head = r#"
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
"#;
    let tail = r#"
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;
    let listed = format!("    *'\"tools/list\"'*) result='{{\"tools\":{tools}}}' ;;\n");
    format!("{head}{listed}    *'\"tools/call\"'*) {on_call} ;;{tail}")
}

/// A server with one tool, which writes `called` when it is called.
fn noting() -> String {
    let tools = r#"[{"name":"note","inputSchema":{"type":"object"}},{"name":"n te","inputSchema":{"type":"object"}}]"#;
    let result = r#"'{"content":[{"type":"text","text":"It is noted."}]}'"#;
    script(tools, &format!("echo yes >called; result={result}"))
}

/// A server that works on a call for ever, with a program of its own, and heeds no signal that can be heeded. It writes
/// their ids to `pids` when it is called.
fn stubborn() -> String {
    let work = "sleep 600 & echo $$ $! >pids.part; mv pids.part pids; while :; do sleep 600; done";
    let tools = r#"[{"name":"work","inputSchema":{"type":"object"}}]"#;
    format!("trap '' HUP INT TERM PIPE\n{}", script(tools, work))
}

/// A server that asks for a name while it works on a call, and keeps the answer in `answer`.
fn curious() -> String {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":30}},"required":["name"]}"#;
    let params = format!(r#"{{"message":"Who are you?","requestedSchema":{schema}}}"#);
    let ask = format!(
        r#"echo '{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{params}}}'"#
    );
    let result = r#"'{"content":[{"type":"text","text":"Thank you."}]}'"#;
    let tools =
        r#"[{"name":"ask","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]"#;
    script(tools, &format!("{ask}; IFS= read -r answer; echo \"$answer\" >answer; result={result}"))
}

/// Writes a file of servers into `root`.
fn file(root: &Path, servers: &Value) -> PathBuf {
    let path = root.join("mcp.json");
    fs::write(&path, json!({ "mcpServers": servers }).to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_a_server_runs_when_it_is_named_and_what_does_not_work_is_said() {
    for is_allowed in [true, false] {
        let root = folder("mcp-run");
        fs::write(root.join("server.sh"), noting()).unwrap();
        let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
        let path = file(&root, &json!({ "notes": notes, "gone": { "command": "/no/such" } }));
        let called = call("mcp_notes_note", &json!({}));
        let server = ScriptedServer::start(vec![called, answer("Done.")]).await;
        let url = server.url();
        let approve = if is_allowed { "mcp.notes.note" } else { "ask" };
        let flags = ["--mcp", path.to_str().unwrap(), "--approve", approve, "Go."];
        let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
        assert_eq!(root.join("called").exists(), is_allowed, "{outcome:?}");
        let said = "the MCP server `gone` cannot be started";
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_a_chat_is_said_with_its_tools_in_the_next_turn() {
    let root = folder("mcp-dies");
    let tools = r#"[{"name":"work","inputSchema":{"type":"object"}}]"#;
    let dies = "rm server.sh; echo 'the disk is full' >&2; exit 3";
    fs::write(root.join("server.sh"), script(tools, dies)).unwrap();
    let server = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
    let path = file(&root, &json!({ "s": server }));
    let answers = vec![call("mcp_s_work", &json!({})), answer("It failed."), answer("Still here.")];
    let server = ScriptedServer::start(answers).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap(), "--approve", "mcp.s.work"];
    let fixed = arguments("chat", &url, &root, &flags);
    block_in_place(|| {
        let mut pty = Pty::start(&fixed);
        pty.until("› ");
        pty.press("Go.\r");
        pty.until("its last words: the disk is full");
        pty.until("It failed.");
        pty.until("› ");
        pty.press("And now?\r");
        pty.until("1 tool is gone: the MCP server `s` has ended");
        pty.until("Still here.");
        pty.until("› ");
        pty.press(CTRL_D);
        ended(pty.look_on());
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_client_works_and_what_has_no_effect_is_said() {
    let root = folder("mcp-file");
    fs::write(root.join("server.sh"), noting()).unwrap();
    let path = root.join("mcp.json");
    let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root, "type": "stdio",
        "disabled": false, "timeout": 60, "autoApprove": ["note"], "colour": "red" });
    let servers = json!({ "notes": notes, "off": { "command": "/no/such", "disabled": true },
        "bad": { "command": 1 } });
    let text = format!("// written by an editor\n{}", json!({ "servers": servers, "inputs": [] }));
    fs::write(&path, text).unwrap();
    let called = call("mcp_notes_note", &json!({}));
    let server = ScriptedServer::start(vec![called, answer("Done.")]).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap(), "--approve", "mcp.notes.note", "Go."];
    let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
    assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
    assert!(root.join("called").exists(), "{outcome:?}");
    for said in [
        "skipped an MCP server: `servers.bad.command` is a number; expected a string",
        "`servers.notes.colour` is unknown and has no effect",
        "`servers.notes.autoApprove` has no effect: calls are allowed by a person, or by `--trust-mcp notes`",
    ] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    assert!(!outcome.stderr.contains("`off`"), "{}", outcome.stderr);
}

/// Returns the answer that the curious server got.
fn asked(root: &Path) -> Value {
    let answer = fs::read_to_string(root.join("answer")).unwrap();
    serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
}

fn asking(root: &Path) -> PathBuf {
    fs::write(root.join("server.sh"), curious()).unwrap();
    let server = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root, "trustAnnotations": true });
    file(root, &json!({ "s": server }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_a_server_is_filled_in_at_a_terminal_and_a_pipe_answers_nothing() {
    let root = folder("mcp-form");
    let path = asking(&root);
    let server = ScriptedServer::start(vec![call("mcp_s_ask", &json!({})), answer("Done.")]).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap()];
    let fixed = arguments("chat", &url, &root, &flags);
    block_in_place(|| {
        let mut pty = Pty::start(&fixed);
        pty.until("› ");
        pty.press("Go.\r");
        pty.until("mcp.s.ask asks: Who are you?");
        pty.until("name:");
        pty.press("Ann\r");
        pty.until("age [30]:");
        pty.press("\r");
        pty.until("(answered)");
        pty.until("Done.");
        pty.until("› ");
        pty.press(CTRL_D);
        ended(pty.look_on());
    });
    assert_eq!(
        asked(&root),
        json!({ "action": "accept", "content": { "name": "Ann", "age": 30 } })
    );

    let root = folder("mcp-form-pipe");
    let path = asking(&root);
    let server = ScriptedServer::start(vec![call("mcp_s_ask", &json!({})), answer("Done.")]).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap(), "Go."];
    let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
    assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
    assert_eq!(asked(&root), json!({ "action": "cancel" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_ends_the_command_leaves_no_process_of_a_server() {
    for (command, signals) in
        [("run", &["-TERM"][..]), ("run", &["-INT", "-INT"]), ("chat", &["-TERM"])]
    {
        let server =
            ScriptedServer::start(vec![call("mcp_s_work", &json!({})), answer("Done.")]).await;
        block_in_place(|| ends_without_a_trace(command, signals, &server.url(), &stubborn()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_a_server_starts_leaves_no_process_of_it() {
    let silent = "trap '' HUP INT TERM PIPE\necho $$ >pids.part; mv pids.part pids\n\
                  while :; do sleep 600; done\n";
    block_in_place(|| ends_without_a_trace("run", &["-TERM"], "http://127.0.0.1:9", silent));
}

/// Runs the command until the server has written its ids, ends it with signals, and waits for the end of the server.
fn ends_without_a_trace(command: &str, signals: &[&str], url: &str, script: &str) {
    let works = script.contains("tools/call");
    let root = folder(if works { "mcp-signal-work" } else { "mcp-signal-start" });
    fs::write(root.join("server.sh"), script).unwrap();
    let server = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
    let path = file(&root, &json!({ "s": server }));
    let mut flags = vec!["--mcp", path.to_str().unwrap()];
    if command == "run" {
        flags.push("Go.");
    }
    if works {
        flags.extend(["--approve", "mcp.s.work"]);
    }
    let mut forgeline = forgeline(&arguments(command, url, &root, &flags));
    if command == "chat" {
        forgeline.stdin(Stdio::piped());
    }
    let mut child = forgeline.spawn().unwrap();
    let mut input = child.stdin.take();
    if let Some(input) = &mut input {
        input.write_all(b"Go.\n").unwrap();
    }
    let pids = soon(|| fs::read_to_string(root.join("pids")).ok(), "the call");
    for name in signals {
        signal(&child, name);
    }
    assert_eq!(ended(child), Some(130), "{command} {signals:?}");
    for pid in pids.split_whitespace() {
        wait_for_end(pid.parse().unwrap());
    }
    drop(input);
}

/// Waits until something exists.
fn soon<T>(look: impl Fn() -> Option<T>, what: &str) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{what} does not come");
        thread::yield_now();
    }
}

// Rows: N-45
#[tokio::test(flavor = "multi_thread")]
async fn n45_trust_in_a_server_holds_until_text_of_another_one_comes_and_a_pipe_says_so() {
    let flags = [
        ["--approve", "mcp.notes.note,mcp.mail.note"],
        ["--trust-mcp", "notes,mail"],
        ["--trust-mcp", "notes.note,mcp.mail.note"],
    ];
    for trusted in flags {
        let root = folder("mcp-again");
        let counting = noting().replace("echo yes >called", "echo yes >>called");
        for name in ["notes", "mail"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("server.sh"), &counting).unwrap();
        }
        let at = |name: &str| json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root.join(name) });
        let path = file(&root, &json!({ "notes": at("notes"), "mail": at("mail") }));
        let note = |server: &str, n: u32| call(&format!("mcp_{server}_note"), &json!({ "n": n }));
        let calls = [note("notes", 1), note("notes", 2), note("mail", 3), answer("Done.")];
        let server = ScriptedServer::start(calls.to_vec()).await;
        let url = server.url();
        let flags = ["--mcp", path.to_str().unwrap(), trusted[0], trusted[1], "Go."];
        let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
        let called = |name: &str| fs::read_to_string(root.join(name).join("called"));
        assert_eq!(called("notes").unwrap().lines().count(), 2, "{trusted:?}: {outcome:?}");
        assert!(called("mail").is_err(), "{trusted:?}: behind text of another server");
        let stderr = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in ["It is noted.", "--approve and --trust-mcp do not apply", "trustAnnotations"] {
            assert!(stderr.contains(said), "{}", outcome.stderr);
        }
    }
}

// Rows: N-45
#[tokio::test(flavor = "multi_thread")]
async fn n45_always_in_a_chat_holds_for_the_calls_after_it() {
    let root = folder("mcp-always");
    fs::write(root.join("server.sh"), noting()).unwrap();
    let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
    let path = file(&root, &json!({ "notes": notes }));
    let note = |n: u32| call("mcp_notes_note", &json!({ "n": n }));
    let answers = vec![note(1), answer("One."), note(2), note(3), answer("Three.")];
    let server = ScriptedServer::start(answers).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap()];
    let fixed = arguments("chat", &url, &root, &flags);
    block_in_place(|| {
        let mut pty = Pty::start(&fixed);
        pty.until("› ");
        pty.press("Go.\r");
        pty.until("Allow it?");
        pty.press("a\r");
        pty.until("One.");
        pty.until("› ");
        pty.press("Go on.\r");
        // Without a question.
        pty.until("Three.");
        pty.until("› ");
        pty.press(CTRL_D);
        ended(pty.look_on());
    });
}

// Rows: N-45
#[tokio::test(flavor = "multi_thread")]
async fn n45_always_in_a_chat_is_asked_again_behind_text_of_another_server() {
    let root = folder("mcp-always-again");
    for name in ["notes", "mail"] {
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("server.sh"), noting()).unwrap();
    }
    let at =
        |name: &str| json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root.join(name) });
    let path = file(&root, &json!({ "notes": at("notes"), "mail": at("mail") }));
    let note = |server: &str, n: u32| call(&format!("mcp_{server}_note"), &json!({ "n": n }));
    let answers = vec![
        note("notes", 1),
        answer("One."),
        note("notes", 2),
        note("mail", 3),
        answer("Three."),
        note("notes", 4),
        note("notes", 5),
        answer("Five."),
    ];
    let server = ScriptedServer::start(answers).await;
    let url = server.url();
    let flags = ["--mcp", path.to_str().unwrap()];
    let fixed = arguments("chat", &url, &root, &flags);
    let again = "needs approval each time.";
    block_in_place(|| {
        let mut pty = Pty::start(&fixed);
        pty.until("› ");
        pty.press("Go.\r");
        let seen = pty.until("Allow it?");
        assert!(seen.contains("mcp.notes.note:") && !seen.contains(again), "{seen}");
        pty.press("a\r");
        pty.until("One.");
        pty.until("› ");
        pty.press("Go on.\r");
        // The second note is not asked about; the mail is, since notes were read.
        let seen = pty.until("Allow it?");
        assert!(seen.contains("mcp.mail.note:") && !seen.contains("mcp.notes.note: "), "{seen}");
        pty.press("a\r");
        pty.until("Three.");
        pty.until("› ");
        pty.press("And on.\r");
        for _ in 4..=5 {
            let seen = pty.until("Allow it?");
            assert!(seen.contains("mcp.notes.note:") && seen.contains(again), "{seen}");
            pty.press("a\r");
        }
        pty.until("Five.");
        pty.until("› ");
        pty.press(CTRL_D);
        ended(pty.look_on());
    });
}

// Rows: N-45
#[tokio::test(flavor = "multi_thread")]
async fn n45_trust_in_what_is_not_there_is_a_usage_error() {
    let root = folder("mcp-trust");
    fs::write(root.join("server.sh"), noting()).unwrap();
    let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
    let path = file(&root, &json!({ "notes": notes }));
    let path = path.to_str().unwrap();
    #[rustfmt::skip]
    let rows: [(&[&str], &str); 5] = [
        (&["--mcp", path, "--trust-mcp", "mail"],        "there is no MCP server mail; expected one of: notes"),
        (&["--mcp", path, "--trust-mcp", "notes.send"],  "unknown tool mcp.notes.send; expected one of: mcp.notes.note"),
        (&["--mcp", path, "--trust-mcp", "notes."],      "expected the name of a server, or SERVER.TOOL"),
        (&["--mcp", path, "--trust-mcp", "notes", "--approve", "never"], "--approve never"),
        (&["--trust-mcp", "notes"],                      "--mcp"),
    ];
    for (flags, said) in rows {
        let flags = [flags, &["Go."]].concat();
        let fixed = arguments("run", "http://127.0.0.1:9", &root, &flags);
        let outcome = block_in_place(|| run(&fixed, b""));
        assert_eq!(outcome.code, Some(2), "{flags:?}: {outcome:?}");
        assert!(outcome.stderr.contains(said), "{flags:?}: {}", outcome.stderr);
    }
}

// Rows: N-43
#[tokio::test(flavor = "multi_thread")]
async fn n43_a_server_sees_toolchains_and_its_own_variables_and_no_key() {
    let root = folder("mcp-env");
    fs::write(root.join("server.sh"), format!("env >seen\n{}", noting())).unwrap();
    let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root, "env": { "OWN": "${FOR_SERVER}" } });
    let path = file(&root, &json!({ "notes": notes }));
    let server = ScriptedServer::start(vec![answer("Done.")]).await;
    let url = server.url();
    // What commands may see is not for servers.
    let flags = [
        "--mcp",
        path.to_str().unwrap(),
        "--allow-command",
        "ls",
        "--pass-env",
        "FOR_COMMANDS",
        "Go.",
    ];
    let mut command = forgeline(&arguments("run", &url, &root, &flags));
    command
        .env("CARGO_HOME", "/toolchains/cargo")
        .env("NVM_DIR", "/toolchains/nvm")
        .env("FOR_SERVER", "its own")
        .env("FOR_COMMANDS", "theirs")
        .env("SOME_API_KEY", "s3cret-word");
    let outcome = block_in_place(|| command.stdin(Stdio::null()).output().unwrap());
    assert!(outcome.status.success(), "{outcome:?}");
    let seen = fs::read_to_string(root.join("seen")).unwrap();
    for line in ["CARGO_HOME=/toolchains/cargo", "NVM_DIR=/toolchains/nvm", "OWN=its own"] {
        assert!(seen.lines().any(|it| it == line), "{line}: {seen}");
    }
    for name in ["FOR_COMMANDS", "SOME_API_KEY", "FOR_SERVER", "OPENAI_API_KEY"] {
        assert!(!seen.contains(name), "{name}: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_file_is_a_usage_error_and_a_required_server_that_is_down_a_failure() {
    let root = folder("mcp-errors");
    let down = json!({ "command": "/no/such", "required": true });
    let rows = [
        (
            json!({ "a": { "comand": "x", "required": true } }),
            2,
            "`mcpServers.a.command` is missing",
        ),
        (
            json!({ "a": { "type": "sse", "url": "https://x", "required": true } }),
            2,
            "is not supported",
        ),
        (json!({ "a": down }), 1, "the MCP server `a` cannot be started"),
    ];
    for (servers, code, said) in rows {
        let path = file(&root, &servers);
        let flags = ["--mcp", path.to_str().unwrap(), "Go."];
        let fixed = arguments("run", "http://127.0.0.1:9", &root, &flags);
        let outcome = block_in_place(|| run(&fixed, b""));
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_needs_a_login_is_an_error_in_a_pipe() {
    let root = folder("mcp-login");
    let challenge = vec![("www-authenticate", "Bearer".to_owned())];
    let server = ScriptedServer::start(vec![vec![Step::Head(401, challenge), Step::End]]).await;
    let far = json!({ "type": "http", "url": server.url() + "/mcp", "required": true });
    let path = file(&root, &json!({ "far": far }));
    let flags = ["--mcp", path.to_str().unwrap(), "Go."];
    let fixed = arguments("run", "http://127.0.0.1:9", &root, &flags);
    let outcome = block_in_place(|| run(&fixed, b""));
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let said = "`far` denies access: it needs a login, and there is no person to ask for one";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

/// A server that never answers holds up no chat: it is usable at once, and a question waits for a bounded time.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_does_not_wait_for_a_server_that_hangs() {
    let root = folder("mcp-chat-hangs");
    fs::write(root.join("server.sh"), "exec sleep 600\n").unwrap();
    let hangs = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
    let path = file(&root, &json!({ "s": hangs }));
    let server = ScriptedServer::start(vec![answer("Here I am.")]).await;
    let url = server.url();
    block_in_place(|| {
        let began = std::time::Instant::now();
        let flags = ["--mcp", path.to_str().unwrap()];
        let mut pty = Pty::start(&arguments("chat", &url, &root, &flags));
        pty.until("its tools are added once it has started");
        pty.until("› ");
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        pty.press("hi\r");
        pty.until("Here I am.");
        assert!(began.elapsed().as_secs() < 29, "{:?}", began.elapsed());
        pty.until("› ");
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
    });
}
