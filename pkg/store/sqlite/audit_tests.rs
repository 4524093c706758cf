//! Tests of audit rows in a file that another program changes.

use std::path::Path;

use rusqlite::Connection;

use super::SqliteStore;
use crate::{AuditEvent, AuditStore, AuditSubject, EraseMode, Stores, sqlite_folder as folder};

fn event(at: u64) -> AuditEvent {
    let subject = AuditSubject::default().conversation("planted-conversation");
    let details = serde_json::json!({ "a": "planted-detail" });
    let event = AuditEvent::new("kind", "host", "planted-ann", at).subject(subject);
    event.details(details.as_object().unwrap())
}

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn what_is_changed_removed_moved_added_or_cut_off_in_a_file_is_found() {
    let folder = folder("audit-changed");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    for at in 0..6 {
        store.append("team-a", event(at)).await.unwrap();
        store.append("team-b", event(at)).await.unwrap();
    }
    store.close_file().await;
    drop(store);
    let changes = [
        ("UPDATE audit SET kind = 'x' WHERE scope = 'team-a' AND seq = 3", "row 3 was changed"),
        ("UPDATE audit SET at_ms = 9 WHERE scope = 'team-a' AND seq = 0", "row 0 was changed"),
        ("UPDATE audit SET actor = 'x' WHERE scope = 'team-a' AND seq = 5", "row 5 was changed"),
        (
            "UPDATE audit SET content = replace(content, 'detail', 'other') WHERE seq = 2",
            "row 2 was changed",
        ),
        ("DELETE FROM audit WHERE scope = 'team-a' AND seq = 0", "row 0 is missing"),
        ("DELETE FROM audit WHERE scope = 'team-a' AND seq = 3", "row 3 is missing"),
        ("DELETE FROM audit WHERE scope = 'team-a' AND seq > 3", "row 4 is missing"),
        ("DELETE FROM audit WHERE scope = 'team-a'", "row 0 is missing"),
        (
            "UPDATE audit SET seq = 9 - seq + 100 WHERE scope = 'team-a' AND seq IN (4, 5); \
             UPDATE audit SET seq = seq - 100 WHERE seq > 100",
            "row 4 was changed",
        ),
        (
            "UPDATE audit SET scope = 'team-c' WHERE scope = 'team-a' AND seq = 1; \
             UPDATE audit SET scope = 'team-a' WHERE scope = 'team-b' AND seq = 1",
            "row 1 was changed",
        ),
        (
            "UPDATE audit_head SET first = 2 WHERE scope = 'team-a'; \
             DELETE FROM audit WHERE scope = 'team-a' AND seq < 2",
            "row 2 was changed",
        ),
        (
            "INSERT INTO audit (scope, seq, event, kind, source, at_ms, actor, owner, content, seal, hash) \
             SELECT scope, 6, 'new', kind, source, at_ms, actor, owner, content, seal, hash FROM audit \
             WHERE scope = 'team-a' AND seq = 5",
            "row 6 is not part of the chain",
        ),
        ("UPDATE audit_head SET hash = anchor WHERE scope = 'team-a'", "with another hash"),
        ("DELETE FROM audit_head WHERE scope = 'team-a'", "row 0 is not part of the chain"),
    ];
    for (sql, wanted) in changes {
        let copy = folder.join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        change(&copy, sql);
        let store = SqliteStore::open(&copy).await.unwrap();
        let report = store.verify("team-a", None).await.unwrap();
        let fault = report.fault.map(|fault| fault.to_string()).unwrap_or_default();
        assert!(fault.contains(wanted), "{sql}: {fault:?}");
        store.close_file().await;
    }
    let store = SqliteStore::open(&path).await.unwrap();
    assert!(store.verify("team-a", None).await.unwrap().is_whole());
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn nothing_of_an_erased_person_is_in_the_audit_rows_of_a_file() {
    let folder = folder("audit-erased");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    for at in 0..50 {
        store.append("team-a", event(at)).await.unwrap();
    }
    store.append("team-a", AuditEvent::new("kind", "host", "bob", 50)).await.unwrap();
    let found = || {
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
        let all = [read("service.db"), read("service.db-wal")].concat();
        memchr::memmem::find_iter(&all, "planted-").count()
    };
    assert!(found() > 100, "{}", found());
    let stores = Stores::of(store.clone());
    let counted = stores.erase("team-a", "planted-ann", EraseMode::Count).await.unwrap();
    let erased = stores.erase("team-a", "planted-ann", EraseMode::Hard).await.unwrap();
    assert_eq!((counted.audit, erased.audit, found()), (50, 50, 0));
    let report = store.verify("team-a", None).await.unwrap();
    assert_eq!((report.rows, report.erased, report.fault), (52, 50, None));
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}
