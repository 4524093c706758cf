//! The operations of the traits that the store implements, each with arguments that change something in the world of these tests.

use std::{fmt::Debug, sync::Arc, time::Duration};

use forgeline_store::{
    AuditEvent, AuditQuery, AuditStore, CommandStore, ConversationKey, ConversationQuery,
    ConversationRecord, ConversationStatus, ConversationStore, Entry, EraseMode, EventLog,
    LatencyRecord, LatencyStore, Notification, NotificationChannel, PostgresStore, ProviderProfile,
    ProviderProfileStore, Retention, RunChange, RunCommand, RunNote, RunProgress, RunQuery,
    RunRequest, RunStore, RunWriter, ScopeConnections, SecretRow, SecretRows, SecretScope,
    StoreError, StoreFuture,
};
use forgeline_types::Message;
use futures_util::StreamExt as _;

use crate::servers::{key, node, record, run};

type OperationResult = StoreFuture<'static, String>;

/// The statements of an operation that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteSteps {
    /// One statement with all of its writes.
    One,
    /// Several statements, each of which leaves the log retired or the conversation gone: the same operation, done again, completes it.
    Several,
}

/// An operation of a store.
#[derive(Clone, Copy)]
pub(super) struct StoreOperation {
    /// Its trait and its name, and its arguments where there are several.
    pub(super) name: &'static str,
    pub(super) steps: WriteSteps,
    pub(super) begin: fn(Arc<PostgresStore>) -> OperationResult,
}

fn shown<T: Debug>(done: Result<T, StoreError>) -> Result<String, StoreError> {
    done.map(|done| format!("{done:?}"))
}

/// A text that is stored apart from its entry.
pub(super) fn long_text(letter: &str) -> String {
    letter.repeat(3_000)
}

pub(super) fn conversation(id: &str) -> ConversationKey {
    ConversationKey::new("team-a", id)
}

fn own() -> RunWriter {
    RunWriter::new(key("r"), 1)
}

/// Returns an event that is the same each time.
pub(super) fn audited(id: &str) -> AuditEvent {
    let mut event = AuditEvent::new("kind", "host", "ann", 1_000);
    (event.id, event.salt) = (id.into(), "salt".into());
    event
}

macro_rules! operations {
    ($(($name:literal, $steps:ident, |$store:ident| $work:expr),)+) => {
        /// Each operation of each trait is here; a test reads the traits.
        pub(super) const OPERATIONS: &[StoreOperation] = &[$(StoreOperation {
            name: $name,
            steps: WriteSteps::$steps,
            begin: |$store| Box::pin(async move { shown($work) }),
        }),+];
    };
}

