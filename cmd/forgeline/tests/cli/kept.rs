//! `--continue`: the last conversation goes on.

use std::{fs, path::PathBuf, process::Stdio};

use forgeline_testkit::server::ScriptedServer;
use serde_json::Value;
use tokio::task::block_in_place;

use crate::{
    flags::body,
    process::{Outcome, finish, forgeline},
    run::answer,
};

/// A user with a folder of states of their own.
struct User {
    folder: PathBuf,
}

impl User {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_dir_all(&folder));
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("forgeline/conversation.json")
    }

    fn run(&self, arguments: &[&str], stdin: &[u8]) -> Outcome {
        let mut command = forgeline(arguments);
        command.env("XDG_STATE_HOME", &self.folder).stdin(Stdio::piped());
        block_in_place(|| finish(command.spawn().unwrap(), stdin))
    }
}

fn texts(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages.skip(1).map(|message| message["content"].as_str().unwrap()).collect()
}

// Covers: E-28
#[tokio::test(flavor = "multi_thread")]
async fn the_last_conversation_goes_on_where_it_ended() {
    let user = User::new("kept-user");
    let mut server = ScriptedServer::start(["A", "B", "C", "D", "E"].map(answer).into()).await;
    let url = server.url();
    let at = ["--base-url", &url, "-m", "m", "-q"];
    let run = |flags: &[&str], question: &str| {
        let outcome = user.run(&[&["run"], flags, &at[..], &[question]].concat(), b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    };
    run(&[], "one");
    run(&["-c"], "two");
    body(&mut server).await;
    let second = body(&mut server).await;
    assert_eq!(texts(&second), ["one", "A", "two"]);
    // What is not kept changes nothing, and a chat goes on as well.
    run(&["--no-keep"], "no");
    assert_eq!(texts(&body(&mut server).await), ["no"]);
    let outcome = user.run(&[&["chat", "--continue"], &at[..]].concat(), b"three\n");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(texts(&body(&mut server).await), ["one", "A", "two", "B", "three"]);
    // Without the flag it begins anew, and that is the last one then.
    run(&[], "four");
    assert_eq!(texts(&body(&mut server).await), ["four"]);
    let kept: Value = serde_json::from_slice(&fs::read(user.file()).unwrap()).unwrap();
    assert_eq!(
        (kept["version"].as_u64(), kept["messages"].as_array().unwrap().len()),
        (Some(1), 2)
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(user.file()), mode(user.folder.join("forgeline"))), (0o600, 0o700));
    }
    let left = fs::read_dir(user.folder.join("forgeline")).unwrap().count();
    assert_eq!(left, 1, "nothing else is left there");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_conversation_is_a_usage_error() {
    let user = User::new("kept-nothing");
    let arguments = ["run", "--provider", "demo", "-c", "hi"];
    let outcome = user.run(&arguments, b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("there is no conversation to continue"), "{outcome:?}");
    fs::create_dir_all(user.file().parent().unwrap()).unwrap();
    for text in ["", "{}", "[]", r#"{"version":2,"messages":[]}"#] {
        fs::write(user.file(), text).unwrap();
        let outcome = user.run(&arguments, b"");
        assert_eq!(outcome.code, Some(2), "{text}: {outcome:?}");
        assert!(outcome.stderr.contains("is not a conversation of this version"), "{outcome:?}");
    }
    // A folder that cannot be written to is not a failure of the run; `--continue` reports it.
    fs::write(user.file(), r#"{"version":1,"messages":[]}"#).unwrap();
    fs::remove_file(user.file()).unwrap();
    fs::create_dir(user.file()).unwrap();
    let outcome = user.run(&["run", "-v", "--provider", "demo", "hi"], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot save the conversation"), "{outcome:?}");
}
