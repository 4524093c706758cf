//! Clients of the service that others made, on Node.
//!
//! `make service-setup` installs them.

use std::{env, fs, path::PathBuf, process::Command, sync::Once};

/// Returns the command that runs a script of the folder `internal/testkit/service`, or of a package there.
///
/// Returns `None` and prints the reason when the packages are not installed.
///
/// # Panics
///
/// Panics when they are not installed although the environment variable `FORGELINE_REQUIRE_SERVICE` is set.
#[must_use]
pub fn client(script: &str) -> Option<Command> {
    static COPIED: Once = Once::new();
    static NOTICE: Once = Once::new();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = |variable: &str, name: &str| {
        env::var_os(variable).map_or_else(|| root.join("../../target").join(name), PathBuf::from)
    };
    let packages = folder("FORGELINE_SERVICE_DIR", "service");
    let node = folder("FORGELINE_MCP_DIR", "mcp").join("node");
    if !node.is_file() || !packages.join("installed").is_file() {
        let reason = "clients of the service are not installed; run `make service-setup`";
        assert!(env::var_os("FORGELINE_REQUIRE_SERVICE").is_none(), "{reason}");
        NOTICE.call_once(|| crate::say(format!("not run: the clients of the service; {reason}")));
        return None;
    }
    // Node looks for packages beside the script.
    COPIED.call_once(|| {
        for entry in fs::read_dir(root.join("service")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| ["mjs", "jsx", "py"].iter().any(|own| it == *own))
            {
                fs::copy(&path, packages.join(path.file_name().unwrap())).unwrap();
            }
        }
    });
    let mut command = Command::new(fs::canonicalize(node).unwrap());
    command.current_dir(&packages).arg(script);
    Some(command)
}

/// Returns the command that runs a script of the folder that the environment variable `FORGELINE_CLIENTS` names, with the packages that are
/// installed; `None` without it.
///
/// # Panics
///
/// As [`client`], and when the folder does not have the script.
#[must_use]
pub fn client_of_others(script: &str) -> Option<Command> {
    let folder = PathBuf::from(env::var_os("FORGELINE_CLIENTS")?);
    let name = format!("others_{script}");
    let command = client(&name)?;
    // A test runs in the folder of its crate.
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(root.join(folder).join(script), command.get_current_dir()?.join(name)).unwrap();
    Some(command)
}

/// Returns the command that drives a page of this major version of the AI SDK in Chromium.
///
/// Returns `None` and prints the reason when Chromium or the packages are not installed.
///
/// # Panics
///
/// As [`client`], and when Chromium is not installed although the environment variable `FORGELINE_REQUIRE_BROWSER` is set.
#[must_use]
pub fn page(major: u32) -> Option<Command> {
    let chromium =
        PathBuf::from(env::var_os("CHROMIUM").unwrap_or_else(|| "/usr/bin/chromium".into()));
    if !chromium.exists() {
        let reason = format!("{} does not exist; install chromium", chromium.display());
        assert!(env::var_os("FORGELINE_REQUIRE_BROWSER").is_none(), "{reason}");
        crate::say(format!("not run: `useChat` in a page; {reason}"));
        return None;
    }
    let mut command = client("page.mjs")?;
    command.arg(chromium).arg(major.to_string());
    Some(command)
}

/// Returns the command that runs a Python script of the folder, with the packages that are installed.
///
/// # Panics
///
/// As [`client`].
#[must_use]
pub fn python(script: &str) -> Option<Command> {
    let node = client(script)?;
    let packages = node.get_current_dir()?.to_owned();
    let mcp = env::var_os("FORGELINE_MCP_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp"),
        PathBuf::from,
    );
    let mut command = Command::new(mcp.join("venv/bin/python"));
    command.current_dir(packages).arg(script);
    Some(command)
}
