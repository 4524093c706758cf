//! The checks for stores of latency records.

use std::sync::Arc;

use super::{
    Report,
    suite::{StoreVerdict, check, done, hold, same},
};
use forgeline_store::{CallLatency, EraseMode, LatencyRecord, LatencyStore};

/// Checks a store of latency records.
pub async fn check_latency_store<S: LatencyStore>(make: impl AsyncFn() -> Arc<S>) -> Report {
    let checks = vec![
        check("round-trip", "records are read as they were, from a time on", whole(make().await))
            .await,
        check("erased", "what an owner has is erased", erased(make().await)).await,
    ];
    Report { checks }
}

async fn whole(store: Arc<impl LatencyStore>) -> StoreVerdict {
    let record = |at_ms| {
        let mut record = LatencyRecord::new("run", 1, at_ms);
        (record.turn_ms, record.first_text_ms) = (7, Some(3));
        record.calls.push(CallLatency::new("tool", 2));
        record
    };
    same("none", &done("since", store.since("a", 0).await)?.len(), &0)?;
    for at_ms in [1_000, 3_000, 2_000] {
        done("add", store.add("a", record(at_ms)).await)?;
    }
    done("add", store.add("b", record(1)).await)?;
    let found = done("since", store.since("a", 2_000).await)?;
    same("since", &found, &vec![record(2_000), record(3_000)])?;
    same("total", &done("total", store.total("a").await)?, &3)?;
    same("another's", &done("since", store.since("b", 0).await)?, &vec![record(1)])
}

async fn erased(store: Arc<impl LatencyStore>) -> StoreVerdict {
    for (scope, owner) in [("a", "ann"), ("a", "bob"), ("b", "ann"), ("a", "ann")] {
        let mut record = LatencyRecord::new("run", 1, 1_000);
        (record.owner, record.conversation) = (owner.into(), "c".into());
        done("add", store.add(scope, record).await)?;
    }
    let owners = async |scope: &str| {
        let found = done("since", store.since(scope, 0).await)?;
        Ok::<_, String>(found.iter().filter(|it| it.owner == "ann").count())
    };
    let erase = async |owner: &str, mode| done("erase", store.erase("a", owner, mode).await);
    same("of no name", &erase("", EraseMode::Hard).await?, &0)?;
    same("counted", &erase("ann", EraseMode::Count).await?, &2)?;
    same("records", &owners("a").await?, &2)?;
    same("made nameless", &erase("ann", EraseMode::Tombstone).await?, &2)?;
    let found = done("since", store.since("a", 0).await)?;
    let is_nameless = |it: &LatencyRecord| it.owner.is_empty() && it.conversation.is_empty();
    same("records", &found.len(), &3)?;
    same("nameless ones", &found.iter().filter(|it| is_nameless(it)).count(), &2)?;
    same("erased", &erase("bob", EraseMode::Hard).await?, &1)?;
    let found = done("since", store.since("a", 0).await)?;
    hold("nothing of it is there", found.iter().all(|it| it.owner != "bob"))?;
    same("another's", &owners("b").await?, &1)?;
    same("total", &done("total", store.total("a").await)?, &3)?;
    let mut record = LatencyRecord::new("run", 1, 1_000);
    record.owner = "bob".into();
    done("add", store.add("a", record).await)?;
    same("erased", &erase("bob", EraseMode::Hard).await?, &1)?;
    same("total", &done("total", store.total("a").await)?, &4)
}
