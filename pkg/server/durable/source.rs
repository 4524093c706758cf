//! The messages of a stream, derived from the records of a log.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    config::StreamConfig,
    state::{CLOSED, DATA},
};
use crate::{
    encode::{AgUi, message_writer::MessageWriter},
    readers::shared_reader::SharedReader,
    runs::run::ServiceRun,
};
use forgeline_store::LogRecord;

/// The source of the messages of a stream.
#[derive(Debug)]
pub(crate) enum MessageSource {
    /// The data of a host's stream.
    Stream(StreamConfig),
    /// The events of a run, unchanged.
    Run(Arc<ServiceRun>),
    /// The events of a run, as AG-UI.
    AgUi(Box<AgUi>, SharedReader),
}

impl MessageSource {
    /// Returns the number of the first record that readers see.
    pub(crate) fn first(&self) -> u64 {
        match self {
            // The record before it contains the configuration of the stream.
            Self::Stream(_) => 1,
            Self::Run(_) | Self::AgUi(..) => 0,
        }
    }

    /// Returns the run, if the messages are its events.
    pub(crate) fn run(&self) -> Option<&Arc<ServiceRun>> {
        match self {
            Self::Stream(_) => None,
            Self::Run(run) => Some(run),
            Self::AgUi(_, sharing) => Some(sharing.run()),
        }
    }

    /// Returns `true` if a message depends on all records before it.
    pub(crate) fn has_past(&self) -> bool {
        matches!(self, Self::AgUi(..))
    }

    pub(crate) fn content_type(&self) -> &str {
        match self {
            Self::Stream(config) => &config.content_type,
            Self::Run(_) | Self::AgUi(..) => "application/json",
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        !matches!(self, Self::Stream(config) if !config.is_json())
    }

    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, Self::Stream(config) if !config.is_text())
    }

    /// Returns `true` for the record that closes a stream.
    pub(crate) fn is_end(&self, record: &LogRecord) -> bool {
        matches!(self, Self::Stream(_)) && record.kind == CLOSED
    }

    /// Appends the messages of the next record, which has the number `number`.
    pub(crate) fn messages(&mut self, number: u64, record: &LogRecord, out: &mut Vec<Bytes>) {
        match self {
            Self::Stream(_) if record.kind == DATA => out.push(record.data.clone()),
            Self::Stream(_) => {}
            Self::Run(_) => out.push(record.data.clone()),
            Self::AgUi(encoder, sharing) => {
                let (mut texts, mut places) = (Vec::new(), Vec::new());
                let writer = &mut MessageWriter::texts(&mut texts, &mut places);
                sharing.encode(&mut **encoder, number, record, writer);
                let texts = Bytes::from(texts);
                out.extend(places.into_iter().map(|place| texts.slice(place)));
            }
        }
    }

    /// Joins messages into the body of a response.
    pub(crate) fn join(&self, messages: &[Bytes]) -> Bytes {
        if !self.is_json() {
            return match messages {
                [one] => one.clone(),
                all => all.concat().into(),
            };
        }
        let length: usize = messages.iter().map(|it| it.len() + 1).sum();
        let mut out = Vec::with_capacity(length + 2);
        out.push(b'[');
        for (number, message) in messages.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            out.extend_from_slice(message);
        }
        out.push(b']');
        out.into()
    }
}
