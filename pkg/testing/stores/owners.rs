//! The checks for the owners of runs: who may claim one, and who may write it.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    Outcome, Report,
    nodes::{NodeControl, VERSION, begun, claimed, key, node, released, run},
    suite::{StoreVerdict, check, done, hold, same},
};
use crate::conformance::CheckReport;
use forgeline_store::{
    ConversationKey, ConversationRecord, Entry, LogRecord, NodeId, RunChange, RunProgress,
    RunWriter, StoreError, StoreFuture, Stores,
};
use forgeline_types::Message;

/// The maximum number of claims in a check, far above what it needs.
const MOST: usize = 99;

/// Checks the owners of runs in stores that share them: claims, releases and reaping, and that nothing writes a run but its last claim.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use forgeline::{store::Stores, testing::stores::{OneNode, check_run_owners}};
///
/// let report = check_run_owners(async || Stores::in_memory(), &OneNode).await;
/// assert!(report.is_conforming(), "{report}");
/// # }
/// ```
pub async fn check_run_owners(make: impl AsyncFn() -> Stores, nodes: &impl NodeControl) -> Report {
    let checks = vec![
        check("begun", "a run that a node begins is its own", owned(make().await)).await,
        check("no-owner", "a run that had no owner cannot be written", ownerless(make().await))
            .await,
        fenced("append", make().await, appends).await,
        fenced("close", make().await, closes).await,
        fenced("journal", make().await, journals).await,
        fenced("state", make().await, changes).await,
        fenced("release", make().await, releases).await,
        check("other-run", "the right to write a run is for its log alone", other(make().await))
            .await,
        check(
            "claim",
            "a claim takes runs without an owner that have not ended",
            free(make().await),
        )
        .await,
        check(
            "claim-order",
            "runs are claimed in the order in which they were created",
            order(make().await),
        )
        .await,
        check("claim-race", "of many claims of a run, one gets it", race(make().await)).await,
        check("version", "a run is claimed by nodes that know its state", version(make().await))
            .await,
        check("not-before", "a released run waits for its time", waits(make().await)).await,
        check(
            "handed-over",
            "a released run goes to the next, with none of its owners dead",
            hands(make().await, nodes),
        )
        .await,
        check(
            "news",
            "a node that beats learns of the runs that it owns, may claim or may reap",
            news(make().await, nodes),
        )
        .await,
        check("reap", "the runs of a dead node can be claimed", reaps(make().await, nodes)).await,
        check("reap-own", "a node that reaps keeps its runs", keeps(make().await)).await,
        living(make().await, nodes).await,
    ];
    Report { checks }
}

type StoreWrite = for<'a> fn(&'a Stores, &'a RunWriter, u64) -> StoreFuture<'a, ()>;

/// Appends the event with this number.
fn appends<'a>(stores: &'a Stores, writer: &'a RunWriter, at: u64) -> StoreFuture<'a, ()> {
    stores.log.append(&writer.run, at, vec![LogRecord::new("kind", "1")], Some(writer))
}

fn closes<'a>(stores: &'a Stores, writer: &'a RunWriter, _: u64) -> StoreFuture<'a, ()> {
    stores.log.close(&writer.run, Some(writer))
}

/// Adds the entry with this number.
fn journals<'a>(stores: &'a Stores, writer: &'a RunWriter, at: u64) -> StoreFuture<'a, ()> {
    let entry = Entry::new(1_000).line("{}").message(Message::user("a"));
    Box::pin(async move {
        let key = ConversationKey::new("team-a", "c");
        stores.conversations.append(&key, at, entry, Some(writer)).await
    })
}

fn changes<'a>(stores: &'a Stores, writer: &'a RunWriter, _: u64) -> StoreFuture<'a, ()> {
    stores.runs.change(writer, RunChange::to(RunProgress::Waiting, 2_000))
}

fn releases<'a>(stores: &'a Stores, writer: &'a RunWriter, _: u64) -> StoreFuture<'a, ()> {
    stores.runs.release(writer, Duration::ZERO)
}

