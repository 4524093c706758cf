//! Many nodes that all would take the same run.

use std::{
    env,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use forgeline_testkit::{
    nodes::{NodeBench, RunReader, ask},
    say,
};

use super::{kills::kills, requests::approve};

/// Longest wait for the next owner, and for the end of the run.
const PATIENCE: Duration = Duration::from_mins(2);

/// Pause between two looks at the nodes.
const LOOK: Duration = Duration::from_millis(100);

/// Writes down each owner that a run ever has.
const WRITE_DOWN: [&str; 3] = [
    "CREATE TABLE public.owners (no bigint GENERATED ALWAYS AS IDENTITY, run bigint, epoch bigint, node text)",
    "CREATE FUNCTION public.write_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO public.owners (run, epoch, node) VALUES (NEW.no, NEW.epoch, NEW.node); RETURN NULL; END $$",
    "CREATE TRIGGER write_down AFTER INSERT OR UPDATE ON forgeline.run
         FOR EACH ROW EXECUTE FUNCTION public.write_down()",
];

/// Changes of owners that have not a higher epoch than what was before.
const WRONG_OWNERS: &str = "SELECT count(*) FROM (
        SELECT epoch, node, lag(epoch) OVER changes AS before, lag(node) OVER changes AS owner FROM public.owners
        WINDOW changes AS (PARTITION BY run ORDER BY no)) AS it
    WHERE epoch < before OR node IS NOT NULL AND node IS DISTINCT FROM owner AND epoch <= before";

/// The ways in which an owner is lost, in turn. After three deaths in turn a run would be given up; one that is handed over begins to count anew.
#[derive(Debug, Clone, Copy)]
enum OwnerLoss {
    Killed,
    Stopped,
    AskedToEnd,
}

const LOSSES: [OwnerLoss; 6] = [
    OwnerLoss::Killed,
    OwnerLoss::Stopped,
    OwnerLoss::AskedToEnd,
    OwnerLoss::Killed,
    OwnerLoss::Killed,
    OwnerLoss::Killed,
];

/// `make kills-nodes` starts twenty nodes, and loses the owner in each of the ways.
#[test]
fn a_run_that_many_nodes_would_take_has_one_owner_whoever_is_lost() {
    let is_long = env::var_os("FORGELINE_KILLS_NODES").is_some();
    let (count, losses) = if is_long { (20, LOSSES.len()) } else { (5, 1) };
    assert!(kills() > 0);
    let program = Path::new(env!("CARGO_BIN_EXE_forgeline"));
    let Some(mut bench) = NodeBench::start_with(program, count, &[]) else { return };
    for statement in WRITE_DOWN {
        assert_eq!(bench.sql(statement), "");
    }
    bench.settle();
    let run = bench.begin(bench.address(0), "demo", "Call notes.keep with \"Buy milk.\"");
    let mut living: Vec<_> = (0..count).collect();
    let mut reader = RunReader::new(vec![bench.address(count - 1)], &run, PATIENCE);
    reader.until_kind("tool_approval_request");
    for loss in &LOSSES[..losses] {
        let owner = owner(&bench, &living, PATIENCE);
        living.retain(|node| *node != owner);
        match loss {
            OwnerLoss::Killed => bench.kill(owner),
            OwnerLoss::AskedToEnd => assert_eq!(bench.terminate(owner), Some(0)),
            OwnerLoss::Stopped => bench.node(owner).signal("-STOP"),
        }
        let next = self::owner(&bench, &living, PATIENCE);
        assert_ne!(next, owner);
        if matches!(loss, OwnerLoss::Stopped) {
            // It lets go of the run when it wakes.
            bench.node(owner).signal("-CONT");
            living.push(owner);
        }
    }
    let all = bench.addresses();
    let at = *all.last().unwrap();
    let mut reader = RunReader::new(all, &run, PATIENCE);
    approve(&bench, at, &run, &mut reader);
    reader.until_end();
    assert!(reader.text().contains("Kept as note 1."), "{}", reader.text());
    assert_eq!(reader.count("tool_result"), 1, "{:?}", reader.events());
    bench.wait_for("SELECT count(*) FROM forgeline.run WHERE ended_ms IS NULL", "0");
    assert_eq!(bench.sql(WRONG_OWNERS), "0", "each owner has an epoch of its own");
    let owners =
        bench.sql("SELECT count(DISTINCT epoch) FROM public.owners WHERE node IS NOT NULL");
    assert_eq!(owners, (losses + 1).to_string(), "each loss has one next owner");
    say(format!("nodes: a run of {count} nodes had {owners} owners, one after the other"));
}

/// Waits until one of the nodes, and only one, holds the run; returns its number.
fn owner(bench: &NodeBench, nodes: &[usize], patience: Duration) -> usize {
    let begun = Instant::now();
    loop {
        let owners: Vec<_> =
            nodes.iter().copied().filter(|node| holds(bench, *node, patience)).collect();
        if let [owner] = *owners {
            return owner;
        }
        assert!(begun.elapsed() < patience, "the owners are {owners:?}");
        thread::park_timeout(LOOK);
    }
}

fn holds(bench: &NodeBench, node: usize, patience: Duration) -> bool {
    let metrics = ask(bench.address(node), ["GET", "/metrics"], "", None, patience).unwrap().body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("forgeline_runs_owned "));
    line.unwrap_or_else(|| panic!("{metrics}")) == "1"
}
