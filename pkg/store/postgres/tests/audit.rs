//! Audit rows: one chain of all nodes, and the changes of another program in it.

use std::{collections::BTreeSet, sync::Arc};

use forgeline_store::{AuditEvent, AuditQuery, AuditStore, PostgresStore};
use futures_util::future::join_all;

use crate::servers::{name, nodes};

fn event(at: u64) -> AuditEvent {
    AuditEvent::new("kind", "host", "ann", at)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_extend_one_chain_without_a_fork_while_it_is_cut() {
    let Some((_, _, stores)) = nodes::<2>().await else { return };
    let add = async |store: Arc<PostgresStore>, from: u64| {
        let mut numbers = Vec::new();
        for at in from..from + 60 {
            numbers.push(store.append("team-a", event(at)).await.unwrap());
        }
        numbers
    };
    // Two writers of each node, and a cut of both beside them.
    let writers = [(0, 0), (1, 100), (0, 200), (1, 300)]
        .map(|(node, from)| add(Arc::clone(&stores[node]), from));
    let cuts = [0, 1].map(|node: usize| {
        let store = Arc::clone(&stores[node]);
        async move {
            let mut cut = 0;
            while cut < 10 {
                cut += store.cut("team-a", 0, 20).await.unwrap();
            }
            cut
        }
    });
    let (numbers, cut) = tokio::join!(join_all(writers), join_all(cuts));
    for of_one in &numbers {
        assert!(of_one.is_sorted(), "{of_one:?}");
    }
    let all: BTreeSet<_> = numbers.into_iter().flatten().collect();
    assert_eq!(all, (0..240).collect());
    for store in &stores {
        let report = store.verify("team-a", None).await.unwrap();
        let head = report.head;
        assert_eq!((report.fault, head.first), (None, cut.iter().sum()));
        assert_eq!((report.rows, head.next), (240 - head.first, 240));
    }
}

#[tokio::test]
async fn an_event_that_two_nodes_store_at_once_is_stored_once() {
    let Some((_, _, stores)) = nodes::<2>().await else { return };
    for round in 0..20 {
        let event = event(round);
        let both = stores.iter().map(|store| store.append("team-a", event.clone()));
        let numbers: Vec<_> = join_all(both).await;
        assert_eq!(numbers, [Ok(round), Ok(round)]);
    }
    let report = stores[0].verify("team-a", None).await.unwrap();
    assert_eq!((report.rows, report.fault), (20, None));
}

#[tokio::test]
async fn what_is_changed_removed_moved_added_or_cut_off_in_a_database_is_found() {
    let Some((server, url, [store])) = nodes::<1>().await else { return };
    for at in 0..6 {
        store.append("team-a", event(at)).await.unwrap();
    }
    server.sql(name(&url), "CREATE TABLE kept AS TABLE forgeline.audit");
    server.sql(name(&url), "CREATE TABLE kept_head AS TABLE forgeline.audit_head");
    let changes = [
        ("UPDATE forgeline.audit SET kind = 'x' WHERE seq = 3", "row 3 was changed"),
        ("UPDATE forgeline.audit SET actor = 'x' WHERE seq = 5", "row 5 was changed"),
        ("DELETE FROM forgeline.audit WHERE seq = 3", "row 3 is missing"),
        ("DELETE FROM forgeline.audit WHERE seq > 3", "row 4 is missing"),
        (
            "UPDATE forgeline.audit SET seq = 109 - seq WHERE seq IN (4, 5); \
             UPDATE forgeline.audit SET seq = seq - 100 WHERE seq > 100",
            "row 4 was changed",
        ),
        (
            "INSERT INTO forgeline.audit SELECT scope, 6, 'new', kind, source, at_ms, actor, owner, content, seal, hash \
             FROM forgeline.audit WHERE seq = 5",
            "row 6 is not part of the chain",
        ),
        ("UPDATE forgeline.audit_head SET hash = anchor", "with another hash"),
    ];
    for (sql, wanted) in changes {
        server.sql(name(&url), sql);
        let report = store.verify("team-a", None).await.unwrap();
        let fault = report.fault.map(|fault| fault.to_string()).unwrap_or_default();
        assert!(fault.contains(wanted), "{sql}: {fault:?}");
        let again = "DELETE FROM forgeline.audit; INSERT INTO forgeline.audit TABLE kept; \
                     DELETE FROM forgeline.audit_head; INSERT INTO forgeline.audit_head TABLE kept_head";
        server.sql(name(&url), again);
        assert!(store.verify("team-a", None).await.unwrap().is_whole());
    }
    let rows = AuditStore::read(&*store, AuditQuery::new("team-a", 9)).await.unwrap().rows;
    assert_eq!(rows.len(), 6);
}
