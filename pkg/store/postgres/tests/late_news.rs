//! Notifications that are lost on their way.

use std::{pin::pin, sync::Arc};

use forgeline_store::{EventLog, follow};
use futures_util::StreamExt as _;

use crate::{
    message_proxy::MessageProxy,
    servers::{connect, key, nodes, record, soon},
};

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
    tokio::task::spawn_blocking({
        let proxy = proxy.clone();
        move || proxy.wait_for_listener()
    })
    .await
    .unwrap();
    for at in 1..20 {
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at);
    }
    assert_eq!(reader.late_records(), 0, "all notifications have come");
    proxy.drop_news(true);
    for at in 20..23 {
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at, "by a look");
    }
    proxy.drop_news(false);
    // A look counts what the one before it has found.
    soon(async {
        while reader.late_records() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for at in 23..40 {
        append(at).await;
        assert_eq!(soon(records.next()).await.unwrap().unwrap().0, at);
    }
    assert_eq!(reader.late_records(), 3, "notifications come again");
    assert_eq!(writer.late_records(), 0, "the writer has no readers");
}
