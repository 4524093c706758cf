//! The store of latency records.

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{EraseMode, StoreError};
use crate::types::Text;

/// Most records of a scope that are kept.
pub(super) const MAX_RECORDS: usize = 10_000;

/// The durations of turns, by scope. Of each scope the last 10,000 records are kept.
///
/// Each wait ends within 10 s, with [`StoreError::Slow`] if need be.
pub trait LatencyStore: Send + Sync + 'static {
    /// Adds a record.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn add<'a>(
        &'a self,
        scope: &'a str,
        record: LatencyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the records of a scope that are not older than this time, the oldest first; of more than 10,000, the last.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn since<'a>(
        &'a self,
        scope: &'a str,
        since_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<LatencyRecord>, StoreError>>;

    /// Returns the number of records that a scope has ever had.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn total<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Erases the records of an owner in a scope, and returns their number; an owner without a name has none. With
    /// [`EraseMode::Tombstone`] the durations stay, without owner and conversation. The [`total`](Self::total) stays: a store may keep
    /// the last record, without all that tells whose it was.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
}

/// The durations of a turn and its parts. Times are in milliseconds.
///
/// # Examples
///
/// ```
/// use forgeline::store::LatencyRecord;
///
/// let mut record = LatencyRecord::new("run_1", 1, 1_000);
/// record.turn_ms = 350;
/// assert_eq!(serde_json::to_value(&record)?["turn_ms"], 350);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LatencyRecord {
    /// The run.
    pub run: Text,
    /// Its conversation.
    pub conversation: Text,
    /// The caller whose it is.
    pub owner: Text,
    /// The turn, from 1.
    pub turn: u32,
    /// The end of the turn, since the Unix epoch.
    pub at_ms: u64,
    /// The provider.
    pub provider: Text,
    /// The model.
    pub model: Text,
    /// From the request to the first text; `None` when the turn had none.
    pub first_text_ms: Option<u64>,
    /// The whole turn.
    pub turn_ms: u64,
    /// The calls of tools.
    pub calls: Vec<CallLatency>,
    /// The reason of the model's stop.
    pub stop_reason: Option<Text>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// The part of them that came from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// The part of them that was written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens of the answer.
    pub output_tokens: Option<u64>,
}

impl LatencyRecord {
    /// Returns a record of a turn that ended at this time.
    #[must_use]
    pub fn new(run: impl Into<Text>, turn: u32, at_ms: u64) -> Self {
        Self { run: run.into(), turn, at_ms, ..Self::default() }
    }
}

/// The duration of a call of a tool.
///
/// # Examples
///
/// ```
/// use forgeline::store::CallLatency;
///
/// assert!(!CallLatency::new("calculator", 3).is_at_client);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct CallLatency {
    /// The tool.
    pub tool: Text,
    /// The duration.
    pub duration_ms: u64,
    /// `true` when the client ran it.
    pub is_at_client: bool,
    /// `true` when it failed.
    pub is_error: bool,
}

impl CallLatency {
    /// Returns the time of a call that ran here and did not fail.
    #[must_use]
    pub fn new(tool: impl Into<Text>, duration_ms: u64) -> Self {
        Self { tool: tool.into(), duration_ms, is_at_client: false, is_error: false }
    }
}
