//! Wrong stores: each breaks one rule of owners or commands, and fails the check that is meant, and no other.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a store has one fault, and does all else as it should"
)]

mod audit;
mod commands;
mod logs;
mod provider_profiles;
mod runs;
mod secrets;

use super::*;
use crate::conformance::Outcome;
use forgeline_store::NodeId;

/// A rule that a store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreFault {
    UsedLogsRemoved,
    AppendsOfAnyone,
    ClosesOfAnyone,
    JournalsOfAnyone,
    ChangesOfAnyone,
    ReleasesOfAnyone,
    LogsOfOtherRuns,
    OwnersForgotten,
    OwnerlessWritten,
    ClaimsOfEnded,
    ClaimsBackwards,
    ClaimsByTwo,
    ClaimsOfNewer,
    ClaimsTooEarly,
    ReleasesCountDead,
    ReapsWithoutCount,
    ReapsItself,
    BeatsWithoutNews,
    OpenOfFirstPage,
    KeysTwice,
    CommandsBackwards,
    AnswersTwice,
    AnswersOfAnyone,
    CommandsOfFirstOwner,
    CommandsAfterEnd,
    WaitsForNothing,
    CommandsOfUnknown,
    CommandsOfErased,
    CommandsOfAnyLength,
    CommandsOfAnyNumber,
}

/// A store in memory with a fault.
struct Faulty(Stores, StoreFault);

fn faulty(fault: StoreFault) -> Stores {
    let mut stores = Stores::in_memory();
    let wrong = Arc::new(Faulty(stores.clone(), fault));
    (stores.log, stores.conversations) = (wrong.clone(), wrong.clone());
    (stores.runs, stores.commands) = (wrong.clone(), wrong);
    stores
}

/// The names of the checks that failed.
fn failed(report: &Report) -> Vec<&'static str> {
    report.failed().map(|check| check.name).collect()
}

#[tokio::test]
async fn each_wrong_store_fails_the_check_that_is_meant() {
    use StoreFault as Fault;
    let log = async || Arc::new(Faulty(Stores::in_memory(), Fault::UsedLogsRemoved));
    let report = check_event_log(log).await;
    assert_eq!(failed(&report), ["unused"], "{report}");
    let owners = [
        (Fault::AppendsOfAnyone, "append"),
        (Fault::ClosesOfAnyone, "close"),
        (Fault::JournalsOfAnyone, "journal"),
        (Fault::ChangesOfAnyone, "state"),
        (Fault::ReleasesOfAnyone, "release"),
        (Fault::LogsOfOtherRuns, "other-run"),
        (Fault::OwnersForgotten, "begun"),
        (Fault::OwnerlessWritten, "no-owner"),
        (Fault::ClaimsOfEnded, "claim"),
        (Fault::ClaimsBackwards, "claim-order"),
        (Fault::ClaimsByTwo, "claim-race"),
        (Fault::ClaimsOfNewer, "version"),
        (Fault::ClaimsTooEarly, "not-before"),
        (Fault::ReleasesCountDead, "handed-over"),
        (Fault::ReapsWithoutCount, "reap"),
        (Fault::ReapsItself, "reap-own"),
        (Fault::BeatsWithoutNews, "news"),
    ];
    for (fault, check) in owners {
        let report = check_run_owners(async || faulty(fault), &OneNode).await;
        assert_eq!(failed(&report), [check], "{fault:?}: {report}");
    }
    let runs = async || Arc::new(Faulty(Stores::in_memory(), Fault::OpenOfFirstPage));
    let report = check_run_store(runs).await;
    assert_eq!(failed(&report), ["open-in"], "{report}");
    let commands = [
        (Fault::KeysTwice, "keys"),
        (Fault::CommandsBackwards, "round-trip"),
        (Fault::AnswersTwice, "answers"),
        (Fault::AnswersOfAnyone, "fenced"),
        (Fault::CommandsOfFirstOwner, "taken-over"),
        (Fault::CommandsAfterEnd, "ended"),
        (Fault::WaitsForNothing, "wait"),
        (Fault::CommandsOfUnknown, "unknown"),
        (Fault::CommandsOfErased, "erased"),
        (Fault::CommandsOfAnyLength, "length"),
        (Fault::CommandsOfAnyNumber, "number"),
    ];
    for (fault, check) in commands {
        let report = check_command_store(async || faulty(fault)).await;
        assert_eq!(failed(&report), [check], "{fault:?}: {report}");
    }
}

/// The control of a store that says that it has several nodes.
struct ManyNodes;

impl NodeControl for ManyNodes {
    fn has_many(&self) -> bool {
        true
    }

    async fn kill(&self, _: &NodeId) {}
}

#[tokio::test]
async fn a_store_for_one_node_fails_the_check_for_many_and_says_that_it_has_one() {
    let many = check_run_owners(async || Stores::in_memory(), &ManyNodes).await;
    assert_eq!(failed(&many), ["reap-living"], "{many}");
    let one = check_run_owners(async || Stores::in_memory(), &OneNode).await;
    let absent = one.checks.iter().filter(|it| matches!(it.outcome, Outcome::NotApplicable(_)));
    assert_eq!(absent.map(|it| it.name).collect::<Vec<_>>(), ["reap-living"]);
}
