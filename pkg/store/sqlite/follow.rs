//! Following of a log: from memory while its newest records are kept there, otherwise from the file.

use std::{collections::VecDeque, sync::Arc};

use futures_core::stream::BoxStream;

use super::{SqliteStore, log_head::readable, log_tails::TailSubscription};
use crate::{EventLog as _, LogKey, LogRecord, StoreError};

/// Maximum number of records read ahead.
const PAGE: usize = 256;

impl SqliteStore {
    /// Follows a log to its end, with one subscription for all waits and one buffer for all records.
    pub(super) fn followed(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Box::pin(async_stream::try_stream! {
            let mut waiting = self.0.tails.subscribe(&key);
            let (mut at, mut records) = (from, VecDeque::new());
            loop {
                let mut is_end = false;
                if self.0.tails.take(&key, at, PAGE, &mut records).is_none() {
                    let page = self.read(&key, at, PAGE).await?;
                    is_end = page.is_end;
                    records.extend(page.records);
                    if records.is_empty() && !is_end {
                        self.wait_with(&mut waiting, &key, at).await?;
                        continue;
                    }
                }
                let may_have_more = records.len() == PAGE;
                while let Some(record) = records.pop_front() {
                    yield (at, record);
                    at += 1;
                }
                if is_end {
                    break;
                }
                // Every record added since the last read counts as a change.
                if !may_have_more {
                    waiting.changed().await;
                }
            }
        })
    }

    /// Waits until a log has a record with number `from`, or is closed.
    pub(super) async fn wait_with(
        &self,
        waiting: &mut TailSubscription,
        key: &LogKey,
        from: u64,
    ) -> Result<(), StoreError> {
        loop {
            match self.0.tails.has(key, from) {
                Some(true) => return Ok(()),
                Some(false) => {
                    waiting.changed().await;
                    continue;
                }
                None => {}
            }
            let log = key.clone();
            let head = self.query(move |connection| readable(connection, &log)).await?;
            if head.ends > from || head.is_closed() {
                return Ok(());
            }
            waiting.changed().await;
        }
    }
}
