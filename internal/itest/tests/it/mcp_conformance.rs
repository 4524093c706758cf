//! The conformance suite of MCP, with a client that is built on the public means of the library.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use forgeline_testkit::{mcp::node, say};
use serde_json::Value;

/// The suite's script.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// Letters of the time behind the name of a scenario.
const TIME: usize = "-2026-01-31T12-00-00-000Z".len();

/// The checks of one scenario.
#[derive(Debug, Default)]
struct Checks {
    passed: Vec<String>,
    failed: Vec<String>,
}

/// Longest time of one scenario, after which the suite ends its client.
const SCENARIO_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest time of a part of the suite: its scenarios run side by side.
const SUITE_TIMEOUT: Duration = Duration::from_mins(5);

/// Runs a part of the suite; `None` when it is not installed.
fn run(suite: &str, version: Option<&str>) -> Option<(BTreeMap<String, Checks>, ExitStatus)> {
    let mut command = node(SUITE)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-{suite}-{version:?}"));
    fs::remove_dir_all(&folder).ok();
    let client = env!("CARGO_BIN_EXE_mcp_client");
    command
        .args(["client", "--command", client, "--suite", suite, "-o"])
        .arg(&folder)
        .args(["--timeout", &SCENARIO_TIMEOUT.as_millis().to_string()])
        .args(version.iter().flat_map(|version| ["--spec-version", version]));
    let status = ended(command);
    let mut scenarios = BTreeMap::new();
    collect(&folder, &folder, &mut scenarios);
    Some((scenarios, status))
}

/// Runs a command to its end, which comes in time.
fn ended(mut command: Command) -> ExitStatus {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (pid, (told, status)) = (child.id(), channel());
    thread::spawn(move || told.send(child.wait()));
    let Ok(status) = status.recv_timeout(SUITE_TIMEOUT) else {
        Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
        panic!("the suite did not end within {SUITE_TIMEOUT:?}");
    };
    status.unwrap()
}

/// Returns the scenarios that the suite has for clients of this version.
fn listed(version: &str) -> Vec<String> {
    let mut command = node(SUITE).unwrap();
    let list = command.args(["list", "--client", "--spec-version", version]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let names = list.lines().filter_map(|line| line.trim().strip_prefix("- "));
    names.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

fn collect(root: &Path, folder: &Path, scenarios: &mut BTreeMap<String, Checks>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    for path in entries.iter().filter(|path| path.is_dir()) {
        collect(root, path, scenarios);
    }
    let Ok(text) = fs::read_to_string(folder.join("checks.json")) else { return };
    let name = folder.strip_prefix(root).unwrap().to_str().unwrap();
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let with = |status: &str| {
        let checks = checks.iter().filter(|check| check["status"] == status);
        let told = |check: &Value| format!("{}: {}", check["id"], check["errorMessage"]);
        checks.map(told).collect::<Vec<_>>()
    };
    let failed = [with("FAILURE"), with("WARNING")].concat();
    let checks = Checks { passed: with("SUCCESS"), failed };
    let (name, _) = name.split_at(name.len() - TIME);
    scenarios.insert(name.to_owned(), checks);
}

/// Checks that each scenario of a version of the specification has a check that passed, and none that failed.
fn passes(version: &str, least: usize) {
    let Some((scenarios, status)) = run("all", Some(version)) else { return };
    let missing: Vec<_> =
        listed(version).into_iter().filter(|name| !scenarios.contains_key(name)).collect();
    assert!(missing.is_empty(), "without checks: {missing:?}");
    let wrong = |(name, checks): (&String, &Checks)| {
        let is_wrong = checks.passed.is_empty() || !checks.failed.is_empty();
        is_wrong.then(|| format!("{name}: {:?}", checks.failed))
    };
    let wrong: Vec<_> = scenarios.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(status.success(), "the suite for {version} ended with {status}");
    assert!(scenarios.len() >= least, "{} scenarios, not {least}", scenarios.len());
    let passed: usize = scenarios.values().map(|checks| checks.passed.len()).sum();
    say(format!("MCP {version}: {} scenarios, {passed} checks passed", scenarios.len()));
}

#[test]
fn every_scenario_of_the_version_of_2025_passes() {
    passes("2025-11-25", 19);
}

#[test]
fn every_scenario_of_the_version_of_2026_passes() {
    passes("2026-07-28", 33);
}

/// What is beside the specification: each is run, and its state is printed.
#[test]
fn extensions_are_run_and_listed() {
    let Some((scenarios, _)) = run("extensions", None) else { return };
    assert!(!scenarios.is_empty());
    for (name, checks) in scenarios {
        let (passed, failed) = (checks.passed.len(), checks.failed.len());
        say(format!("MCP extension {name}: {passed} checks passed, {failed} failed"));
    }
}