operations! {
    ("EventLog::create", One, |store| store.create(key("new")).await),
    ("EventLog::append", One, |store| {
        EventLog::append(&*store, &key("r"), 2, vec![record("2"), record("3")], Some(&own())).await
    }),
    ("EventLog::append of no run", One, |store| {
        EventLog::append(&*store, &key("stream"), 1, vec![record("1")], None).await
    }),
    ("EventLog::close", One, |store| store.close(&key("r"), Some(&own())).await),
    ("EventLog::read", One, |store| EventLog::read(&*store, &key("r"), 0, 9).await),
    ("EventLog::read of a pack", One, |store| EventLog::read(&*store, &key("packed"), 1, 9).await),
    ("EventLog::wait", One, |store| EventLog::wait(&*store, &key("r"), 1).await),
    ("EventLog::follow", One, |store| {
        let records = EventLog::follow(Arc::clone(&store), key("closed"), 0);
        records.collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>, _>>()
    }),
    ("EventLog::retire", Several, |store| store.retire(&key("closed")).await),
    ("EventLog::remove", Several, |store| EventLog::remove(&*store, &key("closed")).await),
    ("EventLog::trim", One, |store| store.trim(&key("r"), 1).await),
    ("EventLog::touch", One, |store| store.touch(&key("r")).await),
    ("EventLog::remove_unused", Several, |store| {
        store.remove_unused(&key("stream"), Duration::from_secs(1)).await
    }),
    ("EventLog::list", One, |store| EventLog::list(&*store, "", None, 9).await),
    ("EventLog::sweep", Several, |store| {
        // The number is for the log.
        let keep = Retention::all().closed_before_ms(3).max_retired(1);
        EventLog::sweep(&*store, keep).await.map(drop)
    }),
    ("RunStore::begin", One, |store| RunStore::begin(&*store, run("new"), Some(node("a")).as_ref()).await),
    ("RunStore::begin of a request", One, |store| {
        RunStore::begin(&*store, run("new").request(RunRequest::new("other", 1)), None).await
    }),
    ("RunStore::begin_within", One, |store| {
        store.begin_within(run("new"), Some(node("a")).as_ref(), 99).await
    }),
    ("RunStore::of_request", One, |store| store.of_request("team-a", "ann", "request").await),
    ("RunStore::get", One, |store| RunStore::get(&*store, &key("r")).await),
    ("RunStore::change", One, |store| {
        let note = RunNote::new("note", "{}");
        store.change(&own(), RunChange::to(RunProgress::Queued, 2_000).note(note)).await
    }),
    ("RunStore::change to its end", One, |store| {
        store.change(&own(), RunChange::to(RunProgress::Completed, 2_000)).await
    }),
    ("RunStore::beat", One, |store| store.beat(&node("a")).await),
    ("RunStore::beat_with", One, |store| {
        store.beat_with(&node("a"), vec![ScopeConnections::new("team-a", 1)]).await
    }),
    ("RunStore::claim", One, |store| store.claim(&node("a"), 9, 1).await),
    // Those that were reaped are free; an answer that is lost may not name them.
    ("RunStore::reap", One, |store| store.reap(&node("a")).await.map(drop)),
    ("RunStore::release", One, |store| store.release(&own(), Duration::ZERO).await),
    ("RunStore::owned", One, |store| store.owned(&node("a")).await),
    ("RunStore::open", One, |store| RunStore::open(&*store, 9).await),
    ("RunStore::open_in", One, |store| store.open_in(&conversation("c")).await),
    ("RunStore::list", One, |store| RunStore::list(&*store, RunQuery::new("team-a", 9)).await),
    ("RunStore::sweep", One, |store| RunStore::sweep(&*store, 5_000, 9).await),
    ("RunStore::delete", One, |store| RunStore::delete(&*store, &key("ended")).await),
    ("RunStore::erase", One, |store| {
        RunStore::erase(&*store, "team-a", "ann", EraseMode::Tombstone).await
    }),
    ("CommandStore::send", One, |store| {
        // The same command, sent again, is the one that was stored.
        store.send(&key("r"), RunCommand::new("k", "steer", "{}")).await.map(drop)
    }),
    ("CommandStore::unanswered", One, |store| store.unanswered(&key("r"), 0, 9).await),
    ("CommandStore::answer", One, |store| store.answer(&own(), 1, "\"yes\"".to_owned()).await),
    ("CommandStore::wait", One, |store| CommandStore::wait(&*store, &key("r"), 0).await),
    ("CommandStore::wait_for_answer", One, |store| store.wait_for_answer(&key("r"), 2).await),
    ("ConversationStore::begin", One, |store| {
        let new = ConversationRecord::new(conversation("new"), "ann", "main", 1_000);
        ConversationStore::begin(&*store, new).await
    }),
    ("ConversationStore::get", One, |store| ConversationStore::get(&*store, &conversation("c")).await),
    ("ConversationStore::list", One, |store| {
        ConversationStore::list(&*store, ConversationQuery::new("team-a", 9)).await
    }),
    ("ConversationStore::append", One, |store| {
        let entry = Entry::new(2_000).line("{}").message(Message::user("More."));
        ConversationStore::append(&*store, &conversation("c"), 1, entry, Some(&own())).await
    }),
    ("ConversationStore::append of a long text", One, |store| {
        let entry = Entry::new(2_000).message(Message::user(long_text("y")));
        ConversationStore::append(&*store, &conversation("c"), 1, entry, Some(&own())).await
    }),
    ("ConversationStore::lines", One, |store| store.lines(&conversation("c"), 0, 9).await),
    ("ConversationStore::messages", One, |store| store.messages(&conversation("c"), 0, 9).await),
    ("ConversationStore::rename", One, |store| {
        store.rename(&conversation("c"), "Title".into(), 2_000).await
    }),
    ("ConversationStore::set_status", One, |store| {
        store.set_status(&conversation("c"), ConversationStatus::Ended, 2_000).await
    }),
    ("ConversationStore::delete", Several, |store| {
        ConversationStore::delete(&*store, &conversation("c")).await
    }),
    ("ConversationStore::erase", Several, |store| {
        ConversationStore::erase(&*store, "team-a", "ann", EraseMode::Hard).await
    }),
    ("ConversationStore::erase to a tombstone", Several, |store| {
        ConversationStore::erase(&*store, "team-a", "ann", EraseMode::Tombstone).await
    }),
    ("NotificationChannel::publish", One, |store| {
        let mut note = Notification::new("note", "{}", 1);
        note.id = "note-1".into();
        store.publish("team-a", note).await
    }),
    ("NotificationChannel::end", One, |store| NotificationChannel::end(&*store, "team-a").await),
    ("NotificationChannel::read", One, |store| NotificationChannel::read(&*store, "team-a", 0, 9).await),
    ("NotificationChannel::wait", One, |store| NotificationChannel::wait(&*store, "team-a", 0).await),
    ("LatencyStore::add", One, |store| {
        LatencyStore::add(&*store, "team-a", LatencyRecord::new("r", 2, 2)).await
    }),
    ("LatencyStore::since", One, |store| store.since("team-a", 0).await),
    ("LatencyStore::total", One, |store| store.total("team-a").await),
    ("LatencyStore::erase", One, |store| {
        LatencyStore::erase(&*store, "team-a", "ann", EraseMode::Hard).await
    }),
    ("AuditStore::append", One, |store| AuditStore::append(&*store, "team-a", audited("2")).await),
    ("AuditStore::append to a new scope", One, |store| {
        AuditStore::append(&*store, "team-b", audited("2")).await
    }),
    ("AuditStore::read", One, |store| {
        AuditStore::read(&*store, AuditQuery::new("team-a", 9)).await
    }),
    ("AuditStore::chain", One, |store| store.chain("team-a", 0, 9).await),
    ("AuditStore::head", One, |store| store.head("team-a").await),
    ("AuditStore::scopes", One, |store| store.scopes(None, 9).await),
    // An answer that is lost may not count what was cut.
    ("AuditStore::cut", One, |store| store.cut("team-a", u64::MAX, 9).await.map(drop)),
    ("AuditStore::erase", One, |store| {
        AuditStore::erase(&*store, "team-a", "ann", EraseMode::Hard).await
    }),
    ("AuditStore::verify", One, |store| store.verify("team-a", None).await),
    ("SecretRows::row", One, |store| store.row("user-ann", "old").await),
    ("SecretRows::put", One, |store| store.put(secret("new", b"new"), 9).await),
    ("SecretRows::put of a known one", One, |store| store.put(secret("old", b"new"), 1).await),
    ("SecretRows::replace", One, |store| {
        store.replace(secret("old", b"old"), secret("old", b"new")).await
    }),
    ("SecretRows::remove", One, |store| SecretRows::remove(&*store, "user-ann", "old").await),
    ("SecretRows::row_names", One, |store| store.row_names("user-ann").await),
    ("SecretRows::rows_of_other_keys", One, |store| store.rows_of_other_keys("k2", None, 9).await),
    ("ProviderProfileStore::profile", One, |store| store.profile(&SecretScope::platform()).await),
    ("ProviderProfileStore::set_profile", One, |store| {
        store.set_profile(&SecretScope::platform(), profile("two"), 1).await
    }),
    ("ProviderProfileStore::delete_profile", One, |store| {
        store.delete_profile(&SecretScope::platform()).await
    }),
}

