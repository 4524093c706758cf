//! The command tool: what runs, what does not, and that nothing is left.

use std::{
    error::Error as _,
    fs::{self, File},
    io::Read as _,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    CommandTool, CommandToolError,
    arguments::{self, CommandPlace},
};
use crate::tools::{FileTools, Tool as _, ToolContext, ToolError, process_group};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("forgeline-commands-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("root/sub/.git")).unwrap();
        fs::create_dir_all(path.join("outside")).unwrap();
        fs::write(path.join("outside/c.txt"), "outside").unwrap();
        fs::write(path.join("root/sub/c.txt"), "inside").unwrap();
        fs::write(path.join("root/.env"), "KEY=1").unwrap();
        let pipe = path.join("root/pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("../outside/c.txt", path.join("root/link.txt")).unwrap();
        Self(path)
    }

    fn tool(&self, allowed: &[&str]) -> CommandTool {
        CommandTool::new(self.0.join("root"), allowed).unwrap()
    }

    async fn run(&self, allowed: &[&str], arguments: Value) -> Result<String, ToolError> {
        run(&self.tool(allowed), ToolContext::default(), arguments).await
    }

    /// Waits until `pipe` has a writer; the result ends when all writers are gone.
    async fn writers(&self) -> tokio::task::JoinHandle<usize> {
        let pipe = self.0.join("root/pipe");
        let mut opened =
            tokio::task::spawn_blocking(move || File::open(pipe).unwrap()).await.unwrap();
        tokio::task::spawn_blocking(move || opened.read_to_end(&mut Vec::new()).unwrap())
    }
}

async fn run(
    tool: &CommandTool,
    context: ToolContext,
    arguments: Value,
) -> Result<String, ToolError> {
    tool.execute(context, arguments.into()).await.map(|output| output.content)
}

