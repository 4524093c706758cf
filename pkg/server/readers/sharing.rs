//! Sharing of parsed events by readers whose protocol is derived from the events of a run.

use std::sync::Arc;

use super::body;
use crate::{
    server::{
        encode::Encode,
        runs::run::{RUN_END, Run},
    },
    store::LogRecord,
};

/// A reader of the events of a run, which are kept for it while the run is active.
#[derive(Debug)]
pub(crate) struct Sharing(Arc<Run>);

impl Sharing {
    pub(crate) fn of(run: &Arc<Run>) -> Self {
        run.events.enter();
        Self(Arc::clone(run))
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.0
    }

    /// Appends the frames of the record with this number in the run; parses the record only if its event is not kept.
    pub(crate) fn encode(
        &self,
        encoder: &mut impl Encode,
        number: u64,
        record: &LogRecord,
        out: &mut Vec<u8>,
    ) {
        // The record of the end has another form.
        match self.0.events.get(number).filter(|_| record.kind != RUN_END) {
            Some(envelope) => encoder.event(&envelope, out),
            None => body::encode(encoder, record, out),
        }
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.0.events.leave();
    }
}
