//! The service, as clients see it that others made.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

#[cfg(unix)]
use forgeline_testkit::{nodes::NodeProxy, postgres::PostgresServer};
use forgeline_testkit::{
    say,
    service::{client, python},
};

/// The longest wait of a long poll, in milliseconds.
const LONG_POLL: &str = "1500";

/// The tests of the protocol without those of its further chapter, forks.
const TESTS: usize = 250;

/// A service that ends with this.
struct Started(Child, String);

impl Started {
    /// Starts the service with a file or a database, or in memory.
    fn start(place: Option<&str>) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_test_service")).arg(LONG_POLL).args(place))
    }

    /// Starts a program that prints its address first.
    fn of(program: &mut Command) -> Self {
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self(child, url.trim_end().to_owned())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Runs a client to its end; returns what it printed.
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs the suite of Durable Streams against a service.
fn conforms(mut command: Command, url: &str, place: &str) {
    command.args(["run", "--no-color", "--dir", ".", "durable.test.mjs", "-t", "^(?!Fork - )"]);
    command.env("SERVICE", url).env("LONG_POLL", LONG_POLL);
    let printed = output(&mut command);
    let passed = printed.lines().find(|line| line.trim_start().starts_with("Tests "));
    let passed = passed.and_then(|line| line.split_whitespace().nth(1));
    assert_eq!(passed, Some(TESTS.to_string().as_str()), "{printed}");
    say(format!("Durable Streams in {place}: {TESTS} tests of the suite"));
}

fn suite() -> Option<Command> {
    client("node_modules/vitest/vitest.mjs")
}

#[test]
fn the_conformance_suite_of_durable_streams_passes_in_memory() {
    let Some(suite) = suite() else { return };
    conforms(suite, &Started::start(None).1, "memory");
}

#[test]
fn the_conformance_suite_of_durable_streams_passes_in_sqlite() {
    let Some(suite) = suite() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("durable-streams");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("log.sqlite");
    conforms(suite, &Started::start(file.to_str()).1, "SQLite");
}

// Each request goes to the other node.
#[cfg(unix)]
#[test]
fn the_conformance_suite_of_durable_streams_passes_on_two_nodes() {
    let (Some(suite), Some(server)) = (suite(), PostgresServer::shared()) else { return };
    let database = server.database();
    let nodes = [0, 1].map(|_| Started::start(Some(&database)));
    let address = |node: &Started| node.1.trim_start_matches("http://").parse().unwrap();
    let proxy = NodeProxy::start(nodes.iter().map(address).collect());
    conforms(suite, &format!("http://{}", proxy.address()), "PostgreSQL, two nodes");
}

#[test]
fn the_client_of_ag_ui_refuses_no_run_that_numbers_decide() {
    let Some(mut command) = client("random.mjs") else { return };
    let service = Started::start(None);
    command.args([service.1.as_str(), "200"]);
    let printed = output(&mut command);
    let line = printed.lines().find(|line| line.starts_with("ok AG-UI: 200 runs")).unwrap();
    assert!(line.contains("RUN_FINISHED") && line.contains("RUN_ERROR"), "{line}");
    say(line);
}

#[test]
fn the_official_clients_read_the_gateway_of_the_examples() {
    for script in ["gateway.py", "gateway_messages.py", "gateway_responses.py"] {
        let Some(mut command) = python(script) else { return };
        let gateway = Started::of(&mut Command::new(env!("CARGO_BIN_EXE_gateway")));
        let printed = output(command.arg(&gateway.1));
        say(printed.trim_end());
    }
}
