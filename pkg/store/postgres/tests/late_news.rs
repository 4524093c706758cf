//! Notifications that are lost on their way.

use std::{pin::pin, sync::Arc, time::Duration};

use forgeline_store::{CommandStore, EventLog, RunCommand, RunStore, RunWriter, follow};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::{
    message_proxy::{FaultPlace, MessageProxy, ProxyFault, ProxySide},
    servers::{connect, key, node, nodes, record, run, soon},
};

async fn listens(proxy: &MessageProxy) {
    let proxy = proxy.clone();
    tokio::task::spawn_blocking(move || proxy.wait_for_listener()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_or_an_answer_whose_reply_is_lost_is_passed_on_to_other_nodes() {
    let Some((server, url, [other])) = nodes().await else { return };
    let proxy = MessageProxy::start("commands", server.folder());
    let store = connect(&proxy.url(&url)).await;
    RunStore::begin(&*other, run("r"), Some(&node("a"))).await.unwrap();
    let own = RunWriter::new(key("r"), 1);
    listens(&proxy).await;
    let is_lost = FaultPlace { sender: ProxySide::Server, halves: 0, fault: ProxyFault::Cut };
    for what in ["send", "answer"] {
        store.unanswered(&key("r"), 0, 9).await.unwrap();
        let before = proxy.news();
        proxy.arm(Some(is_lost));
        match what {
            "send" => {
                store.send(&key("r"), RunCommand::new("k", "steer", "{}")).await.map(drop).unwrap();
            }
            _ => store.answer(&own, 1, "{}".to_owned()).await.unwrap(),
        }
        let (_, is_hit) = proxy.disarm();
        assert!(is_hit, "{what}");
        soon(async {
            while proxy.news() == before {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_whose_notification_is_lost_are_read_by_a_look_and_counted() {
    let Some((server, url, [writer])) = nodes().await else { return };
    let proxy = MessageProxy::start("late", server.folder());
    let reader = connect(&proxy.url(&url)).await;
    writer.create(key("r")).await.unwrap();
    let mut records = pin!(follow(Arc::clone(&reader) as Arc<dyn EventLog>, key("r"), 0));
    let append = async |at| writer.append(&key("r"), at, vec![record("x")], None).await.unwrap();
    append(0).await;
    assert_eq!(soon(records.next()).await.unwrap().unwrap().0, 0);
    listens(&proxy).await;
    for at in 1..20 {
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at);
    }
    // On a busy machine, a notification may come after a look.
    let before = reader.late_records();
    assert!(before <= 2, "{before} are counted, though all notifications have come");
    proxy.drop_news(true);
    // A look counts what the one before it has found, so the newest record may not be counted yet.
    let mut at = 20;
    while reader.late_records() < before + 3 {
        // A reader that does not wait yet reads the record by itself.
        assert!(timeout(Duration::from_millis(50), records.next()).await.is_err());
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at, "by a look");
        at += 1;
        assert!(at < 40, "{} records are counted", reader.late_records());
    }
    let most = before + at - 20 + 1;
    proxy.drop_news(false);
    for at in at..at + 17 {
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at);
    }
    let late = reader.late_records();
    assert!(late <= most, "{late} of {most} are counted, though notifications come again");
    assert_eq!(writer.late_records(), 0, "the writer has no readers");
}
