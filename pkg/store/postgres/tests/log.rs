//! The log with several nodes.

use std::{pin::pin, sync::Arc};

use forgeline_store::{EventLog, LogKey, LogRecord, follow};
use futures_util::StreamExt as _;

use crate::servers::two;

fn key(name: &str) -> LogKey {
    LogKey::new("team-a", name)
}

fn record(text: &str) -> LogRecord {
    LogRecord::new("kind", text.to_owned())
}

#[tokio::test]
async fn a_reader_of_one_node_sees_what_another_appends_each_record_once() {
    let Some([writer, reader]) = two().await else { return };
    let key = key("run");
    writer.create(key.clone()).await.unwrap();
    let mut records = pin!(follow(Arc::clone(&reader) as Arc<dyn EventLog>, key.clone(), 0));
    for at in 0..500_u64 {
        writer.append(&key, at, vec![record(&at.to_string())], None).await.unwrap();
        if at % 10 == 9 {
            for want in at - 9..=at {
                let (number, found) = records.next().await.unwrap().unwrap();
                assert_eq!((number, found), (want, record(&want.to_string())));
            }
        }
    }
    writer.close(&key, None).await.unwrap();
    assert!(records.next().await.is_none());
}