/// Returns what a write of a run may have changed.
async fn state(stores: &Stores) -> Result<String, String> {
    let log = done("read", stores.log.read(&key("r"), 0, MOST).await)?;
    let conversation = ConversationKey::new("team-a", "c");
    let conversation = done("get", stores.conversations.get(&conversation).await)?;
    let run = done("get", stores.runs.get(&key("r")).await)?;
    let (progress, node, epoch) = (run.progress, run.node, run.epoch);
    let events = (log.records.len(), log.is_end);
    Ok(format!("{events:?} {} {progress:?} {node:?} {epoch}", conversation.entries))
}

/// Checks that a write of a run is refused to those who lost the run, and is taken from its owner.
async fn fenced(name: &'static str, stores: Stores, write: StoreWrite) -> CheckReport {
    let work = async move {
        let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
        let conversation = ConversationKey::new("team-a", "c");
        let conversation = ConversationRecord::new(conversation, "ann", "main", 1_000);
        done("begin", stores.conversations.begin(conversation).await)?;
        done("create", stores.log.create(key("r")).await)?;
        let first = begun(&stores, "r", &one).await?;
        done("an event", appends(&stores, &first, 0).await)?;
        done("an entry", journals(&stores, &first, 0).await)?;
        released(&stores, &first).await?;
        refused(&stores, write, &first, "after its release").await?;
        let second = claimed(&stores, "r", &one).await?;
        refused(&stores, write, &first, "after the next claim").await?;
        released(&stores, &second).await?;
        let third = claimed(&stores, "r", &two).await?;
        for late in [&first, &second, &RunWriter::new(key("r"), third.epoch + 1)] {
            refused(&stores, write, late, "after another node's claim").await?;
        }
        done("a write of the owner", write(&stores, &third, 1).await)
    };
    check(name, "an owner that has lost the run writes nothing of it", work).await
}

async fn refused(
    stores: &Stores,
    write: StoreWrite,
    writer: &RunWriter,
    when: &str,
) -> StoreVerdict {
    let before = state(stores).await?;
    let written = write(stores, writer, 1).await;
    let is_told = matches!(&written, Err(StoreError::Fenced { run, epoch, .. }) if *run == "r" && *epoch == writer.epoch);
    hold(&format!("claim {} {when}: {written:?}, not `Fenced`", writer.epoch), is_told)?;
    same("the state", &state(stores).await?, &before)
}

async fn owned(stores: Stores) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let mut all = Vec::new();
    for id in ["b", "a", "c"] {
        all.push(begun(&stores, id, &one).await?);
    }
    begun(&stores, "d", &two).await?;
    let found = done("get", stores.runs.get(&key("a")).await)?;
    same("its owner", &(found.epoch, found.node.as_ref()), &(1, Some(&one)))?;
    same("all of a node", &done("owned", stores.runs.owned(&one).await)?, &all)?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&all[1], end).await)?;
    all.remove(1);
    same("without the ended", &done("owned", stores.runs.owned(&one).await)?, &all)
}

async fn ownerless(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    done("begin", stores.runs.begin(run("r"), None).await)?;
    done("create", stores.log.create(key("r")).await)?;
    let found = done("get", stores.runs.get(&key("r")).await)?;
    same("its owner", &(found.epoch, found.node), &(0, None))?;
    for epoch in [0, 1] {
        let writer = RunWriter::new(key("r"), epoch);
        for write in [appends, changes, closes] as [StoreWrite; 3] {
            let written = write(&stores, &writer, 0).await;
            let is_told = matches!(written, Err(StoreError::Fenced { .. }));
            hold(&format!("claim {epoch} of a run without an owner: {written:?}"), is_told)?;
        }
    }
    let writer = claimed(&stores, "r", &one).await?;
    hold("a claim has a number", writer.epoch > 0)?;
    done("an event of the owner", appends(&stores, &writer, 0).await)
}

async fn other(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let writer = begun(&stores, "r", &one).await?;
    for name in ["r", "s"] {
        done("create", stores.log.create(key(name)).await)?;
    }
    let record = || vec![LogRecord::new("kind", "1")];
    let appended = stores.log.append(&key("s"), 0, record(), Some(&writer)).await;
    hold("append", matches!(appended, Err(StoreError::Fenced { .. })))?;
    let closed = stores.log.close(&key("s"), Some(&writer)).await;
    hold("close", matches!(closed, Err(StoreError::Fenced { .. })))?;
    // The log of another stream has no writer.
    done("append", stores.log.append(&key("s"), 0, record(), None).await)?;
    done("close", stores.log.close(&key("s"), None).await)
}

