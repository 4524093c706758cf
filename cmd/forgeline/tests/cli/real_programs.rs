//! Programs and files as people have them: toolchains as commands, and a repository of files in several encodings.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use forgeline_testkit::{
    say,
    server::{ScriptedServer, Seen, Step},
};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    process::{finish, forgeline},
    run::answer,
};

/// Runs Git in a folder, without what the user has set up for it.
fn git(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(root).args(arguments).env("HOME", root).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a repository of the files in a folder.
fn repository(root: &Path) {
    let identity = ["config", "user.name", "Ann", "config", "user.email", "ann@example.org"];
    git(root, &["init", "--quiet"]);
    for pair in identity.chunks(3) {
        git(root, pair);
    }
    // Line ends are compared as they are.
    git(root, &["config", "core.autocrlf", "false"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "first"]);
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Where a toolchain is: the variable that says it, or the folder below the home folder.
fn place(variable: &str, below_home: &str) -> PathBuf {
    let home = || env::home_dir().unwrap().join(below_home);
    env::var_os(variable).map_or_else(home, PathBuf::from)
}

/// Plays calls of a model below a folder; returns their results.
async fn play(root: &Path, calls: Vec<Vec<Step>>, flags: &[&str], home: &Path) -> Vec<String> {
    let count = calls.len();
    let mut server = ScriptedServer::start([calls, vec![answer("Done.")]].concat()).await;
    let url = server.url();
    block_in_place(|| {
        let fixed = arguments("run", &url, root, flags);
        let mut command = forgeline(&[&fixed[..], &["--max-turns", "30", "Go."]].concat());
        command.env("HOME", home).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO_TARGET_DIR");
        command.env("RUSTUP_HOME", place("RUSTUP_HOME", ".rustup"));
        command.env("CARGO_HOME", place("CARGO_HOME", ".cargo"));
        let outcome = finish(command.stdin(Stdio::piped()).spawn().unwrap(), b"");
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
    });
    let mut results = Vec::new();
    for _ in 0..=count {
        let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
        let sent: Value = serde_json::from_slice(&body).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        let last = messages.iter().rev().find(|message| message["role"] == "tool");
        results.extend(last.map(|message| message["content"].as_str().unwrap().to_owned()));
    }
    assert_eq!(results.len(), count, "{results:?}");
    results
}

// Rows: N-43
#[tokio::test(flavor = "multi_thread")]
async fn cargo_git_and_npm_run_where_their_variables_say() {
    let missing = ["cargo", "git", "npm"].into_iter().find(|program| !is_installed(program));
    if let Some(missing) = missing {
        let reason = format!("{missing} is not installed");
        assert!(env::var_os("FORGELINE_REQUIRE_NODE").is_none(), "{reason}");
        say(format!("not run: cargo, git and npm as commands; {reason}"));
        return;
    }
    let (root, home) = (folder("programs"), folder("programs-home"));
    let put = |name: &str, text: &str| {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    };
    // A workspace of its own, as it is below another one.
    put(
        "Cargo.toml",
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    put("src/main.rs", "fn main() {\n    println!(\"tiny\");\n}\n");
    put(
        "package.json",
        "{\"name\":\"tiny\",\"version\":\"1.0.0\",\"scripts\":{\"greet\":\"node greet.js\"}}\n",
    );
    put("greet.js", "console.log('hello from ' + process.env.npm_lifecycle_event);\n");
    put(".gitignore", "target\n");
    repository(&root);
    put("greet.js", "console.log('good day from ' + process.env.npm_lifecycle_event);\n");
    let message = "feat(/api): greet /home as people do";
    let rows = [
        (json!({ "command": ["cargo", "--version"] }), "cargo 1."),
        (json!({ "command": ["cargo", "build", "--offline"] }), "Finished"),
        (json!({ "command": ["cargo", "run", "--offline", "--quiet"], "path": "src" }), "tiny"),
        (json!({ "command": ["git", "commit", "-a", "-m", message] }), "1 file changed"),
        // Git would ask for a message, and there is no terminal.
        (json!({ "command": ["git", "commit", "--amend"] }), "1 file changed"),
        (json!({ "command": ["git", "log", "-1", "--format=%s"] }), message),
        (json!({ "command": ["npm", "run", "greet"] }), "good day from greet"),
    ];
    let calls = rows.iter().map(|(arguments, _)| call("command_run", arguments)).collect();
    let allowed =
        ["--allow-command", "cargo", "--allow-command", "git", "--allow-command", "npm run"];
    let flags = [&allowed[..], &["--approve", "command.run"]].concat();
    let results = play(&root, calls, &flags, &home).await;
    for ((arguments, want), result) in rows.iter().zip(&results) {
        assert!(result.contains(want), "{arguments}: {result}");
    }
    assert!(root.join("target/debug/tiny").exists());
    assert_eq!(git(&root, &["log", "--format=%s"]), format!("{message}\nfirst\n"));
    say("commands of a model: cargo, git and npm");
}

/// How a file has its text.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    Utf8,
    Utf8WithMark,
    Latin1,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Latin1 => b"",
            Self::Utf8WithMark => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
        }
    }

    fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Utf8WithMark => text.as_bytes().to_vec(),
            Self::Latin1 => {
                text.chars().map(|sign| u8::try_from(u32::from(sign)).unwrap()).collect()
            }
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    fn file(self, text: &str) -> Vec<u8> {
        [self.mark(), &self.bytes(text)].concat()
    }
}

