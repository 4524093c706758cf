//! The state of a stream, a fold over its records.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{config::Config, offset::Offset};
use crate::{store::LogRecord, types::Text};

/// The kinds of records.
pub(super) const CREATED: &str = "stream_created";
pub(super) const DATA: &str = "stream_data";
pub(super) const PRODUCER: &str = "stream_producer";
pub(super) const SEQ: &str = "stream_seq";
pub(super) const CLOSED: &str = "stream_closed";

/// The state of a stream after its last record.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) config: Config,
    /// Milliseconds since 1970.
    pub(super) created: u64,
    /// The number after the last record.
    pub(super) end: u64,
    /// The size of its data, in bytes.
    pub(super) bytes: usize,
    /// The size of all its records in memory, in bytes.
    pub(super) size: u64,
    pub(super) is_closed: bool,
    /// The last `Stream-Seq`.
    pub(super) seq: Option<Text>,
    /// The last append of each producer.
    pub(super) producers: BTreeMap<Text, Place>,
}

/// The position of a producer in its sequence of appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) epoch: u64,
    pub(super) seq: u64,
}

/// The content of the first record.
#[derive(Debug, Serialize, Deserialize)]
struct Created {
    created: u64,
    #[serde(flatten)]
    config: Config,
}

/// The content of the record of a producer's append.
#[derive(Debug, Serialize, Deserialize)]
struct Produced {
    id: Text,
    #[serde(flatten)]
    place: Place,
}

impl State {
    /// Returns the first record of a stream.
    pub(super) fn created(created: u64, config: Config) -> LogRecord {
        LogRecord::new(CREATED, json(&Created { created, config }))
    }

    /// Returns the record of an append of a producer.
    pub(super) fn produced(id: Text, place: Place) -> LogRecord {
        LogRecord::new(PRODUCER, json(&Produced { id, place }))
    }

    /// Returns the state after the first record; `None` if `record` is not a first record.
    pub(super) fn begin(record: &LogRecord) -> Option<Self> {
        let is_first = record.kind == CREATED;
        let Created { created, config } =
            is_first.then(|| serde_json::from_slice(&record.data).ok()).flatten()?;
        let (is_closed, seq, producers) = (false, None, BTreeMap::new());
        let size = record.bytes() as u64;
        Some(Self { config, created, end: 1, bytes: 0, size, is_closed, seq, producers })
    }

    /// Applies the next record.
    pub(super) fn apply(&mut self, record: &LogRecord) {
        self.end += 1;
        self.size += record.bytes() as u64;
        match record.kind.as_str() {
            DATA => self.bytes += record.data.len(),
            CLOSED => self.is_closed = true,
            SEQ => self.seq = std::str::from_utf8(&record.data).ok().map(Into::into),
            PRODUCER => {
                if let Ok(Produced { id, place }) = serde_json::from_slice(&record.data) {
                    self.producers.insert(id, place);
                }
            }
            _ => {}
        }
    }

    /// Returns the position after the last record.
    pub(super) fn tail(&self) -> Offset {
        Offset { created: self.created, number: self.end }
    }
}

/// Returns a value as JSON; for types whose serialization cannot fail.
fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
