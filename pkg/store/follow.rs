//! Reading of a log to its end, as it grows.

use std::sync::Arc;

use futures_core::Stream;

use super::{EventLog, LogKey, LogRecord, StoreError};

/// Reads a log from number `from` on, each record with its number: the existing records, then new ones, without a gap. The stream ends after the last
/// record of a closed log, or with an error. Equivalent to [`EventLog::follow`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{pin::pin, sync::Arc};
/// use forgeline::store::{EventLog, LogKey, LogRecord, InMemoryLog, follow};
/// use futures_util::StreamExt;
///
/// let (log, key) = (InMemoryLog::new(), LogKey::new("team-a", "run_1"));
/// log.create(key.clone()).await?;
/// log.append(&key, 0, vec![LogRecord::new("a", "1"), LogRecord::new("b", "2")], None).await?;
/// log.close(&key, None).await?;
/// let mut records = pin!(follow(Arc::new(log), key, 1));
/// let (number, record) = records.next().await.unwrap()?;
/// assert_eq!((number, record.kind.as_str()), (1, "b"));
/// assert!(records.next().await.is_none());
/// # Ok(())
/// # }
/// ```
pub fn follow(
    log: Arc<dyn EventLog>,
    key: LogKey,
    from: u64,
) -> impl Stream<Item = Result<(u64, LogRecord), StoreError>> + Send {
    log.follow(key, from)
}