/// Returns the ids of the runs that a node claims.
async fn ids(stores: &Stores, node: &NodeId, most: usize) -> Result<Vec<String>, String> {
    let claimed = done("claim", stores.runs.claim(node, most, VERSION).await)?;
    for run in &claimed {
        same("its owner", &run.node.as_ref(), &Some(node))?;
        same("it", &done("get", stores.runs.get(&run.key).await)?, run)?;
    }
    Ok(claimed.into_iter().map(|run| run.key.name.to_string()).collect())
}

async fn free(stores: Stores) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    begun(&stores, "owned", &one).await?;
    let ended = begun(&stores, "ended", &one).await?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&ended, end).await)?;
    same("none", &ids(&stores, &two, MOST).await?, &vec![])?;
    let new = run("free").input("{\"a\":1}");
    done("begin", stores.runs.begin(new, None).await)?;
    same("those of no node", &ids(&stores, &two, MOST).await?, &vec!["free".to_owned()])?;
    for node in [&one, &two] {
        same("a second time", &ids(&stores, node, MOST).await?, &vec![])?;
    }
    Ok(())
}

async fn order(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    for id in ["b", "d", "a", "c"] {
        done("begin", stores.runs.begin(run(id), None).await)?;
    }
    same("none", &ids(&stores, &one, 0).await?, &vec![])?;
    for want in [&["b", "d", "a"][..], &["c"], &[]] {
        let want: Vec<_> = want.iter().map(|id| (*id).to_owned()).collect();
        same("the first ones", &ids(&stores, &one, 3).await?, &want)?;
    }
    Ok(())
}

async fn race(stores: Stores) -> StoreVerdict {
    let all: Vec<_> = (0..24).map(|at| format!("r{at}")).collect();
    for id in &all {
        done("begin", stores.runs.begin(run(id), None).await)?;
    }
    let mut nodes = Vec::new();
    for at in 0..8 {
        nodes.push(node(&stores, &format!("node{at}")).await?);
    }
    let claims = nodes.iter().flat_map(|node| (0..3).map(move |_| node));
    let claims = claims.map(|node| stores.runs.claim(node, 2, VERSION));
    let mut taken = Vec::new();
    for claimed in join_all(claims).await {
        taken.extend(done("claim", claimed)?.into_iter().map(|run| run.writer()));
    }
    let mut owned = Vec::new();
    for id in &all {
        let found = done("get", stores.runs.get(&key(id)).await)?;
        hold("each run has an owner", found.node.is_some())?;
        owned.push(found.writer());
    }
    for writers in [&mut taken, &mut owned] {
        writers.sort_by(|one, other| one.run.cmp(&other.run));
    }
    same("each run is claimed once", &taken, &owned)
}

async fn version(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    done("begin", stores.runs.begin(run("new").version(VERSION + 1), None).await)?;
    done("begin", stores.runs.begin(run("old").version(VERSION - 1), None).await)?;
    let [old] = &done("claim", stores.runs.claim(&one, MOST, VERSION).await)?[..] else {
        return Err("a claim takes the runs whose state the node knows, and those alone".to_owned());
    };
    same("it has the version of the node", &(&*old.key.name, old.version), &("old", VERSION))?;
    released(&stores, &old.writer()).await?;
    let none = done("claim", stores.runs.claim(&one, MOST, VERSION - 1).await)?;
    same("an older node finds none", &none.len(), &0)?;
    let all = done("claim", stores.runs.claim(&one, MOST, VERSION + 1).await)?;
    same("a newer node finds both", &all.len(), &2)
}

