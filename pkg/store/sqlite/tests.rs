//! Tests of what only a file has.

use futures_util::{FutureExt as _, future::join_all};
use tokio::task::unconstrained;

use super::{log_tails::LogTails, *};
use crate::{
    ConversationKey, ConversationRecord, EraseMode, EventLog, LogKey, LogPage, LogRecord, NodeId,
    Retention, RunStore, RunWriter, StoredRun, Stores, sqlite_folder as folder,
};

fn records(count: usize, size: usize) -> Vec<LogRecord> {
    vec![LogRecord::new("kind", vec![b'x'; size]); count]
}

fn key(name: &str) -> LogKey {
    LogKey::new("team-a", name)
}

/// Changes a file beside the library.
fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

// Covers: T-67
#[tokio::test]
async fn a_file_of_a_newer_version_is_left_as_it_is() {
    let folder = folder("newer");
    let path = folder.join("service.db");
    SqliteStore::open(&path).await.unwrap().close_file().await;
    change(&path, "PRAGMA user_version = 99");
    let before = std::fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert_eq!(refused, StoreError::Newer { found: 99, own: 8 });
    assert_eq!(std::fs::read(&path).unwrap(), before);
    change(&path, "PRAGMA user_version = 8");
    SqliteStore::open(&path).await.unwrap().close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_can_read_a_file_that_is_made_anew() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder("owner");
    let path = folder.join("service.db");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(key("run")).await.unwrap();
    store.append(&key("run"), 0, records(1, 10), None).await.unwrap();
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.ends_with("service.db-wal")), "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    store.close_file().await;
    store.compact().await.ok();
    assert_eq!(mode(&path), 0o600);
    drop(store);
    // Whoever opened one to others meant it.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    SqliteStore::open(&path).await.unwrap().close_file().await;
    assert_eq!(mode(&path), 0o640);
    std::fs::remove_dir_all(folder).unwrap();
}

