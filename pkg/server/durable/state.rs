//! The state of a stream, a fold over its records.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{config::StreamConfig, offset::StreamOffset};
use forgeline_store::{EventLog, LogKey, LogRecord, StoreError, private::StreamOwner};
use forgeline_types::Text;

/// The kinds of records.
pub(crate) const CREATED: &str = "stream_created";
pub(crate) const DATA: &str = "stream_data";
pub(crate) const PRODUCER: &str = "stream_producer";
pub(crate) const SEQ: &str = "stream_seq";
pub(crate) const CLOSED: &str = "stream_closed";

/// The state of a stream after its last record.
#[derive(Debug, Clone)]
pub(crate) struct StreamState {
    pub(crate) config: StreamConfig,
    /// The identity of the stream: greater than that of an earlier stream of this name.
    pub(crate) created: u64,
    /// The number after the last record.
    pub(crate) end: u64,
    /// The size of its data, in bytes.
    pub(crate) bytes: usize,
    /// The size of all its records in memory, in bytes.
    pub(crate) size: u64,
    pub(crate) is_closed: bool,
    /// The last `Stream-Seq`.
    pub(crate) seq: Option<Text>,
    /// The last append of each producer.
    pub(crate) producers: BTreeMap<Text, ProducerPosition>,
}

/// The position of a producer in its sequence of appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProducerPosition {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
}

/// The content of the first record.
#[derive(Debug, Serialize, Deserialize)]
struct CreationRecord {
    created: u64,
    #[serde(flatten)]
    owner: StreamOwner,
    #[serde(flatten)]
    config: StreamConfig,
}

/// The content of the record of a producer's append.
#[derive(Debug, Serialize, Deserialize)]
struct ProducerRecord {
    id: Text,
    #[serde(flatten)]
    place: ProducerPosition,
}

impl StreamState {
    /// Returns the first record of a stream.
    pub(crate) fn created(created: u64, owner: &str, config: StreamConfig) -> LogRecord {
        let owner = StreamOwner { owner: Some(owner.into()) };
        LogRecord::new(CREATED, json(&CreationRecord { created, owner, config }))
    }

    /// Returns the record of an append of a producer.
    pub(crate) fn produced(id: Text, place: ProducerPosition) -> LogRecord {
        LogRecord::new(PRODUCER, json(&ProducerRecord { id, place }))
    }

    /// Returns the state after the first record; `None` if `record` is not a first record.
    pub(crate) fn begin(record: &LogRecord) -> Option<Self> {
        let is_first = record.kind == CREATED;
        let CreationRecord { created, config, .. } =
            is_first.then(|| serde_json::from_slice(&record.data).ok()).flatten()?;
        let (is_closed, seq, producers) = (false, None, BTreeMap::new());
        let size = record.bytes() as u64;
        Some(Self { config, created, end: 1, bytes: 0, size, is_closed, seq, producers })
    }

    /// Returns `true` if a log still has the stream that was created then, and not one that was created later.
    ///
    /// # Errors
    ///
    /// Returns an error of the log.
    pub(crate) async fn is_in(
        log: &dyn EventLog,
        key: &LogKey,
        created: u64,
    ) -> Result<bool, StoreError> {
        let page = log.read(key, 0, 1).await?;
        let first = page.records.first().and_then(Self::begin);
        Ok(first.is_some_and(|first| first.created == created))
    }

    /// Applies the next record.
    pub(crate) fn apply(&mut self, record: &LogRecord) {
        self.end += 1;
        self.size += record.bytes() as u64;
        match record.kind.as_str() {
            DATA => self.bytes += record.data.len(),
            CLOSED => self.is_closed = true,
            SEQ => self.seq = std::str::from_utf8(&record.data).ok().map(Into::into),
            PRODUCER => {
                if let Ok(ProducerRecord { id, place }) = serde_json::from_slice(&record.data) {
                    self.producers.insert(id, place);
                }
            }
            _ => {}
        }
    }

    /// Returns the position after the last record.
    pub(crate) fn tail(&self) -> StreamOffset {
        StreamOffset { created: self.created, number: self.end }
    }
}

/// Returns a value as JSON; for types whose serialization cannot fail.
fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