// Rows: N-41
#[tokio::test(flavor = "multi_thread")]
async fn edits_change_only_their_lines_whatever_the_encoding_and_line_ends() {
    let (root, home) = (folder("encodings"), folder("encodings-home"));
    // A file, its encoding and its text; what is replaced, as the model writes it and as it is there; and by what.
    #[rustfmt::skip]
    let rows = [
        ("crlf.txt",    Encoding::Utf8,         "one\r\ntwo\r\nthree\r\n",      [("two", "two", "2", "2")]),
        ("lines.txt",   Encoding::Utf8,         "one\r\ntwo\r\nthree\r\n",      [("one\ntwo\n", "one\r\ntwo\r\n", "1\n2\n3\n", "1\r\n2\r\n3\r\n")]),
        ("mixed.txt",   Encoding::Utf8,         "one\r\ntwo\nthree\r\nfour",    [("two", "two", "2", "2")]),
        ("latin.txt",   Encoding::Latin1,       "caf\u{e9}\nna\u{ef}ve\nend\n", [("na\u{ef}ve", "na\u{ef}ve", "\u{fc}ber", "\u{fc}ber")]),
        ("latin.ini",   Encoding::Latin1,       "a=\u{e4}\r\nb=\u{df}\r\n",     [("b=\u{df}", "b=\u{df}", "b=\u{f1}", "b=\u{f1}")]),
        ("little.txt",  Encoding::Utf16Le,      "eins\r\nzw\u{f6}lf\r\n",       [("zw\u{f6}lf", "zw\u{f6}lf", "elf \u{1f9dd}", "elf \u{1f9dd}")]),
        ("big.txt",     Encoding::Utf16Be,      "eins\nzwei\n",                 [("eins", "eins", "\u{4e00}", "\u{4e00}")]),
        ("marked.cs",   Encoding::Utf8WithMark, "alpha\r\nbeta\r\n",            [("beta", "beta", "\u{3b2}", "\u{3b2}")]),
        ("marked.csv",  Encoding::Utf8WithMark, "a;b\nc;d",                     [("a;b", "a;b", "a;e", "a;e")]),
        ("plain.txt",   Encoding::Utf8,         "x\ny",                         [("y", "y", "z", "z")]),
    ];
    for (name, encoding, text, _) in &rows {
        fs::write(root.join(name), encoding.file(text)).unwrap();
    }
    let is_git = is_installed("git");
    if is_git {
        repository(&root);
    }
    let calls = rows.iter().flat_map(|(name, _, _, edits)| {
        edits.iter().map(move |(old, _, new, _)| {
            call("files_edit", &json!({ "path": name, "old": old, "new": new }))
        })
    });
    let flags = ["--write", "--approve", "files.edit"];
    let results = play(&root, calls.collect(), &flags, &home).await;
    for (name, encoding, text, edits) in &rows {
        let after = edits.iter().fold((*text).to_owned(), |text, (_, old, _, new)| {
            assert_eq!(text.matches(old).count(), 1, "{name}");
            text.replace(old, new)
        });
        let bytes = fs::read(root.join(name)).unwrap();
        assert_eq!(bytes, encoding.file(&after), "{name} {encoding:?}: {results:#?}");
    }
    if !is_git {
        say("not run: the edits of a model as Git sees them; git is not installed");
        return;
    }
    // Git counts no lines of UTF-16.
    let counted = git(&root, &["diff", "--numstat"]);
    for line in counted.lines() {
        let want = match line.rsplit('\t').next().unwrap() {
            "lines.txt" => "3\t2\t",
            "little.txt" | "big.txt" => "-\t-\t",
            _ => "1\t1\t",
        };
        assert!(line.starts_with(want), "{line}: {counted}");
    }
    assert_eq!(counted.lines().count(), rows.len(), "{counted}");
}
