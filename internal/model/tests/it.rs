//! The promises hold under all rules, and each rule is needed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it found; clippy.toml covers `#[test]` only"
)]

use std::time::Instant;

use forgeline_model::{
    Bounds, Command, Counterexample, Fault, Figures, Invariant, NodeId, Protocol, Rule, Rules,
    State, Step,
};

/// All kinds of faults, at most `faults` on one way.
const fn bounds(faults: u8, reader: Option<NodeId>, command: Option<Command>) -> Bounds {
    Bounds { faults, kinds: &Fault::ALL, reader, command }
}

/// Searches and prints the figures; `FORGELINE_MODEL_FAULTS` replaces the number of faults.
fn holds(mut bounds: Bounds) -> Figures {
    if let Ok(faults) = std::env::var("FORGELINE_MODEL_FAULTS") {
        bounds.faults = faults.parse().unwrap();
    }
    let (reader, command) = (bounds.reader.is_some(), bounds.command);
    let start = Instant::now();
    let figures = Protocol { rules: Rules::ALL, bounds }.search();
    let figures = figures.unwrap_or_else(|found| panic!("{found}"));
    let faults = bounds.faults;
    println!("{faults} faults, reader {reader}, {command:?}: {figures:?}, {:?}", start.elapsed());
    figures
}

#[test]
fn the_run_keeps_its_promises() {
    assert!(holds(bounds(3, None, None)).states > 150_000);
    assert!(holds(bounds(2, None, Some(Command::Cancel))).states > 60_000);
}

#[test]
fn the_reader_sees_each_event_once_on_any_node() {
    assert!(holds(bounds(2, Some(NodeId::A), None)).states > 120_000);
}

#[test]
fn the_command_is_answered_once() {
    assert!(holds(bounds(2, None, Some(Command::Steer))).states > 110_000);
    assert!(holds(bounds(2, None, Some(Command::Approval))).states > 30_000);
    assert!(holds(bounds(1, Some(NodeId::A), Some(Command::Steer))).states > 25_000);
}

/// Searches without `rules`.
fn search_without(rules: &[Rule], bounds: Bounds) -> Result<Figures, Counterexample<State, Step>> {
    let rules = rules.iter().fold(Rules::ALL, |all, rule| all.without(*rule));
    Protocol { rules, bounds }.search()
}

/// A row: the rules taken out, the bounds, the promise that breaks, and the steps of the shortest trace.
type Row = (&'static [Rule], Bounds, Invariant, usize);

const A: Option<NodeId> = Some(NodeId::A);

const fn within(kinds: &'static [Fault], bounds: Bounds) -> Bounds {
    Bounds { kinds, ..bounds }
}

#[rustfmt::skip]
const ROWS: [Row; 18] = [
    (&[Rule::EpochUnderLock], within(&[Fault::Sleep], bounds(1, None, None)), Invariant::OldOwnerSilent, 8),
    (&[Rule::OneStatement], within(&[Fault::Sleep], bounds(1, None, None)), Invariant::RunEnds, 3),
    (&[Rule::SettledReaper], within(&[Fault::FailOver], bounds(1, None, None)), Invariant::LivingKeeps, 6),
    (&[Rule::ListenFirst, Rule::Backstop], bounds(0, A, None), Invariant::RunEnds, 6),
    (&[Rule::Backstop], within(&[Fault::LoseNotify], bounds(1, A, None)), Invariant::RunEnds, 8),
    (&[Rule::Backstop], within(&[Fault::LoseNotify], bounds(1, None, Some(Command::Approval))), Invariant::RunEnds, 2),
    (&[Rule::AnswerUnderEpoch], within(&[Fault::Sleep], bounds(1, None, Some(Command::Steer))), Invariant::OldOwnerSilent, 8),
    (&[Rule::UniqueKey], within(&[Fault::LoseReply], bounds(1, None, Some(Command::Steer))), Invariant::AnsweredOnce, 5),
    (&[Rule::ExpectedHead], within(&[Fault::CutStatement], bounds(1, None, None)), Invariant::LogWhole, 4),
    (&[Rule::ClaimCondition], bounds(0, None, None), Invariant::OneOwner, 4),
    (&[Rule::ClaimAlive], within(&[Fault::Sleep], bounds(1, None, None)), Invariant::LivingKeeps, 6),
    (&[Rule::ToolOnce], within(&[Fault::Crash], bounds(1, None, None)), Invariant::ToolOnce, 8),
    (&[Rule::DatabaseClock], within(&[Fault::CutSession], bounds(1, None, None)), Invariant::LivingKeeps, 3),
    (&[Rule::ReleaseUnheld], within(&[Fault::CutStatement], bounds(1, None, None)), Invariant::RunEnds, 1),
    (&[Rule::DropLost], within(&[Fault::Sleep], bounds(2, None, Some(Command::Approval))), Invariant::RunEnds, 10),
    (&[Rule::ShowAfterCommit], within(&[Fault::Sleep], bounds(1, A, None)), Invariant::ReaderInOrder, 9),
    (&[Rule::HandOverEpoch], within(&[Fault::CutStatement, Fault::HandOver], bounds(2, None, None)), Invariant::OldOwnerSilent, 5),
    (&[Rule::ReadJournal], within(&[Fault::CutStatement], bounds(2, None, Some(Command::Steer))), Invariant::LogWhole, 8),
];

#[test]
fn each_rule_is_needed() {
    let mut wrong = Vec::new();
    for (rules, bounds, invariant, steps) in ROWS {
        let found = match search_without(rules, bounds) {
            Ok(figures) => {
                wrong.push(format!("without {rules:?} all promises hold: {figures:?}"));
                continue;
            }
            Err(found) => found,
        };
        println!("without {rules:?}, {found}");
        if (found.invariant, found.trace.len()) != (invariant, steps) {
            wrong.push(format!("without {rules:?}, not {invariant:?} in {steps} steps: {found}"));
        }
    }
    for rule in Rule::ALL {
        let is_in_a_row = ROWS.iter().any(|(rules, ..)| rules.contains(&rule));
        assert!(is_in_a_row, "{rule:?} is in none of the rows");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_order_of_listening_and_reading_costs_time_only_where_a_backstop_looks() {
    let bounds = within(&[Fault::LoseNotify, Fault::Move, Fault::Sleep], bounds(2, A, None));
    let figures = search_without(&[Rule::ListenFirst], bounds).unwrap();
    assert!(figures.states > 2_000, "{figures:?}");
}

#[test]
fn a_trace_reads_as_sentences() {
    let bounds = within(&[Fault::FailOver], bounds(1, None, None));
    let found = search_without(&[Rule::SettledReaper], bounds).unwrap_err();
    let lines: Vec<_> = found.trace.iter().map(|(step, _)| step.to_string()).collect();
    let want = [
        "A claims the run",
        "the database fails over: sessions and locks are gone",
        "5 s pass",
        "the database serves again",
        "B opens its session and beats",
        "B reaps the run of A",
    ];
    assert_eq!(lines, want);
    let text = found.to_string();
    let last = text.lines().last().unwrap();
    assert!(
        text.starts_with("LivingKeeps breaks after 6 steps:\n  1. A claims the run "),
        "{text}"
    );
    assert!(
        last.ends_with("| epoch 2, no owner, head 0; A holds epoch 1, head 0, Ready"),
        "{last}"
    );
}
