//! Statements of a cut connection that the server executes late, as `internal/model/README.md` numbers them.

use std::{pin::pin, sync::Arc, time::Duration};

use forgeline_store::{
    CommandSent, CommandStore, ConversationKey, ConversationRecord, ConversationStore, Entry,
    EventLog, RunCommand, RunStore, RunWriter, StoreError, follow,
};
use futures_util::StreamExt as _;

use crate::{
    message_proxy::{MessageProxy, ProxySide},
    servers::{connect, key, name, node, nodes, record, run, soon},
};

/// The statement of an append to a log, and that of one to a conversation.
const TO_LOG: &str = "UPDATE forgeline.log SET head";
const TO_CONVERSATION: &str = "UPDATE forgeline.conversation SET entries";

/// Waits for a number of faults without keeping the tests' other tasks from their work.
async fn hits(proxy: &MessageProxy, count: usize) {
    let proxy = proxy.clone();
    tokio::task::spawn_blocking(move || proxy.wait_for_hits(count)).await.unwrap();
}

/// Trace 11: the statement comes after the row was read, and before the second try.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_the_server_gets_late_is_made_once_and_its_owner_goes_on() {
    let Some((server, url, [direct])) = nodes().await else { return };
    let proxy = MessageProxy::start("late-append", server.folder());
    let store = connect(&proxy.url(&url)).await;
    RunStore::begin(&*direct, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    direct.create(key("r")).await.unwrap();
    proxy.delay_statement(TO_LOG, "the late one");
    proxy.hold_statement(TO_LOG, ProxySide::Client);
    let append = tokio::spawn({
        let (store, own) = (Arc::clone(&store), own.clone());
        async move {
            let records = vec![record("the late one")];
            EventLog::append(&*store, &key("r"), 0, records, Some(&own)).await
        }
    });
    hits(&proxy, 2).await;
    let head = "SELECT head FROM forgeline.log WHERE name = 'r'";
    assert_eq!(server.sql(name(&url), head), "0", "the server has neither");
    proxy.deliver();
    server.wait_for(name(&url), head, "1");
    proxy.release();
    soon(append).await.unwrap().unwrap();
    EventLog::append(&*store, &key("r"), 1, vec![record("next")], Some(&own)).await.unwrap();
    let page = EventLog::read(&*direct, &key("r"), 0, 9).await.unwrap();
    let texts: Vec<_> = page.records.iter().map(|it| it.data.to_vec()).collect();
    assert_eq!(texts, [b"the late one".to_vec(), b"next".to_vec()]);
}

