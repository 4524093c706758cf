//! The world of these tests: one of everything in a database behind a proxy, which each attempt begins with.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use forgeline_store::{
    AuditStore, CommandStore, ConversationRecord, ConversationStore, Entry, EventLog,
    LatencyRecord, LatencyStore, Notification, NotificationChannel, PostgresStore,
    ProviderProfileStore, Retention, RunChange, RunCommand, RunNote, RunProgress, RunRequest,
    RunStore, RunWriter, SecretRows, SecretScope,
};
use forgeline_types::Message;
use tokio_postgres::{Client, NoTls};

use super::operations::{StoreOperation, audited, conversation, long_text, profile, secret};
use crate::{
    message_proxy::MessageProxy,
    postgres::PostgresServer,
    servers::{key, node, options, record, run},
};

/// The tables with the data of operations.
const TABLES: [&str; 18] = [
    "run",
    "run_note",
    "command",
    "log",
    "event",
    "event_pack",
    "conversation",
    "line",
    "message",
    "blob",
    "blob_use",
    "scope",
    "notification",
    "latency",
    "secret",
    "provider_profile",
    "audit",
    "audit_head",
];

/// A store behind a proxy, and a session that goes past it.
pub(super) struct FaultWorld {
    pub(super) proxy: MessageProxy,
    pub(super) store: Arc<PostgresStore>,
    /// `true` if the server keeps statements: an operation has fewer messages then when it is done again, and some faults do not happen.
    pub(super) keeps_statements: bool,
    /// The number of faults that have happened.
    pub(super) hits: AtomicUsize,
    client: Client,
}

impl FaultWorld {
    pub(super) async fn new(name: &str, server: &PostgresServer, keeps_statements: bool) -> Self {
        let url = server.database();
        let proxy = MessageProxy::start(name, server.folder());
        let options = options(&proxy.url(&url)).keeps_statements(keeps_statements);
        let store = Arc::new(PostgresStore::connect(options).await.unwrap());
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let world = Self { proxy, store, keeps_statements, hits: AtomicUsize::new(0), client };
        world.fill().await;
        world
    }

    /// Adds one of everything, and keeps a copy.
    async fn fill(&self) {
        let store = &*self.store;
        for id in ["r", "ended", "stream", "packed", "closed", "old", "older", "warm"] {
            store.create(key(id)).await.unwrap();
        }
        let records = || vec![record("0"), record("1")];
        for id in ["packed", "closed", "old", "older"] {
            EventLog::append(store, &key(id), 0, records(), None).await.unwrap();
            store.close(&key(id), None).await.unwrap();
            if id == "packed" {
                EventLog::sweep(store, Retention::all()).await.unwrap();
            }
        }
        EventLog::append(store, &key("stream"), 0, vec![record("0")], None).await.unwrap();
        let request = RunRequest::new("request", 1);
        let own = run("r").request(request).input("{}");
        RunStore::begin(store, own, Some(&node("a"))).await.unwrap();
        RunStore::begin(store, run("free"), None).await.unwrap();
        RunStore::begin(store, run("lost"), Some(&node("died"))).await.unwrap();
        RunStore::begin(store, run("ended"), Some(&node("a"))).await.unwrap();
        let [own, ended] = ["r", "ended"].map(|id| RunWriter::new(key(id), 1));
        store.change(&ended, RunChange::to(RunProgress::Completed, 2_000)).await.unwrap();
        let noted = RunChange::to(RunProgress::Waiting, 1).note(RunNote::new("begun", "{}"));
        store.change(&own, noted).await.unwrap();
        EventLog::append(store, &key("r"), 0, records(), Some(&own)).await.unwrap();
        for command in ["first", "second"] {
            store.send(&key("r"), RunCommand::new(command, "steer", "{}")).await.unwrap();
        }
        store.answer(&own, 2, "{}".to_owned()).await.unwrap();
        let new = ConversationRecord::new(conversation("c"), "ann", "main", 1_000);
        ConversationStore::begin(store, new).await.unwrap();
        let entry = Entry::new(1_000).line("{}").message(Message::user(long_text("x")));
        ConversationStore::append(store, &conversation("c"), 0, entry, Some(&own)).await.unwrap();
        store.publish("team-a", Notification::new("note", "{}", 1)).await.unwrap();
        let mut latency = LatencyRecord::new("r", 1, 1);
        latency.owner = "ann".into();
        LatencyStore::add(store, "team-a", latency).await.unwrap();
        store.put(secret("old", b"old"), 9).await.unwrap();
        store.set_profile(&SecretScope::platform(), profile("one"), 0).await.unwrap();
        AuditStore::append(store, "team-a", audited("1")).await.unwrap();
        self.proxy.wait_for_news();
        // Times of the database are not compared; whether one was set again is.
        let times = "UPDATE forgeline.log SET changed_ms = CASE WHEN name LIKE 'old%' THEN 1 ELSE 5 END; \
                       CREATE SCHEMA kept";
        self.execute(times, |table| {
            format!("CREATE TABLE kept.{table} AS TABLE forgeline.{table}")
        })
        .await;
    }

