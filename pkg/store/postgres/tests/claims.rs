//! Claims of runs, and writes of earlier owners.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use forgeline_store::{
    CommandSent, CommandStore, ConversationKey, ConversationRecord, ConversationStore, Entry,
    EventLog, NodeId, Notification, NotificationChannel, PostgresOptions, PostgresStore, RunChange,
    RunCommand, RunProgress, RunStore, RunWriter, StoreError,
};
use futures_util::future::join_all;

use crate::servers::{key, name, node, nodes, record, run, soon};

#[tokio::test]
async fn of_twenty_nodes_that_claim_a_run_one_owns_it() {
    let Some((_, _, stores)) = nodes::<20>().await else { return };
    for round in 0..5 {
        for at in 0..10 {
            let new = run(&format!("{round}.{at}"));
            RunStore::begin(&*stores[0], new, None).await.unwrap();
        }
        let claims = stores.iter().zip(0..).map(async |(store, at)| {
            let (node, mut claimed) = (NodeId::new(format!("node {at}")), Vec::new());
            loop {
                let some = store.claim(&node, 3, 0).await.unwrap();
                if some.is_empty() {
                    return claimed;
                }
                assert!(some.iter().all(|run| run.node.as_ref() == Some(&node) && run.epoch == 1));
                claimed.extend(some.into_iter().map(|run| run.key));
            }
        });
        let claimed: Vec<_> = join_all(claims).await.concat();
        assert_eq!(claimed.len(), 10, "each run has one owner");
        assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>().len(), 10);
    }
}

fn is_fenced<T: std::fmt::Debug>(what: &str, done: &Result<T, StoreError>) {
    assert!(matches!(done, Err(StoreError::Fenced { epoch: 1, .. })), "{what}: {done:?}");
}

#[tokio::test]
async fn an_earlier_owner_writes_nothing() {
    let Some((_, _, [first, second])) = nodes().await else { return };
    let (key, conversation) = (key("r"), ConversationKey::new("team-a", "c"));
    RunStore::begin(&*first, run("r"), Some(&node("first"))).await.unwrap();
    first.create(key.clone()).await.unwrap();
    let new = ConversationRecord::new(conversation.clone(), "ann", "main", 1_000);
    ConversationStore::begin(&*first, new).await.unwrap();
    let CommandSent::New(number) =
        second.send(&key, RunCommand::new("k", "steer", "{}")).await.unwrap()
    else {
        panic!("the key is new")
    };
    let old = RunWriter::new(key.clone(), 1);
    EventLog::append(&*first, &key, 0, vec![record("0")], Some(&old)).await.unwrap();
    first.release(&old, Duration::ZERO).await.unwrap();
    let claimed = second.claim(&node("second"), 9, 0).await.unwrap();
    let own = claimed[0].writer();
    assert_eq!((claimed.len(), own.epoch), (1, 3));
    let entry = || Entry::new(2_000).line("{}");
    let change = || RunChange::to(RunProgress::Completed, 2_000);
    is_fenced("append", &EventLog::append(&*first, &key, 1, vec![record("1")], Some(&old)).await);
    is_fenced("close", &first.close(&key, Some(&old)).await);
    let appended = ConversationStore::append(&*first, &conversation, 0, entry(), Some(&old)).await;
    is_fenced("journal", &appended);
    is_fenced("change", &first.change(&old, change()).await);
    is_fenced("release", &first.release(&old, Duration::ZERO).await);
    is_fenced("answer", &first.answer(&old, number, "{}".to_owned()).await);
    let other = RunWriter::new(key.clone(), 1);
    assert!(first.owned(&node("first")).await.unwrap().is_empty());
    assert_eq!(second.owned(&node("second")).await.unwrap(), std::slice::from_ref(&own));
    // No part of them exists, and the owner goes on where the earlier one ended.
    assert_eq!(EventLog::read(&*first, &key, 0, 9).await.unwrap().next, 1);
    assert!(first.lines(&conversation, 0, 9).await.unwrap().is_empty());
    EventLog::append(&*second, &key, 1, vec![record("1")], Some(&own)).await.unwrap();
    ConversationStore::append(&*second, &conversation, 0, entry(), Some(&own)).await.unwrap();
    second.answer(&own, number, "{}".to_owned()).await.unwrap();
    second.close(&key, Some(&own)).await.unwrap();
    second.change(&own, change()).await.unwrap();
    is_fenced("after the end", &first.change(&other, change()).await);
}

