//! The latency record store.

use serde::{Deserialize, Serialize};

use super::{EraseMode, StoreFuture};
use forgeline_types::Text;

/// Maximum number of records kept per scope.
pub(super) const MAX_RECORDS: usize = 10_000;

/// The latencies of turns, by scope. The last 10,000 records of each scope are kept.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow).
pub trait LatencyStore: Send + Sync + 'static {
    /// Adds a record.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn add<'a>(&'a self, scope: &'a str, record: LatencyRecord) -> StoreFuture<'a, ()>;

    /// Returns the records of a scope since this time, oldest first; at most the last 10,000.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn since<'a>(&'a self, scope: &'a str, since_ms: u64) -> StoreFuture<'a, Vec<LatencyRecord>>;

    /// Returns the number of records ever added to a scope.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn total<'a>(&'a self, scope: &'a str) -> StoreFuture<'a, u64>;

    /// Erases the records of an owner in a scope, and returns their number; an owner with an empty name has none. With [`EraseMode::Tombstone`], the
    /// durations are kept without owner and conversation. The [`total`](Self::total) does not change: a store may keep the last record, without any data
    /// that identifies the owner.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn erase<'a>(&'a self, scope: &'a str, owner: &'a str, mode: EraseMode)
    -> StoreFuture<'a, u64>;
}

/// The durations of a turn and its parts, in milliseconds.
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
    /// The id of the run.
    pub run: Text,
    /// The id of its conversation.
    pub conversation: Text,
    /// The id of the caller that owns it.
    pub owner: Text,
    /// The number of the turn, from 1.
    pub turn: u32,
    /// The end of the turn, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The provider.
    pub provider: Text,
    /// The model.
    pub model: Text,
    /// The time from the request to the first text; `None` if the turn had none.
    pub first_text_ms: Option<u64>,
    /// The duration of the whole turn, without the time that people took.
    pub turn_ms: u64,
    /// The time for which the turn waited for people.
    pub waited_ms: u64,
    /// The tool calls.
    pub calls: Vec<CallLatency>,
    /// The reason for which the model stopped.
    pub stop_reason: Option<Text>,
    /// The number of tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// The number of prompt tokens that came from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// The number of prompt tokens that were written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The number of tokens of the answer.
    pub output_tokens: Option<u64>,
}

impl LatencyRecord {
    /// Returns a record of a turn that ended at this time.
    #[must_use]
    pub fn new(run: impl Into<Text>, turn: u32, at_ms: u64) -> Self {
        Self { run: run.into(), turn, at_ms, ..Self::default() }
    }
}

/// The duration of a tool call.
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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[non_exhaustive]
pub struct CallLatency {
    /// The name of the tool.
    pub tool: Text,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
    /// `true` if the call ran at the client.
    pub is_at_client: bool,
    /// `true` if the call failed.
    pub is_error: bool,
}

impl CallLatency {
    /// Returns the duration of a call that ran in this process and succeeded.
    #[must_use]
    pub fn new(tool: impl Into<Text>, duration_ms: u64) -> Self {
        Self { tool: tool.into(), duration_ms, is_at_client: false, is_error: false }
    }
}