/// Traces 12 and 13: the call, or the result, of a tool comes late, and meanwhile its owner answers a command.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_the_server_gets_late_is_not_taken_for_the_next_one() {
    let Some((server, url, [direct])) = nodes().await else { return };
    let proxy = MessageProxy::start("late-entry", server.folder());
    let store = connect(&proxy.url(&url)).await;
    let conversation = ConversationKey::new("team-a", "c");
    let new = ConversationRecord::new(conversation.clone(), "ann", "main", 1_000);
    ConversationStore::begin(&*direct, new).await.unwrap();
    RunStore::begin(&*direct, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    let entry = |text: &str| Entry::new(2_000).line(text.to_owned());
    let lines = async || {
        let lines = direct.lines(&conversation, 0, 9).await.unwrap();
        lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    for (at, what) in [(0, "{\"call\":1}"), (1, "{\"result\":1}")] {
        proxy.delay_statement(TO_CONVERSATION, what);
        let append = ConversationStore::append(&*store, &conversation, at, entry(what), Some(&own));
        let lost = soon(append).await;
        // Its outcome is unknown, and the owner reads before it writes again.
        assert!(matches!(lost, Err(StoreError::Unavailable { .. })), "{lost:?}");
        let sent = RunCommand::new(format!("k{at}"), "steer", "{}");
        let CommandSent::New(number) = store.send(&key("r"), sent).await.unwrap() else {
            panic!("the key is new")
        };
        store.answer(&own, number, "{}".to_owned()).await.unwrap();
        assert_eq!(lines().await.len(), usize::try_from(at).unwrap(), "it has not come yet");
        proxy.deliver();
        let entries = "SELECT entries FROM forgeline.conversation";
        server.wait_for(name(&url), entries, &(at + 1).to_string());
        let next = ConversationStore::append(&*store, &conversation, at, entry("{}"), Some(&own));
        let refused = next.await;
        assert!(
            matches!(refused, Err(StoreError::Behind { end, .. }) if end == at + 1),
            "{refused:?}"
        );
    }
    assert_eq!(lines().await, ["{\"call\":1}", "{\"result\":1}"]);
}

/// Trace 14: the run is handed over before the server gets the statement.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_comes_behind_the_hand_over_of_its_run_writes_nothing() {
    let Some((server, url, [direct])) = nodes().await else { return };
    let proxy = MessageProxy::start("late-hand-over", server.folder());
    let store = connect(&proxy.url(&url)).await;
    let conversation = ConversationKey::new("team-a", "c");
    let new = ConversationRecord::new(conversation.clone(), "ann", "main", 1_000);
    ConversationStore::begin(&*direct, new).await.unwrap();
    RunStore::begin(&*direct, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    proxy.delay_statement(TO_CONVERSATION, "late");
    let entry = Entry::new(2_000).line("\"late\"");
    let lost = ConversationStore::append(&*store, &conversation, 0, entry, Some(&own)).await;
    assert!(matches!(lost, Err(StoreError::Unavailable { .. })), "{lost:?}");
    store.release(&own, Duration::ZERO).await.unwrap();
    let before = server.sql(name(&url), "SELECT pg_current_xact_id()");
    proxy.deliver();
    // The session of the statement ends when the server has executed it.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND application_name = 'forgeline' AND backend_type = 'client backend' \
                    AND query LIKE '%forgeline.conversation SET entries%' AND state = 'active'";
    proxy.settle();
    server.wait_for(name(&url), sessions, "0");
    let after = server.sql(name(&url), "SELECT pg_current_xact_id()");
    assert_ne!(before, after);
    assert!(direct.lines(&conversation, 0, 9).await.unwrap().is_empty(), "its epoch is over");
    let claimed = direct.claim(&node("b"), 9, 0).await.unwrap();
    let entry = Entry::new(3_000).line("\"next\"");
    let next = claimed[0].writer();
    ConversationStore::append(&*direct, &conversation, 0, entry, Some(&next)).await.unwrap();
}

/// Trace 18: the end is written after a reader has read, and before it listens.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_listens_after_the_end_sees_it() {
    let Some((server, url, [writer])) = nodes().await else { return };
    let proxy = MessageProxy::start("late-listen", server.folder());
    // The probe at the start listens to one channel.
    proxy.hold_statement("; LISTEN ", ProxySide::Client);
    let reader = connect(&proxy.url(&url)).await;
    writer.create(key("r")).await.unwrap();
    EventLog::append(&*writer, &key("r"), 0, vec![record("first")], None).await.unwrap();
    let mut records = pin!(follow(Arc::clone(&reader) as Arc<dyn EventLog>, key("r"), 0));
    let mut next = records.next();
    // It has read by now, or reads later.
    assert!(
        futures_util::poll!(&mut next).is_pending(),
        "a reader needs the server for its first record"
    );
    hits(&proxy, 1).await;
    EventLog::append(&*writer, &key("r"), 1, vec![record("end")], None).await.unwrap();
    writer.close(&key("r"), None).await.unwrap();
    proxy.release();
    assert_eq!(soon(next).await.unwrap().unwrap().0, 0);
    assert_eq!(soon(records.next()).await.unwrap().unwrap().0, 1);
    assert!(soon(records.next()).await.is_none());
}