/// Between the check of a claim and the write, no other claim may come: otherwise the new owner would read the end of a log that moves once more.
#[tokio::test]
async fn no_write_of_an_earlier_owner_comes_after_the_next_claim() {
    let Some((_, _, [first, second])) = nodes().await else { return };
    for round in 0..30 {
        let key = key(&format!("r{round}"));
        let new = run(&key.name);
        RunStore::begin(&*first, new, Some(&node("died"))).await.unwrap();
        first.create(key.clone()).await.unwrap();
        let writer = {
            let (first, key) = (Arc::clone(&first), key.clone());
            tokio::spawn(async move {
                let old = RunWriter::new(key.clone(), 1);
                for at in 0.. {
                    if let Err(error) =
                        EventLog::append(&*first, &key, at, vec![record("old")], Some(&old)).await
                    {
                        return (at, error);
                    }
                }
                unreachable!("the loop has no end");
            })
        };
        // The node that never beat counts as dead.
        while second.reap(&node("second")).await.unwrap().is_empty() {}
        // A run that the earlier owner is writing at this moment is passed over.
        let own = soon(async {
            loop {
                if let Some(run) = second.claim(&node("second"), 1, 0).await.unwrap().pop() {
                    return run.writer();
                }
            }
        });
        let own = own.await;
        let end = EventLog::read(&*second, &key, 0, usize::MAX).await.unwrap().next;
        EventLog::append(&*second, &key, end, vec![record("new")], Some(&own)).await.unwrap();
        let (at, error) = writer.await.unwrap();
        assert!(matches!(error, StoreError::Fenced { epoch: 1, .. }), "{error}");
        assert_eq!(at, end, "each acknowledged record exists");
        assert_eq!(EventLog::read(&*second, &key, 0, usize::MAX).await.unwrap().next, end + 1);
    }
}

/// The writes of a run, each by an earlier owner while the next claim is not committed yet: without the lock of the row they would see its own claim alone.
#[tokio::test]
async fn a_write_waits_for_a_claim_that_has_begun() {
    let Some((server, url, [store])) = nodes().await else { return };
    let (key, conversation) = (key("r"), ConversationKey::new("team-a", "c"));
    RunStore::begin(&*store, run("r"), Some(&node("first"))).await.unwrap();
    store.create(key.clone()).await.unwrap();
    let new = ConversationRecord::new(conversation.clone(), "ann", "main", 1_000);
    ConversationStore::begin(&*store, new).await.unwrap();
    store.send(&key, RunCommand::new("k", "steer", "{}")).await.unwrap();
    for what in ["append", "close", "journal", "change", "release", "answer"] {
        server.sql(name(&url), "UPDATE forgeline.run SET epoch = 1, node = 'first'");
        let mut claim = server.session(name(&url));
        claim.run("BEGIN; UPDATE forgeline.run SET epoch = 2, node = 'second'");
        let (store, key, conversation) = (Arc::clone(&store), key.clone(), conversation.clone());
        let write = tokio::spawn(async move {
            let old = RunWriter::new(key.clone(), 1);
            match what {
                "append" => {
                    EventLog::append(&*store, &key, 0, vec![record("old")], Some(&old)).await
                }
                "close" => store.close(&key, Some(&old)).await,
                "journal" => {
                    let entry = Entry::new(2_000).line("{}");
                    ConversationStore::append(&*store, &conversation, 0, entry, Some(&old)).await
                }
                "change" => store.change(&old, RunChange::to(RunProgress::Waiting, 1)).await,
                "release" => store.release(&old, Duration::ZERO).await,
                _ => store.answer(&old, 1, "{}".to_owned()).await,
            }
        });
        let waits = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while !write.is_finished() && server.sql(name(&url), waits) == "0" {
            tokio::task::yield_now().await;
        }
        claim.run("COMMIT");
        is_fenced(what, &soon(write).await.unwrap());
    }
}

#[tokio::test]
async fn a_run_that_is_put_away_is_claimed_when_its_time_has_come() {
    let Some((server, url, [store])) = nodes().await else { return };
    RunStore::begin(&*store, run("r").version(2), Some(&node("a"))).await.unwrap();
    let claim = async |version| store.claim(&node("b"), 9, version).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    store.release(&own, Duration::from_hours(1)).await.unwrap();
    assert!(claim(9).await.is_empty(), "its time has not come");
    let found = RunStore::get(&*store, &key("r")).await.unwrap();
    assert!(
        found.not_before_ms.is_some_and(|at| at > forgeline_store::private::now_ms() + 3_000_000)
    );
    server.sql(name(&url), "UPDATE forgeline.run SET not_before = not_before - interval '2 hours'");
    assert!(claim(1).await.is_empty(), "its state is newer than the node");
    let claimed = claim(3).await;
    assert_eq!((claimed[0].epoch, claimed[0].version, claimed[0].not_before_ms), (3, 3, None));
}

#[tokio::test]
async fn runs_whose_state_is_one_version_newer_are_claimed_by_that_version_alone() {
    const VERSIONS: [u32; 2] = [1, 2];
    let Some((_, _, [older, newer])) = nodes().await else { return };
    for at in 0..40_u32 {
        let new = run(&format!("{at}")).version(VERSIONS[usize::from(at % 2 == 1)]);
        RunStore::begin(&*older, new, None).await.unwrap();
    }
    let claims = [(&older, "older"), (&newer, "newer")].into_iter().zip(VERSIONS);
    let claims = claims.map(async |((store, name), version)| {
        let mut claimed = Vec::new();
        loop {
            let some = store.claim(&node(name), 3, version).await.unwrap();
            if some.is_empty() {
                return claimed;
            }
            claimed.extend(some.into_iter().map(|run| run.key.name.parse::<u32>().unwrap()));
        }
    });
    let claimed: Vec<Vec<u32>> = join_all(claims).await;
    assert!(claimed[0].iter().all(|at| at % 2 == 0), "the older node has {:?}", claimed[0]);
    let all: BTreeSet<_> = claimed.concat().into_iter().collect();
    // A run that both look at in one moment is passed over; the newer node knows all.
    let left = newer.claim(&node("newer"), 99, VERSIONS[1]).await.unwrap().len();
    assert_eq!((all.len() + left, claimed.concat().len() + left), (40, 40));
    assert!((1..40).step_by(2).filter(|at| !claimed[1].contains(at)).count() <= left);
}

