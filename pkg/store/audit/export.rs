//! The export of a chain as JSON lines.

use std::sync::Arc;

use async_stream::try_stream;
use futures_core::Stream;
use serde_json::json;

use super::store::AuditStore;
use crate::StoreError;
use forgeline_types::Text;

/// Number of rows read at a time, and in memory.
const PAGE: usize = 100;

/// Writes the chain of a scope as JSON lines, oldest row first: a line with the [head](super::AuditHead), then one for each row, up to the row that was the
/// last when the export began. Each line ends with a line feed. An [`AuditChain`](super::AuditChain) checks what was exported, without the store.
///
/// At most 100 rows are in memory. Rows that are cut while they are exported end the stream with [`StoreError::Dropped`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{pin::pin, sync::Arc};
/// use forgeline::store::{AuditEvent, AuditStore, InMemoryStore, export_audit};
/// use futures_util::StreamExt;
///
/// let store = Arc::new(InMemoryStore::new());
/// AuditStore::append(&*store, "team-a", AuditEvent::new("login", "host", "ann", 1_000)).await?;
/// let lines: Vec<_> = export_audit(store, "team-a".into()).collect().await;
/// assert!(lines[1].as_ref().unwrap().contains(r#""type":"login""#));
/// # Ok(())
/// # }
/// ```
pub fn export_audit(
    store: Arc<dyn AuditStore>,
    scope: Text,
) -> impl Stream<Item = Result<String, StoreError>> + Send {
    try_stream! {
        let head = store.head(&scope).await?;
        yield format!("{}\n", json!({ "scope": scope, "head": head }));
        let mut next = head.first;
        while next < head.next {
            let page = store.chain(&scope, next, PAGE).await?;
            let begins = page.first().map(|row| row.seq).filter(|seq| *seq < head.next);
            // Whoever checks the lines finds that rows are missing.
            let Some(begins) = begins else { break };
            if begins != next && store.head(&scope).await?.first > next {
                Err(StoreError::dropped("scope", scope.clone(), begins))?;
            }
            for row in page.iter().filter(|row| row.seq < head.next) {
                next = row.seq + 1;
                let line = serde_json::to_string(row)
                    .map_err(|error| StoreError::corrupt(error.to_string()))?;
                yield format!("{line}\n");
            }
        }
    }
}