    /// Opens the connections of the store, and puts everything back as it was.
    pub(super) async fn begin_anew(&self) {
        self.warm_up().await;
        let dead = "UPDATE forgeline.node SET until = '-infinity'";
        self.execute(dead, |table| {
            format!(
                "DELETE FROM forgeline.{table}; INSERT INTO forgeline.{table} OVERRIDING SYSTEM VALUE TABLE kept.{table}"
            )
        })
        .await;
    }

    /// Executes a statement, and one for each table.
    async fn execute(&self, first: &str, of_table: impl Fn(&str) -> String) {
        let sql = format!("{first}; {}", TABLES.map(of_table).join("; "));
        self.client.batch_execute(&sql).await.unwrap();
    }

    /// Uses each connection of the store once. One that was cut a moment ago may still be taken for good.
    async fn warm_up(&self) {
        let mut failure = None;
        for _ in 0..3 {
            let warm = async {
                RunStore::open(&*self.store, 1).await?;
                self.store.beat(&node("a")).await?;
                let end = EventLog::read(&*self.store, &key("warm"), 0, 99).await?.next;
                EventLog::append(&*self.store, &key("warm"), end, vec![record("w")], None).await
            };
            match warm.await {
                Ok(()) => return,
                Err(error) => failure = Some(error),
            }
        }
        panic!("the next operations fail: {failure:?}");
    }

    /// Returns what an operation can have changed, as text, without the numbers of new rows and the times of the database.
    pub(super) async fn state(&self, operation: &StoreOperation) -> String {
        let rows = TABLES.map(|table| {
            let is_used = if table == "log" { ", changed_ms > 9 AS is_used" } else { "" };
            format!(
                "SELECT '{table} ' || (to_jsonb(it) - '{{no,at,changed_ms,updated_ms,answered_epoch}}'::text[])::text AS row \
                 FROM (SELECT *{is_used} FROM forgeline.{table}) AS it"
            )
        });
        let rows = rows.join(" UNION ALL ");
        // Claims and reaps beat, too.
        let beats = operation.name.starts_with("RunStore::beat");
        let node = format!(
            "SELECT 'node ' || (until > '-infinity') FROM forgeline.node WHERE {beats} AND id = 'a'"
        );
        let sql = format!(
            "SELECT string_agg(row, E'\\n' ORDER BY row) FROM ({rows} UNION ALL {node}) AS rows"
        );
        self.client.query_one(&sql, &[]).await.unwrap().get(0)
    }

    /// Waits until the server has ended what was cut.
    pub(super) async fn settle(&self) {
        let proxy = self.proxy.clone();
        tokio::task::spawn_blocking(move || proxy.settle()).await.unwrap();
    }
}

/// More than the 10 s that an operation may take, as others are held beside it on a busy machine.
pub(super) const BOUND: Duration = Duration::from_secs(30);
