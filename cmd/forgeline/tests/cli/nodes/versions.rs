//! Nodes of two versions on one database.

use std::process::Command;

use super::{nodes, requests::approve};

#[test]
fn a_run_whose_state_is_newer_waits_for_a_node_that_knows_it() {
    let Some(mut bench) = nodes(2) else { return };
    let other = bench.address(1);
    let [known, newer] = [(); 2].map(|()| {
        let run = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
        let mut reader = bench.reader(vec![other], &run);
        reader.until_kind("tool_approval_request");
        (run, reader)
    });
    let ((known, mut reads), (newer, mut waits)) = (known, newer);
    let set = |version| {
        format!("UPDATE forgeline.run SET state_version = {version} WHERE id = '{newer}'")
    };
    assert_eq!(bench.sql(&set(9)), "");
    assert_eq!(bench.terminate(0), Some(0));
    // Both are free now, and the run with the lower number is not passed over.
    approve(&bench, other, &known, &mut reads);
    reads.until_end();
    assert!(reads.text().contains("Kept as note 1."), "{}", reads.text());
    let free =
        format!("SELECT node IS NULL AND ended_ms IS NULL FROM forgeline.run WHERE id = '{newer}'");
    assert_eq!(bench.sql(&free), "t", "the node does not know its state");
    // Readers read it, and decisions are kept.
    let shown = bench.get(other, &format!("/v1/runs/{newer}"));
    assert_eq!((shown.status, &shown.json()["status"]), (200, &"waiting".into()), "{shown:?}");
    assert_eq!(bench.sql(&set(1)), "");
    approve(&bench, other, &newer, &mut waits);
    waits.until_end();
    assert!(waits.text().contains("Kept as note 2."), "{}", waits.text());
    assert_eq!(waits.count("tool_result"), 1, "{:?}", waits.events());
}

/// The node that runs goes on, as it does while the nodes of a service are replaced one after the other.
#[test]
fn a_node_does_not_start_on_a_newer_schema_and_one_that_runs_goes_on() {
    let Some(bench) = nodes(1) else { return };
    let tables = "SELECT count(*), max(version) FROM pg_class, forgeline.about WHERE relnamespace = 'forgeline'::regnamespace";
    assert_eq!(bench.sql("UPDATE forgeline.about SET version = 3"), "");
    let before = bench.sql(tables);
    let config = bench.work().with_file_name("nodes.toml");
    let mut older = Command::new(env!("CARGO_BIN_EXE_forgeline"));
    older.args(["serve", "--listen", "127.0.0.1:0", "--no-auth", "--config"]).arg(config);
    let refused = older.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("version 3") && said.contains("up to 2"), "{said}");
    assert_eq!(bench.sql(tables), before, "it is unchanged");
    let run = bench.begin(bench.address(0), "demo", "What is 6*7?");
    let mut reader = bench.reader(vec![bench.address(0)], &run);
    reader.until_end();
    assert!(reader.text().contains("6*7 = 42"), "{}", reader.text());
}
