//! Nodes that live, die, and wake.

use std::{sync::Arc, time::Duration};

use forgeline_store::{EventLog, PostgresStore, RunStore, RunWriter, StoreError};

use crate::servers::{key, name, node, nodes, options, record, run, soon};

const LONG: Duration = Duration::from_hours(1);

async fn begin(store: &PostgresStore, id: &str, owner: &str) {
    RunStore::begin(store, run(id), Some(&node(owner))).await.unwrap();
}

async fn reaped(store: &PostgresStore) -> Vec<String> {
    let reaped = store.reap(&node("reaper")).await.unwrap();
    reaped.into_iter().map(|key| key.name.into_string()).collect()
}

#[tokio::test]
async fn a_node_that_dies_loses_its_runs_and_one_that_lives_keeps_them() {
    let Some((_, url, [reaper])) = nodes().await else { return };
    // A node that is silent is dead only if its lock is free.
    let times = options(&url).life_times(LONG, Duration::ZERO, Duration::ZERO);
    let reaper_of_silent = PostgresStore::connect(times.clone()).await.unwrap();
    let [living, dying] = [(); 2].map(|()| PostgresStore::connect(times.clone()));
    let (living, dying) = (living.await.unwrap(), dying.await.unwrap());
    for (store, name) in [(&living, "living"), (&dying, "dying")] {
        store.beat(&node(name)).await.unwrap();
        begin(store, name, name).await;
    }
    assert!(reaped(&reaper_of_silent).await.is_empty(), "both hold their locks");
    dying.disconnect();
    drop(dying);
    // Its session ends a moment later.
    let found = soon(async {
        loop {
            assert!(reaped(&reaper).await.is_empty(), "it has been silent for less than a minute");
            let found = reaped(&reaper_of_silent).await;
            if !found.is_empty() {
                return found;
            }
        }
    });
    let found = found.await;
    assert_eq!(found, ["dying"]);
    let taken = RunStore::get(&*reaper, &key("dying")).await.unwrap();
    assert_eq!((taken.node, taken.epoch, taken.takeovers), (None, 2, 1));
    let kept = RunStore::get(&*reaper, &key("living")).await.unwrap();
    assert_eq!((kept.node, kept.epoch, kept.takeovers), (Some(node("living")), 1, 0));
}

/// An idle node makes one statement a second, and a node that has something to do learns of it at once.
#[tokio::test]
async fn a_beat_is_one_statement_that_says_whether_there_is_more_to_do() {
    let Some((server, url, [store, other])) = nodes().await else { return };
    let settled = options(&url).life_times(LONG, Duration::ZERO, LONG);
    let young = PostgresStore::connect(settled).await.unwrap();
    let news = async |store: &PostgresStore, name| {
        let news = store.beat(&node(name)).await.unwrap();
        (news.owned, news.has_more)
    };
    begin(&store, "r", "own").await;
    begin(&store, "s", "own").await;
    assert_eq!(news(&store, "own").await, (2, false));
    assert_eq!(news(&other, "other").await, (0, false), "its owner is alive");
    assert_eq!(news(&young, "young").await, (0, false));
    server.sql(name(&url), "UPDATE forgeline.node SET until = '-infinity' WHERE id = 'own'");
    assert_eq!(news(&other, "other").await, (0, true), "its owner is dead");
    assert_eq!(news(&young, "young").await, (0, false), "it may not reap yet");
    store.beat(&node("own")).await.unwrap();
    store.release(&RunWriter::new(key("r"), 1), LONG).await.unwrap();
    assert_eq!(news(&other, "other").await, (0, false), "the time of the run has not come");
    server.sql(name(&url), "UPDATE forgeline.run SET not_before = not_before - interval '2 hours'");
    assert_eq!(news(&young, "young").await, (0, true), "all may claim it");
    assert_eq!(news(&store, "own").await, (1, true));
    // While the runs are locked, the node says that it is alive.
    let mut lock = server.session(name(&url));
    lock.run("BEGIN; LOCK TABLE forgeline.run IN ACCESS EXCLUSIVE MODE");
    let before = server.sql(name(&url), "SELECT beat_at FROM forgeline.node WHERE id = 'own'");
    assert_eq!(news(&store, "own").await, (0, true), "it is not known");
    let after = server.sql(name(&url), "SELECT beat_at FROM forgeline.node WHERE id = 'own'");
    assert!(before < after, "{before} {after}");
    lock.run("COMMIT");
}

#[tokio::test]
async fn a_node_that_sleeps_loses_its_runs_and_writes_nothing_when_it_wakes() {
    let Some((server, url, [reaper, others])) = nodes().await else { return };
    let times = options(&url).life_times(Duration::ZERO, LONG, Duration::ZERO);
    let sleeper = PostgresStore::connect(times).await.unwrap();
    sleeper.create(key("r")).await.unwrap();
    // Its beat is good for no time, as after 10 s; it still holds its lock.
    sleeper.beat(&node("sleeper")).await.unwrap();
    begin(&sleeper, "r", "sleeper").await;
    assert_eq!(reaped(&reaper).await, ["r"]);
    let own = RunWriter::new(key("r"), 1);
    sleeper.beat(&node("sleeper")).await.unwrap();
    let refused = EventLog::append(&sleeper, &key("r"), 0, vec![record("0")], Some(&own)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    // Three more owners die; a release begins to count anew.
    assert!(sleeper.claim(&node("sleeper"), 1, 0).await.unwrap().is_empty(), "it is not alive");
    for takeovers in 2..=4 {
        let claimed = others.claim(&node("other"), 1, 0).await.unwrap();
        assert_eq!(claimed[0].takeovers, takeovers - 1);
        let dies = "UPDATE forgeline.node SET until = '-infinity' WHERE id = 'other'";
        server.sql(name(&url), dies);
        assert_eq!(reaped(&reaper).await, ["r"]);
    }
    let claimed = others.claim(&node("other"), 1, 0).await.unwrap();
    assert_eq!(claimed[0].takeovers, 4);
    sleeper.release(&claimed[0].writer(), Duration::ZERO).await.unwrap();
    assert_eq!(RunStore::get(&sleeper, &key("r")).await.unwrap().takeovers, 0);
}

#[tokio::test]
async fn a_node_whose_session_is_young_takes_no_runs() {
    let Some((server, url, [store])) = nodes().await else { return };
    let young = options(&url).life_times(LONG, Duration::ZERO, LONG);
    let young = Arc::new(PostgresStore::connect(young).await.unwrap());
    begin(&store, "r", "died").await;
    assert!(reaped(&young).await.is_empty());
    let age = "UPDATE forgeline.node SET session_at = session_at - interval '2 hours' WHERE id = 'reaper'";
    server.sql(name(&url), age);
    assert_eq!(reaped(&young).await, ["r"]);
    // A failover cuts all sessions, and makes each node young again.
    begin(&store, "s", "died").await;
    server.sql(
        name(&url),
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory' AND datname = current_database()",
    );
    assert!(reaped(&young).await.is_empty());
    server.sql(name(&url), age);
    assert_eq!(reaped(&young).await, ["s"]);
}
