//! The runs and connections of a scope, and the ends of runs, as all nodes of a database know them.

use forgeline_store::{
    EventLog, LogRecord, PostgresStore, RunBegun, RunChange, RunProgress, RunQuery, RunRequest,
    RunStore, RunWriter, ScopeConnections, StoredRun,
};

use crate::servers::{key, name, node, nodes, run};

async fn begins(store: &PostgresStore, run: StoredRun, most: usize) -> RunBegun {
    store.begin_within(run, Some(&node("one")), most).await.unwrap()
}

#[tokio::test]
async fn a_scope_has_as_many_open_runs_as_it_may_whichever_nodes_they_begin_at() {
    let Some((_, _, [one, other])) = nodes().await else { return };
    let asked = |id: &str| run(id).request(RunRequest::new("key", 1));
    assert_eq!(begins(&one, asked("a"), 2).await, RunBegun::New);
    assert_eq!(begins(&other, run("b"), 2).await, RunBegun::New);
    for store in [&one, &other] {
        assert_eq!(begins(store, run("c"), 2).await, RunBegun::TooMany);
        assert_eq!(begins(store, run("c"), 0).await, RunBegun::TooMany);
        let same = begins(store, asked("c"), 2).await;
        assert!(matches!(&same, RunBegun::Same(same) if same.key == key("a")), "{same:?}");
    }
    let elsewhere =
        StoredRun::new(forgeline_store::LogKey::new("team-b", "c"), "c", "ann", "main", 1);
    assert_eq!(begins(&one, elsewhere, 1).await, RunBegun::New, "another scope");
    // Without a limit there is none.
    assert_eq!(one.begin(run("d"), None).await.unwrap(), RunBegun::New);
    for id in ["a", "d"] {
        assert_eq!(begins(&one, run("c"), 2).await, RunBegun::TooMany, "before {id} ends");
        let epoch = RunStore::get(&*one, &key(id)).await.unwrap().epoch.max(1);
        if id == "d" {
            one.claim(&node("one"), 9, 1).await.unwrap();
        }
        let writer = RunWriter::new(key(id), epoch);
        one.change(&writer, RunChange::to(RunProgress::Completed, 2)).await.unwrap();
    }
    assert_eq!(begins(&other, run("c"), 2).await, RunBegun::New);
}

#[tokio::test]
async fn the_connections_of_a_scope_are_those_at_the_other_nodes_that_are_alive() {
    let Some((server, url, [one, two, three])) = nodes().await else { return };
    let held = |counts: &[(&str, u64)]| -> Vec<ScopeConnections> {
        counts.iter().map(|(scope, count)| ScopeConnections::new(*scope, *count)).collect()
    };
    let beats = async |store: &PostgresStore, id: &str, counts: &[(&str, u64)]| {
        let (_, elsewhere) = store.beat_with(&node(id), held(counts)).await.unwrap();
        let mut elsewhere = elsewhere.expect("the runs are not locked");
        elsewhere.sort_by(|one, other| one.scope.cmp(&other.scope));
        elsewhere
    };
    assert_eq!(beats(&one, "one", &[("a", 3), ("b", 1)]).await, []);
    assert_eq!(beats(&two, "two", &[("a", 4)]).await, held(&[("a", 3), ("b", 1)]));
    assert_eq!(beats(&three, "three", &[]).await, held(&[("a", 7), ("b", 1)]));
    // A beat that says nothing of them changes nothing, nor does one before a claim.
    two.beat(&node("two")).await.unwrap();
    two.claim(&node("two"), 1, 1).await.unwrap();
    assert_eq!(beats(&three, "three", &[]).await, held(&[("a", 7), ("b", 1)]));
    server.sql(name(&url), "UPDATE forgeline.node SET until = '-infinity' WHERE id = 'one'");
    assert_eq!(beats(&three, "three", &[]).await, held(&[("a", 4)]), "one is dead");
    // One that wakes counts again, and one that has none is left out.
    assert_eq!(beats(&one, "one", &[("a", 1)]).await, held(&[("a", 4)]));
    assert_eq!(beats(&two, "two", &[]).await, held(&[("a", 1)]));
    assert_eq!(beats(&three, "three", &[]).await, held(&[("a", 1)]));
    // While the runs are locked, a node is alive and learns nothing.
    let mut lock = server.session(name(&url));
    lock.run("BEGIN; LOCK TABLE forgeline.run IN ACCESS EXCLUSIVE MODE");
    let (_, elsewhere) = two.beat_with(&node("two"), Vec::new()).await.unwrap();
    assert_eq!(elsewhere, None);
    lock.run("ROLLBACK");
}

#[tokio::test]
async fn a_run_whose_log_has_its_end_is_returned_with_it() {
    let Some((_, _, [owner, reader])) = nodes().await else { return };
    let asked = run("r").request(RunRequest::new("key", 1));
    owner.begin(asked, Some(&node("one"))).await.unwrap();
    owner.create(key("r")).await.unwrap();
    let writer = RunWriter::new(key("r"), 1);
    let read = async || {
        let got = RunStore::get(&*reader, &key("r")).await.unwrap();
        let asked = reader.of_request("team-a", "ann", "key").await.unwrap().unwrap();
        let listed = RunStore::list(&*reader, RunQuery::new("team-a", 9)).await.unwrap();
        [got, asked, listed.runs.into_iter().next().unwrap()]
            .map(|run| (run.logged_end, run.progress))
    };
    let not_yet = || [(); 3].map(|()| (None, RunProgress::Queued));
    assert_eq!(read().await, not_yet());
    let event = LogRecord::new("turn_end", "{}");
    owner.append(&key("r"), 0, vec![event], Some(&writer)).await.unwrap();
    assert_eq!(read().await, not_yet());
    let end = LogRecord::new("run_end", r#"{"seq":1}"#);
    owner.append(&key("r"), 1, vec![end], Some(&writer)).await.unwrap();
    let logged = || [(); 3].map(|()| (Some(r#"{"seq":1}"#.to_owned()), RunProgress::Queued));
    assert_eq!(read().await, logged());
    owner.close(&key("r"), Some(&writer)).await.unwrap();
    assert_eq!(read().await, logged());
    let change = RunChange::to(RunProgress::Completed, 2).end(r#"{"seq":1}"#);
    owner.change(&writer, change).await.unwrap();
    assert_eq!(read().await, [(); 3].map(|()| (None, RunProgress::Completed)));
}