// Rows: N-64
#[cfg(unix)]
#[tokio::test]
async fn one_process_has_a_file_whatever_link_leads_to_it() {
    let folder = folder("links");
    let (path, real) = (folder.join("service.db"), folder.join("real"));
    std::fs::create_dir(&real).unwrap();
    let target = real.join("target.db");
    std::os::unix::fs::symlink(&target, &path).unwrap();
    std::os::unix::fs::symlink(&path, folder.join("twice.db")).unwrap();
    std::os::unix::fs::symlink(&real, folder.join("folder")).unwrap();
    let store = SqliteStore::open(&target).await.unwrap();
    for other in ["service.db", "twice.db", "folder/target.db", "real/../real/target.db"] {
        let refused = SqliteStore::open(folder.join(other)).await.unwrap_err();
        assert!(refused.to_string().contains("another process has"), "{other}: {refused}");
    }
    std::fs::hard_link(&target, real.join("hard.db")).unwrap();
    let other = real.join("hard.db");
    let refused = SqliteStore::open(&other).await.unwrap_err();
    assert!(refused.to_string().contains("2 names (hard links)"), "{refused}");
    assert_eq!(SqliteStore::look(&other).await.unwrap_err(), refused);
    store.close_file().await;
    drop(store);
    // Neither name is used until one is gone; then the links lead to it.
    assert!(SqliteStore::open(&target).await.is_err());
    std::fs::remove_file(&other).unwrap();
    let linked = SqliteStore::open(&path).await.unwrap();
    assert!(SqliteStore::open(&target).await.is_err());
    linked.close_file().await;
    drop(linked);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_closed_has_no_log_beside_it() {
    let folder = folder("closed");
    let path = folder.join("service.db");
    for round in 0..100 {
        let store = SqliteStore::open(&path).await.unwrap();
        let key = ConversationKey::new("s", format!("c{round}"));
        let new = || ConversationRecord::new(key.clone(), "ann", "main", 1);
        crate::ConversationStore::begin(&store, new()).await.unwrap();
        let read = || crate::ConversationStore::get(&store, &key);
        // A connection takes part once it has read: nobody, one, more than one, and those whose reader or writer is gone.
        match round % 5 {
            0 => {}
            1 => drop(read().await.unwrap()),
            2 => drop(tokio::join!(read(), read(), read())),
            3 => begun(read()).await,
            _ => begun(crate::ConversationStore::begin(&store, new())).await,
        }
        store.close_file().await;
        assert!(!folder.join("service.db-wal").exists(), "round {round}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Begins some work, and drops its future.
async fn begun<T>(work: impl Future<Output = T>) {
    tokio::select! {
        biased;
        _ = work => {}
        () = std::future::ready(()) => {}
    }
}

// Rows: N-66
#[tokio::test]
async fn a_conversation_that_is_deleted_takes_its_long_parts_along_and_no_others() {
    let folder = folder("long-parts");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let long = |sign: &str| forgeline_types::Message::user(sign.repeat(64 << 10));
    let (one, other) = (ConversationKey::new("s", "one"), ConversationKey::new("s", "other"));
    for (key, messages) in [(&one, [long("a"), long("b")]), (&other, [long("b"), long("c")])] {
        crate::ConversationStore::begin(
            &store,
            ConversationRecord::new(key.clone(), "ann", "main", 1),
        )
        .await
        .unwrap();
        for (at, message) in (0..).zip(messages) {
            crate::ConversationStore::append(
                &store,
                key,
                at,
                crate::Entry::new(1).message(message),
                None,
            )
            .await
            .unwrap();
        }
    }
    let count = |table: &str| -> i64 {
        let file = Connection::open(&path).unwrap();
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    let all = ["blob", "blob_use", "message", "line", "conversation"].map(count);
    assert!(all[0] > 0, "the parts are long enough: {all:?}");
    assert!(crate::ConversationStore::delete(&store, &one).await.unwrap());
    assert_eq!(count("conversation"), 1);
    let read = crate::ConversationStore::messages(&store, &other, 0, 10).await.unwrap();
    assert_eq!(read.len(), 2, "what both had is still there");
    assert!(crate::ConversationStore::delete(&store, &other).await.unwrap());
    assert_eq!(["blob", "blob_use", "message", "line", "conversation"].map(count), [0; 5]);
    store.close_file().await;
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_name_that_means_no_file_is_refused() {
    for name in ["", ":memory:"] {
        let refused = SqliteStore::open(name).await.unwrap_err();
        assert!(refused.to_string().contains("expected the path of a file"), "{refused}");
        assert_eq!(SqliteStore::look(Path::new(name)).await.unwrap_err(), refused);
    }
    assert!(!Path::new(":memory:.lock").exists() && !Path::new(".lock").exists());
}

#[tokio::test]
async fn a_look_at_a_file_changes_nothing_and_tells_what_opening_it_would() {
    let folder = folder("look");
    let path = folder.join("service.db");
    SqliteStore::look(&path).await.unwrap();
    assert!(!path.exists());
    let store = SqliteStore::open(&path).await.unwrap();
    SqliteStore::look(&path).await.unwrap();
    store.close_file().await;
    drop(store);
    for (sql, is_newer) in
        [("PRAGMA user_version = 99", true), ("PRAGMA application_id = 1", false)]
    {
        change(&path, sql);
        let before = std::fs::read(&path).unwrap();
        let refused = SqliteStore::look(&path).await.unwrap_err();
        assert_eq!(matches!(refused, StoreError::Newer { .. }), is_newer, "{refused}");
        assert_eq!(refused, SqliteStore::open(&path).await.unwrap_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    for nowhere in [folder.clone(), folder.join("not/there.db"), path.join("below.db")] {
        let refused = SqliteStore::look(&nowhere).await.unwrap_err();
        assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn commits_do_not_move_what_was_written_until_enough_was() {
    let folder = folder("moved");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(key("run")).await.unwrap();
    let size = || std::fs::metadata(&path).unwrap().len();
    let begun = size();
    // As many pages as SQLite moves by itself.
    for at in 0..600 {
        store.append(&key("run"), at, records(1, 100), None).await.unwrap();
    }
    assert_eq!(size(), begun, "a commit moved what was written");
    let mut at = 600;
    while size() == begun {
        assert!(at < 20_000, "it was never moved");
        store.append(&key("run"), at, records(1, 4_000), None).await.unwrap();
        at += 1;
    }
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

/// The statements that take a file back to version 6.
const WITHOUT_AUDIT: &str = "DROP TABLE audit; DROP TABLE audit_head; DROP TABLE secret; DROP TABLE provider_profile; \
     PRAGMA user_version = 6";

/// The statements that take a file of version 6 back to version 5.
const WITHOUT_OWNERS: &str = "DROP TRIGGER run_ends_its_commands; DROP TRIGGER run_is_buried_with_its_commands; \
     DROP TRIGGER run_is_deleted_with_its_commands; DROP TABLE command; DROP INDEX run_by_writer; \
     ALTER TABLE run DROP COLUMN epoch; ALTER TABLE run DROP COLUMN node; \
     ALTER TABLE run DROP COLUMN takeovers; ALTER TABLE run DROP COLUMN not_before_ms; \
     ALTER TABLE run DROP COLUMN version; PRAGMA user_version = 5";

#[tokio::test]
async fn a_file_of_an_older_version_is_brought_forward_with_what_is_in_it() {
    let folder = folder("older");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let run = |name: &str| StoredRun::new(key(name), "c", "ann", "main", 1_000);
    RunStore::begin(&store, run("old"), None).await.unwrap();
    store.create(key("log")).await.unwrap();
    store.append(&key("log"), 0, records(3, 10), None).await.unwrap();
    store.close_file().await;
    drop(store);
    change(&path, WITHOUT_AUDIT);
    change(&path, WITHOUT_OWNERS);
    let older = "DROP TRIGGER run_ends; DROP TRIGGER run_is_buried; DROP TRIGGER run_is_deleted; DROP TABLE run_note; \
         ALTER TABLE run DROP COLUMN about; DROP TRIGGER log_grows; DROP INDEX run_by_conversation; \
         PRAGMA user_version = 1";
    change(&path, older);
    let store = SqliteStore::open(&path).await.unwrap();
    store.append(&key("log"), 3, records(2, 10), None).await.unwrap();
    assert_eq!(store.read(&key("log"), 5, 1).await.unwrap().next, 5);
    assert_eq!(RunStore::get(&store, &key("old")).await.unwrap(), run("old"));
    let mut new = run("new");
    new.about = Some("{\"page\":\"list\"}".to_owned());
    RunStore::begin(&store, new.clone(), None).await.unwrap();
    assert_eq!(RunStore::get(&store, &key("new")).await.unwrap(), new);
    let claimed = store.claim(&NodeId::random(), 9, 0).await.unwrap();
    let claimed: Vec<_> = claimed.iter().map(|run| (run.key.name.as_str(), run.epoch)).collect();
    assert_eq!(claimed, [("old", 1), ("new", 1)]);
    let event = crate::AuditEvent::new("kind", "host", "ann", 1_000);
    assert_eq!(crate::AuditStore::append(&store, "team-a", event).await, Ok(0));
    store.check().await.unwrap();
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

// Covers: T-67
#[tokio::test]
async fn a_file_that_is_damaged_or_of_another_program_is_left_as_it_is() {
    let folder = folder("damaged");
    let path = folder.join("service.db");
    std::fs::write(&path, "This is a text, and no database at all. ".repeat(200)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::remove_file(&path).unwrap();
    change(&path, "CREATE TABLE theirs (a)");
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(refused.to_string().contains("another program"), "{refused}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_full_file_refuses_one_write_and_not_those_beside_it() {
    let folder = folder("full");
    let options = SqliteOptions::new(folder.join("service.db")).max_bytes(400 << 10);
    let store = SqliteStore::open_with(options).await.unwrap();
    let names: Vec<_> = (0..20).map(|at| key(&at.to_string())).collect();
    for key in &names {
        store.create(key.clone()).await.unwrap();
    }
    // In one batch: the large one cannot be kept, the small ones can.
    let size = |at: usize| if at == 7 { 1 << 20 } else { 100 };
    let appends =
        names.iter().enumerate().map(|(at, key)| store.append(key, 0, records(1, size(at)), None));
    for (at, appended) in join_all(appends).await.into_iter().enumerate() {
        assert_eq!(appended.is_ok(), at != 7, "{at}: {appended:?}");
        if let Err(error) = appended {
            assert!(matches!(error, StoreError::Full { .. }), "{error}");
        }
    }
    assert_eq!(store.read(&names[7], 0, 9).await.unwrap().next, 0, "nothing of it is there");
    store.append(&names[7], 0, records(1, 100), None).await.unwrap();
    store.check().await.unwrap();
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_and_is_read() {
    let folder = folder("read-only");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(key("run")).await.unwrap();
    store.append(&key("run"), 0, records(2, 10), None).await.unwrap();
    store.refuse_writes().await;
    let refused = store.append(&key("run"), 2, records(1, 10), None).await.unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    assert_eq!(store.read(&key("run"), 0, 9).await.unwrap().next, 2);
    store.close_file().await;
    let closed = store.append(&key("run"), 2, records(1, 10), None).await.unwrap_err();
    assert!(matches!(closed, StoreError::Unavailable { .. }), "{closed}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn another_process_is_kept_out() {
    let folder = folder("two");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert!(refused.to_string().contains("another process has"), "{refused}");
    store.close_file().await;
    drop(store);
    SqliteStore::open(&path).await.unwrap().close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn dropped_reads_return_their_connections() {
    let folder = folder("reads");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    let count = || {
        store.query(|connection| statements::integer(connection, "SELECT count(*) FROM log", []))
    };
    for _ in 0..20 {
        // Most are dropped while a thread reads.
        drop(count().now_or_never());
    }
    assert_eq!(count().await, Ok(0));
    store.close_file().await;
    assert!(matches!(count().await, Err(StoreError::Unavailable { .. })));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn writes_that_come_together_are_one_commit() {
    let folder = folder("together");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    store.create(key("run")).await.unwrap();
    let together = async |count: usize| {
        let before = store.0.writer.turns.commits();
        let all: Vec<_> = (0..count).map(|at| key(&format!("{count}.{at}"))).collect();
        // They are all sent before the thread that writes has its turn, however busy the machine is: without the runtime's budget of a
        // task, which ends after some dozens of them.
        let turn = store.0.writer.turns.turn().await;
        let created = join_all(all.into_iter().map(|key| store.create(key)));
        let mut created = std::pin::pin!(tokio::task::unconstrained(created));
        assert!(created.as_mut().now_or_never().is_none());
        drop(turn);
        assert!(created.await.iter().all(Result::is_ok));
        store.0.writer.turns.commits() - before
    };
    assert!(together(100).await <= 2, "100 writes that come together");
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn of_appends_that_come_together_each_is_done_or_told_its_own_reason() {
    let folder = folder("appends");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    let names: Vec<_> = (0..40).map(|at| at.to_string()).collect();
    join_all(names.iter().map(|name| store.create(key(name)))).await;
    store.close(&key("7"), None).await.unwrap();
    let mut ends = vec![0; names.len()];
    // So many are one statement, or more than one has, and one beside them is not as the others. With 1, none waits for another.
    for (logs, odd) in [1, 20, 40].into_iter().flat_map(|logs| {
        ["", "absent", "closed", "behind", "taken", "empty", ""].map(|odd| (logs, odd))
    }) {
        let turn = if logs == 1 { None } else { Some(store.0.writer.turns.turn().await) };
        let (before, mut appends) = (store.0.writer.turns.commits(), Vec::new());
        for (at, name) in names.iter().enumerate().take(logs).filter(|(_, name)| *name != "7") {
            appends.push((key(name), ends[at], 1 + at % 3, true));
            ends[at] += 1 + at as u64 % 3;
        }
        match odd {
            "absent" => appends.push((key("absent"), 0, 1, false)),
            "closed" => appends.push((key("7"), 0, 1, false)),
            "behind" => appends.push((key("0"), ends[0] + 1, 1, false)),
            // Of two that append at one place, the second comes too late.
            "taken" => appends.push((key("0"), ends[0] - 1, 1, false)),
            "empty" => appends.push((key("0"), ends[0], 0, true)),
            _ => {}
        }
        let mut done = unconstrained(join_all(appends.iter().map(|(key, at, count, _)| {
            let store = &store;
            async move { store.append(key, *at, records(*count, 10), None).await }
        })));
        let at_once = (&mut done).now_or_never();
        drop(turn);
        let done = match at_once {
            Some(done) => done,
            None => done.await,
        };
        for ((key, at, count, is_right), done) in appends.iter().zip(done) {
            let what = format!("{logs} {odd}: {count} to {key:?} at {at}: {done:?}");
            assert_eq!(done.is_ok(), *is_right, "{what}");
        }
        assert!(store.0.writer.turns.commits() - before <= 4, "{logs} {odd}");
    }
    for (at, name) in names.iter().enumerate() {
        let sql = "SELECT ends, bytes - coalesce((SELECT sum(length(data)) FROM chunk WHERE log = log.id), 0) \
                   FROM log WHERE name = ?";
        let name = name.clone();
        let row: Option<(i64, i64)> =
            store.query(move |connection| statements::row(connection, sql, [&name])).await.unwrap();
        assert_eq!(row, Some((i64::try_from(ends[at]).unwrap(), 0)), "{at}");
    }
    store.check().await.unwrap();
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

/// The number of closed logs that are not packed, and of rows of records.
async fn counts(store: &SqliteStore) -> (i64, i64) {
    let sql = "SELECT (SELECT count(*) FROM log WHERE state = 1 AND is_packed = 0), (SELECT count(*) FROM chunk)";
    store.query(|connection| statements::row(connection, sql, [])).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_sweep_packs_all_that_was_closed_one_part_at_a_time() {
    let folder = folder("packs");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    let fill = async |name: &str, appends: u64, size: usize| {
        store.create(key(name)).await.unwrap();
        for at in 0..appends {
            store.append(&key(name), at * 10, records(10, size), None).await.unwrap();
        }
        store.close(&key(name), None).await.unwrap();
    };
    let names: Vec<_> = (0..100).map(|at| at.to_string()).collect();
    join_all(names.iter().map(|name| fill(name, 2, 10))).await;
    fill("long", 500, 10).await;
    fill("large", 6, 100_000).await;
    let before = store.0.writer.turns.commits();
    let rows = loop {
        let begun = std::time::Instant::now();
        EventLog::sweep(&store, Retention::all()).await.unwrap();
        let (unpacked, rows) = counts(&store).await;
        if unpacked == 0 {
            break rows;
        }
        // One sweep packs for at most 10 s.
        assert!(begun.elapsed().as_secs() >= 9, "{unpacked} are not packed");
    };
    let commits = store.0.writer.turns.commits() - before;
    assert!((102..=115).contains(&rows), "{rows} rows");
    // Each part is a write of its own, so that those of runs go between them.
    assert!(commits >= 100 * 2 + 5 + 6, "{commits} commits");
    for (name, size, end) in [("7", 10, 20), ("long", 10, 5_000), ("large", 100_000, 60)] {
        let page = store.read(&key(name), end - 1, 9).await.unwrap();
        assert_eq!((page.records, page.is_end), (records(1, size), true), "{name}");
        assert_eq!(store.read(&key(name), 0, 9).await.unwrap().records.len(), 9, "{name}");
    }
    let sql = "SELECT (SELECT sum(bytes) FROM log) - (SELECT sum(length(data)) FROM chunk)";
    let bytes = store.query(|connection| statements::integer(connection, sql, [])).await.unwrap();
    assert_eq!(bytes, 0, "what logs take is what their rows have");
    let before = store.0.writer.turns.commits();
    EventLog::sweep(&store, Retention::all()).await.unwrap();
    assert!(store.0.writer.turns.commits() - before <= 2, "nothing is left to be done");
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn an_append_that_exceeds_a_packed_row_shares_none() {
    let folder = folder("alone");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    store.create(key("mixed")).await.unwrap();
    // A packed row holds up to 1 MiB of small appends.
    for (at, count, size) in [(0, 1, 10), (1, 1, 10), (2, 12, 100_000), (14, 1, 10), (15, 1, 10)] {
        store.append(&key("mixed"), at, records(count, size), None).await.unwrap();
    }
    store.close(&key("mixed"), None).await.unwrap();
    EventLog::sweep(&store, Retention::all()).await.unwrap();
    let sql = "SELECT group_concat(begins || '+' || count, ' ') FROM (SELECT * FROM chunk ORDER BY begins)";
    let rows: Option<(String,)> =
        store.query(|connection| statements::row(connection, sql, [])).await.unwrap();
    assert_eq!(rows, Some(("0+2 2+12 14+2".to_owned(),)));
    let page = store.read(&key("mixed"), 2, 1).await.unwrap();
    assert_eq!(page.records, records(1, 100_000));
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_log_that_cannot_be_packed_does_not_keep_others_from_it() {
    let folder = folder("damaged-log");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    for name in ["damaged", "sound"] {
        store.create(key(name)).await.unwrap();
        for at in 0..3 {
            store.append(&key(name), at, records(1, 10), None).await.unwrap();
        }
        store.close(&key(name), None).await.unwrap();
    }
    store.close_file().await;
    drop(store);
    change(&path, "DELETE FROM chunk WHERE log = 1 AND begins = 1");
    let store = SqliteStore::open(&path).await.unwrap();
    EventLog::sweep(&store, Retention::all()).await.unwrap();
    assert_eq!(counts(&store).await.0, 1);
    assert_eq!(store.read(&key("sound"), 0, 9).await.unwrap().next, 3);
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn an_owner_with_many_conversations_is_erased_some_at_a_time() {
    let folder = folder("erased");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    for id in 0..20 {
        let key = ConversationKey::new("team-a", id.to_string());
        crate::ConversationStore::begin(&store, ConversationRecord::new(key, "ann", "main", id))
            .await
            .unwrap();
    }
    for (mode, want) in [(EraseMode::Tombstone, 20), (EraseMode::Hard, 0)] {
        let before = store.0.writer.turns.commits();
        let erased = crate::ConversationStore::erase(&store, "team-a", "ann", mode).await.unwrap();
        assert_eq!(erased.conversations, want, "{mode:?}");
        assert_eq!(store.0.writer.turns.commits() - before, want.div_ceil(8) + 1, "{mode:?}");
    }
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

/// Pieces of the rows of chunks, from their middle.
async fn pieces(store: &SqliteStore, sql: &'static str) -> Vec<Vec<u8>> {
    let rows: Vec<(Vec<u8>,)> =
        store.query(move |connection| statements::rows(connection, sql, [])).await.unwrap();
    let middle = |(row,): &(Vec<u8>,)| row[row.len() / 2 - 12..row.len() / 2 + 12].to_vec();
    rows.iter().map(middle).collect()
}

/// The number of times that a text is in the files of a store, which is open.
fn found(path: &Path, text: &[u8]) -> usize {
    let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    let files = ["", "-wal", "-shm"].map(|end| std::fs::read(beside(end)).unwrap_or_default());
    files.iter().map(|file| memchr::memmem::find_iter(file, text).count()).sum()
}

/// Writes of this owner in a conversation of this number, among those of others.
async fn fill(stores: &Stores, owner: &str, at: u64) {
    let text =
        |what: &str| format!("planted-{owner}-{at}-{what} ").repeat(1 + (at % 7) as usize * 9);
    let conversation = ConversationKey::new("team-a", format!("{owner}-{at}"));
    let mut new = ConversationRecord::new(conversation.clone(), owner, "main", at);
    new.title = Some(text("title").into());
    stores.conversations.begin(new).await.unwrap();
    for entry in 0..3 {
        let message = forgeline_types::Message::user(text("message"));
        let new = crate::Entry::new(at).line(text("line")).message(message);
        stores.conversations.append(&conversation, entry, new, None).await.unwrap();
    }
    let run = key(&format!("run-{owner}-{at}"));
    let record = StoredRun::new(run.clone(), conversation.id, owner, "main", at);
    let node = NodeId::random();
    stores.runs.begin(record.input(text("input")), Some(&node)).await.unwrap();
    let command = crate::RunCommand::new("k", "steer", text("command"));
    stores.commands.send(&run, command).await.unwrap();
    stores.log.create(run.clone()).await.unwrap();
    for number in 0..3 {
        let record = LogRecord::new("kind", format!("{}{number}", text("event")));
        stores.log.append(&run, number, vec![record], None).await.unwrap();
    }
    if !at.is_multiple_of(3) {
        stores.log.close(&run, None).await.unwrap();
        let end = crate::RunChange::to(crate::RunProgress::Failed, at + 1);
        let writer = RunWriter::new(run.clone(), 1);
        stores.runs.change(&writer, end.end(text("end"))).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_of_what_was_erased_deleted_or_retired_is_in_the_file() {
    let folder = folder("erased-bytes");
    let path = folder.join("service.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let stores = Stores::of(store.clone());
    for at in 0..60 {
        for owner in ["ann", "bob", "eve"] {
            fill(&stores, owner, at).await;
        }
        if at == 30 {
            // Those that have ended are packed.
            stores.log.sweep(Retention::all()).await.unwrap();
        }
    }
    let of_ann = "SELECT data FROM chunk WHERE is_packed AND log IN (SELECT id FROM log WHERE name LIKE 'run-ann-%')";
    let packed = pieces(&store, of_ann).await;
    assert!(packed.len() > 10 && found(&path, b"planted-ann-") > 1_000);
    assert!(packed.iter().all(|piece| found(&path, piece) > 0));
    // Live, closed, packed and retired rows.
    stores.log.retire(&key("run-ann-1")).await.unwrap();
    stores.erase("team-a", "ann", EraseMode::Hard).await.unwrap();
    assert_eq!(found(&path, b"planted-ann-"), 0);
    assert!(packed.iter().all(|piece| found(&path, piece) == 0));
    // One conversation.
    let text = b"planted-bob-7-message";
    assert!(found(&path, text) > 0 && found(&path, b"planted-bob-8-message") > 0);
    assert!(stores.conversations.delete(&ConversationKey::new("team-a", "bob-7")).await.unwrap());
    assert_eq!(found(&path, text), 0);
    assert!(found(&path, b"planted-bob-8-message") > 0, "others stay");
    // What the log of the file has yet.
    for at in [7, 8] {
        fill(&stores, "dan", at).await;
    }
    let text = b"planted-dan-7-message";
    assert!(found(&path, text) > 0 && found(&path, b"planted-dan-8-event") > 0);
    stores.conversations.delete(&ConversationKey::new("team-a", "dan-7")).await.unwrap();
    assert_eq!(found(&path, text), 0);
    // Retention takes the closed ones, by the next sweep at the latest.
    assert!(found(&path, b"planted-eve-59-event") > 0);
    let mut none = Retention::all();
    none.closed_before_ms = Some(u64::MAX);
    stores.log.sweep(none).await.unwrap();
    assert_eq!(found(&path, b"planted-eve-59-event") + found(&path, b"planted-dan-8-event"), 0);
    assert!(found(&path, b"planted-eve-57-event") > 0, "it is open");
    store.check().await.unwrap();
    store.close_file().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_newest_records_of_a_log_are_read_without_the_file() {
    let (tails, key) = (LogTails::default(), key("run"));
    assert_eq!(tails.read(&key, 0, 9), None);
    tails.add(&key, 3, &records(4, 1));
    let page = |count, next| Some(LogPage::new(records(count, 1), next, false));
    for (from, most, want) in
        [(3, 9, page(4, 7)), (5, 1, page(1, 6)), (6, 9, page(1, 7)), (2, 9, None), (7, 9, None)]
    {
        assert_eq!(tails.read(&key, from, most), want, "{from}, {most}");
    }
}

#[tokio::test]
async fn an_append_of_nothing_is_at_the_end_too() {
    let folder = folder("nothing");
    let store = SqliteStore::open(folder.join("service.db")).await.unwrap();
    store.create(key("run")).await.unwrap();
    store.append(&key("run"), 0, records(2, 1), None).await.unwrap();
    store.append(&key("run"), 2, Vec::new(), None).await.unwrap();
    for at in [0, 1, 3] {
        let error = store.append(&key("run"), at, Vec::new(), None).await.unwrap_err();
        assert!(matches!(error, StoreError::Behind { end: 2, .. }), "{at}: {error}");
        let error = store.append(&key("run"), at, records(1, 1), None).await.unwrap_err();
        assert!(matches!(error, StoreError::Behind { end: 2, .. }), "{at}: {error}");
    }
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
