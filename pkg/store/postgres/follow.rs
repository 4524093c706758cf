//! Following of a log: from memory while its newest records are kept there, otherwise from the database.

use std::{collections::VecDeque, sync::Arc};

use futures_core::stream::BoxStream;

use super::{PostgresStore, followed_logs::LogSubscription, log_head::CLOSED};
use crate::{LogKey, LogRecord, StoreError, log::PAGE};

impl PostgresStore {
    /// Follows a log to its end, with one subscription for all waits and one buffer for all records.
    pub(super) fn followed(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Box::pin(async_stream::try_stream! {
            // Before the first read: what is appended after it is a change.
            let mut waiting = self.0.hub.logs.subscribe(&key);
            let (mut at, mut records) = (from, VecDeque::new());
            loop {
                if waiting.take(at, PAGE, &mut records).is_none() {
                    let page = self.page(&key, at, PAGE, Some(&waiting)).await?;
                    let is_empty = page.records.is_empty();
                    for record in page.records {
                        yield (at, record);
                        at += 1;
                    }
                    if page.is_end {
                        break;
                    }
                    // More may be there than fits in a page.
                    if is_empty {
                        waiting.changed().await;
                    }
                    continue;
                }
                let may_have_more = records.len() == PAGE;
                while let Some(record) = records.pop_front() {
                    yield (at, record);
                    at += 1;
                }
                if !may_have_more {
                    waiting.changed().await;
                }
            }
        })
    }

    /// Waits until a log has a record with number `from`, or is closed.
    pub(super) async fn wait_with(
        &self,
        waiting: &mut LogSubscription,
        key: &LogKey,
        from: u64,
    ) -> Result<(), StoreError> {
        loop {
            let head = self.0.heads.readable(key).await?;
            waiting.read(head.no, head.head);
            if head.head > from || head.state == CLOSED {
                return Ok(());
            }
            waiting.changed().await;
        }
    }
}
