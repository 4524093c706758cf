//! Programs of the MCP project that run on Node: its conformance suite, its reference server.
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
    static NOTICE: Once = Once::new();
    let folder = match env::var_os("FORGELINE_MCP_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp"),
    };
    let (node, script) = (folder.join("node"), folder.join("node_modules").join(script));
    if !node.is_file() || !script.is_file() {
        let reason = format!("{} is not installed; run `make mcp-setup`", script.display());
        assert!(env::var_os("FORGELINE_REQUIRE_MCP").is_none(), "{reason}");
        NOTICE
            .call_once(|| crate::say(format!("not run: the tests against MCP on Node; {reason}")));
        return None;
    }
    let mut command = Command::new(node);
    command.arg(script);
    Some(command)
}
