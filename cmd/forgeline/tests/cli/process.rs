//! Runs the real binary.

use std::{
    io::Write as _,
    process::{Child, Command, Output, Stdio},
    thread,
};

use serde_json::Value;

/// The binary with these arguments, without what the user's environment would choose for it.
pub(crate) fn forgeline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forgeline"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    forget_vendors(&mut command);
    command
}

/// Takes from a command what would choose a provider for it.
pub(crate) fn forget_vendors(command: &mut Command) {
    let vendors = ["OPENAI", "ANTHROPIC", "GEMINI", "COHERE", "OLLAMA"];
    for vendor in vendors {
        for setting in ["BASE_URL", "API_KEY", "MODEL", "HOST"] {
            command.env_remove(format!("{vendor}_{setting}"));
        }
    }
    // What tests take a server of PostgreSQL from looks like variables of the service.
    for setting in ["POSTGRES_BIN", "POSTGRES_DIR"] {
        command.env_remove(format!("FORGELINE_{setting}"));
    }
    command.env_remove("CLICOLOR_FORCE");
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
}

/// Runs to the end with this on stdin.
pub(crate) fn run(arguments: &[&str], stdin: &[u8]) -> Outcome {
    let child = forgeline(arguments).stdin(Stdio::piped()).spawn().unwrap();
    finish(child, stdin)
}

/// Feeds `stdin` from a second thread, so that neither side waits for the other.
pub(crate) fn finish(mut child: Child, stdin: &[u8]) -> Outcome {
    let mut pipe = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        if stdin.is_empty() {
            // At once: a command says so when its stdin stays silent for seconds.
            drop(pipe);
        } else {
            // A command that fails early does not read; that is no failure of the test.
            scope.spawn(move || drop(pipe.write_all(stdin)));
        }
        child.wait_with_output().unwrap()
    });
    Outcome::from(output)
}

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    /// Stdout as JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last line, which must be the completion.
    pub(crate) fn completion(&self) -> Value {
        let last = self.lines().pop().unwrap_or_else(|| panic!("no output: {self:?}"));
        assert_eq!(last["type"], "completion");
        last
    }
}