async fn waits(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let writer = begun(&stores, "r", &one).await?;
    done("release", stores.runs.release(&writer, Duration::from_hours(1)).await)?;
    let found = done("get", stores.runs.get(&key("r")).await)?;
    hold("its time is stored", found.not_before_ms.is_some())?;
    same("before", &ids(&stores, &one, MOST).await?, &vec![])?;
    let writer = begun(&stores, "s", &one).await?;
    done("release", stores.runs.release(&writer, Duration::from_millis(1)).await)?;
    tokio::time::timeout(Duration::from_secs(25), async {
        while ids(&stores, &one, MOST).await?.is_empty() {
            tokio::task::yield_now().await;
        }
        Ok(())
    })
    .await
    .unwrap_or_else(|_| Err("a run that waited 1 ms is not claimed after 25 s".to_owned()))?;
    let found = done("get", stores.runs.get(&key("s")).await)?;
    same("its time is over", &found.not_before_ms, &None)
}

async fn hands(stores: Stores, nodes: &impl NodeControl) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let first = begun(&stores, "r", &one).await?;
    released(&stores, &first).await?;
    let found = done("get", stores.runs.get(&key("r")).await)?;
    same("it has no owner", &(found.node, found.takeovers), &(None, 0))?;
    let second = claimed(&stores, "r", &two).await?;
    hold("the number of the claim grows", second.epoch > first.epoch)?;
    nodes.kill(&two).await;
    let three = node(&stores, "three").await?;
    done("reap", stores.runs.reap(&three).await)?;
    let third = claimed(&stores, "r", &three).await?;
    released(&stores, &third).await?;
    let takeovers = done("get", stores.runs.get(&key("r")).await)?.takeovers;
    same("a release begins anew", &takeovers, &0)
}

async fn news(stores: Stores, nodes: &impl NodeControl) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let beat = async |node| done("beat", stores.runs.beat(node).await);
    for id in ["a", "b"] {
        begun(&stores, id, &one).await?;
    }
    let writer = begun(&stores, "ended", &one).await?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&writer, end).await)?;
    same("what it owns", &beat(&one).await?.owned, &2)?;
    same("what another owns", &beat(&two).await?.owned, &0)?;
    done("begin", stores.runs.begin(run("free"), None).await)?;
    hold("there is one to claim", beat(&one).await?.has_more && beat(&two).await?.has_more)?;
    claimed(&stores, "free", &one).await?;
    same("what it has claimed", &beat(&one).await?.owned, &3)?;
    nodes.kill(&one).await;
    hold("there are some to reap", beat(&two).await?.has_more)?;
    done("reap", stores.runs.reap(&two).await)?;
    hold("there are some to claim", beat(&two).await?.has_more)
}

async fn reaps(stores: Stores, nodes: &impl NodeControl) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let first = begun(&stores, "r", &one).await?;
    let ended = begun(&stores, "ended", &one).await?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&ended, end).await)?;
    nodes.kill(&one).await;
    same("reaped", &done("reap", stores.runs.reap(&two).await)?, &vec![key("r")])?;
    same("again", &done("reap", stores.runs.reap(&two).await)?, &vec![])?;
    let found = done("get", stores.runs.get(&key("r")).await)?;
    same("it has no owner", &(found.node, found.takeovers), &(None, 1))?;
    hold("its owner has lost it", found.epoch > first.epoch)?;
    let second = claimed(&stores, "r", &two).await?;
    hold("the number of the claim grows", second.epoch > found.epoch)?;
    let three = node(&stores, "three").await?;
    nodes.kill(&two).await;
    done("reap", stores.runs.reap(&three).await)?;
    claimed(&stores, "r", &three).await?;
    let takeovers = done("get", stores.runs.get(&key("r")).await)?.takeovers;
    same("each dead owner counts", &takeovers, &2)
}

async fn keeps(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let writer = begun(&stores, "r", &one).await?;
    same("reaped", &done("reap", stores.runs.reap(&one).await)?, &vec![])?;
    done("its state", changes(&stores, &writer, 0).await)
}

async fn living(stores: Stores, nodes: &impl NodeControl) -> CheckReport {
    let (name, reason) = ("reap-living", "a node that is alive keeps its runs");
    if !nodes.has_many() {
        let outcome = Outcome::NotApplicable("one node at a time has the stores".to_owned());
        return CheckReport { name, reason, outcome };
    }
    let work = async {
        let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
        let writer = begun(&stores, "r", &one).await?;
        same("reaped", &done("reap", stores.runs.reap(&two).await)?, &vec![])?;
        done("its state", changes(&stores, &writer, 0).await)
    };
    check(name, reason, work).await
}