async fn preview(tool: &CommandTool, arguments: Value) -> Result<String, ToolError> {
    let preview = tool.preview(ToolContext::default(), arguments.into()).await;
    preview.map(|preview| preview.unwrap().text)
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left over in the temporary folder harms no other test.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

/// A command that starts another one, which would run for a long time, and waits for it.
fn grandchild() -> Value {
    json!({ "command": ["sh", "-c", "sleep 1000 > pipe & wait"] })
}

#[tokio::test]
async fn a_command_runs_without_a_shell_in_its_folder() {
    let folder = Folder::new("run");
    #[rustfmt::skip]
    let cases = [
        (json!({ "command": ["echo", "$HOME;", "`ls`"] }),              "exit code 0\n$HOME; `ls`\n"),
        (json!({ "command": ["cat", "c.txt"], "path": "sub" }),         "exit code 0\ninside"),
        (json!({ "command": ["cat", "sub/c.txt"] }),                    "exit code 0\ninside"),
        (json!({ "command": ["sh", "-c", "echo a; echo b >&2; exit 3"] }), "exit code 3\na\nb\n"),
        (json!({ "command": ["sh", "-c", "kill -9 $$"] }),              "ended by signal 9\n"),
        (json!({ "command": ["cat"] }),                                 "exit code 0\n"),
    ];
    for (arguments, want) in cases {
        let got = folder.run(&["echo", "cat", "sh -c"], arguments.clone()).await.unwrap();
        let mut lines: Vec<_> = got.lines().collect();
        lines.split_first_mut().unwrap().1.sort_unstable();
        assert_eq!(lines, want.lines().collect::<Vec<_>>(), "{arguments}");
    }
}

#[tokio::test]
async fn refused_commands_say_what_to_do() {
    let folder = Folder::new("refused");
    let absolute = folder.0.join("outside/c.txt").display().to_string();
    #[rustfmt::skip]
    let cases = [
        (json!({ "command": ["rm", "-r", "."] }),                    "`rm -r .` is not allowed; the allowed commands are: cat, git log, no-such-program"),
        (json!({ "command": ["git", "push"] }),                      "`git push` is not allowed"),
        (json!({ "command": ["no-such-program"] }),                  "`no-such-program` is not installed"),
        (json!({ "command": [] }),                                   "must begin with the name of a program"),
        (json!({ "command": ["cat", "../outside/c.txt"] }),          "`command[1]` must not be outside of the root"),
        (json!({ "command": ["cat", "sub/../../outside/c.txt"] }),   "`command[1]` must not be outside of the root"),
        (json!({ "command": ["cat", absolute] }),                    "`command[1]` must not be outside of the root"),
        (json!({ "command": ["cat", "--file=/etc/passwd"] }),        "`command[1]` must not be outside of the root"),
        (json!({ "command": ["cat", "link.txt"] }),                  "`command[1]` is a link"),
        (json!({ "command": ["cat", ".env"] }),                      "`command[1]` refers to a hidden file or one that may contain keys"),
        (json!({ "command": ["cat", "c.txt"], "path": ".." }),       "must not contain `..`"),
        (json!({ "command": ["cat", "c.txt"], "path": "sub/.git" }), "is hidden or may contain keys"),
        (json!({ "command": ["cat", "c.txt"], "path": "link.txt" }), "is a link"),
        (json!({ "command": ["cat"], "path": "sub/c.txt" }),         "`path` must be a folder"),
    ];
    let tool = folder.tool(&["cat", "git log", "no-such-program"]);
    for (arguments, want) in cases {
        let made = run(&tool, ToolContext::default(), arguments.clone()).await.unwrap_err();
        let shown = preview(&tool, arguments.clone()).await.unwrap_err();
        assert!(made.to_string().contains(want), "{arguments}: {made}");
        assert_eq!(made, shown, "{arguments}");
    }
    let shown = tool.clone().show_hidden(true);
    let secret = json!({ "command": ["cat", ".env"] });
    assert_eq!(run(&shown, ToolContext::default(), secret).await.unwrap(), "exit code 0\nKEY=1");
    let free = tool.clone().free_arguments(true);
    let outside = json!({ "command": ["cat", "../outside/c.txt"] });
    assert_eq!(run(&free, ToolContext::default(), outside).await.unwrap(), "exit code 0\noutside");
    // Rows: N-60
    fs::hard_link(folder.0.join("outside/c.txt"), folder.0.join("root/h.txt")).unwrap();
    let own = tool.clone().withhold([folder.0.join("outside/c.txt")]).unwrap();
    let linked = json!({ "command": ["cat", "h.txt"] });
    let error = run(&own, ToolContext::default(), linked).await.unwrap_err().to_string();
    assert!(error.contains("refers to"), "{error}");
    assert!(tool.clone().withhold([folder.0.join("root/sub/c.txt")]).is_err());
    let here = folder.tool(&["cat", "echo -n"]);
    let said = json!({ "command": ["echo", "-n", "it's"], "path": "sub" });
    assert_eq!(preview(&here, said.clone()).await.unwrap(), r"cd sub && echo -n 'it'\''s'");
    // What "always" allows: a command that the list spells out, or this line and no other.
    assert_eq!(here.grant_pattern(&said.into()).as_deref(), Some("echo -n"));
    let cat = json!({ "command": ["cat", "sub/c.txt"] });
    assert_eq!(here.grant_pattern(&cat.into()).as_deref(), Some("cat sub/c.txt"));
}

#[test]
fn an_allow_list_that_allows_nothing_is_refused() {
    let root = std::env::temp_dir();
    let nothing = CommandTool::new(&root, [""; 0]).unwrap_err();
    assert!(matches!(nothing, CommandToolError::NothingAllowed));
    assert!(nothing.to_string().contains("name the commands that may run"), "{nothing}");
    // Rows: N-43
    for (entry, word) in [
        ("ls | wc", "|"),
        ("cargo test && cargo run", "&&"),
        ("make; ls", "make;"),
        ("ls > out.txt", ">"),
        ("make 2>&1", "2>&1"),
        ("echo `id`", "`id`"),
        ("echo $(id)", "$(id)"),
        ("RUST_LOG=debug cargo run", "RUST_LOG=debug"),
        ("cd src", "cd"),
        ("sh -c 'ls -l'", "'ls"),
        ("git commit -m \"fix\"", "\"fix\""),
    ] {
        let error = CommandTool::new(&root, ["cat", entry]).unwrap_err().to_string();
        let named = format!("{word:?} needs a shell");
        assert!(error.contains("can never run") && error.contains(&named), "{error}");
    }
    for entry in ["make PREFIX=/usr", "git log --format=%h", "sh -c", "[", "g++ -O2"] {
        assert!(CommandTool::new(&root, [entry]).is_ok(), "{entry}");
    }
    for entry in ["", "  ", "./x", "sub/x"] {
        let error = CommandTool::new(&root, ["cat", entry]).unwrap_err();
        assert!(error.to_string().contains("names no program"), "{error}");
    }
}

#[tokio::test]
async fn a_command_sees_a_few_variables_only() {
    let folder = Folder::new("environment");
    let tool = folder.tool(&["env"]).variable("OWN", "1").pass_variable("CARGO_PKG_NAME");
    let got = run(&tool, ToolContext::default(), json!({ "command": ["env"] })).await.unwrap();
    let names: Vec<_> =
        got.lines().filter_map(|line| line.split_once('=')).map(|it| it.0).collect();
    let known = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "OWN", "CARGO_PKG_NAME", "PWD"];
    let set = ["GIT_TERMINAL_PROMPT", "GIT_EDITOR"];
    assert!(names.contains(&"OWN") && names.contains(&"PATH"), "{got}");
    let is_known = |name: &&str| {
        known.contains(name) || set.contains(name) || process_group::TOOLCHAINS.contains(name)
    };
    assert!(names.iter().all(is_known), "{got}");
    // Rows: N-43
    assert!(
        got.contains("\nGIT_TERMINAL_PROMPT=0\n") && got.contains("\nGIT_EDITOR=true\n"),
        "{got}"
    );
    for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "VIRTUAL_ENV"] {
        assert_eq!(names.contains(&name), std::env::var_os(name).is_some(), "{name}: {got}");
    }
    let tool = folder.tool(&["env"]).variable("GIT_EDITOR", "vi");
    let got = run(&tool, ToolContext::default(), json!({ "command": ["env"] })).await.unwrap();
    assert!(got.contains("\nGIT_EDITOR=vi\n"), "what the application sets counts: {got}");
}

