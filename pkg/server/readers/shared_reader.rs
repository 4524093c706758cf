//! Sharing of parsed events by readers whose protocol is derived from the events of a run.

use std::sync::Arc;

use super::body;
use crate::{
    encode::{EncodeMessages, message_writer::MessageWriter},
    runs::run::{RUN_END, ServiceRun},
};
use forgeline_store::LogRecord;

/// A reader of the events of a run, which are kept for it while the run is active.
#[derive(Debug)]
pub(crate) struct SharedReader(Arc<ServiceRun>);

impl SharedReader {
    pub(crate) fn enter(run: &Arc<ServiceRun>) -> Self {
        run.events.enter();
        Self(Arc::clone(run))
    }

    pub(crate) fn run(&self) -> &Arc<ServiceRun> {
        &self.0
    }

    /// Sends the messages of the record with this number in the run; parses the record only if its event is not kept.
    pub(crate) fn encode(
        &self,
        encoder: &mut impl EncodeMessages,
        number: u64,
        record: &LogRecord,
        out: &mut MessageWriter<'_>,
    ) {
        // The record of the end has another form.
        match self.0.events.get(number, &record.data).filter(|_| record.kind != RUN_END) {
            Some(envelope) => encoder.encode_event(&envelope, out),
            None => body::encode(encoder, record, out),
        }
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        self.0.events.leave();
    }
}
