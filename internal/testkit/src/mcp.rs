//! Programs of the MCP project: its conformance suite, and public servers that run on Node and on Python.
//!
//! `make mcp-setup` installs them.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
};

/// Returns the command that runs a script of an installed package, such as
/// `@modelcontextprotocol/conformance/dist/index.js`.
///
/// Returns `None` and prints the reason when it is not installed.
///
/// # Panics
///
/// Panics when it is not installed although the environment variable `FORGELINE_REQUIRE_MCP` is set.
#[must_use]
pub fn node(script: &str) -> Option<Command> {
    let folder = folder();
    let (node, script) = (folder.join("node"), folder.join("node_modules").join(script));
    if !is_there(&[&node, &script]) {
        return None;
    }
    let mut command = Command::new(node);
    command.arg(script);
    Some(command)
}

/// Returns the command of a program in an environment of Python, such as `venv/bin/mcp-server-time`.
///
/// Returns `None` and prints the reason when it is not installed.
///
/// # Panics
///
/// Panics when it is not installed although the environment variable `FORGELINE_REQUIRE_MCP` is set.
#[must_use]
pub fn python(program: &str) -> Option<Command> {
    let program = folder().join(program);
    is_there(&[&program]).then(|| Command::new(program))
}

fn folder() -> PathBuf {
    match env::var_os("FORGELINE_MCP_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp"),
    }
}

/// Returns `true` when all these files are installed, and prints the first one that is not.
fn is_there(files: &[&Path]) -> bool {
    static NOTICE: Once = Once::new();
    let Some(missing) = files.iter().find(|file| !file.is_file()) else { return true };
    let reason = format!("{} is not installed; run `make mcp-setup`", missing.display());
    assert!(env::var_os("FORGELINE_REQUIRE_MCP").is_none(), "{reason}");
    NOTICE.call_once(|| crate::say(format!("not run: the tests against MCP programs; {reason}")));
    false
}