// Covers: G-49
#[tokio::test]
async fn the_beginning_and_the_end_of_long_output_are_kept() {
    let folder = Folder::new("long");
    let tool = folder.tool(&["seq"]).max_output_bytes(20);
    let seq = |last: &str| json!({ "command": ["seq", last] });
    let got = run(&tool, ToolContext::default(), seq("9")).await.unwrap();
    assert_eq!(got, "exit code 0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let got = run(&tool, ToolContext::default(), seq("100000")).await.unwrap();
    let want = "exit code 0\n1\n2\n3\n4\n5\n\n… 588875 bytes are left out …\n99\n100000\n";
    assert_eq!(got, want);
}

// Covers: G-49
#[tokio::test]
async fn a_cancel_kills_what_the_command_started() {
    let folder = Folder::new("cancel");
    let (tool, context) = (folder.tool(&["sh -c"]), ToolContext::default());
    let cancel = context.cancelled().clone();
    let running = tokio::spawn(async move { run(&tool, context, grandchild()).await });
    let writers = folder.writers().await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err(ToolError::Cancelled { abandoned: false }));
    assert_eq!(writers.await.unwrap(), 0, "the grandchild is gone");
}

#[tokio::test]
async fn a_dropped_call_kills_what_the_command_started() {
    let folder = Folder::new("dropped");
    let tool = folder.tool(&["sh -c"]);
    let running =
        tokio::spawn(async move { run(&tool, ToolContext::default(), grandchild()).await });
    let writers = folder.writers().await;
    running.abort();
    assert_eq!(writers.await.unwrap(), 0, "the grandchild is gone");
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_time_is_over_is_killed_with_what_it_started() {
    let folder = Folder::new("timeout");
    let tool = folder.tool(&["sh -c"]).timeout(Duration::from_mins(1));
    let running =
        tokio::spawn(async move { run(&tool, ToolContext::default(), grandchild()).await });
    // The clock is paused while a thread reads the pipe.
    let writers = folder.writers().await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let error = running.await.unwrap().unwrap_err();
    assert!(
        error.to_string().contains("did not end within 60s; it and what it started"),
        "{error}"
    );
    assert_eq!(writers.await.unwrap(), 0, "the grandchild is gone");
}

#[tokio::test]
async fn what_a_command_leaves_running_is_killed_when_it_ends() {
    let folder = Folder::new("left");
    let tool = folder.tool(&["sh -c"]);
    let command = json!({ "command": ["sh", "-c", "sleep 1000 > pipe & echo started; cat gate"] });
    assert!(Command::new("mkfifo").arg(folder.0.join("root/gate")).status().unwrap().success());
    let running = tokio::spawn(async move { run(&tool, ToolContext::default(), command).await });
    let writers = folder.writers().await;
    let gate = folder.0.join("root/gate");
    tokio::task::spawn_blocking(move || fs::write(gate, "end").unwrap()).await.unwrap();
    assert_eq!(running.await.unwrap().unwrap(), "exit code 0\nstarted\nend");
    assert_eq!(writers.await.unwrap(), 0, "the grandchild is gone");
}

/// The working folder turns into a link to another one and back, all the time.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_in_lets_no_command_out_of_the_root() {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    let folder = Folder::new("race");
    let root = folder.0.join("root");
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (root, is_over) = (root.clone(), Arc::clone(&is_over));
        move || {
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(root.join("sub"), root.join("aside")).unwrap();
                std::os::unix::fs::symlink("../outside", root.join("sub")).unwrap();
                fs::remove_file(root.join("sub")).unwrap();
                fs::rename(root.join("aside"), root.join("sub")).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let arguments = || json!({ "command": ["cat", "c.txt"], "path": "sub" });
    for _ in 0..300 {
        if let Ok(text) = folder.run(&["cat"], arguments()).await {
            assert!(!text.contains("outside"), "{text}");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 0, "the folder was never a link");
    let text = folder.run(&["cat"], arguments()).await.unwrap();
    assert!(text.ends_with("inside"), "once it stays a folder, the command runs in it: {text}");
}

// Rows: N-43
#[tokio::test]
async fn n43_what_is_no_path_is_no_path() {
    let folder = Folder::new("operands");
    fs::write(folder.0.join("root/a.txt"), "alpha /api/v1 .. x\n").unwrap();
    fs::write(folder.0.join("root/.gitignore"), "x\n").unwrap();
    let outside = folder.0.join("outside/c.txt").display().to_string();
    let new = folder.0.join("outside/new.txt").display().to_string();
    let alone = format!("--out={outside}");
    let text: &[&[&str]] = &[
        &["sed", "-n", "/alpha/p", "a.txt"],
        &["sed", "-e", "/usr/d", "-e", "s/../x/", "a.txt"],
        &["awk", "/alpha/ {print $1}", "a.txt"],
        &["grep", "-n", "/api/v1", "a.txt"],
        &["grep", "..", "a.txt"],
        &["grep", "-e", "../x", "a.txt"],
        &["grep", "--regexp=/tmp", "a.txt"],
        &["rg", "/tmp", "a.txt"],
        &["jq", "..", "a.txt"],
        &["git", "commit", "--allow-empty", "-m", "/api: fix"],
        &["git", "commit", "--message=/tmp: fix"],
        &["git", "commit", "-am", ".."],
        &["git", "log", "--grep", "/tmp"],
        &["git", "add", ".gitignore"],
        &["git", "diff", "main..topic"],
        &["echo", "/etc/passwd", ".."],
        &["curl", "/no/such/place"],
        &["pytest", "-k", "/tmp"],
    ];
    let paths: Vec<Vec<&str>> = vec![
        vec!["sed", "-n", "p", &outside],
        vec!["sed", "-f", &outside, "a.txt"],
        vec!["sed", "-e", "p", &outside],
        vec!["grep", "x", &outside],
        vec!["grep", "-e", "x", &outside],
        vec!["grep", "x", "../outside/c.txt"],
        vec!["grep", "x", ".env"],
        vec!["cat", "--", &outside],
        vec!["cp", "a.txt", &new],
        vec!["tee", "../outside/new.txt"],
        vec!["touch", "/no/such/place"],
        vec!["git", "add", "../outside/c.txt"],
        vec!["git", "add", ".env"],
        vec!["git", "commit", "-m", "x", &outside],
        vec!["tool", &outside],
        vec!["tool", &alone],
        vec!["cat", "link.txt"],
    ];
    let place = |command: &[&str]| {
        let words: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
        let tool = folder.tool(&[command[0]]);
        let path = folder.0.join("root");
        let place = CommandPlace { root: &tool.root, path: &path, folder: "." };
        arguments::confined(&place, &words[0], &words[1..])
    };
    for command in text {
        assert_eq!(place(command), Ok(()), "{command:?}");
    }
    for command in &paths {
        assert!(place(command).is_err(), "{command:?}");
    }
}

// Rows: N-43
/// A program that would ask at the terminal fails at once, because it has none.
#[tokio::test]
async fn n43_a_command_has_no_terminal() {
    let folder = Folder::new("terminal");
    let sh = |script: &str| json!({ "command": ["sh", "-c", script] });
    for script in [
        "(exec < /dev/tty) 2> /dev/null || echo none",
        "(echo question > /dev/tty) 2> /dev/null || echo none",
        "(sh -c 'exec 3<> /dev/tty') 2> /dev/null || echo none",
    ] {
        let got = folder.run(&["sh -c"], sh(script)).await.unwrap();
        assert_eq!(got, "exit code 0\nnone\n", "{script}");
    }
    // It leads a session of its own, in which the whole group is.
    let got = folder.run(&["sh -c"], sh("ps -o sid= -p $$; echo $$")).await.unwrap();
    let numbers: Vec<_> = got.lines().skip(1).map(str::trim).collect();
    assert!(numbers.len() == 2 && numbers[0] == numbers[1], "{got}");
}

#[test]
fn a_root_that_cannot_be_used_is_named() {
    let fixture = Folder::new("named");
    let (missing, below) = (fixture.0.join("missing"), fixture.0.join("root/tokens.txt"));
    let error = CommandTool::new(&missing, ["cat"]).unwrap_err().to_string();
    assert!(error.contains(missing.to_str().unwrap()), "{error}");
    let error = fixture.tool(&["cat"]).withhold([below]).unwrap_err();
    let root = fixture.0.join("root").canonicalize().unwrap();
    assert!(error.to_string().contains(root.to_str().unwrap()), "{error}");
    assert!(error.source().unwrap().to_string().contains("tokens.txt"), "{error:?}");
    let error = FileTools::new(&missing).unwrap_err().to_string();
    assert!(error.contains(missing.to_str().unwrap()) && error.contains("; give one"), "{error}");
}