/// Trace 8 of the model: a node that wakes in the middle of a claim would lose what it claims to the next reaper.
#[tokio::test]
async fn a_node_that_was_stopped_since_its_last_beat_claims_nothing() {
    let Some((server, url, [first, _])) = nodes().await else { return };
    let [beat, silent] = [Duration::from_mins(1), Duration::from_millis(100)];
    let options = PostgresOptions::new(&url).life_times(beat, silent, Duration::ZERO);
    let second = Arc::new(PostgresStore::connect(options).await.unwrap());
    RunStore::begin(&*first, run("r"), None).await.unwrap();
    let mut lock = server.session(name(&url));
    lock.run("BEGIN; LOCK TABLE forgeline.run IN ACCESS EXCLUSIVE MODE");
    let claim = tokio::spawn({
        let second = Arc::clone(&second);
        async move { second.claim(&node("second"), 9, 0).await.unwrap() }
    });
    // The node has beaten, and its claim waits for the lock for longer than the silence after which a node counts as dead.
    let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'forgeline.run'::regclass) \
                 AND beat_at < clock_timestamp() - interval '0.2 s' FROM forgeline.node WHERE id = 'second'";
    while server.sql(name(&url), waits).trim() != "t" {
        tokio::task::yield_now().await;
    }
    lock.run("COMMIT");
    assert!(soon(claim).await.unwrap().is_empty(), "its beat is too old");
    // A claim beats before; on a busy machine, that may be too old again.
    let claimed = soon(async {
        loop {
            let claimed = second.claim(&node("second"), 9, 0).await.unwrap();
            if !claimed.is_empty() {
                return claimed;
            }
        }
    });
    assert_eq!(claimed.await.len(), 1, "it has beaten again");
}

#[tokio::test]
async fn commands_and_notifications_reach_the_other_node() {
    let Some((_, _, [owner, other])) = nodes().await else { return };
    RunStore::begin(&*owner, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    let work = tokio::spawn({
        let owner = Arc::clone(&owner);
        async move {
            let mut from = 0;
            for _ in 0..20 {
                CommandStore::wait(&*owner, &own.run, from).await.unwrap();
                for stored in owner.unanswered(&own.run, from, 9).await.unwrap() {
                    let answer = format!("\"{}\"", stored.command.key);
                    owner.answer(&own, stored.number, answer).await.unwrap();
                    from = stored.number + 1;
                }
            }
        }
    });
    for at in 0..20 {
        let sent = RunCommand::new(format!("k{at}"), "steer", "{}");
        let CommandSent::New(number) = other.send(&key("r"), sent.clone()).await.unwrap() else {
            panic!("the key is new")
        };
        let answer = soon(other.wait_for_answer(&key("r"), number)).await.unwrap();
        assert_eq!(answer, format!("\"k{at}\""));
        let again = other.send(&key("r"), sent).await.unwrap();
        assert!(matches!(again, CommandSent::Same(same) if same.number == number));
    }
    soon(work).await.unwrap();
    for at in 0..20 {
        let mut wait = NotificationChannel::wait(&*other, "team-a", at);
        assert!(futures_util::poll!(&mut wait).is_pending());
        owner.publish("team-a", Notification::new("note", "{}", 1)).await.unwrap();
        soon(wait).await.unwrap();
    }
}

#[tokio::test]
async fn commands_that_are_sent_at_once_are_seen_in_the_order_of_their_numbers() {
    let Some((_, _, stores)) = nodes::<4>().await else { return };
    RunStore::begin(&*stores[0], run("r"), Some(&node("a"))).await.unwrap();
    let reader = tokio::spawn({
        let store = Arc::clone(&stores[3]);
        async move {
            let (mut seen, mut from) = (Vec::new(), 0);
            while seen.len() < 60 {
                CommandStore::wait(&*store, &key("r"), from).await.unwrap();
                for stored in store.unanswered(&key("r"), from, 99).await.unwrap() {
                    from = stored.number + 1;
                    seen.push(stored.command.key);
                }
            }
            seen.into_iter().collect::<BTreeSet<_>>().len()
        }
    });
    let sends = stores.iter().take(3).zip(0..).map(async |(store, sender)| {
        for at in 0..20 {
            let sent = RunCommand::new(format!("{sender}.{at}"), "steer", "{}");
            store.send(&key("r"), sent).await.unwrap();
        }
    });
    join_all(sends).await;
    assert_eq!(
        soon(reader).await.unwrap(),
        60,
        "a reader that goes on behind the last number misses none"
    );
}