pub(super) fn secret(name: &str, sealed: &[u8]) -> SecretRow {
    SecretRow::new("user-ann", name, "k1", sealed.to_vec())
}

pub(super) fn profile(default: &str) -> ProviderProfile {
    let mut profile = ProviderProfile::default();
    profile.default = Some(default.into());
    profile
}

/// The sources of the traits.
const TRAITS: [(&str, &str); 9] = [
    ("EventLog", include_str!("../../../log.rs")),
    ("RunStore", include_str!("../../../runs.rs")),
    ("CommandStore", include_str!("../../../commands.rs")),
    ("ConversationStore", include_str!("../../../conversations.rs")),
    ("NotificationChannel", include_str!("../../../notifications.rs")),
    ("LatencyStore", include_str!("../../../latency.rs")),
    ("SecretRows", include_str!("../../../secrets/rows.rs")),
    ("AuditStore", include_str!("../../../audit/store.rs")),
    ("ProviderProfileStore", include_str!("../../../secrets/provider_profiles.rs")),
];

#[test]
fn each_operation_of_each_trait_is_in_the_table() {
    let mut missing = Vec::new();
    for (name, source) in TRAITS {
        let (_, body) = source.split_once(&format!("pub trait {name}:")).unwrap();
        let (body, _) = body.split_once("\n}\n").unwrap();
        let operations = body.split("\n    fn ").skip(1);
        // Others return a fact about the engine.
        let operations = operations.filter(|it| {
            let head = it.split([';', '{']).next().unwrap();
            head.contains("StoreFuture") || head.contains("BoxStream")
        });
        for operation in operations {
            let operation = operation.split(['<', '(']).next().unwrap();
            let whole = format!("{name}::{operation}");
            if OPERATIONS.iter().all(|it| it.name.split(' ').next() != Some(&whole)) {
                missing.push(whole);
            }
        }
    }
    assert!(missing.is_empty(), "no faults are tried in {missing:?}");
    assert!(OPERATIONS.len() > 50, "{} operations", OPERATIONS.len());
}
