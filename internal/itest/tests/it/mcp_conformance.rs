//! The conformance suite of MCP, with a client that is built on the public means of the library.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
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

/// Runs a part of the suite; `None` when it is not installed.
fn run(suite: &str, version: Option<&str>) -> Option<BTreeMap<String, Checks>> {
    let mut command = node(SUITE)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-{suite}-{version:?}"));
    fs::remove_dir_all(&folder).ok();
    let client = env!("CARGO_BIN_EXE_mcp_client");
    command
        .args(["client", "--command", client, "--suite", suite, "-o"])
        .arg(&folder)
        .args(version.iter().flat_map(|version| ["--spec-version", version]))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut scenarios = BTreeMap::new();
    collect(&folder, &folder, &mut scenarios);
    Some(scenarios)
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
        checks.map(|check| format!("{}: {}", check["id"], check["errorMessage"])).collect()
    };
    let checks = Checks { passed: with("SUCCESS"), failed: with("FAILURE") };
    let (name, _) = name.split_at(name.len() - TIME);
    scenarios.insert(name.to_owned(), checks);
}

/// Checks that each scenario of a version of the specification has a check that passed, and none that failed.
fn passes(version: &str, least: usize) {
    let Some(scenarios) = run("all", Some(version)) else { return };
    let wrong = |(name, checks): (&String, &Checks)| {
        let is_wrong = checks.passed.is_empty() || !checks.failed.is_empty();
        is_wrong.then(|| format!("{name}: {:?}", checks.failed))
    };
    let wrong: Vec<_> = scenarios.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let Some(scenarios) = run("extensions", None) else { return };
    assert!(!scenarios.is_empty());
    for (name, checks) in scenarios {
        let (passed, failed) = (checks.passed.len(), checks.failed.len());
        say(format!("MCP extension {name}: {passed} checks passed, {failed} failed"));
    }
}
