//! The suite for stores of latency records.

use std::sync::Arc;

use super::{
    Report,
    suite::{Found, check, done, same},
};
use crate::store::{CallLatency, LatencyRecord, LatencyStore};

/// Checks a store of latency records.
pub async fn check_latency_store<S: LatencyStore>(make: impl AsyncFn() -> Arc<S>) -> Report {
    let checks = vec![
        check("round-trip", "records are read as they were, from a time on", whole(make().await))
            .await,
    ];
    Report { checks }
}

async fn whole(store: Arc<impl LatencyStore>) -> Found {
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
