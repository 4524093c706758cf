//! The log with several nodes.

use std::{pin::pin, sync::Arc};

use forgeline_store::{EventLog, LogKey, StoreError, follow};
use futures_util::{StreamExt as _, future::join_all};

use crate::servers::{key, nodes, record, soon};

#[tokio::test]
async fn a_reader_of_one_node_sees_what_another_appends_each_record_once() {
    let Some((_, _, [writer, reader])) = nodes().await else { return };
    let key = key("run");
    writer.create(key.clone()).await.unwrap();
    let mut records = pin!(follow(Arc::clone(&reader) as Arc<dyn EventLog>, key.clone(), 0));
    for at in 0..500_u64 {
        writer.append(&key, at, vec![record(&at.to_string())], None).await.unwrap();
        if at % 10 == 9 {
            for want in at - 9..=at {
                let (number, found) = soon(records.next()).await.unwrap().unwrap();
                assert_eq!((number, found), (want, record(&want.to_string())));
            }
        }
    }
    writer.close(&key, None).await.unwrap();
    assert!(soon(records.next()).await.is_none());
}

#[tokio::test]
async fn what_one_node_retires_or_removes_ends_the_readers_of_another() {
    let Some((_, _, [writer, reader])) = nodes().await else { return };
    for (name, is_retired) in [("retired", true), ("removed", false)] {
        let key = key(name);
        writer.create(key.clone()).await.unwrap();
        writer.append(&key, 0, vec![record("0")], None).await.unwrap();
        let mut records = pin!(follow(Arc::clone(&reader) as Arc<dyn EventLog>, key.clone(), 0));
        soon(records.next()).await.unwrap().unwrap();
        if is_retired {
            writer.retire(&key).await.unwrap();
        } else {
            writer.remove(&key).await.unwrap();
        }
        let end = soon(records.next()).await.unwrap().unwrap_err();
        let is_meant = if is_retired {
            matches!(end, StoreError::Retired { .. })
        } else {
            matches!(end, StoreError::NotFound { .. })
        };
        assert!(is_meant, "{name}: {end}");
        assert!(reader.read(&key, 0, 1).await.is_err());
    }
}

#[tokio::test]
async fn many_writers_and_readers_of_three_nodes_leave_no_gap_and_no_double() {
    let Some((_, _, stores)) = nodes::<3>().await else { return };
    let keys: Vec<LogKey> = (0..20).map(|at| key(&at.to_string())).collect();
    for key in &keys {
        stores[0].create(key.clone()).await.unwrap();
    }
    let readers: Vec<_> = keys
        .iter()
        .flat_map(|key| stores.iter().map(move |store| (Arc::clone(store), key.clone())))
        .map(|(store, key)| {
            tokio::spawn(async move {
                let records = follow(store as Arc<dyn EventLog>, key, 0);
                records.map(Result::unwrap).collect::<Vec<_>>().await
            })
        })
        .collect();
    let writers = keys.iter().zip(stores.iter().cycle()).map(async |(key, store)| {
        for at in 0..50_u64 {
            store.append(key, at, vec![record(&at.to_string())], None).await.unwrap();
        }
        store.close(key, None).await.unwrap();
    });
    join_all(writers).await;
    let want: Vec<_> = (0..50_u64).map(|at| (at, record(&at.to_string()))).collect();
    for reader in join_all(readers).await {
        assert_eq!(reader.unwrap(), want);
    }
}

#[tokio::test]
async fn an_append_that_fails_does_not_fail_those_beside_it() {
    let Some((_, _, [store])) = nodes().await else { return };
    let keys: Vec<LogKey> = (0..10).map(|at| key(&at.to_string())).collect();
    for key in &keys {
        store.create(key.clone()).await.unwrap();
    }
    let broken = key("a\0b");
    let all = keys.iter().chain([&broken]);
    let done = join_all(all.map(|key| store.append(key, 0, vec![record("0")], None))).await;
    let (last, others) = done.split_last().unwrap();
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    assert!(matches!(last, Err(StoreError::Unavailable { .. })), "{last:?}");
}

#[tokio::test]
async fn records_that_follow_one_another_are_joined_and_the_others_are_refused() {
    let Some((_, _, [store])) = nodes().await else { return };
    let key = key("run");
    store.create(key.clone()).await.unwrap();
    store.append(&key, 0, vec![record("0")], None).await.unwrap();
    // The first is a repetition; those after it follow the log.
    let places = [0, 1, 2, 3, 3, 4, 9];
    let done = join_all(places.map(|at| store.append(&key, at, vec![record("x")], None))).await;
    let is_done: Vec<_> = done.iter().map(Result::is_ok).collect();
    assert_eq!(is_done, [false, true, true, true, false, true, false], "{done:?}");
    assert_eq!(store.read(&key, 0, 99).await.unwrap().next, 5);
}
